"""Words for each kind of data, and which reasons a list names."""

import math

import pytest

from prefmover import Scale
from prefmover.explain.variety import Variety
from prefmover.explain.words import Part, Words, listed, sentence, text_of

PLAYS = Scale(1, math.log2(1 + 5000), 0, implicit=True)
KINDS = [
    Scale(1, 5, 1),
    PLAYS,
    Scale(1, 1, 1, implicit=True),
    Scale(1, 1, 1, implicit=True, damping="binary"),
]


def strength(count):
    return float(PLAYS.strengths([count])[0])


def test_kinds():
    assert [one.kind for one in KINDS] == ["ratings", "counts", "choices", "choices"]


@pytest.mark.parametrize(
    ("count", "said"), [(1, "once"), (2, "twice"), (3, "3 times"), (4999, "4,999 times")]
)
def test_counts(count, said):
    assert Words(PLAYS).times(strength(count)) == said


def test_a_usual_count_and_choices_are_not_counted():
    assert Words(PLAYS, usual=40).times(strength(40)) == ""
    assert Words(KINDS[2]).times(1.0) == Words(KINDS[3]).times(1.0) == ""
    assert Words(KINDS[0]).times(3.5) == "3.5"
    assert "2.5" in Words(Scale(0.5, 9, 0, implicit=True, damping="none")).times(2.5)


def test_an_item_keeps_its_id():
    gave = Words(PLAYS, "listener", "artist", "played").gave(Part("Moby", item=7), strength(12))
    assert [part.item for part in gave] == [None, 7, None]
    assert text_of(gave) == "played Moby 12 times"


def test_listed():
    parts = [sentence(Part(name, item=k)) for k, name in enumerate("abc")]
    assert [text_of(listed(parts[:n])) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert [part.item for part in listed(parts) if part.item is not None] == [0, 1, 2]


def test_the_person_is_spoken_to_or_named():
    words = Words(user_noun="viewer")
    assert (words.subject, words.about(12).subject, words.about("ann").subject) == ("you", "viewer 12", "ann")
    assert (words.do, words.about("ann").do) == ("do", "does")


def chosen_for(n, values, each):
    variety = Variety(n)
    return [variety.choose(range(len(values)), values, each) for _ in range(n)]


def test_no_reason_in_more_than_three_of_ten():
    chosen = chosen_for(10, [1.0, 0.9, 0.85, 0.8], 1)
    assert [chosen.count([k]) for k in range(4)] == [3, 3, 3, 1]


def test_a_reason_is_repeated_if_no_other_adds_nearly_as_much():
    assert chosen_for(10, [1.0, 0.79, 0.7, 0.1], 1) == [[0]] * 10


def test_two_reasons_for_each():
    chosen = chosen_for(10, [1 - k / 50 for k in range(7)], 2)
    assert [sum(k in some for some in chosen) for k in range(7)] == [
        4,
        3,
        3,
        3,
        3,
        3,
        1,
    ]  # the last list has one other
    assert all(len(some) == 2 for some in chosen)
    assert Variety(10).choose(["a"], [1.0], 2) == [0]
    assert Variety(10).choose([], [], 2) == []
