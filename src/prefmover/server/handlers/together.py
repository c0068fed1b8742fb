"""Several users at once: the recommendations of each, and what suits all of them together."""

from __future__ import annotations

import numpy as np

from prefmover.server.handlers.people import recommended
from prefmover.server.schemas import recommendations, requests, responses
from prefmover.server.served import ServedModel
from prefmover.server.workers import check_cancelled

__all__ = ["get_group_neighbors", "recommend_each", "recommend_group"]


def recommend_each(
    served: ServedModel, body: requests.UsersRecommendations
) -> recommendations.UsersRecommendationsOut:
    """Return the recommendations of several users in one response. An unknown user is an error for all."""
    states = [served.user(user) for user in body.users]  # errors before anything is computed
    choices, answers = served.choices(body), []
    for state in states:
        check_cancelled()
        answers.append(recommended(served.model.recommend(state, **choices)))
    return recommendations.UsersRecommendationsOut(users=answers)


def recommend_group(served: ServedModel, body: requests.Group) -> recommendations.GroupRecommendationsOut:
    """Return what suits several users together, who all count equally, with reasons for each."""
    states = [served.user(user) for user in body.users]
    best = served.model.recommend_group(states, combine=body.combine, **served.choices(body))
    return recommendations.GroupRecommendationsOut(**best.to_dict())


def get_group_neighbors(served: ServedModel, body: requests.GroupNeighbors) -> responses.GroupNeighborsOut:
    """Return the users nearest to the mixture of several users' preferences, for a model of PMD."""
    states = [served.user(user) for user in body.users]
    near = served.model.group_neighbors(states, body.k)
    rated = np.unique(np.concatenate([state.rated for state in states]))
    positions = served.data.ratings.user_index.get(near.users)
    return responses.GroupNeighborsOut(
        group=body.users,
        measure=served.measure.name,
        neighbors=served.near_users(rated, positions, near.values, of_group=True),
    )
