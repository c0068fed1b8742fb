"""One pair of users in detail: the items that both rated, the factors of the measure, and its terms.

Each measure has a breakdown next to its kernel. A breakdown follows the published formula term by term and
shares no arithmetic with the kernel; the tests compare the two.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, fsum, isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats
from prefmover.errors import InputError
from prefmover.measures.measure import Measure, find_measure
from prefmover.measures.pairs import Pairs

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.ot import Certificate


class Flow(NamedTuple):
    """One term of the sum that a measure consists of: a rating of the first user meets one of the second.

    Attributes
    ----------
    source, target
        The first user's item and the second user's, the same item for co-rated terms: ids in results for
        people, positions in a :func:`breakdown`.
    source_rating, target_rating
        The two ratings.
    similarity
        Similarity of the two items; None if the data set has no geometry and the items differ.
    mass, distance
        For PMD: the share of the preference that moves from source to target, and the distance between the
        two items. None for other measures.
    value
        The term itself; for PMD mass times distance.
    share
        Share of its absolute value in the sum of all of them; for PMD, share of the whole distance.
    """

    source: Any
    target: Any
    source_rating: float
    target_rating: float
    similarity: float | None
    mass: float | None
    distance: float | None
    value: float
    share: float


class Factor(NamedTuple):
    """A factor or a sum that the value is computed from."""

    name: str
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class PairBreakdown:
    """A measure's value for two users, with the factors and terms that it is computed from.

    Attributes
    ----------
    value
        NaN where undefined; then ``reason`` says why.
    factors
        The factors and sums, in the order of the formula.
    flows
        The terms of the sum, largest first.
    certificate
        For PMD: the proof that the plan is optimal.
    agreement
        For a measure of taste and agreement: a term for each co-rated item, positive where the two agree.
    co_rated
        The two ratings of every item that both users rated.
    """

    value: float
    factors: Sequence[Factor]
    flows: Sequence[Flow]
    reason: str | None = None
    certificate: "Certificate | None" = None
    agreement: Sequence[Flow] = ()
    co_rated: Mapping[Any, tuple[float, float]] = field(default_factory=dict)

    def factor(self, name: str) -> float:
        """Return the value of a factor."""
        values = {factor.name: factor.value for factor in self.factors}
        if name not in values:
            raise InputError(f"there is no factor {name!r}; there are {', '.join(values)}")
        return values[name]


class UserPair:
    """The ratings of two users, and the quantities that the formulas share."""

    def __init__(self, data: "Dataset", u: int, v: int) -> None:
        self.data, self.u, self.v = data, u, v
        self.scale = data.ratings.scale
        rows = {user: data.ratings.row(user) for user in (u, v)}
        self.values = {user: values for user, (_, values) in rows.items()}
        self.ratings = {
            user: dict(zip(items.tolist(), values.tolist(), strict=True))
            for user, (items, values) in rows.items()
        }
        self.first, self.second = self.ratings[u], self.ratings[v]
        self.common = [i for i in self.first if i in self.second]
        self.n = len(self.common)
        self.jaccard = self.n / max(1, len(self.first) + len(self.second) - self.n)
        self.n_factor = Factor("n", self.n, "items that both rated")
        self.jaccard_factor = Factor("J", self.jaccard, "n over the items that either rated")
        self.pairs_factor = Factor("|I_u||I_v|", len(self.first) * len(self.second), "pairs of ratings")

    @cached_property
    def item_means(self) -> Floats:
        """The mean rating of each item."""
        matrix = self.data.ratings.matrix
        n = np.bincount(matrix.indices, minlength=matrix.shape[1])
        total = np.bincount(matrix.indices, matrix.data, minlength=matrix.shape[1])
        means: Floats = total / np.maximum(n, 1)
        return means

    @cached_property
    def similarity(self) -> Floats:
        """Similarities of the first user's items x the second user's."""
        geometry = self.data.require_geometry("this measure")
        return geometry.similarity(list(self.first), list(self.second))

    def mean(self, user: int) -> float:
        """Return the mean rating of a user."""
        row = self.values[user]
        return float(row[0]) if (row == row[0]).all() else float(row.mean())

    def deviation(self, user: int) -> float:
        """Return the standard deviation of a user's ratings."""
        return float(np.sqrt(np.mean((self.values[user] - self.mean(user)) ** 2)))

    def pss(self, a: float, b: float, mean: float) -> float:
        """Return proximity · significance · singularity of two ratings; see NHSM."""
        middle = self.scale.middle
        proximity = 1 - sigmoid(abs(a - b))
        significance = sigmoid(abs(a - middle) * abs(b - middle))
        return proximity * significance * (1 - sigmoid(abs((a + b) / 2 - mean)))

    def co_rated_flows(self, value: Callable[[int, float, float], float]) -> list[Flow]:
        """Return a term for each co-rated item."""
        pairs = [(i, i, self.first[i], self.second[i], 1.0) for i in self.common]
        return self._flows(pairs, [value(i, a, b) for i, _, a, b, _ in pairs])

    def all_flows(self, value: Callable[[int, int, float, float], float]) -> list[Flow]:
        """Return a term for each pair of ratings, times the similarity of the two items."""
        ratings = [(i, j, a, b) for i, a in self.first.items() for j, b in self.second.items()]
        similarities = self.similarity.ravel().tolist()
        pairs = [(*pair, s) for pair, s in zip(ratings, similarities, strict=True)]
        return self._flows(pairs, [s * value(*pair) for *pair, s in pairs])

    def _flows(self, pairs: list[tuple[int, int, float, float, float]], terms: list[float]) -> list[Flow]:
        scale = fsum(map(abs, terms)) or 1.0
        return [
            Flow(*pair, None, None, term, abs(term) / scale) for pair, term in zip(pairs, terms, strict=True)
        ]

    def without_common_items(self) -> PairBreakdown:
        """Return the breakdown of users without a co-rated item, where a measure needs one."""
        return PairBreakdown(nan, [self.n_factor], [], "they have no rated item in common")


Breakdown = Callable[..., PairBreakdown]
"""``breakdown(pair, **options)`` takes a :class:`UserPair` and the options of a convention."""


def breakdown(
    data: "Dataset", u: int, v: int, measure: str | Measure = "pmd", convention: str | None = None
) -> PairBreakdown:
    """Return a measure's value for the users at positions u and v, with its factors and terms.

    Items are positions. A measure that is not symmetric is seen from u.

    Examples
    --------
    >>> from prefmover import Dataset, Ratings, Scale
    >>> data = Dataset(Ratings.from_arrays(
    ...     ["ann", "ann", "bob", "bob"], ["x", "y", "y", "z"], [5, 3, 4, 1], scale=Scale(1, 5, 1)
    ... ))
    >>> pair = breakdown(data, 0, 1, "jmsd")
    >>> pair.value
    0.3125
    >>> for factor in pair.factors:
    ...     print(f"{factor.name:<4} {factor.value:.4f} {factor.meaning}")
    n    1.0000 items that both rated
    J    0.3333 n over the items that either rated
    MSD  0.0625 mean of ((r_u - r_v) / 4)² over the co-rated items
    """
    row = find_measure(measure)
    options = row.options(convention)
    if row.needs_geometry:
        data.require_geometry(row.label)
    pair = UserPair(data, u, v)
    if not pair.first or not pair.second:
        (name,) = data.ratings.users[[v if pair.first else u]].tolist()
        found = PairBreakdown(nan, [], [], f"user {name!r} has no ratings")
    elif row.breakdown is not None:
        found = row.breakdown(pair, **options)
    else:
        value = row.kernel(Pairs(data, np.array([u]), np.array([v])), **options)(np.array([u]))[0, 0]
        found = PairBreakdown(float(value), [], [], f"{row.name} gives no value for this pair")
    return replace(
        found,
        factors=tuple(found.factors),
        flows=tuple(sorted(found.flows, key=lambda flow: (-abs(flow.value), -(flow.mass or 0.0)))),
        reason=found.reason if isnan(found.value) else None,
        agreement=tuple(sorted(found.agreement, key=lambda flow: -flow.value)),
        co_rated={i: (pair.first[i], pair.second[i]) for i in pair.common},
    )


def with_ids(flows: Sequence[Flow], items: npt.NDArray[Any]) -> tuple[Flow, ...]:
    """Return flows with the ids of their items, of all ids by position, in place of positions."""
    at = np.array([(flow.source, flow.target) for flow in flows], np.int64).reshape(-1, 2)
    ids = zip(items[at[:, 0]].tolist(), items[at[:, 1]].tolist(), strict=True)
    return tuple(flow._replace(source=i, target=j) for flow, (i, j) in zip(flows, ids, strict=True))


def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x)."""
    return 1 / (1 + exp(-x))
