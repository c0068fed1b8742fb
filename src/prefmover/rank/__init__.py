"""What to see next: scores to rank by, their parts, and the best of the candidates.

::

    ranker.py           the protocol of rankers; likes
    two_sided.py        the ranking of the default model: an item side and a user side
    ease.py, _ease.py   the item side: what a user's own likes say about other items (EASE)
    content.py          what they say about items of similar content
    user_ridge.py       the user side: what people with the user's taste like (kernel ridge regression)
    tuning.py           its settings, chosen on held-out ratings by nDCG
    selection.py        the best of the candidates: filters, novelty, diversity
    recommendations.py  recommended items, for one user and for many
"""

from prefmover.rank.recommendations import Recommendation, Recommendations, RecommendationTable
from prefmover.rank.two_sided import RankingSettings

__all__ = ["RankingSettings", "Recommendation", "RecommendationTable", "Recommendations"]
