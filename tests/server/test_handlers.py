"""What the service answers is what the library answers."""

import math

import pytest

from prefmover import ItemGeometry, Ratings, UserKNN
from prefmover.measures import MEASURES, similarities
from prefmover.measures.pmd import pmd
from prefmover.predict.similarity import stacked
from prefmover.server.handlers import Answers
from prefmover.server.workers import Budget
from tests.messages import unnamed
from tests.server.conftest import HOSTILE, is_problem

RATINGS = {"alien-1979": 5.0, "the-thing-1982": 4.5, "fargo-1996": 2.0, "amelie-2001": 3.0}
USER, OTHER = "ada-b", "aiko-h"


@pytest.fixture(scope="module")
def user(model):
    return model.ratings_.users[3]


@pytest.fixture(scope="module")
def other(model):
    return model.ratings_.users[11]


@pytest.fixture(scope="module")
def given(model):
    return {item: r for item, r in RATINGS.items() if item in set(model.ratings_.items.tolist())}


@pytest.fixture(scope="module")
def guest(model, given):
    return model.for_ratings(given, name="guest")


@pytest.fixture(scope="module")
def body(given):
    return {"ratings": [{"item": item, "rating": r} for item, r in given.items()]}


def get(client, path, **parameters):
    answer = client.get(f"/api/v1/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client, path, body):
    answer = client.post(f"/api/v1/guest/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_health(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_model(client, model):
    found = get(client, "model")
    r = model.ratings_
    assert (found["n_users"], found["n_items"], found["n_ratings"]) == (r.n_users, r.n_items, r.n_ratings)
    assert found["scale"] == {"lowest": 1.0, "highest": 5.0, "step": 0.5}
    assert found["measure"] == "pmd"
    assert found["geometry"] == model.geometry_.name
    assert [row["name"] for row in found["measures"]] == list(MEASURES)


def test_users_are_found_by_beginning_then_by_part(client, model):
    everyone = get(client, "users", limit=200)
    assert [user["id"] for user in everyone["users"]] == model.ratings_.users.tolist()
    found = [user["id"] for user in get(client, "users", q="AN", limit=200)["users"]]
    begin = [id_ for id_ in found if id_.startswith("an")]
    assert begin
    assert found == begin + [id_ for id_ in found if not id_.startswith("an")]
    assert set(found) == {id_ for id_ in model.ratings_.users.tolist() if "an" in id_}


def test_pages_join_up(client):
    whole = get(client, "users", limit=50)["users"]
    parts = [get(client, "users", offset=k, limit=10) for k in range(0, 50, 10)]
    assert [user for part in parts for user in part["users"]] == whole
    assert {part["total"] for part in parts} == {80}
    assert get(client, "users", offset=10**6)["users"] == []


def test_a_user_with_ratings(client, model, user, labels):
    found = get(client, f"users/{user}", limit=200)
    given = model.ratings_[user]
    assert {row["item"]["id"]: row["rating"] for row in found["ratings"]} == given
    assert [row["rating"] for row in found["ratings"]] == sorted(given.values(), reverse=True)
    assert math.isclose(sum(row["share"] for row in found["ratings"]), 1.0)
    assert math.isclose(found["mean_rating"], sum(given.values()) / len(given))
    assert all(row["item"]["title"] == labels[row["item"]["id"]] for row in found["ratings"])


def test_items_most_rated_first(client, model):
    found = get(client, "items", limit=200)["items"]
    counts = [item["n_ratings"] for item in found]
    assert counts == sorted(counts, reverse=True)
    raters = model.ratings_.to_frame().to_pydict()["item"]
    assert all(raters.count(item["id"]) == item["n_ratings"] for item in found[:20])


def test_items_are_found_without_accents_and_case(client):
    found = get(client, "items", q="AMELIE")["items"]
    assert [item["title"] for item in found] == ["Amélie (2001)"]


def test_a_title_stays_text(client):
    found = get(client, "items", q="<script>")["items"]
    assert [(item["id"], item["title"]) for item in found] == [("alien-1979", HOSTILE)]


def test_items_near_an_item(client, model):
    found = get(client, "items/aliens-1986/near", k=7)
    library = model.geometry_.near("aliens-1986", 7)
    assert [(row["item"]["id"], row["distance"]) for row in found["near"]] == library
    place = model.geometry_.item_index
    for row in found["near"]:
        s = model.geometry_.similarity([place("aliens-1986")], [place(row["item"]["id"])])[0, 0]
        assert row["similarity"] == s


def same_neighbors(found, library, common):
    assert [(row["user"]["id"], row["distance"]) for row in found["neighbors"]] == [tuple(n) for n in library]
    assert [row["n_common"] for row in found["neighbors"]] == [common(n.id) for n in library]


def test_neighbors(client, model, user):
    of = model.ratings_.of
    found = get(client, f"users/{user}/neighbors", k=12)
    same_neighbors(found, model.neighbors(user, 12), lambda id_: len(of(user).keys() & of(id_).keys()))
    assert found["measure"] == "pmd"
    assert found["user"] == {"id": user, "label": user, "n_ratings": len(of(user))}


def test_neighbors_of_a_guest(client, model, guest, body, given):
    of = model.ratings_.of
    found = post(client, "neighbors", body | {"k": 12})
    same_neighbors(found, guest.neighbors(12), lambda id_: len(given.keys() & of(id_).keys()))
    assert found["user"] == {"id": "guest", "label": "You", "n_ratings": len(given)}


def speaking_for(neighbors):
    return sorted(neighbors, key=lambda part: (part.value <= 0, -abs(part.value)))


def same_recommendations(found, library, explain):
    rows = found["recommendations"]
    assert [(row["item"]["id"], row["rating"]) for row in rows] == [(p.item, p.rating) for p in library]
    for row, p in zip(rows, library, strict=True):
        assert row["fallback"] is None
        whole = explain(p.item)
        top = speaking_for(whole.neighbors)[:3]
        for reason, part in zip(row["reasons"], top, strict=True):
            assert (reason["user"]["id"], reason["rating"]) == (part.user, part.rating)
            assert math.isclose(reason["contribution"], part.value, rel_tol=1e-4, abs_tol=1e-6)
            assert math.isclose(reason["weight"], part.weight, rel_tol=1e-4, abs_tol=1e-6)
            assert math.isclose(reason["distance"], part.distance, rel_tol=1e-12)
            spoken = [(t["item"]["id"], t["rating"]) for t in reason["through"]]
            assert spoken == [(t.item, t.rating) for t in whole.through[part.user]]


def test_recommendations(client, model, user):
    found = get(client, f"users/{user}/recommendations", n=6)
    same_recommendations(
        found, model.recommend(user, 6), lambda item: model.explain_recommendation(user, item)
    )


def test_recommendations_for_a_guest(client, guest, body):
    found = post(client, "recommendations", body | {"n": 6})
    same_recommendations(found, guest.recommend(6), guest.explain_recommendation)


def same_predictions(found, library):
    assert [
        (row["item"]["id"], row["rating"], row["clipped"], row["n_neighbors"]) for row in found["predictions"]
    ] == [(p.item, p.rating, p.clipped, p.n_neighbors) for p in library]


def test_predictions(client, model, user, guest, body):
    items = ["heat-1995", "alien-1979", "casablanca-1942"]
    items = [item for item in items if item in model.ratings_.items.tolist()]
    found = get(client, f"users/{user}/predictions", items=items)
    same_predictions(found, model.predict([(user, item) for item in items]))
    same_predictions(post(client, "predictions", body | {"items": items}), guest.predict(items))


def same_explanation(found, library):
    assert math.isclose(sum(part["value"] for part in found["parts"]), library.total, abs_tol=1e-9)
    assert found["rating"] == library.prediction.rating
    if not found["clipped"]:
        assert math.isclose(sum(part["value"] for part in found["parts"]), found["rating"], abs_tol=1e-9)
    named = sum(row["contribution"] for row in found["neighbors"])
    neighbors = next(part["value"] for part in found["parts"] if part["name"] == "neighbors")
    assert math.isclose(named + found["others"]["contribution"], neighbors, abs_tol=1e-9)
    assert [row["user"]["id"] for row in found["neighbors"]] == [p.user for p in library.neighbors[:20]]
    assert found["others"]["count"] == len(library.neighbors) - len(found["neighbors"])
    base = {part["name"]: part["value"] for part in found["parts"] if part["name"] != "neighbors"}
    assert base == {part.name: part.value for part in library.base}


def test_what_a_recommendation_is_made_of(client, model, user, guest, body):
    item = model.recommend(user, 1)[0].item
    found = get(client, f"users/{user}/recommendations/{item}")
    same_explanation(found, model.explain_recommendation(user, item))
    found = post(client, "recommendations/explain", body | {"item": item})
    same_explanation(found, guest.explain_recommendation(item))


def same_plan(found, library, mine, theirs):
    assert found["distance"] == library.distance
    assert [
        (f["source"]["id"], f["target"]["id"], f["mass"], f["distance"], f["share"]) for f in found["flows"]
    ] == [tuple(flow) for flow in library.flows]
    assert math.isclose(sum(f["mass"] for f in found["flows"]), 1.0, rel_tol=1e-12)
    assert math.isclose(sum(f["share"] for f in found["flows"]), 1.0, rel_tol=1e-12)
    assert math.isclose(sum(f["cost"] for f in found["flows"]), found["distance"], rel_tol=1e-12)
    assert abs(found["certificate"]["gap"]) < 1e-9
    assert found["n_common"] == len(mine.keys() & theirs.keys())
    stays = {f["source"]["id"]: f["mass"] for f in found["flows"] if f["source"] == f["target"]}
    assert {s["item"]["id"]: s["mass"] for s in found["shared"]} == stays
    for side, given in (("source_items", mine), ("target_items", theirs)):
        assert {row["item"]["id"]: row["rating"] for row in found[side]} == given
        assert math.isclose(sum(row["mass"] for row in found[side]), 1.0)


def test_why_two_users_are_near(client, model, user, other):
    found = get(client, "explanations", user=user, other=other)
    of = model.ratings_.of
    same_plan(found, pmd(model.ratings_, model.geometry_, user, other), of(user), of(other))


def test_why_a_guest_is_near(client, model, guest, body, given, other):
    both = stacked(model.ratings_, guest.ratings)
    same_plan(
        post(client, "explanations", body | {"other": other}),
        pmd(both, model.geometry_, "guest", other),
        given,
        model.ratings_[other],
    )


def test_a_user_and_themselves(client, user):
    found = get(client, "explanations", user=user, other=user)
    assert found["distance"] == 0
    assert sum(f["share"] for f in found["flows"]) == 0
    assert math.isclose(sum(s["mass"] for s in found["shared"]), 1.0)


def same_measures(found, ratings, geometry, u, v):
    assert [row["name"] for row in found["measures"]] == list(MEASURES)
    for row in found["measures"]:
        value = similarities(ratings, row["name"], geometry=geometry, users=[u], others=[v])[0, 0]
        assert row["defined"] == (not math.isnan(value))
        assert row["value"] == (None if math.isnan(value) else value)
        assert (row["why"] is None) == row["defined"]


def test_all_measures(client, model, user, other):
    found = get(client, "comparison", user=user, other=other)
    same_measures(found, model.ratings_, model.geometry_, user, other)


def test_all_measures_without_anything_in_common(client, model):
    items = model.ratings_.items[model.ratings_.matrix.sum(axis=0) == 0][:2].tolist()
    assert items, "an item that nobody has rated"
    user = model.ratings_.users[0]
    body = {"ratings": [{"item": item, "rating": 4} for item in items], "other": user}
    found = post(client, "comparison", body)
    assert found["n_common"] == 0
    undefined = {row["name"]: row["why"] for row in found["measures"] if not row["defined"]}
    assert set(undefined) == {row.name for row in MEASURES.values() if row.needs_overlap}
    assert all(undefined.values())
    guest = model.for_ratings(dict.fromkeys(items, 4.0), name="guest")
    same_measures(found, stacked(model.ratings_, guest.ratings), model.geometry_, "guest", user)


def test_order_of_a_guests_ratings_does_not_matter(client, body):
    turned = {"ratings": body["ratings"][::-1]}
    assert post(client, "neighbors", body) == post(client, "neighbors", turned)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("users/nobody", "'nobody'"),
        ("users/nobody/neighbors", "'nobody'"),
        ("users/nobody/recommendations", "'nobody'"),
        ("items/nothing/near", "'nothing'"),
        ("explanations?user=nobody&other=nobody", "'nobody'"),
    ],
)
def test_unknown_ids(client, path, what):
    assert what in is_problem(client.get(f"/api/v1/{path}"), 404)


def test_a_misspelt_id_gets_a_hint(client, user):
    assert repr(user) in is_problem(client.get(f"/api/v1/users/{user}x"), 404)


def test_a_rating_beyond_the_scale(client):
    answer = client.post("/api/v1/guest/neighbors", json={"ratings": [{"item": "alien-1979", "rating": 9}]})
    assert not unnamed(is_problem(answer, 422), 9, 1, 5)


def test_nothing_is_left_for_somebody_who_has_rated_everything():
    ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4])
    geometry = ItemGeometry.from_vectors(["x", "y"], [[1, 0], [1, 0.5]])
    made = Answers(UserKNN(n_jobs=1).fit(ratings, geometry), "two", {})
    assert made.recommendations("ann", 5, Budget(60)).recommendations == []
    assert made.recommendations((("x", 4.0), ("y", 5.0)), 5, Budget(60)).recommendations == []
