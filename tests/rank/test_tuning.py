"""Settings of a ranking, chosen on held-out ratings: the trials against rankers that are fitted anew."""

from dataclasses import replace

import numpy as np
import pytest

from prefmover import datasets
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import random_split
from prefmover.measures import find_measure
from prefmover.predict.similarity import LandmarkValues, UserSimilarity
from prefmover.rank import tuning
from prefmover.rank.tuning import _HeldOut, choose_settings, relevant
from prefmover.rank.two_sided import RankingSettings, TwoSidedRanker, mean_squared_like
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
def chosen(similarity):
    return choose_settings(similarity, START, 0)[:2]


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
    ("share", "settings"),
    [
        (1.0, RankingSettings(item_penalty=75.0, weight="exponential(6)", user_penalty=0.3)),
        (1.0, replace(START, overlap=1.0, user_penalty=30.0)),
        (0.12, START),
        (0.12, replace(START, content=3.0)),
    ],
)
def test_a_trial_is_a_ranker_fitted_to_the_rest(similarity, cinema, settings, share):
    if share < 1:
        cinema = cinema.with_ratings(random_split(cinema.ratings, share, 1).train)
        similarity = UserSimilarity(cinema, find_measure("pmd"))
    found = _HeldOut(similarity, cinema.ratings, 3, None).ndcg(settings)
    split = random_split(cinema.ratings, tuning.TRAIN_SHARE, 3)
    rest = similarity.with_data(cinema.with_ratings(split.train)).calibrated(3)
    everyone = np.arange(cinema.n_users)
    landmarks = np.flatnonzero(np.diff(split.train.matrix.indptr))
    values = rest.estimated_values(everyone, landmarks)
    ranker = TwoSidedRanker.fit(rest, settings, LandmarkValues(landmarks, values, rest.self_values(everyone)))
    scores = ranker.block(everyone).total
    unrated = np.bincount(split.train.matrix.indices, minlength=cinema.n_items) == 0
    assert unrated.any()
    scores[:, unrated] = 0.0  # a trial leaves out what similar items say about them
    scores[np.diff(split.train.matrix.indptr) == 0] = (
        0.0  # and what everybody likes, for users without ratings
    )
    scores = np.rint(scores / (tuning.STEP * np.sqrt(mean_squared_like(ranker.likes))))
    scores[:, np.bincount(cinema.ratings.matrix.indices, minlength=cinema.n_items) == 0] = -np.inf
    scores[split.train.matrix.nonzero()] = -np.inf
    hits = np.zeros(scores.shape, bool)
    liked = split.ratings >= cinema.ratings.scale.lowest + 0.75 * np.ptp(
        [cinema.ratings.scale.lowest, cinema.ratings.scale.highest]
    )
    hits[split.users[liked], split.items[liked]] = True
    expected = np.mean([oracle.ndcg(s, h, 10) for s, h in zip(scores, hits, strict=True) if h.any()])
    assert found == pytest.approx(expected, abs=4e-3)  # near ties may swap


def test_a_change_is_kept_if_it_is_better_by_the_margin(chosen):
    settings, trials = chosen
    tried = {RankingSettings(**{k: v for k, v in one.items() if k != "ndcg"}): one["ndcg"] for one in trials}
    assert len(tried) == len(trials)
    best = next(iter(tried))
    assert best == START
    for candidate, ndcg in tried.items():  # in the order in which they were tried
        if ndcg - tried[best] > 0.0005:
            best = candidate
    assert best == settings
    assert tried[settings] > trials[0]["ndcg"]


def test_it_is_deterministic(similarity, chosen):
    assert choose_settings(similarity, START, 0)[:2] == chosen


def test_progress_ends_at_the_total(similarity):
    calls = []
    choose_settings(similarity, START, 0, lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1]
    assert all(done <= total for done, total in calls)


def test_a_weight_without_a_rate_is_kept(cinema):
    similarity = UserSimilarity(cinema, find_measure("cos"))
    settings, trials, _ = choose_settings(similarity, RankingSettings(weight="as-is"), 0)
    assert settings.weight == "as-is"
    assert {trial["weight"] for trial in trials} == {"as-is"}


def test_few_ratings_take_the_defaults(cinema):
    few = cinema.with_ratings(cinema.ratings.take(users=range(8)))
    start = replace(START, user_penalty=7.0)
    assert choose_settings(UserSimilarity(few, find_measure("pmd")), start, 0) == (start, [], None)


def test_items_that_nobody_in_the_sample_has_rated_do_not_matter(similarity, cinema):
    whole = _HeldOut(similarity, cinema.ratings, 3, None)
    assert whole.likes.shape[1] == len(np.unique(cinema.ratings.matrix.indices))
    few = cinema.ratings.take(users=range(12))
    some = _HeldOut(similarity, few, 3, None)
    assert some.likes.shape[1] == some.relevant.shape[1] == len(np.unique(few.matrix.indices))
    assert some.likes.shape[1] < cinema.n_items
    assert some.likes.nnz < few.n_ratings


@pytest.mark.parametrize("limit", ["ENTRIES", "SAMPLE"])
def test_many_users_or_entries_are_sampled(cinema, monkeypatch, limit):
    n_rated = len(np.unique(cinema.ratings.matrix.indices))
    monkeypatch.setattr(tuning, limit, 25 * n_rated if limit == "ENTRIES" else 25)
    some = tuning.sample_users(cinema.ratings, 1)
    assert some.n_users == 25
    assert all(some[user] == cinema.ratings[user] for user in some)
    assert some.users.tolist() == tuning.sample_users(cinema.ratings, 1).users.tolist()


@pytest.mark.parametrize(
    ("numbers", "sampled"), [((1, 3, 1, 2, 1, 4), [2, 3, 4]), ((1, 1, 1, 1, 1, 1), [1, 1, 1])]
)
def test_a_sample_has_users_with_several_ratings(monkeypatch, numbers, sampled):
    monkeypatch.setattr(tuning, "SAMPLE", 3)
    users = np.repeat(np.arange(len(numbers)), numbers)
    items = np.concatenate([np.arange(n) for n in numbers])
    some = tuning.sample_users(Ratings.from_arrays(users, items, np.full(len(users), 3.0)), 0)
    assert sorted(np.diff(some.matrix.indptr).tolist()) == sampled
