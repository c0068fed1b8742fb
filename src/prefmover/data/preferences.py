r"""The ratings of a user as a distribution over items, in whole numbers.

The paper turns the ratings of user u into a distribution, p_u(i) = r_ui / Σ_j r_uj. Here it is represented by
integer *masses* in exactly these proportions, and their total. Integers add up exactly, so a transport
between two users can be checked to the last unit of mass, and optimality needs no tolerance.

The mixture of the distributions p_u of the n members of a group weights them equally, however many ratings
they have:

.. math:: p_G(i) = \frac1n \sum_{u \in G} p_u(i).

For two people it is also a barycenter of the Preference Mover's Distance D. By the triangle inequality, no
distribution q has a smaller D(q, p_u) + D(q, p_v) than D(u, v), and the mixture has it: it is halfway.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.csr import Csr, indptr_from_counts, indptr_where
from prefmover.data.ids import frozen, show
from prefmover.data.ratings import Ratings, one_user
from prefmover.errors import InputError

__all__ = ["Preferences", "mixture", "preferences", "undefined_because"]

BINARY = 2.0**20  # ratings that are multiples of 2^-20 are exact
DECIMAL = 1e6  # ratings that are multiples of 10^-6 are exact

# The masses of two users get the same total by multiplying each with the total of the other, so the product
# of two totals must fit 63 bits with a bit to spare.
MAX_TOTAL = 2**31 - 1
ROUNDED_TOTAL = 2**30  # one unit is 0.93e-9 of the total


@dataclass(frozen=True, slots=True, eq=False)
class Preferences(Csr):
    """The masses of all users as CSR without zeros.

    Attributes
    ----------
    indptr
        (n_users + 1,) int64; user u's items and masses are at ``indptr[u]:indptr[u + 1]``.
    indices
        Columns of the ratings, sorted within a user, with the type of ``ratings.matrix.indices``.
    mass
        int64, positive.
    total
        (n_users,) int64 sum of a user's masses, below 2^31; 0 if the user has no distribution.
    """

    indices: npt.NDArray[Any]
    mass: Ints
    total: Ints

    ENTRY = ("indices", "mass")
    ROW = ("total",)

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.mass, self.total):
            frozen(array)


def preferences(ratings: Ratings) -> Preferences:
    """Return the masses of all users: whole numbers in the proportions of their ratings, in lowest terms.

    They are exact if the ratings of a user are multiples of 10⁻⁶, or of 2⁻²⁰, below 2³², and these whole
    numbers total less than 2³¹. Otherwise they are rounded to a total of 2³⁰, so that each share is correct
    within 10⁻⁹ (the largest remainders are rounded up). Users without a positive rating have a total of 0.

    >>> p = preferences(Ratings.from_arrays(list("aaab"), [1, 2, 3, 2], [1, 2.5, 5, 0]))
    >>> p.mass, p.total
    (array([ 2,  5, 10]), array([17,  0]))
    """
    data = ratings.matrix.data
    positive = data > 0
    indptr = indptr_where(ratings.matrix.indptr, positive).astype(np.int64)
    indices, values = ratings.matrix.indices[positive], data[positive]
    has_mass = np.diff(indptr) > 0
    total = np.zeros(ratings.n_users, dtype=np.int64)
    mass = np.empty(0, dtype=np.int64)
    if len(values):
        mass, total[has_mass] = _integer_rows(values, indptr[:-1][has_mass])
    if (mass == 0).any():  # a share too small for the rounded total
        return Preferences(indptr, indices, mass, total).where(mass > 0)
    return Preferences(indptr, indices, mass, total)


def undefined_because(n_ratings: int, user: Any = None) -> str:
    """Return a message about a user without a distribution."""
    name = "a user" if user is None else f"user {show(user)}"
    reason = "has no ratings" if n_ratings == 0 else f"has no positive rating among {n_ratings:,}"
    return f"{name} {reason}, and so no distribution over items and no distance; leave this user out"


def _integer_rows(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Return masses and totals of rows of positive ratings; row k begins at starts[k]."""
    lengths = np.diff(np.append(starts, len(values)))

    def spread(per_row: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.repeat(per_row, lengths)

    small = values < 2.0**53 / BINARY / 2
    ordinary = np.where(small, values, 0.0)  # the rest would overflow
    on_binary = small & (ordinary * BINARY % 1 == 0)
    decimal = np.round(ordinary * DECIMAL)
    on_decimal = small & (decimal / DECIMAL == values)
    all_binary = np.logical_and.reduceat(on_binary, starts)
    on_grid = all_binary | np.logical_and.reduceat(on_decimal, starts)

    units = np.where(spread(all_binary), ordinary * BINARY, decimal)
    units = np.where(spread(on_grid), units, 1).astype(np.int64)
    units //= spread(np.gcd.reduceat(units, starts))
    # In floats first: the sum of many large integers could wrap around.
    on_grid &= np.add.reduceat(units.astype(np.float64), starts) <= MAX_TOTAL
    off = spread(~on_grid)
    if off.any():
        first = indptr_from_counts(lengths[~on_grid])[:-1]
        rounded = rounded_rows(values[off], first)
        units[off] = rounded // np.repeat(np.gcd.reduceat(rounded, first), lengths[~on_grid])
    return units, np.add.reduceat(units, starts)


def rounded_rows(values: Floats, starts: Ints) -> Ints:
    """Return masses that total 2^30 in each row: floors, plus 1 where the remainder is largest."""
    lengths = np.diff(np.append(starts, len(values)))
    row = np.repeat(np.arange(len(starts)), lengths)
    share = values / np.maximum.reduceat(values, starts)[row]  # no overflow in the sums below
    share *= (ROUNDED_TOTAL / np.add.reduceat(share, starts))[row]
    floors = np.floor(share)
    missing = ROUNDED_TOTAL - np.add.reduceat(floors.astype(np.int64), starts)
    order = np.lexsort((floors - share, row))  # stable: the first of equal remainders is rounded up
    rank = np.arange(len(values)) - starts[row]  # within the row, by remainder
    out = floors.astype(np.int64)
    out[order] += rank < missing[row]
    return out


def mixture(members: Ratings, name: Any) -> Ratings:
    """Return one user over the same items, whose preferences are the mixture of those of all members.

    The values are masses, not ratings on the scale. They are whole numbers in the exact proportions if these
    total less than 2³¹; otherwise each share is correct within 10⁻⁹, as in
    :func:`~prefmover.data.preferences.preferences`.

    >>> both = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 5, 2])
    >>> mixture(both, "ann and bob")["ann and bob"]  # ann: 1/2 and 1/2; bob: 1
    {'x': 1.0, 'y': 3.0}
    """
    masses = preferences(members)
    empty = np.flatnonzero(masses.total == 0)
    if len(empty):
        n_ratings = int(np.diff(members.matrix.indptr)[empty[0]])
        raise InputError(undefined_because(n_ratings, members.users[empty[:1]].tolist()[0]))
    whole = lcm(*masses.total.tolist())
    rows = masses.rows()
    if whole * len(masses.total) <= MAX_TOTAL:
        shares: Ints | Floats = masses.mass * (whole // masses.total)[rows]
    else:
        shares = masses.mass / masses.total[rows]
    values = np.bincount(masses.indices, weights=shares, minlength=members.n_items).astype(np.float64)
    items = np.flatnonzero(values)
    return one_user(members, name, items, values[items])
