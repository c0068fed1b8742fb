"""Explanations: why two users are close, why an item is recommended, and how a predicted rating comes about.

An explanation is plain data, with its own words. :mod:`~prefmover.explain.plan` compares two users,
:mod:`~prefmover.explain.recommendation` has the reasons for a recommendation, which
:mod:`~prefmover.explain.reasons` chooses, :mod:`~prefmover.explain.rating` takes a predicted rating apart,
and :mod:`~prefmover.explain.plot` draws the plan between two users.
"""

from prefmover.explain.plan import UserExplanation, explain_users
from prefmover.explain.rating import RatingExplanation
from prefmover.explain.reasons import Explainer
from prefmover.explain.recommendation import RecommendationExplanation

__all__ = ["Explainer", "RatingExplanation", "RecommendationExplanation", "UserExplanation", "explain_users"]
