"""The reasons for a recommendation as a person would say them, in at most three sentences.

- *because you gave Alien 4.5 and Heat 4*: the ratings of the user's own that are named.
- *ben, who likes Hyperion as you like Dune, gave it 5*: a person like the user, and what connects them.
- *of the 40 people most like you, 12 liked it and 3 did not*: all of these people who rated it.

Weak reasons are called so. If neither a rating nor a person is named, there is "no strong reason", and what
most people think is said instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefmover.explain.words import Part, Sentence, Words, listed, sentence

if TYPE_CHECKING:
    from prefmover.explain.recommendation import NeighborRating, RecommendationExplanation

__all__ = ["connection", "reasons", "votes"]


def reasons(e: RecommendationExplanation, words: Words) -> tuple[Sentence, ...]:
    """Return the strongest reasons, without full stops."""
    found = []
    if e.because:
        start = "a little because" if e.weak else "because"
        own = sorted(e.because, key=lambda one: not words.times(one.rating))  # "Wisp 12 times and Moby"
        given = [words.given(Part(one.label, item=one.item), one.rating) for one in own]
        found.append(sentence(f"{start} {words.subject} {words.did} ", listed(given)))
    if e.person:
        found.append(sentence(_person(e.person, e, words), " ", words.gave_it(e.person.rating)))
    if not (e.person and e.n_for == 1 and not e.n_against):  # all of them are named
        but = "but " if found and e.n_against > e.n_for else ""
        found += [sentence(but, one) for one in (votes(e, words),) if one]
    if not found:
        found.append(sentence(_everybody(e, words)))
    if not e.because and not e.person and e.n_own:
        return sentence("no strong reason: ", found[0]), *found[1:]
    return tuple(found)


def connection(one: NeighborRating, words: Words) -> str:
    """Return what connects a person to the user: "likes Heat as you do"; "" if there is nothing.

    Of implicit feedback, it says what people did: "played Moby too", "played Moby as you played Air".
    """
    if one.alike is None:
        return ""
    mine, theirs = one.alike
    if words.implicit:
        did = words.verb
        return f"{did} {mine} too" if mine == theirs else f"{did} {theirs} as {words.subject} {did} {mine}"
    as_you = f"as {words.subject} {words.do}" if mine == theirs else f"as {words.subject} {words.like} {mine}"
    return f"likes {theirs} {as_you}"


def votes(e: RecommendationExplanation, words: Words) -> str:
    """Return how many of the people most like the user like the item; "" if none of them rated it."""
    liked, one = words.liked_it, e.n_like_minded == 1
    who = f"the {words.person if one else words.people(e.n_like_minded)} most like {words.subject}"
    if not e.n_for + e.n_against:
        return ""
    if one:
        return f"{who} {liked}" if e.n_for else f"{who} did not like it"
    if e.n_for and e.n_against:
        only = "only " if e.n_against > e.n_for else ""
        return f"of {who}, {only}{e.n_for} {liked} and {e.n_against} did not"
    return f"of {who}, {e.n_for} {liked}" if e.n_for else f"of {who}, {e.n_against} did not like it"


def _person(one: NeighborRating, e: RecommendationExplanation, words: Words) -> Sentence:
    """Return a person's name, and what connects the person to the user."""
    link = connection(one, words)
    nearest = f"the {words.person} most like {words.subject}"
    return sentence(words.user(one.user), f", who {link}," if link else f", {nearest},")


def _everybody(e: RecommendationExplanation, words: Words) -> str:
    """Return what all people make of the item."""
    if words.implicit:
        return words.raters(e.n_ratings) if e.n_ratings else f"nobody {words.liked_it} yet"
    if not e.n_ratings:
        return "nobody has rated it yet"
    if e.n_ratings == 1:
        return f"the only {words.person} who rated it {'liked it' if e.n_likes else 'did not like it'}"
    return f"{e.n_likes:,} of the {words.people(e.n_ratings)} who rated it liked it"
