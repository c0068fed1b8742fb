"""BCF, HUSM and their normalized forms: all ratings of one user against all ratings of the other.

Every rating of u meets every rating of v, weighted by the similarity of the two items, so that users
without a co-rated item can be compared. Done pair by pair this is Σ_u Σ_v |I_u| |I_v| terms (10¹² on
MovieLens-1M). But the sum over u's items can be computed for each item j (and, for HUSM, for each rating that
j could have) independently of v. It is computed once for each user u, and each v only adds up the entries of
v's items.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.preferences import entries_of_rows
from prefmover.execution.jit import LazyModule
from prefmover.execution.threads import slices
from prefmover.measures.breakdown import Factor, PairBreakdown, UserPair, sigmoid
from prefmover.measures.corated import co_rated_counts, jaccard_from_counts
from prefmover.measures.distribution import levels, urp, urp_breakdown
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.ties import on_grid, significant

_item_aware = LazyModule("prefmover.measures._item_aware")

STRIPE_BYTES = 2**28
"""Item similarities are held for all items if they fit in this; otherwise computed a stripe at a time."""

WIDEST = 600.0
"""Scales wider than this would overflow the tabulated exponentials and are summed term by term."""


def bcf(pairs: Pairs, *, local: str = "correlation", flat: str = "nothing", normalized: bool = False) -> Rows:
    """BCF: J + Σ_i∈I_u Σ_j∈I_v s(i, j) · loc(r_ui, r_vj); N-BCF divides the double sum by |I_u| |I_v|.

    Parameters
    ----------
    local
        ``"correlation"``: loc = (r_ui - μ_u)(r_vj - μ_v) / (σ_u σ_v). ``"median"``: ratings centered on
        r_med, divided by the two L2 norms. ``"zero-filled"``: as the correlation, with mean and
        deviation of the whole row, unrated items counted as 0 (the reconstruction of Table 1).
    flat
        The treatment of users with σ = 0 (with ``"median"``: with all ratings equal to r_med), for whom
        loc is 0/0. ``"nothing"``: loc = 0, and the value is J. ``"one"``: loc = 1.
    normalized
        Divide the double sum (not J) by |I_u| |I_v|.
    """
    counts, n = pairs.counts(), co_rated_counts(pairs)
    values, is_flat = _local_values(pairs, local)
    double_sum = _bilinear(pairs, values)
    plain_sum = _bilinear(pairs, np.ones_like(values)) if flat == "one" and is_flat.any() else None

    def rows(users: Ints) -> Floats:
        of_users, of_others = counts[users], counts[pairs.others]
        total = double_sum(users)
        if plain_sum is not None:
            either = is_flat[users, None] | is_flat[pairs.others]
            total = np.where(either, plain_sum(users), total)
        # The mean of the terms is between -1 and 1, whatever their number; so is its rounding noise.
        n_terms = np.maximum(of_users[:, None] * of_others, 1)
        total = on_grid(total / n_terms, bits=46)
        if not normalized:
            total *= n_terms
        total += jaccard_from_counts(n(users), of_users, of_others)
        return total

    return rows


def _local_values(pairs: Pairs, local: str) -> tuple[Floats, Bools]:
    """Return u's share of ``loc`` for every rating, and which users are flat (see :func:`bcf`)."""
    data, n = pairs.matrix.data, pairs.counts()
    owner = pairs.ratings.rows()
    if local == "correlation":
        center, spread = pairs.user_means(), pairs.user_deviations()
        flat = ~(spread > 0)
    elif local == "median":
        center = np.full(len(n), pairs.ratings.scale.middle)
        spread = np.sqrt(np.bincount(owner, (data - center[owner]) ** 2, minlength=len(n)))
        flat = spread == 0
    else:
        n_items = pairs.matrix.shape[1]
        center = np.bincount(owner, data, minlength=len(n)) / n_items
        rated = np.bincount(owner, (data - center[owner]) ** 2, minlength=len(n))
        spread = np.sqrt((rated + (n_items - n) * center**2) / n_items)
        flat = ~(pairs.user_deviations() > 0)
    values = (data - center[owner]) / np.where(flat, 1.0, spread)[owner]
    values[flat[owner]] = 0.0
    return values, flat


def husm(pairs: Pairs, *, normalized: bool = False) -> Rows:
    """HUSM: [Σ_i Σ_j s(i, j) · PSS(r_ui, r_vj)] · sig(n / |I_u|) · URP; N-HUSM divides by |I_u| |I_v|.

    PSS is that of NHSM, with (μ_i + μ_j)/2 in place of μ_i. Not symmetric: the second factor is the
    share of u's items that v rated too, seen from u (the row).
    """
    from scipy.special import expit

    counts, n = pairs.counts(), co_rated_counts(pairs)
    urp_rows, double_sum = urp(pairs), _pss_sum(pairs)

    def rows(users: Ints) -> Floats:
        of_users, of_others = counts[users, None], counts[pairs.others]
        total = double_sum(users)
        if normalized:
            total /= np.maximum(of_users * of_others, 1)
        total *= expit(n(users) / np.maximum(of_users, 1))
        total *= urp_rows(users)  # NaN where a user has no ratings
        return significant(total)

    return rows


def _bilinear(pairs: Pairs, values: Floats) -> Rows:
    """Return Σ_i Σ_j x_ui s(i, j) x_vj for one number x per rating."""
    from scipy.sparse import csr_array

    indptr = pairs.matrix.indptr
    square = csr_array((values, pairs.matrix.indices, indptr), shape=pairs.matrix.shape)
    stripes = _Stripes(pairs)
    theirs = square[pairs.others][:, stripes.columns]
    mine = square[:, stripes.rows]

    def rows(users: Ints) -> Floats:
        out = np.zeros((len(pairs.others), len(users)))
        for columns, similarity in stripes:
            # Sparse x dense both times: rows are added up in the order of their items, whatever the block.
            carried = mine[users] @ similarity
            out += theirs[:, columns] @ np.ascontiguousarray(carried.T)
        return np.ascontiguousarray(out.T)

    return rows


def _pss_sum(pairs: Pairs) -> Rows:
    from scipy.sparse import csr_array
    from scipy.special import expit

    matrix, means, middle = pairs.matrix, pairs.item_means(), pairs.ratings.scale.middle
    values, codes = levels(pairs)
    tabulated = len(values) > 0 and values[-1] - values[0] <= WIDEST
    data = codes if tabulated else matrix.data
    stripes = _Stripes(pairs)
    coded = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    theirs = coded[pairs.others][:, stripes.columns]
    row_of_item = np.zeros(matrix.shape[1], np.int64)
    row_of_item[stripes.rows] = np.arange(len(stripes.rows))
    items = row_of_item[matrix.indices]
    kinds = data.astype(np.int64) if tabulated else data
    if tabulated:
        gap = np.abs(values[:, None] - values)
        away = np.abs(values - middle)
        factor = expit(-gap) * expit(away[:, None] * away)
        lift = np.exp((values[:, None] - means) / 2)

    def rows(users: Ints) -> Floats:
        out = np.zeros((len(users), len(pairs.others)))
        mine = *pairs.spans(users), items, kinds
        for some, similarity in stripes:
            part, columns = theirs[:, some], stripes.columns[some]
            if tabulated:
                cells = part.data.astype(np.int64) * len(columns) + part.indices
                lifts = lift[:, stripes.rows], lift[:, columns]
                _item_aware.husm_rows(*mine, similarity, factor, *lifts, part.indptr, cells, out)
            else:
                ratings = part.indptr, part.indices, part.data, means[columns]
                _item_aware.husm_pairs(*mine, means[stripes.rows], similarity, *ratings, middle, out)
        return out

    return rows


class _Stripes:
    """Item similarities of the users' items x the others' items, some columns at a time."""

    def __init__(self, pairs: Pairs) -> None:
        self.geometry = pairs.geometry
        self.rows, self.columns = _rated(pairs, pairs.users), _rated(pairs, pairs.others)
        self.stripes = slices(len(self.columns), max(1, STRIPE_BYTES // (8 * max(1, len(self.rows)))))
        self.whole = self._similarity(slice(None)) if len(self.stripes) == 1 else None

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        for some in self.stripes:
            yield some, self._similarity(some) if self.whole is None else self.whole

    def _similarity(self, columns: slice) -> Floats:
        return np.ascontiguousarray(self.geometry.similarity(self.rows, self.columns[columns]))


def _rated(pairs: Pairs, users: Ints) -> Ints:
    """Return the items that any of these users rated, ascending."""
    seen = np.zeros(pairs.matrix.shape[1], bool)
    seen[pairs.matrix.indices[entries_of_rows(pairs.matrix.indptr, users)[1]]] = True
    return np.flatnonzero(seen)


def bcf_breakdown(
    pair: UserPair, normalized: bool, local: str = "correlation", flat: str = "nothing"
) -> PairBreakdown:
    """Break BCF or N-BCF down into Jaccard and the double sum."""
    loc_u, flat_u = _local_of_user(pair, pair.u, local)
    loc_v, flat_v = _local_of_user(pair, pair.v, local)
    constant = 1.0 if flat == "one" else 0.0
    if flat_u or flat_v:
        flows = pair.all_flows(lambda i, j, a, b: constant)
    else:
        flows = pair.all_flows(lambda i, j, a, b: loc_u[i] * loc_v[j])
    total = sum(flow.value for flow in flows)
    factors = [pair.n_factor, pair.jaccard_factor, Factor("Σs·loc", total, "over all pairs of ratings")]
    if not normalized:
        return PairBreakdown(pair.jaccard + total, factors, flows)
    count = pair.pairs_factor
    return PairBreakdown(pair.jaccard + total / count.value, [*factors, count], flows)


def _local_of_user(pair: UserPair, user: int, local: str) -> tuple[dict[int, float], bool]:
    """Return a user's part of ``loc`` by item position, and whether the user is flat."""
    ratings = pair.ratings[user]
    center, spread = pair.mean(user), pair.deviation(user)
    flat = spread == 0
    if local == "median":
        center = pair.scale.middle
        spread = sqrt(sum((rating - center) ** 2 for rating in ratings.values()))
        flat = spread == 0
    elif local == "zero-filled":
        n_items = pair.data.n_items
        center = sum(ratings.values()) / n_items
        squares = sum((rating - center) ** 2 for rating in ratings.values())
        spread = sqrt((squares + (n_items - len(ratings)) * center**2) / n_items)
    return {i: 0.0 if flat else (rating - center) / spread for i, rating in ratings.items()}, flat


def husm_breakdown(pair: UserPair, normalized: bool) -> PairBreakdown:
    """Break HUSM or N-HUSM down into the double sum, the overlap and URP."""
    means = pair.item_means
    flows = pair.all_flows(lambda i, j, a, b: pair.pss(a, b, (means[i] + means[j]) / 2))
    total = sum(flow.value for flow in flows)
    overlap = sigmoid(pair.n / len(pair.first))
    urp_terms = urp_breakdown(pair)
    value = total * overlap * urp_terms.value
    factors = [
        Factor("Σs·PSS", total, "over all pairs of ratings"),
        pair.n_factor,
        Factor("sig(n/|I_u|)", overlap, "sigmoid of the share of the first user's items that both rated"),
        *urp_terms.factors,
    ]
    if not normalized:
        return PairBreakdown(value, factors, flows)
    count = pair.pairs_factor
    return PairBreakdown(value / count.value, [*factors, count], flows)
