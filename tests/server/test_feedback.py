"""Counts, choices and fine scales: what people give comes back, and a click is a like."""

import numpy as np
import pytest

from prefmover import Dataset, InputError, ItemGeometry, Ratings, Recommender
from prefmover.data.scale import SMALLEST, Scale
from prefmover.datasets.matching import TitleIndex
from prefmover.server.app import openapi_schema
from prefmover.server.feedback import Feedback
from prefmover.server.imports import read_export
from prefmover.server.served import ServedModel
from tests.server.conftest import ask, get, is_problem, listening

SEED = np.random.default_rng(7)
USERS, ITEMS = (part.ravel() for part in np.divmod(np.flatnonzero(SEED.random((30, 40)) < 0.5), 40))
COUNTS = SEED.integers(1, 4001, len(USERS)).astype(float)
TITLES = {f"a{k}": f"Artist {k}" for k in range(40)}


def made(values=None, **options):
    """Return a model of 30 listeners and 40 artists."""
    names = [f"u{k}" for k in USERS], [f"a{k}" for k in ITEMS]
    ratings = Ratings.from_arrays(*names, values, **options)
    geometry = ItemGeometry.from_vectors(list(TITLES), np.random.default_rng(1).random((40, 3)))
    return Dataset(ratings, geometry, TITLES, verb="played" if ratings.implicit else "")


@pytest.fixture(scope="module")
def plays():
    return Recommender(n_threads=1, landmarks=20).fit(made(COUNTS, feedback="implicit"))


@pytest.fixture(scope="module")
def counting(plays):
    with listening(ServedModel(plays), warm_up=lambda served, progress: None) as client:
        yield client


def test_the_facts(counting):
    facts = get(counting, "model")
    assert (facts["feedback"], facts["verb"], facts["rating_noun"]) == ("counts", "played", "choice")
    assert facts["scale"] == {"lowest": COUNTS.min(), "highest": COUNTS.max(), "step": 1}
    assert facts["usual"] == np.quantile(COUNTS, 0.5, method="lower")


def test_counts_come_back_as_they_were_given(counting):
    given = {f"a{k}": n for u, k, n in zip(USERS, ITEMS, COUNTS, strict=True) if u == 3}
    answer = get(counting, "users/u3", limit=100)
    assert {one["item"]: one["rating"] for one in answer["ratings"]} == given
    assert answer["mean_rating"] is None
    answer = get(counting, "items/a5")
    mine = COUNTS[ITEMS == 5]
    assert sum(bar["count"] for bar in answer["ratings"]) == len(mine)
    for bar in answer["ratings"]:
        assert bar["count"] == ((mine >= bar["rating"]) & (mine <= bar["highest"])).sum()
    assert {one["rating"] for one in answer["fans"]} <= set(mine.tolist())


def test_explanations_have_counts(counting, plays):
    table = {(f"u{u}", f"a{k}"): n for u, k, n in zip(USERS, ITEMS, COUNTS, strict=True)}
    best = ask(counting, "recommendations", user="u3", n=3)["recommendations"]
    for one in best:
        why = ask(counting, "recommendations/why", user="u3", item=one["item"])
        parts = [*one["why"]["own"], *why["own"]]
        assert parts
        assert all(part["rating"] == table["u3", part["item"]] for part in parts)
        near = [*one["why"]["neighbors"], *why["neighbors"]]
        assert near
        assert all(part["rating"] == table[part["user"], one["item"]] for part in near)
    for flow in ask(counting, "explanations", user="u3", other="u4")["flows"]:
        assert flow["source_rating"] == table["u3", flow["source"]]
        assert flow["target_rating"] == table["u4", flow["target"]]


def test_guests_give_counts_or_likes(counting, plays):
    answer = ask(counting, "recommendations", ratings=[{"item": "a1", "rating": 4000}, {"item": "a2"}], n=3)
    best = plays.recommend(plays.guest({"a1": 4000, "a2": plays.data_.ratings.usual_count}), 3)
    assert [one["item"] for one in answer["recommendations"]] == [one.item for one in best]
    mine = [{"item": f"a{k}", "rating": 1000.0 + k} for k in range(5)]
    (first,) = ask(counting, "recommendations", ratings=mine, n=1)["recommendations"]
    own = ask(counting, "recommendations/why", ratings=mine, item=first["item"])["own"]
    assert own
    assert all({"item": one["item"], "rating": one["rating"]} in mine for one in own)
    is_problem(counting.post("/api/v1/neighbors", json={"ratings": [{"item": "a1", "rating": 0}]}), 422)
    predicted = {"ratings": [{"item": "a1"}], "items": ["a2"]}
    is_problem(counting.post("/api/v1/predictions", json=predicted), 422)


def test_a_rating_on_a_scale_must_be_said(client, model):
    body = {"ratings": [{"item": "alien-1979"}]}
    assert "alien-1979" in is_problem(client.post("/api/v1/neighbors", json=body), 422)
    with pytest.raises(InputError, match="alien-1979"):
        model.guest({"alien-1979": None})


def test_what_the_schema_promises():
    counts = openapi_schema(Scale(1, 11.97, 0, implicit=True))["components"]["schemas"]["GuestRating"]
    number, nothing = counts["properties"]["rating"]["anyOf"]
    assert number["minimum"] == SMALLEST
    assert number["maximum"] > 4000
    assert (nothing, counts["required"]) == ({"type": "null"}, ["item"])
    tenths = openapi_schema(Scale(0, 10, 0.1))["components"]["schemas"]["GuestRating"]
    assert {"minimum": 0, "maximum": 10}.items() <= tenths["properties"]["rating"].items()
    assert tenths["required"] == ["item", "rating"]


@pytest.mark.parametrize("damping", ["log", "sqrt", "none", "binary"])
def test_counts_survive_damping(damping):
    counts = np.array([1.0, 2.0, 7.0, 4_000.0, 352_698.0])
    scale = Scale(1, 2, 0, implicit=True, damping=damping)
    back = scale.counts(scale.strengths(counts))
    assert back.tolist() == ([1.0] * 5 if damping == "binary" else counts.tolist())
    hours = np.array([0.25, 1.75, 1e-12])
    assert scale.counts(scale.strengths(hours)) == pytest.approx(
        [1] * 3 if damping == "binary" else hours, abs=1e-9
    )


def test_clicks_are_choices():
    found = Feedback(made().ratings)
    assert (found.kind, found.usual) == ("choices", 1.0)
    assert found.scale == Scale(1, 1, 1)
    assert Feedback(made(COUNTS, feedback="implicit", damping="binary").ratings).kind == "choices"
    assert list(found.bars(found.ratings.matrix.data)) == [(1.0, 1.0, len(USERS))]


def test_large_counts_have_bars_for_a_phone():
    plays = Ratings.from_arrays(["u"] * 3, [1, 2, 3], [1, 5, 100_000], feedback="implicit")
    bars = list(Feedback(plays).bars(plays.matrix.data))
    assert bars[:2] == [(1.0, 3.0, 1), (4.0, 15.0, 1)]
    assert bars[-1] == (4.0**8, 4.0**9 - 1, 1)


@pytest.mark.parametrize("step", [0.1, 0.0], ids=["tenths", "continuous"])
def test_fine_scales_have_ten_bars(step):
    values = np.round(SEED.random(len(USERS)) * 10, 1) if step else SEED.random(len(USERS)) * 10
    found = Feedback(made(values, scale=Scale(0, 10, step)).ratings)
    bars = list(found.bars(values))
    assert [bar[:2] for bar in bars] == [(k, k + 1 - step) for k in range(9)] + [(9, 10)]
    assert [bar[2] for bar in bars] == np.histogram(values, 10, (0, 10))[0].tolist()


def test_levels_that_nobody_gave_have_a_bar():
    found = Feedback(made(np.full(len(USERS), 2.0), scale=Scale(1, 3, 1)).ratings)
    assert list(found.bars(np.array([2.0, 2.0]))) == [(1, 1, 0), (2, 2, 2), (3, 3, 0)]


def test_an_export_of_ratings_becomes_likes():
    data = made(COUNTS, feedback="implicit")
    found = read_export(
        "Name,Rating\nArtist 1,5\nArtist 2,4\nArtist 3,3.5\nArtist 4,\n", data, TitleIndex(data.catalog)
    )
    assert [(one.title, one.rating) for one in found.ratings] == [("Artist 1", None), ("Artist 2", None)]
    assert found.n_unrated == 2
