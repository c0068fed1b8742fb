"""Settings of a ranking, chosen on held-out ratings: the trials against rankers that are fitted anew."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from prefmover import datasets
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.measures import find_measure
from prefmover.model import Recommender
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank import tuning
from prefmover.rank.tuning import HeldOut, _Trials, choose_settings, hold_out, relevant
from prefmover.rank.two_sided import RankingSettings
from tests.oracles import ranking as oracle

START = RankingSettings(weight="exponential(2.5)")


@pytest.fixture(scope="module")
def cinema():
    data = datasets.load("cinema")
    return data.with_ratings(data.ratings.take(users=range(80)))


@pytest.fixture(scope="module")
def similarity(cinema):
    return UserSimilarity(cinema, find_measure("pmd"))


@pytest.fixture(scope="module")
def parts(cinema):
    return hold_out(cinema, 0)


@pytest.fixture(scope="module")
def chosen(similarity, parts):
    return choose_settings(similarity, START, *parts)


@pytest.mark.parametrize(
    ("scale", "liked"),
    [
        (Scale(1, 5, 1), [4, 5]),
        (Scale(0.5, 5, 0.5), [4, 4.5, 5]),
        (Scale(0, 10, 1), [8, 9, 10]),
        (Scale(0, 1, 1), [1]),
    ],
)
def test_relevant_ratings(scale, liked):
    levels = np.arange(scale.lowest, scale.highest + scale.step / 2, scale.step)
    assert levels[relevant(levels, scale)].tolist() == liked


def test_every_interaction_is_relevant():
    scale = Ratings.from_arrays([1, 2], ["a", "a"], [1, 9], feedback="implicit").scale
    assert relevant(np.array([1.0, 3.3]), scale).all()


@pytest.mark.parametrize(
    "settings",
    [
        START,
        replace(START, item_penalty=75.0, weight="exponential(6)", user_penalty=0.3, likes="seen"),
        replace(START, user_penalty=None, features=100.0),
        replace(START, item_penalty=None, likes="given"),
    ],
)
def test_a_trial_is_a_model_fitted_to_the_rest(similarity, parts, settings):
    part = parts[0][0]
    found = _Trials(similarity.with_data(part.data), part, 0).ndcg(settings)
    ranker = Recommender(ranking=settings).fit(part.data, heads=["ranking"]).ranker_
    scores = ranker.block(part.users).total
    scores[:, np.bincount(part.data.ratings.matrix.indices, minlength=scores.shape[1]) == 0] = 0.0
    for row, user in zip(scores, part.users, strict=True):
        row[part.data.ratings.row(user)[0]] = -np.inf
    expected = np.mean([oracle.ndcg(s, h, 10) for s, h in zip(scores, part.relevant, strict=True)])
    assert found == pytest.approx(expected, abs=6e-3)  # near ties may swap


def test_a_change_is_kept_if_it_is_better_by_the_margin(chosen):
    settings, trials = chosen
    tried = {RankingSettings(**{k: v for k, v in one.items() if k != "ndcg"}): one["ndcg"] for one in trials}
    assert len(tried) == len(trials) <= tuning.TRIALS
    best = next(iter(tried))
    assert best == START
    alone = [replace(START, **part) for part in tuning.ALONE]
    for candidate, ndcg in tried.items():  # in the order in which they were tried
        if ndcg > tried[best] * (1 + (tuning.MARGIN_ALONE if candidate in alone else tuning.MARGIN)):
            best = candidate
    assert best == settings


def test_the_choice_is_never_below_the_parts_alone(chosen):
    settings, trials = chosen
    best = next(one["ndcg"] for one in trials if one == {**asdict(settings), "ndcg": one["ndcg"]})
    for part in tuning.ALONE:
        alone = [one["ndcg"] for one in trials if all(one[name] == value for name, value in part.items())]
        assert alone
        assert best * (1 + tuning.MARGIN_ALONE) >= max(alone)


def test_a_walk_ends_where_it_no_longer_improves():
    """The best of a made-up value is far from the start, once at the end that leaves a side out."""
    start = RankingSettings(item_penalty=500.0, user_penalty=10.0)

    def judge(s):
        by_items = {5.0: 9, 15.0: 8, 50.0: 7, 150.0: 6}.get(s.item_penalty, 1)
        return 1.0 + by_items + (5 if s.user_penalty is None else s.user_penalty / 100)

    search = tuning._Search(judge, start, 100, None)
    search.improves(start)
    for name in ("item_penalty", "user_penalty"):
        search.walk(name, tuning.LADDERS[name])
    assert search.best == replace(start, item_penalty=5.0, user_penalty=None)
    assert not search.improves(start)


def test_a_budget_is_kept(similarity, parts):
    choice = choose_settings(similarity, START, *parts, n_trials=3)
    assert len(choice.trials) == 3
    assert choose_settings(similarity, START, *parts, n_trials=0) == (START, [])


def test_it_is_deterministic(similarity, chosen, parts):
    assert choose_settings(similarity, START, *parts) == chosen


def test_progress_ends_at_the_total(similarity, parts):
    calls = []
    progress = lambda done, total: calls.append((done, total))  # noqa: E731
    choose_settings(similarity, START, *parts, n_trials=4, progress=progress)
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4), (4, 4)]


def test_a_weight_without_a_rate_is_kept(cinema, parts):
    similarity = UserSimilarity(cinema, find_measure("cos"))
    settings, trials = choose_settings(similarity, RankingSettings(weight="as-is"), *parts)
    assert settings.weight == "as-is"
    assert {trial["weight"] for trial in trials} == {"as-is"}


def test_few_ratings_take_the_defaults(cinema):
    few = cinema.with_ratings(cinema.ratings.take(users=range(8)))
    parts, n = hold_out(few, 0)
    start = replace(START, user_penalty=7.0)
    similarity = UserSimilarity(few, find_measure("pmd"))
    assert (parts, n) == ([], 10)
    assert choose_settings(similarity, start, parts, n) == (start, [])


def test_held_out_ratings_are_not_fitted_to(cinema, parts):
    whole = cinema.ratings.matrix.toarray()
    assert len(parts[0]) == 3  # few ratings are split several times
    for part in parts[0]:
        known = part.data.ratings.matrix.toarray()
        assert ((known == whole) | (known == 0)).all()
        assert not (known[part.users] > 0)[part.relevant].any()
        assert (whole[part.users][part.relevant] >= cinema.ratings.scale.liked_from).all()
        assert part.relevant.any(axis=1).all()
        assert (known[part.users] > 0).any(axis=1).all()


def test_large_data_are_cut(cinema, monkeypatch):
    monkeypatch.setattr(tuning, "MAX_FITTED", 60)
    monkeypatch.setattr(tuning, "MAX_USERS", 15)
    monkeypatch.setattr(tuning, "MAX_ITEMS", 50)
    part = hold_out(cinema, 1)[0][0]
    assert (part.data.n_users, part.data.n_items, len(part.users)) == (60, 50, 15)
    assert part.relevant.shape == (15, 50)
    again = hold_out(cinema, 1)[0][0]
    assert (again.users == part.users).all()
    assert (again.relevant == part.relevant).all()


def test_pairs_of_users_who_are_not_judged_are_left_out(cinema):
    part = HeldOut.of_pairs(cinema, np.array([2, 5]), np.array([5, 3, 2]), np.array([1, 2, 0]))
    assert np.argwhere(part.relevant).tolist() == [[0, 0], [1, 1]]
