r"""Several people as one: the mixture of their preferences.

The mixture of the distributions p_u of the n members of a group weights them equally, however many ratings
they have:

.. math:: p_G(i) = \frac1n \sum_{u \in G} p_u(i).

For two people it is also a barycenter of the Preference Mover's Distance D. By the triangle inequality, no
distribution q has a smaller D(q, p_u) + D(q, p_v) than D(u, v), and the mixture has it: it is halfway.
"""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.preferences import MAX_TOTAL, preferences, undefined_because
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError

__all__ = ["mixture"]


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
    return members.one_user(name, items, values[items])
