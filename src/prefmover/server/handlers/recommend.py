"""What to see next, for a person or several users, what rating to expect, and why."""

from __future__ import annotations

from dataclasses import asdict

from prefmover.explain import RecommendationExplanation
from prefmover.rank.recommendations import RECOMMENDATION_FIELDS, Recommendations
from prefmover.server.schemas import explanations, requests
from prefmover.server.served import ServedModel
from prefmover.server.workers import check_cancelled

REASONS = 3  # own ratings, and ratings of neighbors, in each recommendation of a list
EXPLAINED = 20  # parts of each kind in the explanation of one recommendation; the others are summed


def get_recommendations(
    served: ServedModel, body: requests.RecommendationsFor
) -> explanations.RecommendationsOut:
    """Return items that a person has not rated, each with its strongest reasons and what they add."""
    return recommended(served, served.model.recommend(served.person(body), **served.choices(body)))


def recommended(served: ServedModel, best: Recommendations) -> explanations.RecommendationsOut:
    """Return recommended items; sentences are made once, for an item and its explanation."""
    listed = []
    for one in best:
        why = _explained(served, one.why, REASONS)
        fields = {name: getattr(one, name) for name in RECOMMENDATION_FIELDS}
        listed.append(explanations.RecommendationOut(**fields, reasons=why.reasons, why=why))
    return explanations.RecommendationsOut(user=best.user, recommendations=listed)


def explain_recommendation(
    served: ServedModel, body: requests.PersonAndItem
) -> explanations.RecommendationExplanationOut:
    """Return what the person's own ratings and those of like-minded users add to an item's score."""
    item = served.items.id_of(body.item)
    explanation = served.model.explain_recommendation(served.person(body), item)
    return _explained(served, explanation, EXPLAINED)


def _explained(
    served: ServedModel, why: RecommendationExplanation, n: int
) -> explanations.RecommendationExplanationOut:
    """Return an explanation with what people gave, and with the sentences about the person in parts."""
    about = None if why.user == served.guest_name else why.user
    told = [[explanations.PartOut(**part._asdict()) for part in sentence] for sentence in why.told(about)]
    content = served.feedback.in_explanation(why.to_dict(n))
    return explanations.RecommendationExplanationOut(**content, told=told)


def get_counterfactual(served: ServedModel, body: requests.RecommendedItem) -> explanations.CounterfactualOut:
    """Return the fewest of a person's ratings without which an item would not be among the first `n`."""
    item = served.items.id_of(body.item)
    found = served.model.counterfactual(served.person(body), item, body.n)
    return explanations.CounterfactualOut(**served.feedback.in_explanation(found.to_dict()))


def get_predictions(served: ServedModel, body: requests.PredictionsFor) -> explanations.PredictionsOut:
    """Return the predicted ratings of some items, in their order."""
    state, items = served.person(body), [served.items.id_of(item) for item in body.items]
    found = []
    for one in served.model.predict([(state, item) for item in items], progress=check_cancelled):
        fields = {name: value for name, value in asdict(one).items() if name != "user"}
        title = served.data.catalog.label(served.data.item_position(one.item))
        found.append(explanations.PredictionOut(**fields, title=title))
    return explanations.PredictionsOut(user=state.name, predictions=found)


def explain_prediction(
    served: ServedModel, body: requests.PersonAndItem
) -> explanations.RatingExplanationOut:
    """Return the baseline of a predicted rating and the contributions of neighbors, which add up to it."""
    item = served.items.id_of(body.item)
    explanation = served.model.explain_rating(served.person(body), item)
    return explanations.RatingExplanationOut(**explanation.to_dict(EXPLAINED))


def recommend_each(
    served: ServedModel, body: requests.UsersRecommendations
) -> explanations.UsersRecommendationsOut:
    """Return the recommendations of several users in one response. An unknown user is an error for all."""
    states = [served.user(user) for user in body.users]  # errors before anything is computed
    choices, answers = served.choices(body), []
    for state in states:
        check_cancelled()
        answers.append(recommended(served, served.model.recommend(state, **choices)))
    return explanations.UsersRecommendationsOut(users=answers)


def recommend_group(served: ServedModel, body: requests.Group) -> explanations.GroupRecommendationsOut:
    """Return what suits several users together, who all count equally, with reasons for each."""
    states = [served.user(user) for user in body.users]
    best = served.model.recommend_group(states, combine=body.combine, **served.choices(body))
    return explanations.GroupRecommendationsOut(**best.to_dict())
