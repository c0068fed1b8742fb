r"""PMD-signed: likes and dislikes. Each user is a signed measure around the mean of the user's ratings.

.. math:: D(u, v) = \tfrac12 W(\mu_u^+ + \mu_v^-,\; \mu_v^+ + \mu_u^-), \qquad
          \mu_u^\pm(i) = \frac{(r_{ui} - \bar r_u)^\pm}{\sum_k (r_{uk} - \bar r_u)^+}

W is the cost of the best transport over the item distances. Deviations from a mean add up to 0, so likes and
dislikes have the same total, and both sides of the transport have mass 2. If d is a metric, this is half
of the Kantorovich-Rubinstein norm of μ_u - μ_v: a metric between opinions. Users who give everything the same
rating have no opinion, and no value.

An extension of this package, not a measure of the paper.
"""

from __future__ import annotations

from functools import partial
from math import nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.preferences import rounded_rows
from prefmover.data.ratings import Ratings
from prefmover.execution.memory import require
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.breakdown import Factor, Flow, PairTerms, UserPair
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.pmd import rounded_cost, rows_by
from prefmover.ot.problem import TransportProblem
from prefmover.ot.solve import Transport, solve

__all__ = ["SignedMasses", "signed", "signed_breakdown", "signed_masses"]

DECIMAL = 1e6  # ratings that are multiples of 10^-6 are exact
MAX_TOTAL = 2**30  # 2 T_u T_v must fit 62 bits


class SignedMasses(NamedTuple):
    """Likes (positive) and dislikes (negative) of all users, in whole numbers, as CSR without zeros.

    ``total`` is the sum of a user's likes, and of the dislikes; 0 for a user without an opinion.
    """

    indptr: Ints
    items: npt.NDArray[np.int32]
    mass: Ints
    total: Ints


def signed_masses(ratings: Ratings) -> SignedMasses:
    """Return deviations from users' means as whole numbers: n r - Σr, in lowest terms.

    They are exact if the ratings of a user are multiples of 10⁻⁶ and the likes total at most 2³⁰. Otherwise
    likes and dislikes are each rounded to a total of 2³⁰.

    >>> masses = signed_masses(Ratings.from_arrays(list("aaab"), [1, 2, 3, 2], [1, 2.5, 5, 3]))
    >>> masses.mass, masses.total
    (array([-11,  -2,  13]), array([13,  0]))
    """
    matrix, owner = ratings.matrix, ratings.rows()
    n = np.diff(matrix.indptr).astype(np.int64)
    mean = np.bincount(owner, matrix.data, len(n)) / np.maximum(n, 1)
    deviation = matrix.data - mean[owner]
    largest = np.zeros(len(n))
    np.maximum.at(largest, owner, matrix.data)
    deviation[np.abs(deviation) <= 1e-10 * largest[owner]] = 0.0
    small = matrix.data * n[owner] < 2.0**52 / DECIMAL
    decimal = np.rint(np.where(small, matrix.data, 0.0) * DECIMAL)
    exact = np.bincount(owner, ~small | (decimal / DECIMAL != matrix.data), len(n)) == 0
    units = decimal.astype(np.int64)
    sums = np.zeros(len(n), np.int64)
    np.add.at(sums, owner, units)
    mass = np.where(exact[owner], units * n[owner] - sums[owner], 0)
    divisor = np.zeros(len(n), np.int64)
    np.gcd.at(divisor, owner, mass)
    mass //= np.maximum(divisor, 1)[owner]
    total = np.zeros(len(n), np.int64)
    np.add.at(total, owner, np.maximum(mass, 0))
    rounded = ~exact | (total > MAX_TOTAL)
    for sign in (1, -1):
        chosen = np.flatnonzero(rounded[owner] & (sign * deviation > 0))
        if len(chosen):
            starts = np.flatnonzero(np.diff(owner[chosen], prepend=-1))
            mass[chosen] = sign * rounded_rows(sign * deviation[chosen], starts)
            total[owner[chosen]] = MAX_TOTAL
    kept = mass != 0
    before = np.concatenate(([0], np.cumsum(kept)))
    return SignedMasses(
        before[matrix.indptr].astype(np.int64), matrix.indices[kept].astype(np.int32), mass[kept], total
    )


def signed(pairs: Pairs) -> Rows:
    """PMD-signed: the distance between likes and dislikes around the users' means."""
    from prefmover.execution.jit import announce_compilation

    announce_compilation()
    return rows_by(pairs, partial(signed_distances, signed_masses(pairs.ratings), pairs.geometry))


def signed_distances(masses: SignedMasses, geometry: ItemGeometry, u: int, others: Ints) -> Floats:
    """Return the distances between the user at position u and those at positions ``others``."""
    from prefmover.measures import _signed as kernels
    from prefmover.measures._pmd import pair_scratch

    out = np.empty(others.size)
    if not others.size:
        return out
    lengths = np.diff(masses.indptr)
    most = int(lengths[u] + lengths[others].max())
    require(8 * most * most, f"a transport of {most:,} items", "leave ratings of these users out")
    cancel = bool(geometry.is_metric)
    if geometry.grid is not None:
        kernels.signed_row(
            u, others, masses, geometry.grid, geometry.unit, cancel, pair_scratch(most, most), out
        )
    else:  # only the distances of the pair's items are computed
        for k, v in enumerate(others.tolist()):
            two, items = _two(masses, u, v)
            grid, scratch = geometry.grid_block(items, items), pair_scratch(most, most)
            kernels.signed_row(0, np.array([1]), two, grid, geometry.unit, cancel, scratch, out[k : k + 1])
    for k in np.flatnonzero(out < 0).tolist():  # beyond 32 bits: solved again in 64
        out[k] = _wide(masses, geometry, u, int(others[k]))
    return out


def _two(masses: SignedMasses, u: int, v: int) -> tuple[SignedMasses, Ints]:
    """Return the masses of two users over the items of either, and these items."""
    parts = [slice(masses.indptr[user], masses.indptr[user + 1]) for user in (u, v)]
    items, at = np.unique(np.concatenate([masses.items[part] for part in parts]), return_inverse=True)
    first = parts[0].stop - parts[0].start
    mass = np.concatenate([masses.mass[part] for part in parts])
    return SignedMasses(np.array([0, first, len(at)]), at.astype(np.int32), mass, masses.total[[u, v]]), items


class _Side(NamedTuple):
    """The likes or dislikes of a user: items and masses, on a total that two users share."""

    items: Ints
    mass: Ints


def _sides(masses: SignedMasses, u: int, v: int) -> tuple[_Side, _Side]:
    """Return likes and dislikes of u, multiplied with the total of v."""
    part = slice(masses.indptr[u], masses.indptr[u + 1])
    items, mass = masses.items[part].astype(np.int64), masses.mass[part] * masses.total[v]
    return _Side(items[mass > 0], mass[mass > 0]), _Side(items[mass < 0], -mass[mass < 0])


def _solve(masses: SignedMasses, geometry: ItemGeometry, u: int, v: int, whole: Any) -> Transport:
    """Return the transport from the likes of u and the dislikes of v to the likes of v and dislikes of u."""
    (likes_u, dislikes_u), (likes_v, dislikes_v) = _sides(masses, u, v), _sides(masses, v, u)
    i, j = (np.concatenate([a.items, b.items]) for a, b in ((likes_u, dislikes_v), (likes_v, dislikes_u)))
    p, q = (np.concatenate([a.mass, b.mass]) for a, b in ((likes_u, dislikes_v), (likes_v, dislikes_u)))
    same = None
    if geometry.is_metric:
        # A like that both have stays put, and so does a dislike.
        both = [np.intersect1d(a.items, b.items, assume_unique=True, return_indices=True)[1:]
                for a, b in ((likes_u, likes_v), (dislikes_v, dislikes_u))]  # fmt: skip
        rows = np.concatenate([both[0][0], both[1][0] + len(likes_u.items)])
        columns = np.concatenate([both[0][1], both[1][1] + len(likes_v.items)])
        same = rows, columns
    costs = geometry.grid_block(i, j).astype(whole)
    return solve(TransportProblem(p, q, costs, geometry.unit, same=same))


def _wide(masses: SignedMasses, geometry: ItemGeometry, u: int, v: int) -> float:
    result = _solve(masses, geometry, u, v, np.int64)
    return rounded_cost(result, result.problem.total)


def signed_breakdown(pair: UserPair) -> PairTerms:
    """Break PMD-signed down into its flows: between likes, between dislikes, and within one user."""
    data, u, v = pair.data, pair.u, pair.v
    masses, geometry = signed_masses(data.ratings), data.require_geometry("PMD-signed")
    for user in (u, v):
        if masses.total[user] == 0:
            (name,) = data.ratings.users[[user]].tolist()
            return PairTerms(nan, [], [], f"user {name!r} gives everything the same rating")
    result = _solve(masses, geometry, u, v, np.int32)
    flows = _flows(pair, masses, geometry, result)
    value = float(signed_distances(masses, geometry, u, np.array([v]))[0])
    parts = {kind: sum(f.mass or 0.0 for f in flows if f.kind == kind) for kind in KINDS}
    factors = [
        pair.n_factor,
        Factor("μ_u", pair.mean(u), "first user's mean rating; likes are above it"),
        Factor("μ_v", pair.mean(v), "second user's mean rating; likes are above it"),
        *(Factor(kind, share, KINDS[kind]) for kind, share in parts.items()),
        Factor("D", value, "cost of all flows: Σ mass · distance"),
    ]
    return PairTerms(value, factors, flows, certificate=result.certificate)


KINDS = {
    "likes": "share that moves between likes of the two",
    "dislikes": "share that moves between dislikes of the two",
    "first": "share that moves between likes and dislikes of the first user",
    "second": "share that moves between likes and dislikes of the second user",
}
"""What a flow connects."""


# By whether the mass comes from a like of the first user, and whether it goes to a like of the second.
_KIND = {
    (True, True): "likes", (False, False): "dislikes", (True, False): "first", (False, True): "second"
}  # fmt: skip


def _flows(pair: UserPair, masses: SignedMasses, geometry: ItemGeometry, result: Transport) -> list[Flow]:
    """Return the flows of a plan; source is an item of the first user, except in flows of kind second."""
    (likes_u, dislikes_u), (likes_v, dislikes_v) = (
        _sides(masses, *two) for two in ((pair.u, pair.v), (pair.v, pair.u))
    )
    plan = result.plan
    i = np.concatenate([likes_u.items, dislikes_v.items])
    j = np.concatenate([likes_v.items, dislikes_u.items])
    from_u, to_v = plan.rows < len(likes_u.items), plan.columns < len(likes_v.items)
    d = result.problem.costs[plan.rows, plan.columns]
    work = plan.mass * d
    share = work / work.sum() if work.any() else work
    flows = []
    columns = i[plan.rows], j[plan.columns], from_u, to_v, plan.mass, d, work, share
    for row, column, first, second, mass, cost, value, part in zip(
        *(x.tolist() for x in columns), strict=True
    ):
        kind = _KIND[first, second]
        source, target = (column, row) if kind == "dislikes" else (row, column)
        of_source = pair.second if kind == "second" else pair.first
        of_target = pair.first if kind == "first" else pair.second
        flows.append(
            Flow(pair.id_of(source), pair.id_of(target), of_source[source], of_target[target],
                 float(geometry.similarity_at(np.array(cost))), mass, cost, value, part, kind)
        )  # fmt: skip
    return flows
