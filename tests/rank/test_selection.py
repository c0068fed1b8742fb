"""The best items among candidates: filters, novelty and diversity against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.rank.recommendations import POOL, Selection
from tests.messages import names
from tests.oracles import ranking as oracle
from tests.predict.conftest import make_data

DATA = make_data(3)
IDS = DATA.ratings.items.tolist()
NONE = np.empty(0, np.int64)


def random_scores(seed):
    return np.random.default_rng(seed).normal(size=DATA.n_items).astype(np.float32)


@given(st.integers(0, 10**6), st.integers(1, 25), st.sets(st.integers(0, DATA.n_items - 1)))
def test_the_best_unrated_items_in_order(seed, n, rated):
    scores, rated = random_scores(seed).round(), np.array(sorted(rated), np.int64)  # with ties
    best = Selection(DATA, n).best(scores, rated)
    left = [i for i in range(DATA.n_items) if i not in rated]
    assert best.tolist() == sorted(left, key=lambda i: (-scores[i], i))[:n]
    with_seen = Selection(DATA, n, seen=True).best(scores, rated)
    assert with_seen.tolist() == sorted(range(DATA.n_items), key=lambda i: (-scores[i], i))[:n]


@given(st.integers(0, 10**6), st.integers(0, 10))
def test_candidates(seed, least):
    rng = np.random.default_rng(seed)
    items, exclude = rng.choice(IDS, 9, replace=False).tolist(), rng.choice(IDS, 4, replace=False).tolist()
    counts = {item: sum(item in DATA.ratings[user] for user in DATA.ratings) for item in IDS}
    allowed = {item for item in items if item not in exclude and counts[item] >= least}
    if not allowed:
        with pytest.raises(InputError, match=names("items", "exclude")):
            Selection(DATA, 30, items=items, exclude=exclude, min_ratings=least)
        return
    selection = Selection(DATA, 30, items=items, exclude=exclude, min_ratings=least)
    best = selection.best(random_scores(seed), NONE)
    assert {IDS[i] for i in best} == allowed


def test_items_without_a_score_are_left_out():
    scores = random_scores(1)
    scores[[0, 5]] = np.nan
    assert set(Selection(DATA, 99).best(scores, NONE)) == set(range(DATA.n_items)) - {0, 5}


def test_a_user_who_has_seen_everything():
    everything = np.arange(DATA.n_items)
    for options in ({}, {"novelty": 0.5}, {"diversify": 0.5}):
        assert Selection(DATA, 5, **options).best(random_scores(1), everything).tolist() == []


@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(-1, 1).filter(bool))
def test_novelty_reorders_the_best(seed, n, novelty):
    scores, counts = random_scores(seed).astype(float), DATA.ratings_per_item
    pool = sorted(range(DATA.n_items), key=lambda i: -scores[i])[: POOL * n]
    shifted = {i: scores[i] * (1 + counts[i]) ** (-novelty if scores[i] >= 0 else novelty) for i in pool}
    best = Selection(DATA, n, novelty=novelty).best(scores, NONE).tolist()
    assert len(set(best)) == n
    assert [shifted[i] for i in best] == pytest.approx(sorted(shifted.values(), reverse=True)[:n])


def test_novelty_and_diversity_together():
    scores, counts = random_scores(8).astype(float), DATA.ratings_per_item
    shifted = scores * (1.0 + counts) ** (-0.5 * np.sign(scores))
    order = np.argsort(-scores, kind="stable")
    scaled = (shifted[order] - shifted.min()) / np.ptp(shifted)
    expected = order[oracle.marginal_relevance(scaled, DATA.geometry.similarity(order, order), 4, 0.3)]
    found = Selection(DATA, 4, novelty=0.5, diversify=0.3).best(scores, NONE)
    assert found.tolist() == expected.tolist()


def test_novelty_moves_lists_to_less_known_items():
    scores, counts = np.abs(random_scores(4)), DATA.ratings_per_item
    means = [counts[Selection(DATA, 6, novelty=v).best(scores, NONE)].mean() for v in (-1, -0.3, 0, 0.3, 1)]
    assert means == sorted(means, reverse=True)
    assert means[0] > means[-1]


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.01, 1))
def test_diversity_is_marginal_relevance(seed, n, delta):
    scores = random_scores(seed).astype(float)
    pool = np.argsort(-scores, kind="stable")[: POOL * n]
    scaled = (scores[pool] - scores[pool].min()) / (np.ptp(scores[pool]) or 1.0)
    similarity = DATA.geometry.similarity(pool, pool)
    expected = pool[oracle.marginal_relevance(scaled, similarity, n, delta)]
    assert Selection(DATA, n, diversify=delta).best(scores, NONE).tolist() == expected.tolist()


def test_diverse_lists_are_farther_apart():
    def spread(delta):
        found = []
        for seed in range(20):
            best = Selection(DATA, 5, diversify=delta).best(random_scores(seed), NONE)
            found.append(DATA.geometry.block(best, best).mean())
        return np.mean(found)

    assert spread(0.0) < spread(0.4) < spread(0.8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n"),
        ({"n": 2.5}, names("n", 2.5)),
        ({"n": True}, names("n", True)),
        ({"min_ratings": -1}, "min_ratings"),
        ({"min_ratings": 10**6}, "min_ratings"),
        ({"novelty": 1.5}, names("novelty", 1.5)),
        ({"novelty": True}, "novelty"),
        ({"novelty": np.nan}, "novelty"),
        ({"diversify": -0.1}, names("diversify", -0.1)),
        ({"diversify": "much"}, names("diversify", "much")),
        ({"items": []}, "items"),
        ({"items": "i01"}, names("items", "i01")),
        ({"items": ["nothing"]}, "nothing"),
        ({"exclude": IDS}, "exclude"),
        ({"exclude": 7}, names("exclude", 7)),
        ({"where": {"color": "red"}}, "color"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        Selection(DATA, **{"n": 5, **options})


def test_diversity_needs_a_geometry():
    with pytest.raises(InputError, match="diversify"):
        Selection(Dataset(DATA.ratings), 5, diversify=0.5)
