"""The measures that are extensions, against slow twins: POT, SciPy's linear programs, and numbers by hand."""

from math import log, pi

import numpy as np
import pytest
from hypothesis import given, settings

from prefmover import Dataset, ItemGeometry, Ratings, Scale, nearest, pairwise
from prefmover.errors import InputError
from prefmover.measures import MEASURES
from prefmover.measures.breakdown import breakdown
from prefmover.measures.opinions import opinion_space
from prefmover.search import NeighborIndex
from tests.measures.conftest import SCALES, small_worlds, world
from tests.messages import names
from tests.oracles.transport import by_pot

EXTENSIONS = [name for name, row in MEASURES.items() if row.extension]
FILMS = ["Alien", "Aliens", "Emma"]
ANGLES = ItemGeometry.from_distance(FILMS, np.array([[0, 0.2, 1.5], [0.2, 0, 1.5], [1.5, 1.5, 0]]) * pi / 3)


def films(rows):
    """Return the data of users who rated some of three films, from 1 to 5."""
    cells = [(user, film, stars) for user, row in rows.items() for film, stars in row.items()]
    ratings = Ratings.from_arrays(*zip(*cells, strict=True), scale=Scale(1, 5, 1))
    return Dataset(ratings, ANGLES)


def slow_pmd(data, a, b):
    """Return PMD by POT; NaN without positive ratings."""
    p, q = ({i: r for i, r in row.items() if r > 0} for row in (a, b))
    return by_pot([*p.values()], [*q.values()], data.geometry.block([*p], [*q])) if p and q else np.nan


def slow_agreement(data, a, b):
    common = a.keys() & b.keys()
    x, y = (np.array([row[i] - np.mean([*row.values()]) for i in common]) for row in (a, b))
    norm = np.sqrt((x**2).sum() * (y**2).sum())
    correlation = (x * y).sum() / norm if norm > 1e-20 else 0.0  # which only rounding leaves
    n, union = len(common), len(a.keys() | b.keys())
    return slow_pmd(data, a, b) + 1.5 * (1 - correlation * n / (n + 20)) + 0.5 * log(1.3 / (n / union + 0.3))


def slow_opinions(data, a, b):
    p, q = ({i: r for i, r in row.items() if r > 0} for row in (a, b))
    if not p or not q:
        return np.nan
    scale = data.ratings.scale
    beta = pi / 8 / (scale.highest - scale.lowest)
    r, s = np.array([*p.values()]), np.array([*q.values()])
    return by_pot(r, s, data.geometry.block([*p], [*q]) + beta * abs(r[:, None] - s))


SLOW = {"pmd-agreement": slow_agreement, "pmd-opinions": slow_opinions}


@pytest.mark.parametrize("measure", EXTENSIONS)
@given(small_worlds())
@settings(max_examples=30, deadline=None)
def test_equals_the_slow_twin(measure, case):
    data, rows = case
    fast = pairwise(data, measure, n_threads=1)
    np.testing.assert_array_equal(fast, fast.T)  # to the last bit
    for u, a in enumerate(rows):
        for v, b in enumerate(rows):
            expected = SLOW[measure](data, a, b) if a and b else np.nan
            assert fast[u, v] == pytest.approx(expected, abs=5e-7, nan_ok=True)


def test_agreement_by_hand():
    # u and v rate both films, one up and one down: PCC 1, n = 2, J = 1. w rates them the other way round.
    data = films({"u": {"Alien": 5, "Emma": 1}, "v": {"Alien": 4, "Emma": 2}, "w": {"Alien": 1, "Emma": 5}})
    value = pairwise(data, "pmd-agreement")
    move = 5 / 6 - 4 / 6  # of the mass, from Alien to Emma
    assert value[0, 1] == pytest.approx(move * pi / 2 + 1.5 * (1 - 2 / 22), abs=1e-6)
    assert value[0, 2] == pytest.approx(4 / 6 * pi / 2 + 1.5 * (1 + 2 / 22), abs=1e-6)
    why = breakdown(data, 0, 2, "pmd-agreement")
    assert [(flow.source, flow.value) for flow in why.agreement] == [(0, -4), (1, -4)]  # Alien, Emma
    assert why.factor("P") == pytest.approx(-2 / 22)
    parts = why.factor("D") + why.factor("a(1-P)") + why.factor("b·log")
    assert why.value == pytest.approx(parts) == pytest.approx(value[0, 2])


def test_opinions_by_hand():
    # All mass is on one film at one rating: β is π/8 per width of the scale, 1 to 5.
    data = films({"fan": {"Alien": 5}, "critic": {"Alien": 1}, "other": {"Aliens": 5}})
    people = ["fan", "critic", "other"]
    value = pairwise(data, "pmd-opinions", people, people)
    assert value[0, 1] == pytest.approx(pi / 8, abs=1e-6)
    assert value[0, 2] == pytest.approx(0.2 * pi / 3, abs=1e-6)
    assert value[1, 2] == pytest.approx(0.2 * pi / 3 + pi / 8, abs=1e-6)
    why = breakdown(data, *data.ratings.user_positions(people[1:]), "pmd-opinions")
    assert [(f.source, f.source_rating, f.target, f.target_rating) for f in why.flows] == [
        (0, 1, 1, 5)  # Alien, Aliens
    ]
    assert why.factor("Σ W d") + why.factor("Σ W β|r-s|") == pytest.approx(why.value)
    assert why.certificate.valid


def test_a_one_star_fan_is_not_a_five_star_fan():
    """PMD finds the same people for somebody who rates Alien 1 or 5. The extensions do not."""
    scale = Scale(1, 5, 1)  # new users in the order of their ids: the critic, the fan
    new = Ratings.from_arrays(["fan", "critic"], ["Alien", "Alien"], [5, 1], scale=scale)
    data = films({"loves": {"Alien": 5, "Emma": 5}, "hates": {"Alien": 1, "Emma": 1}})
    assert nearest(data, 1, new=new).ids.tolist() == [["hates"], ["hates"]]  # a tie, by order of ids
    assert nearest(data, 1, measure="pmd-opinions", new=new).ids.tolist() == [["hates"], ["loves"]]
    loves, hates = {"Alien": 5, "Aliens": 5, "Emma": 2}, {"Alien": 1, "Aliens": 1, "Emma": 4}
    data = films({"loves": loves, "hates": hates})
    new = Ratings.from_arrays(
        ["fan", "fan", "critic", "critic"], ["Alien", "Emma"] * 2, [5, 3, 1, 3], scale=scale
    )
    assert nearest(data, 1, measure="pmd-agreement", new=new).ids.tolist() == [["hates"], ["loves"]]


def test_opinions_are_pmd_where_all_ratings_are_equal(big_world):
    data = big_world[0]
    rows = [dict.fromkeys(row, 3.0) for row in big_world[1]]
    flat = world(rows, 40, SCALES["stars"])[0]
    np.testing.assert_array_equal(pairwise(flat, "pmd-opinions"), pairwise(flat, "pmd"))
    # Ratings only add to a distance.
    more, pmd = (pairwise(data, name, range(5)) for name in ("pmd-opinions", "pmd"))
    assert not (more < pmd - 1e-7).any()
    assert (more > pmd + 0.01).any()


def test_points_are_at_a_metric():
    data = films({"u": {"Alien": 5, "Emma": 1}, "v": {"Alien": 4, "Aliens": 2}})
    p, ground = opinion_space(data)
    D = ground.units(None, None).astype(np.int64)
    assert D.max() <= 2**26
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :]).all()
    assert ground.n_items == 4
    assert np.diff(p.indptr).tolist() == [2, 2]


def test_bad_input():
    data = films({"u": {"Alien": 5}, "v": {"Emma": 3}})
    with pytest.raises(InputError, match=names("COS", "nearest")):
        NeighborIndex(data, "cos")
    with pytest.raises(InputError, match=names("executor", "PMD-agreement")):
        nearest(data, 1, measure="pmd-agreement", executor="threads")
    for measure in EXTENSIONS:
        with pytest.raises(InputError, match=MEASURES[measure].label):
            pairwise(Dataset(data.ratings), measure)
        with pytest.raises(InputError, match=names("candidates", MEASURES[measure].label)):
            nearest(data, 1, measure=measure, method="candidates")
