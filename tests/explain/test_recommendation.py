"""The explanation of a recommendation as plain data, frame and text."""

import json
import math
from dataclasses import replace

import pytest

from prefmover.explain import RecommendationExplanation
from prefmover.explain.recommendation import NeighborRating, Others, OwnRating
from tests.messages import unnamed

OWN = (
    OwnRating("aliens", "Aliens", 5.0, 0.5, 0.2, 12, 2.0),
    OwnRating("heat", "Heat <1995>", 4.0, 0.25, None, 0, 0.0),
    OwnRating("thing", "The Thing", 4.0, 0.125, 0.4, 3, 1.0),
)
NEIGHBORS = (
    NeighborRating("bob", 5.0, True, 0.5, 0.3, 0.99, 40),
    NeighborRating("cid", 1.0, False, -0.25, 0.35, 0.98, 2, ("Emma", "Clueless")),
    NeighborRating("dot", 4.0, True, 0.125, 0.4, 0.975, 0, (), ("Ronin", "Ran")),
    NeighborRating("eve", 4.0, True, -0.0625, 0.5, 0.9, 7),
    NeighborRating("fay", 3.0, False, 0.03125, 0.5, 0.9, 7),
)


def explanation(**changes):
    likes = [one.likes_it for one in changes.get("neighbors", NEIGHBORS)]
    whole = RecommendationExplanation(
        user="ann",
        item="alien",
        label="Alien",
        item_side=1.5,
        user_side=0.25,
        rating=4.25,
        n_ratings=30,
        n_likes=20,
        rated=None,
        own=OWN,
        other_own=Others(7, 0.625),
        n_like_minded=20,
        n_for=sum(likes),
        n_against=len(likes) - sum(likes),
        neighbors=NEIGHBORS,
        other_users=Others(70, -0.09375),
    )
    return replace(whole, **changes)


def total(content):
    parts = (*content["own"], content["other_own"], *content["neighbors"], content["other_users"])
    return math.fsum(part["value"] for part in parts)


@pytest.mark.parametrize("n", [None, 0, 1, 2, 100])
def test_listed_parts_and_the_others_add_up(n):
    content = json.loads(json.dumps(explanation().to_dict(n), allow_nan=False))
    assert total(content) == content["score"] == 1.75
    assert len(content["own"]) + content["other_own"]["count"] == 10
    assert len(content["neighbors"]) + content["other_users"]["count"] == 75
    assert [one["user"] for one in content["neighbors"]] == [one.user for one in NEIGHBORS[:n]]


def test_for_and_against():
    why = explanation()
    assert [one.user for one in why.in_favor] == ["bob", "dot", "eve"]
    assert [one.user for one in why.against] == ["cid", "fay"]
    content = why.to_dict(1)
    assert (content["n_for"], content["n_against"], content["n_like_minded"]) == (3, 2, 20)
    assert content["strongest_against"]["user"] == "cid"
    assert content["strongest_against"]["distance"] == 0.35
    assert explanation(neighbors=NEIGHBORS[:1]).to_dict()["strongest_against"] is None


def test_more_people_than_are_named():
    content = explanation(neighbors=NEIGHBORS[:1], n_for=9, n_against=4).to_dict()
    assert (content["n_for"], content["n_against"], content["strongest_against"]) == (9, 4, None)
    assert not unnamed(explanation(neighbors=NEIGHBORS[:2], n_for=9, n_against=4).reasons[2], 9, 4, "cid")


def test_estimates_are_called_so():
    exact, estimated = (explanation(estimated=some) for some in (False, True))
    assert [one.to_dict()["nearer_than_is_estimated"] for one in (exact, estimated)] == [False, True]
    assert "about 97%" in estimated.reasons[1]
    assert "about" not in " ".join((*exact.reasons, str(exact)))
    assert str(estimated).count("about") == len(NEIGHBORS)


@pytest.mark.parametrize(("value", "name"), [(None, "distance"), (math.nan, "similarity")])
def test_a_value_that_is_left_out_or_undefined(value, name):
    only = (NEIGHBORS[0]._replace(measure_value=value),)
    row = explanation(neighbors=only, value_name=name).to_dict()["neighbors"][0]
    assert row[name] is None
    assert not {"similarity", "distance"} - {name} & row.keys()


def test_frame():
    frame = explanation().to_arrow()
    assert frame.column_names == ["kind", "name", "rating", "value"]
    assert frame.num_rows == 3 + 1 + 5 + 1
    assert sum(frame["value"].to_pylist()) == 1.75


def test_sentences():
    own, people, counts = explanation().reasons
    assert not unnamed(own, "Aliens", 5, "Heat <1995>", 4)
    assert "The Thing" not in own
    assert not unnamed(people, "bob", "dot", "97%", 5, 4)  # the percentile holds for both
    assert "cid" not in people
    assert not unnamed(counts, 20, 3, 2, "cid", 1)


def test_who_is_named_gave_what_is_said():
    first, second = NEIGHBORS[2]._replace(rating=3.5, value=0.9), NEIGHBORS[0]
    people = explanation(neighbors=(first, second)).reasons[1]
    assert people.index("dot") < people.index("bob")
    assert people.index("3.5") < people.rindex("5")
    assert not unnamed(people, "Ran", "Ronin")


def test_little_in_common_is_named():
    some = NEIGHBORS[1]._replace(likes_it=True, value=0.3)
    assert not unnamed(explanation(neighbors=(some,)).reasons[1], "Emma", "Clueless")


def test_nobody_against():
    own, people = explanation(neighbors=NEIGHBORS[:1]).reasons
    assert not unnamed(own, "Aliens")
    assert not unnamed(people, "bob")
    assert explanation(neighbors=()).reasons == (own,)
    only_against = explanation(own=(), neighbors=NEIGHBORS[1:2]).reasons
    assert len(only_against) == 1
    assert not unnamed(only_against[0], 0, 1, "cid")


def test_without_reasons():
    (only,) = explanation(own=(), neighbors=()).reasons
    assert not unnamed(only, 20, 30)
    (only,) = explanation(own=(), neighbors=(), n_ratings=0, n_likes=0).reasons
    assert only


def test_implicit_feedback_has_no_stars():
    liked = tuple(one._replace(likes_it=True) for one in NEIGHBORS)
    why = explanation(implicit=True, rating=None, neighbors=liked)
    own, people = why.reasons
    assert not unnamed(own, "Aliens", "Heat <1995>")
    assert not unnamed(people, "bob")
    sentences = " ".join((*why.reasons, str(why)))
    assert "gave" not in sentences
    assert "rating" not in sentences


def test_lines():
    why = explanation()
    lines = why.lines(2)
    assert len(lines) == 1 + (2 + 1) + (2 + 1) + 1
    assert not unnamed(lines[0], "Alien", "ann", "1.750", "4.25")
    assert not unnamed(lines[3], "+0.750", 8)
    assert not unnamed(lines[6], 20, 73, 3, 2)
    assert not unnamed(lines[-1], "1.750", "1.500", "0.250")
    assert len(str(why).splitlines()) == 1 + 4 + 6 + 1


def test_html_is_escaped():
    html = explanation()._repr_html_()
    assert "Heat &lt;1995&gt;" in html
    assert "Heat <1995>" not in html
    assert html.count("<tr>") == 1 + 4 + 6 + 1
