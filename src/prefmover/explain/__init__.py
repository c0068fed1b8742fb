"""Explanations: why two users are close, and how a predicted rating comes about.

An explanation is plain data. :mod:`~prefmover.explain.plan` compares two users,
:mod:`~prefmover.explain.rating` takes a predicted rating apart, :mod:`~prefmover.explain.text` puts both into
words, and :mod:`~prefmover.explain.plot` draws the plan between two users.
"""

from prefmover.explain.plan import UserExplanation, explain_rows, explain_users
from prefmover.explain.rating import RecommendationExplanation

__all__ = ["RecommendationExplanation", "UserExplanation", "explain_rows", "explain_users"]
