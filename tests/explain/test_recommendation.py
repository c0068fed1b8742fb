"""The explanation of a recommendation as plain data, frame and text."""

import json
import math
from dataclasses import replace

import pytest

from prefmover import Scale
from prefmover.explain import RecommendationExplanation
from prefmover.explain.recommendation import NeighborRating, Others, OwnRating
from prefmover.explain.words import Words
from tests.messages import unnamed

OWN = (
    OwnRating("aliens", "Aliens", 5.0, 0.5, 0.2, 12, 2.0),
    OwnRating("heat", "Heat <1995>", 4.0, 0.25, None, 0, 0.0),
    OwnRating("thing", "The Thing", 4.0, 0.125, 0.4, 3, 1.0),
)
NEIGHBORS = (
    NeighborRating("bob", 5.0, True, 0.5, 0.3, 0.99, 40, ("Emma", "Emma")),
    NeighborRating("cid", 1.0, False, -0.25, 0.35, 0.98, 2),
    NeighborRating("dot", 4.0, True, 0.125, 0.4, 0.975, 0, ("Ronin", "Ran")),
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
        because=OWN[:2],
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
    assert not unnamed(explanation(neighbors=NEIGHBORS[:2], n_for=9, n_against=4).reasons[2], 9, 4, 20)


def test_estimates_are_called_so():
    exact, estimated = (explanation(estimated=some) for some in (False, True))
    assert [one.to_dict()["nearer_than_is_estimated"] for one in (exact, estimated)] == [False, True]
    assert "about" not in str(exact)
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


def named_in(why):
    """The ids of items and of users that the sentences name, one sentence after the other."""
    return [[part.item or part.user for part in one if part.item or part.user] for one in why.told()]


def test_sentences():
    why = explanation()
    assert named_in(why) == [["aliens", "heat"], ["bob"], []]
    own, person, counts = why.reasons
    assert not unnamed(own, 5, 4)
    assert not unnamed(person, "Emma", 5)
    assert not unnamed(counts, 20, 3, 2)
    content = why.to_dict()
    assert [one["item"] for one in content["because"]] == ["aliens", "heat"]
    assert (content["person"]["user"], content["weak"]) == ("bob", False)


def test_they_are_told_about_somebody_else():
    why = explanation()
    assert all("you" in text for text in why.reasons)
    told = ["".join(part.text for part in one) for one in why.told("ann")]
    assert all("ann" in text and "you" not in text for text in told)


def test_the_person_is_connected():
    assert explanation().person.user == "bob"
    loose = NEIGHBORS[0]._replace(alike=None)
    why = explanation(neighbors=(loose, *NEIGHBORS[1:]))
    assert why.person.user == "dot"
    assert not unnamed(why.reasons[1], "Ran", "Ronin", 4)
    assert explanation(neighbors=(loose,)).person is None
    assert (
        explanation(neighbors=(loose,), n_like_minded=1).person == loose
    )  # the only one who is like the user
    middling = NEIGHBORS[0]._replace(rating=3.0)
    assert explanation(neighbors=(middling,)).person is None
    faint = NEIGHBORS[0]._replace(value=1e-4)
    assert explanation(neighbors=(faint,)).person is None


@pytest.mark.parametrize("own", [OWN[0]._replace(related=False), OWN[0]._replace(value=0.01)])
def test_weak_reasons_are_called_so(own):
    strong, weak = explanation(because=OWN[:1]), explanation(own=(own,), because=(own,))
    assert (strong.weak, weak.weak) == (False, True)
    assert weak.reasons[0] != strong.reasons[0]
    assert named_in(weak) == named_in(strong)


def test_nothing_is_named_if_nothing_is_a_reason():
    why = explanation(own=(), because=(), neighbors=NEIGHBORS[1:2])
    assert (why.person, named_in(why)) == (None, [[]])
    assert not unnamed(why.reasons[0], "no strong reason", 1)
    nobody = explanation(own=(), because=(), neighbors=())
    assert named_in(nobody) == [[]]
    assert not unnamed(nobody.reasons[0], "no strong reason", 20, 30)
    unknown = explanation(own=(), because=(), other_own=Others(0, 0.0), neighbors=())
    assert "reason" not in unknown.reasons[0]  # nothing is known about the user
    assert not unnamed(unknown.reasons[0], 20, 30)
    (only,) = replace(unknown, n_ratings=0, n_likes=0).reasons
    assert only


@pytest.mark.parametrize(("n_for", "n_against"), [(0, 0), (1, 0), (0, 1), (7, 0), (0, 7), (3, 4)])
@pytest.mark.parametrize("n", [1, 40])
def test_votes(n, n_for, n_against):
    if n_for + n_against > n:
        return
    why = explanation(because=(), own=(), neighbors=(), n_for=n_for, n_against=n_against, n_like_minded=n)
    (only,) = why.reasons
    if n_for + n_against == 0:
        assert not unnamed(only, 20, 30)
    elif n > 1:
        assert not unnamed(only, 40, *[k for k in (n_for, n_against) if k])


def test_who_is_named_alone_is_not_counted_again():
    assert named_in(explanation(neighbors=NEIGHBORS[:1])) == [["aliens", "heat"], ["bob"]]
    assert len(explanation(neighbors=NEIGHBORS[:1], n_for=2).reasons) == 3


def test_implicit_feedback_has_no_stars():
    liked = tuple(one._replace(likes_it=True, rating=3.0) for one in NEIGHBORS)
    words = Words(Scale(1, 9, 0, implicit=True), "listener", "artist", "played")
    own = tuple(one._replace(rating=3.0) for one in OWN)
    why = explanation(words=words, rating=None, neighbors=liked, own=own, because=own[:2])
    assert named_in(why) == [["aliens", "heat"], ["bob"], []]
    because, person, counts = why.reasons
    assert not unnamed(because, "played", 7)  # 7 plays have the strength 3
    assert not unnamed(person, "played Emma", 7)
    pair = replace(why, neighbors=liked[2:3])
    assert not unnamed(pair.reasons[1], "played Ran", "played Ronin")
    assert not unnamed(counts, "listeners", 20, 5)
    sentences = " ".join((*why.reasons, str(why)))
    assert "gave" not in sentences
    assert "rating" not in sentences


def test_what_a_guest_liked_comes_after_counts():
    words = Words(Scale(1, 9, 0, implicit=True), verb="played", usual=7.0)
    own = OWN[0]._replace(rating=3.0), OWN[1]._replace(rating=4.0)  # 7 and 15 plays
    assert named_in(explanation(words=words, own=own, because=own))[0] == ["heat", "aliens"]


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
