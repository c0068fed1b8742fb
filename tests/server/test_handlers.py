"""The responses of the service are those of the library."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prefmover import Recommender
from prefmover.data.ratings import one_user
from prefmover.errors import InputError
from prefmover.measures import MEASURES, pairwise
from prefmover.server.handlers.overview import get_model
from prefmover.server.handlers.recommend import get_recommendations
from prefmover.server.schemas.requests import RecommendationsFor
from prefmover.server.served import ServedModel
from tests.messages import unnamed
from tests.server.conftest import HOSTILE, ask, get, is_problem, small_data

RATINGS = {"alien-1979": 5.0, "the-thing-1982": 4.5, "fargo-1996": 2.0, "amelie-2001": 3.0}


@pytest.fixture(scope="module")
def user(data):
    return data.ratings.users[3]


@pytest.fixture(scope="module")
def other(data):
    return data.ratings.users[11]


BODY = {"ratings": [{"item": item, "rating": r} for item, r in RATINGS.items()]}


@pytest.fixture(scope="module", params=["user", "guest"])
def person(request, model, user):
    """A person in the library, and in the body of a request."""
    return (user, {"user": user}) if request.param == "user" else (model.guest(RATINGS), BODY)


def without_groups(explanation):
    """Return what an explanation has in common with the library's."""
    return {name: value for name, value in explanation.items() if name not in ("items", "nearer_than")}


def as_json(content):
    return json.loads(json.dumps(content))


def test_health(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_model(client, data):
    answer, ratings = get(client, "model"), data.ratings
    for name in ("n_users", "n_items", "n_ratings"):
        assert answer[name] == getattr(ratings, name)
    assert answer["scale"] == {"lowest": 1.0, "highest": 5.0, "step": 0.5}
    assert (answer["measure"], answer["value_name"]) == ("pmd", "distance")
    assert answer["geometry"] == data.geometry.name
    assert answer["item_noun"] == "film"
    rows = [(row.name, row.label, row.summary, row.value_name) for row in MEASURES.values()]
    assert [tuple(row.values()) for row in answer["measures"]] == rows


def test_users_whose_id_begins_with_a_text_come_first(client, data):
    everyone = get(client, "users", limit=200)
    assert [user["id"] for user in everyone["users"]] == data.ratings.users.tolist()
    ids = [user["id"] for user in get(client, "users", q="AN", limit=200)["users"]]
    begin = [id_ for id_ in ids if id_.startswith("an")]
    assert begin
    assert ids == begin + [id_ for id_ in ids if not id_.startswith("an")]
    assert set(ids) == {id_ for id_ in data.ratings.users.tolist() if "an" in id_}


def test_pages_join_up(client):
    whole = get(client, "users", limit=50)["users"]
    pages = [get(client, "users", offset=k, limit=10) for k in range(0, 50, 10)]
    assert [user for page in pages for user in page["users"]] == whole
    assert {page["total"] for page in pages} == {80}
    assert get(client, "users", offset=10**6)["users"] == []


def test_a_user_with_ratings(client, data, user):
    answer = get(client, f"users/{user}", limit=200)
    ratings = data.ratings[user]
    assert {row["item"]: row["rating"] for row in answer["ratings"]} == ratings
    assert [row["rating"] for row in answer["ratings"]] == sorted(ratings.values(), reverse=True)
    assert math.isclose(sum(row["share"] for row in answer["ratings"]), 1.0)
    assert math.isclose(answer["mean_rating"], sum(ratings.values()) / len(ratings))
    assert answer["n_ratings"] == len(ratings)
    labels = [data.catalog.label(data.ratings.item_position(row["item"])) for row in answer["ratings"]]
    assert [row["title"] for row in answer["ratings"]] == labels


def test_items_with_most_ratings_first(client, data):
    items = get(client, "items", limit=200)["items"]
    counts = [item["n_ratings"] for item in items]
    assert counts == sorted(counts, reverse=True)
    rated = data.ratings.to_arrow().to_pydict()["item"]
    assert all(rated.count(item["id"]) == item["n_ratings"] for item in items[:20])


def test_search_ignores_accents_and_case(client):
    items = get(client, "items", q="AMELIE")["items"]
    assert [item["title"] for item in items] == ["Amélie (2001)"]


def test_a_title_stays_text(client):
    items = get(client, "items", q="<script>")["items"]
    assert [(item["id"], item["title"]) for item in items] == [("alien-1979", HOSTILE)]


def test_near_items(client, data):
    answer = get(client, "items/aliens-1986/near", k=7)
    assert [(row["item"], row["distance"]) for row in answer["near"]] == data.geometry.near("aliens-1986", 7)
    position = data.geometry.item_position
    for row in answer["near"]:
        similarity = data.geometry.similarity([position("aliens-1986")], [position(row["item"])])[0, 0]
        assert row["similarity"] == similarity


def test_neighbors(client, model, data, person):
    one, body = person
    answer = ask(client, "neighbors", **body, k=12)
    rated = RATINGS.keys() if "ratings" in body else data.ratings[one].keys()
    rows = [(row["user"], row["distance"], row["n_common"]) for row in answer["neighbors"]]
    assert rows == [
        (near.user, near.distance, len(rated & data.ratings[near.user].keys()))
        for near in model.neighbors(one, 12)
    ]
    assert all("similarity" not in row for row in answer["neighbors"])
    assert answer["measure"] == "pmd"
    assert answer["user"] == body.get("user", "guest")


def told(why, body):
    """The sentences about a user, or to a guest, in parts."""
    return [[as_json(part._asdict()) for part in parts] for parts in why.told(body.get("user"))]


def test_recommendations(client, model, person):
    one, body = person
    answer, library = ask(client, "recommendations", **body, n=6), model.recommend(one, 6)
    assert answer["user"] == library.user
    for row, expected in zip(answer["recommendations"], library, strict=True):
        assert {key: row[key] for key in row if key != "why"} == expected.to_dict()
        assert row["why"].pop("told") == told(expected.why, body)
        assert row["why"] == as_json(expected.why.to_dict(3))


def test_what_if_ratings_were_not_there(client, model, data, person):
    one, body = person
    rated = list(RATINGS if "ratings" in body else data.ratings[one])
    gone = rated[:2]
    less = model.without(one, gone)
    answer = ask(client, "recommendations", **body, without=gone, n=6)
    assert (
        answer["recommendations"]
        == ask(client, "recommendations", **body, without=gone[::-1], n=6)["recommendations"]
    )
    assert [row["item"] for row in answer["recommendations"]] == [
        row.item for row in model.recommend(less, 6)
    ]
    why = ask(client, "recommendations/why", **body, without=gone, item=gone[0])
    assert why["score"] == model.explain_recommendation(less, gone[0]).score
    assert why["rated"] is None
    wrong = client.post("/api/v1/recommendations", json={**body, "without": ["nothing"]})
    assert "nothing" in is_problem(wrong, 404)
    new = answer["recommendations"][0]["item"]
    wrong = client.post("/api/v1/recommendations", json={**body, "without": [new]})
    assert new in is_problem(wrong, 422)
    assert wrong.json()["reason"] == "not-listed"
    wrong = client.post("/api/v1/recommendations", json={**body, "without": rated})
    assert is_problem(wrong, 422)
    assert wrong.json()["reason"] == "nothing-left"


def test_what_would_change_a_recommendation(client, model, person):
    one, body = person
    item = model.recommend(one, 4)[3].item
    answer = ask(client, "recommendations/counterfactual", **body, item=item, n=4)
    assert answer == as_json(model.counterfactual(one, item, 4).to_dict())
    gone = [part["item"] for part in answer["without"]]
    left = ask(client, "recommendations", **body, without=gone, n=4)["recommendations"]
    assert item not in [row["item"] for row in left]
    assert answer["instead"] in [row["item"] for row in left]
    wrong = client.post("/api/v1/recommendations/counterfactual", json={**body, "item": item})
    assert "place is 4" in is_problem(wrong, 422)
    assert wrong.json()["reason"] == "not-listed"


def test_predictions(client, model, person):
    items, (one, body) = ["heat-1995", "alien-1979", "casablanca-1942"], person
    answer = ask(client, "predictions", **body, items=items)
    fields = ("item", "rating", "baseline", "how", "clipped", "n_neighbors")
    rows = [[row[field] for field in fields] for row in answer["predictions"]]
    library = model.predict([(one, item) for item in items])
    assert rows == [[getattr(found, field) for field in fields] for found in library]
    assert answer["predictions"][1]["title"] == HOSTILE


@pytest.mark.parametrize(
    ("path", "parts", "total"),
    [
        ("recommendations", ("own", "other_own", "neighbors", "other_users"), "score"),
        ("predictions", ("baseline", "contributions", "others"), "total"),
    ],
)
def test_why(client, model, person, path, parts, total):
    one, body = person
    item = model.recommend(one, 1)[0].item
    answer = ask(client, f"{path}/why", **body, item=item)
    explain = model.explain_recommendation if path == "recommendations" else model.explain_rating
    if path == "recommendations":
        assert answer.pop("told") == told(explain(one, item), body)
    assert answer == as_json(explain(one, item).to_dict(20))
    terms = [term for name in parts for term in np.atleast_1d(answer[name])]
    assert math.isclose(sum(term["value"] for term in terms), answer[total], abs_tol=1e-9)


def test_two_users_explained(client, model, person, other):
    one, body = person
    answer = ask(client, "explanations", **body, other=other)
    assert without_groups(answer) == as_json(model.explain(one, other).to_dict())
    assert math.isclose(sum(flow["mass"] for flow in answer["flows"]), 1.0, rel_tol=1e-12)
    assert math.isclose(sum(flow["value"] for flow in answer["flows"]), answer["distance"], rel_tol=1e-12)
    assert abs(answer["certificate"]["gap"]) < 1e-9
    assert "similarity" not in answer


def test_a_user_and_the_same_user(client, user):
    answer = ask(client, "explanations", user=user, other=user)
    assert answer["distance"] == 0
    assert sum(flow["share"] for flow in answer["flows"]) == 0
    assert math.isclose(answer["common_share"], 1.0)


def same_measures(answer, data, u, v):
    assert [row["name"] for row in answer["measures"]] == [
        r.name for r in MEASURES.values() if not r.extension
    ]
    for row in answer["measures"]:
        value = pairwise(data, row["name"], users=[u], others=[v])[0, 0]
        assert row["value"] == (None if math.isnan(value) else value)
        assert (row["reason"] is None) == (row["value"] is not None)


def test_all_measures(client, data, user, other):
    same_measures(ask(client, "comparison", user=user, other=other), data, user, other)


def test_all_measures_of_a_user_and_the_same_user(client, user):
    answer = ask(client, "comparison", user=user, other=user)
    assert next(row["value"] for row in answer["measures"] if row["name"] == "pmd") == 0


def test_all_measures_without_anything_in_common(client, data):
    ratings = data.ratings
    items = ratings.items[ratings.matrix.sum(axis=0) == 0][:2].tolist()
    assert items, "an item without ratings"
    user = ratings.users[0]
    body = {"ratings": [{"item": item, "rating": 4} for item in items], "other": user}
    answer = ask(client, "comparison", **body)
    assert answer["n_common"] == 0
    undefined = {row["name"]: row["reason"] for row in answer["measures"] if row["value"] is None}
    assert set(undefined) == {row.name for row in MEASURES.values() if row.needs_overlap}
    assert all(undefined.values())
    guest = one_user(ratings, "guest", ratings.item_positions(items), ratings.matrix.data[:2] * 0 + 4)
    same_measures(answer, data.with_ratings(ratings.stack(guest)), "guest", user)


def test_the_order_of_a_guests_ratings_does_not_matter(client):
    turned = {"ratings": BODY["ratings"][::-1]}
    assert ask(client, "neighbors", **BODY) == ask(client, "neighbors", **turned)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({}, ["user", "ratings"]),
        ({"user": "ada-b", **BODY}, ["user", "ratings"]),
        ({"user": None}, ["user"]),
        ({"ratings": None}, ["ratings"]),
        ({"user": None, **BODY}, ["user"]),
    ],
    ids=["nobody", "both", "no user", "no ratings", "a guest without id"],
)
def test_a_person_is_a_user_or_a_guest(client, wrong, named):
    assert not unnamed(is_problem(client.post("/api/v1/neighbors", json=wrong), 422), *named)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("users/nobody", None),
        ("items/nobody", None),
        ("items/nobody/near", None),
        ("neighbors", {"user": "nobody"}),
        ("recommendations", {"user": "nobody"}),
        ("predictions", {"user": "ada-b", "items": ["nobody"]}),
        ("recommendations/why", {"user": "ada-b", "item": "nobody"}),
        ("explanations", {"user": "ada-b", "other": "nobody"}),
    ],
)
def test_unknown_ids(client, path, body):
    response = client.request("POST" if body else "GET", f"/api/v1/{path}", json=body)
    assert "'nobody'" in is_problem(response, 404)


def test_a_misspelled_id_gets_a_hint(client, user):
    assert repr(user) in is_problem(client.get(f"/api/v1/users/{user}x"), 404)


def test_a_rating_beyond_the_scale(client):
    response = client.post("/api/v1/neighbors", json={"ratings": [{"item": "alien-1979", "rating": 9}]})
    assert not unnamed(is_problem(response, 422), 9, 1, 5)


def test_nothing_is_left_for_a_user_who_has_rated_everything():
    data = small_data(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4], [[1, 0], [1, 0.5]])
    served = ServedModel(Recommender(n_threads=1).fit(data))
    everything = [{"item": "x", "rating": 4.0}, {"item": "y", "rating": 5.0}]
    for person in ({"user": "ann"}, {"ratings": everything}):
        assert get_recommendations(served, RecommendationsFor(**person, n=5)).recommendations == []


def test_an_item(client, data):
    answer, ratings = get(client, "items/heat-1995"), data.ratings.to_arrow().to_pydict()
    given = [r for item, r in zip(ratings["item"], ratings["rating"], strict=True) if item == "heat-1995"]
    assert (answer["id"], answer["title"], answer["year"]) == ("heat-1995", "Heat (1995)", 1995)
    assert answer["genres"] == list(data.catalog.genres[data.ratings.item_position("heat-1995")])
    counts = {row["rating"]: row["count"] for row in answer["ratings"]}
    assert counts == {rating: given.count(rating) for rating in np.arange(1, 5.5, 0.5)}
    assert list(counts) == sorted(counts)
    assert answer["n_ratings"] == len(given)
    assert math.isclose(answer["mean_rating"], sum(given) / len(given))


def test_recommendations_for_several_users(client, user, other):
    single = [ask(client, "recommendations", user=one, n=4) for one in (other, user)]
    assert ask(client, "batch/recommendations", users=[other, user], n=4) == {"users": single}


@pytest.mark.parametrize("combine", ["mean", "least"])
def test_recommendations_for_a_group(client, model, user, other, combine):
    found = ask(client, "group/recommendations", users=[user, other], n=3, combine=combine)
    assert found == as_json(model.recommend_group([user, other], 3, combine=combine).to_dict())


@pytest.mark.parametrize("path", ["group/recommendations", "group/neighbors"])
def test_groups_have_several_users(client, user, path):
    for users, status in (([user, "nobody"], 404), ([user], 422), ([user] * 2, 422)):
        is_problem(client.post(f"/api/v1/{path}", json={"users": users}), status)


def test_neighbors_of_a_group(client, model, data, user, other):
    found = ask(client, "group/neighbors", users=[user, other], k=4)["neighbors"]
    near = model.group_neighbors([user, other], 4)
    assert [(one["user"], one["distance"]) for one in found] == [(one.user, one.value) for one in near]
    both = data.ratings[user].keys() | data.ratings[other].keys()
    assert found[0]["n_common"] == len(data.ratings[near[0].user].keys() & both)


def test_one_unknown_user_of_several(client, user):
    response = client.post("/api/v1/batch/recommendations", json={"users": [user, "nobody"]})
    assert "'nobody'" in is_problem(response, 404)


def test_equal_guests_are_computed_once_even_at_the_same_time(model):
    """The explorer sends several requests about the same ratings at once."""
    begun, go_on, calls = threading.Semaphore(0), threading.Event(), []

    class Slow:
        def __getattr__(self, name):
            return getattr(model, name)

        def guest(self, ratings, name):
            calls.append(ratings)
            begun.release()
            assert go_on.wait(30)
            return model.guest(ratings, name=name)

    handlers = ServedModel(model)
    handlers.model = Slow()
    key = (("alien-1979", 5.0), ("heat-1995", 2.0))
    with ThreadPoolExecutor(3) as pool:
        states = [pool.submit(handlers.guest, key) for _ in range(3)]
        assert begun.acquire(timeout=30)
        go_on.set()
        assert len({id(state.result(30)) for state in states}) == 1
    assert len(calls) == 1


def test_a_guest_that_is_refused_is_not_remembered(handlers):
    for _ in range(2):
        with pytest.raises(InputError):
            handlers.guest((("no such film", 5.0),))
    assert (("no such film", 5.0),) not in handlers._guests


def test_nouns_are_those_of_the_data_unless_others_are_given():
    data = small_data(["ann", "bob"], ["x", "y"], [5, 3], [[1, 0], [1, 0.5]])
    named = type(data)(data.ratings, data.geometry, user_noun="listener", item_noun="song")
    model = Recommender(n_threads=1).fit(named)
    found, other = (get_model(ServedModel(model, "", *nouns)) for nouns in ((), ("tune", "fan")))
    assert (found.user_noun, found.item_noun) == ("listener", "song")
    assert (other.user_noun, other.item_noun) == ("fan", "tune")


def test_choices_of_recommendations(client, model, user):
    """Every option reaches the model, for a user, for a guest, and for several users."""
    where = ["genre=Horror|Comedy", "year>=1980"]
    some = [one.item for one in model.recommend(user, 60)]
    options = {"n": 4, "min_ratings": 2, "novelty": 0.5, "diversify": 0.2}
    expected = model.recommend(
        user,
        where={"genre": ["Horror", "Comedy"], "year": (1980, None)},
        items=some,
        exclude=some[:3],
        **options,
    )
    sent = {"where": where, "items": some, "exclude": some[:3], **options}
    answer = ask(client, "recommendations", user=user, **sent)
    assert [one["item"] for one in answer["recommendations"]] == [one.item for one in expected]
    assert [one["n_ratings"] for one in answer["recommendations"]] == [one.n_ratings for one in expected]
    assert ask(client, "batch/recommendations", users=[user], **sent)["users"][0] == answer
    seen = model.recommend(model.guest(RATINGS), 3, items=list(RATINGS), seen=True, by="rating")
    answer = ask(client, "recommendations", **BODY, items=list(RATINGS), seen=True, by="rating", n=3)
    assert [one["item"] for one in answer["recommendations"]] == [one.item for one in seen]


@pytest.mark.parametrize(
    ("parameters", "status", "named", "reason"),
    [
        ({"where": ["color=red"]}, 422, "'color'", "unreadable"),
        ({"where": ["horror"]}, 422, "'horror'", "unreadable"),
        ({"where": ["year=1700"]}, 422, "where", "nothing-left"),
        ({"min_ratings": 10**6}, 422, "min_ratings", "nothing-left"),
        ({"items": ["no-such-film"]}, 404, "'no-such-film'", None),
        ({"exclude": ["no-such-film"]}, 404, "'no-such-film'", None),
        ({"novelty": 2}, 422, "novelty", None),
        ({"n": 0}, 422, "n", None),
    ],
)
def test_bad_choices_of_recommendations(client, user, parameters, status, named, reason):
    response = client.post("/api/v1/recommendations", json={"user": user, **parameters})
    assert is_problem(response, status)
    assert named in response.text
    assert response.json().get("reason") == reason
