"""What one person asks, a user of the data or a guest: neighbors, recommendations, predictions, and why."""

from __future__ import annotations

from dataclasses import asdict

from prefmover.measures import MEASURES
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.recommendations import RECOMMENDATION_FIELDS, Recommendations
from prefmover.server.schemas import explanations, recommendations, requests, responses
from prefmover.server.served import ServedModel
from prefmover.server.views.neighbor_comparison import neighbor_lists
from prefmover.server.workers import check_cancelled

REASONS = 3  # own ratings, and ratings of neighbors, in each recommendation of a list
EXPLAINED = 20  # parts of each kind in the explanation of one recommendation; the others are summed
CONTRASTS = ("cos", "jmsd")  # measures of co-rated items, to compare the model's measure with
STEPS = ("rwmd", "prices", "abandoned", "solved", "known", "undefined")  # search steps that /metrics counts


def get_neighbors(served: ServedModel, body: requests.NeighborsOf) -> responses.NeighborsOut:
    """Return the users nearest to a person, with the number of items that both rated."""
    state, similarity = served.person(body), served.similarity
    search = similarity.nearest_without_common_items if body.strangers else similarity.nearest
    near = search(state.who, body.k, check_cancelled)
    served.count({step: getattr(near.stats, step) for step in STEPS})
    return responses.NeighborsOut(
        user=state.name,
        measure=served.measure.name,
        neighbors=served.near_users(state.rated, near.neighbors, near.values),
    )


def get_neighbor_lists(served: ServedModel, body: requests.Person) -> responses.NeighborListsOut:
    """Return the nearest users by the model's measure and by measures of common items, each list tested."""
    state = served.person(body)
    others = [UserSimilarity(served.data, MEASURES[name], None, 1) for name in CONTRASTS]
    rows = [served.similarity, *(one for one in others if one.measure.name != served.measure.name)]
    lists = []
    for one in neighbor_lists(rows, state.position, state.rated, state.given, progress=check_cancelled):
        columns = zip(one.users.tolist(), one.values.tolist(), one.n_common.tolist(), strict=True)
        near = [
            responses.ListedNeighborOut(user=served.users.texts[user], value=value, n_common=n)
            for user, value, n in columns
        ]
        test = None if one.test is None else responses.NeighborTestOut(**asdict(one.test))
        lists.append(responses.NeighborListOut.of(MEASURES[one.measure], neighbors=near, test=test))
    return responses.NeighborListsOut(user=state.name, lists=lists)


def get_recommendations(
    served: ServedModel, body: requests.RecommendationsFor
) -> recommendations.RecommendationsOut:
    """Return items that a person has not rated, each with its strongest reasons and what they add."""
    return recommended(served.model.recommend(served.person(body), **served.choices(body)))


def recommended(best: Recommendations) -> recommendations.RecommendationsOut:
    """Return recommended items; sentences are made once, for an item and its explanation."""
    listed = []
    for one in best:
        why = one.why.to_dict(REASONS)
        fields = {name: getattr(one, name) for name in RECOMMENDATION_FIELDS}
        listed.append(recommendations.RecommendationOut(**fields, reasons=why["reasons"], why=why))
    return recommendations.RecommendationsOut(user=best.user, recommendations=listed)


def explain_recommendation(
    served: ServedModel, body: requests.PersonAndItem
) -> explanations.RecommendationExplanationOut:
    """Return what the person's own ratings and those of like-minded users add to an item's score."""
    item = served.items.id_of(body.item)
    explanation = served.model.explain_recommendation(served.person(body), item)
    return explanations.RecommendationExplanationOut(**explanation.to_dict(EXPLAINED))


def get_predictions(served: ServedModel, body: requests.PredictionsFor) -> recommendations.PredictionsOut:
    """Return the predicted ratings of some items, in their order."""
    state, items = served.person(body), [served.items.id_of(item) for item in body.items]
    found = []
    for one in served.model.predict([(state, item) for item in items], progress=check_cancelled):
        fields = {name: value for name, value in asdict(one).items() if name != "user"}
        title = served.data.catalog.label(served.data.item_position(one.item))
        found.append(recommendations.PredictionOut(**fields, title=title))
    return recommendations.PredictionsOut(user=state.name, predictions=found)


def explain_prediction(
    served: ServedModel, body: requests.PersonAndItem
) -> explanations.RatingExplanationOut:
    """Return the baseline of a predicted rating and the contributions of neighbors, which add up to it."""
    item = served.items.id_of(body.item)
    explanation = served.model.explain_rating(served.person(body), item)
    return explanations.RatingExplanationOut(**explanation.to_dict(EXPLAINED))
