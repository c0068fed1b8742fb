"""What to see next: scores to rank by, their parts, and the best of the candidates.

::

    ranker.py           the protocol of rankers; likes; the votes of neighbors
    two_sided.py        the default: an item side, and a user side of people with the user's taste
    item_side.py        the item side: what likes say about other items; items without ratings
    factors.py          taste factors: users and items as a few numbers each
    tuning.py           the settings, chosen on held-out ratings by nDCG
    recommendations.py  recommended items, for one user and for many: filters, novelty, diversity
"""

from prefmover.rank.recommendations import Recommendation, Recommendations, RecommendationTable
from prefmover.rank.two_sided import RankingSettings

__all__ = ["RankingSettings", "Recommendation", "RecommendationTable", "Recommendations"]
