"""One pair of users, taken apart: what they both rated, each factor of the measure, the largest terms.

Written the slow and obvious way, term by term, apart from the kernels: a second opinion on them, and the
tests hold the two together.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from math import exp, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from prefmover.errors import InputError
from prefmover.measures import corated, distribution, item_aware, mover, overlap
from prefmover.measures.pairs import Floats, Pairs
from prefmover.measures.pairwise import bind
from prefmover.measures.table import Measure, find_measure

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.items.geometry import ItemGeometry

__all__ = ["Comparison", "Part", "Term", "compare"]


@dataclass(frozen=True, slots=True)
class Part:
    """A factor or a sum that the value is made of."""

    name: str
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Term:
    """What one pair of ratings adds to the measure's sum; a co-rated item is paired with itself."""

    item: Any
    other_item: Any
    rating: float
    other_rating: float
    value: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A measure's value for two users, with its parts.

    Attributes
    ----------
    user, other
        Ids.
    measure, convention
        Names.
    value
        NaN where undefined; then ``reason`` says why.
    larger_is_closer
        Whether the value is a similarity.
    co_rated
        Item id to the two ratings, for every item that both rated.
    parts
        The factors and sums, in the order of the formula.
    terms
        The terms of the sum, largest in size first, as many as were asked for.
    """

    user: Any
    other: Any
    measure: str
    convention: str
    value: float
    larger_is_closer: bool
    co_rated: dict[Any, tuple[float, float]]
    parts: tuple[Part, ...]
    terms: tuple[Term, ...]
    reason: str | None = None

    def part(self, name: str) -> float:
        """Return the value of the part of that name."""
        for part in self.parts:
            if part.name == name:
                return part.value
        names = ", ".join(part.name for part in self.parts)
        raise InputError(f"{self.measure} has no part {name!r}; it has {names}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python, NaN as None, ready for JSON."""
        whole = asdict(self)
        whole["co_rated"] = [
            {"item": item, "rating": a, "other_rating": b} for item, (a, b) in self.co_rated.items()
        ]
        whole["value"] = None if isnan(self.value) else self.value
        for part in whole["parts"]:
            part["value"] = None if isnan(part["value"]) else part["value"]
        return whole

    def __str__(self) -> str:
        kind = "similarity" if self.larger_is_closer else "distance"
        value = "undefined" if isnan(self.value) else f"{self.value:.6g}"
        lines = [f"{self.measure} ({self.convention}) of {self.user!r} and {self.other!r}: {value} ({kind})"]
        if self.reason:
            lines.append(f"  because {self.reason}")
        lines += [f"  {p.name:<12} {p.value:>12.6g}  {p.meaning}" for p in self.parts]
        both = [f"{item!r} {a:g}|{b:g}" for item, (a, b) in list(self.co_rated.items())[:10]]
        more = f" and {len(self.co_rated) - 10} more" if len(self.co_rated) > 10 else ""
        lines.append(f"  both rated   {', '.join(both) + more if both else 'nothing'}")
        if self.terms:
            lines.append("  largest terms:")
            lines += [
                f"    {t.value:>+12.6g}  {t.item!r} {t.rating:g} with {t.other_item!r} {t.other_rating:g}"
                for t in self.terms
            ]
        return "\n".join(lines)


def compare(
    ratings: "Ratings",
    user: Any,
    other: Any,
    measure: str | Measure,
    *,
    geometry: "ItemGeometry | None" = None,
    convention: str | None = None,
    n_terms: int = 10,
) -> Comparison:
    """Return a measure's value for two users, with what it is made of.

    Parameters
    ----------
    user, other
        Ids; for measures that are not symmetric, the value is seen from ``user``.
    n_terms
        How many of the sum's terms to list.

    Examples
    --------
    >>> from prefmover.data.ratings import Ratings, Scale
    >>> ratings = Ratings.from_arrays(
    ...     ["ann", "ann", "bob", "bob"], ["x", "y", "y", "z"], [5, 3, 4, 1], scale=Scale(1, 5, 1)
    ... )
    >>> print(compare(ratings, "ann", "bob", "jmsd"))
    jmsd (published) of 'ann' and 'bob': 0.3125 (similarity)
      n                       1  items that both rated
      J                0.333333  n over the items that either rated
      MSD                0.0625  mean of ((r_u - r_v) / 4)² over them
      both rated   'y' 3|4
      largest terms:
              +0.0625  'y' 3 with 'y' 4
    """
    row = find_measure(measure)
    name = row.convention(convention)
    rows, pairs = bind(ratings, row, geometry, [user], [other], name)
    two = _Two(pairs)
    explainer = _EXPLAINERS.get(row.kernel)
    if two.empty is not None:
        explained: Explained = nan, [], [], f"user {ratings.users[two.empty]!r} has no ratings"
    elif explainer is None:
        explained = float(rows(pairs.users)[0, 0]), [], [], f"{row.name} gives no value for this pair"
    else:
        explained = explainer(two, **row.options(name))
    value, parts, terms, reason = explained
    terms = sorted(terms, key=lambda term: -abs(term.value))[:n_terms]
    return Comparison(
        user=ratings.users[two.u : two.u + 1].tolist()[0],
        other=ratings.users[two.v : two.v + 1].tolist()[0],
        measure=row.name,
        convention=name,
        value=float(value),
        larger_is_closer=row.larger_is_closer,
        co_rated={i: (a, b) for i, a, b in two.both},
        parts=tuple(parts),
        terms=tuple(terms),
        reason=reason if isnan(value) else None,
    )


Explained = tuple[float, list[Part], list[Term], str | None]
NOTHING_SHARED = "they have not rated a common item"


class _Two:
    """The two users' ratings, and the quantities of the formulas."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.u, self.v = int(pairs.users[0]), int(pairs.others[0])
        matrix, ids = pairs.matrix, pairs.ratings.items.tolist()
        self.place = {
            user: matrix.indices[slice(*matrix.indptr[user : user + 2])].tolist() for user in (self.u, self.v)
        }
        self.row: dict[int, Floats] = {
            user: matrix.data[slice(*matrix.indptr[user : user + 2])] for user in (self.u, self.v)
        }
        mine, theirs = (dict(zip(self.place[x], self.row[x].tolist(), strict=True)) for x in (self.u, self.v))
        self.mine, self.theirs, self.ids = mine, theirs, ids
        self.shared = [i for i in mine if i in theirs]
        self.both = [(ids[i], mine[i], theirs[i]) for i in self.shared]
        self.n = len(self.shared)
        self.jaccard = self.n / max(1, len(mine) + len(theirs) - self.n)
        self.scale = pairs.ratings.scale
        self.empty = self.u if not mine else self.v if not theirs else None

    @cached_property
    def item_means(self) -> Floats:
        return self.pairs.item_means()

    @cached_property
    def similarity(self) -> Floats:
        assert self.pairs.geometry is not None
        return self.pairs.geometry.similarity(self.place[self.u], self.place[self.v])

    def mean(self, user: int) -> float:
        row = self.row[user]
        return float(row[0]) if (row == row[0]).all() else float(row.mean())

    def deviation(self, user: int) -> float:
        return float(np.sqrt(np.mean((self.row[user] - self.mean(user)) ** 2)))

    def pss(self, a: float, b: float, mean: float) -> float:
        middle = self.scale.middle
        proximity = 1 - _sig(abs(a - b))
        significance = _sig(abs(a - middle) * abs(b - middle))
        return proximity * significance * (1 - _sig(abs((a + b) / 2 - mean)))

    def co_rated_terms(self, value: Callable[[int, float, float], float]) -> list[Term]:
        return [
            Term(
                self.ids[i], self.ids[i], self.mine[i], self.theirs[i], value(i, self.mine[i], self.theirs[i])
            )
            for i in self.shared
        ]

    def all_terms(self, value: Callable[[int, int, float, float], float]) -> list[Term]:
        return [
            Term(self.ids[i], self.ids[j], a, b, float(self.similarity[k, m]) * value(i, j, a, b))
            for k, (i, a) in enumerate(self.mine.items())
            for m, (j, b) in enumerate(self.theirs.items())
        ]

    def n_part(self) -> Part:
        return Part("n", self.n, "items that both rated")

    def j_part(self) -> Part:
        return Part("J", self.jaccard, "n over the items that either rated")

    def pairs_part(self) -> Part:
        return Part("|I_u||I_v|", len(self.mine) * len(self.theirs), "pairs of ratings")

    def urp(self) -> tuple[float, list[Part]]:
        means = self.mean(self.u), self.mean(self.v)
        deviations = self.deviation(self.u), self.deviation(self.v)
        value = 1 - _sig(abs(means[0] - means[1]) * abs(deviations[0] - deviations[1]))
        return value, [
            Part("μ_u", means[0], "mean rating of the first"),
            Part("μ_v", means[1], "mean rating of the second"),
            Part("sd_u", deviations[0], "deviation of the first's ratings"),
            Part("sd_v", deviations[1], "deviation of the second's ratings"),
            Part("URP", value, "1 - sig(|μ_u - μ_v| |sd_u - sd_v|)"),
        ]


def _sig(x: float) -> float:
    return 1 / (1 + exp(-x))


def _cosine(two: _Two) -> Explained:
    terms = two.co_rated_terms(lambda i, a, b: a * b)
    return _normed(two, terms, [(a, b) for _, a, b in two.both], "r")


def _pearson(two: _Two, means: str = "all-rated") -> Explained:
    if not two.n:
        return nan, [two.n_part()], [], NOTHING_SHARED
    if means == "all-rated":
        x, y = two.mean(two.u), two.mean(two.v)
        over = "of all they rated"
    else:
        x, y = (float(np.mean(side)) for side in zip(*((a, b) for _, a, b in two.both), strict=True))
        over = "over the co-rated items"
    tiny = 1e-10 * two.scale.highest
    centered = [(_snap(a - x, tiny), _snap(b - y, tiny)) for _, a, b in two.both]
    terms = two.co_rated_terms(lambda i, a, b: _snap(a - x, tiny) * _snap(b - y, tiny))
    value, parts, terms, reason = _normed(two, terms, centered, "(r-μ)")
    extra = [Part("μ_u", x, f"the first's mean {over}"), Part("μ_v", y, f"the second's mean {over}")]
    return value, parts[:1] + extra + parts[1:], terms, reason


def _snap(x: float, tiny: float) -> float:
    return 0.0 if abs(x) <= tiny else x


def _normed(two: _Two, terms: list[Term], sides: list[tuple[float, float]], what: str) -> Explained:
    if not two.n:
        return nan, [two.n_part()], [], NOTHING_SHARED
    xy = sum(term.value for term in terms)
    xx, yy = sum(a * a for a, _ in sides), sum(b * b for _, b in sides)
    parts = [
        two.n_part(),
        Part(f"Σ{what}{what}", xy, "sum of products over them"),
        Part(f"Σ{what}²_u", xx, "sum of squares, the first"),
        Part(f"Σ{what}²_v", yy, "sum of squares, the second"),
    ]
    if not xx * yy > 0:
        return nan, parts, terms, "one side's sum of squares is 0"
    return min(1.0, max(-1.0, xy / sqrt(xx * yy))), parts, terms, None


def _msd(two: _Two) -> Explained:
    if not two.n:
        return nan, [two.n_part()], [], NOTHING_SHARED
    width = two.scale.highest - two.scale.lowest or 1.0
    terms = two.co_rated_terms(lambda i, a, b: ((a - b) / width) ** 2)
    value = sum(term.value for term in terms) / two.n
    return (
        value,
        [two.n_part(), Part("MSD", value, f"mean of ((r_u - r_v) / {width:g})² over them")],
        terms,
        None,
    )


def _jaccard(two: _Two) -> Explained:
    union = len(two.mine) + len(two.theirs) - two.n
    return two.jaccard, [two.n_part(), Part("union", union, "items that either rated")], [], None


def _jmsd(two: _Two) -> Explained:
    msd, parts, terms, reason = _msd(two)
    return two.jaccard * (1 - msd), [parts[0], two.j_part(), *parts[1:]], terms, reason


def _urp(two: _Two) -> Explained:
    value, parts = two.urp()
    return value, parts, [], None


def _nhsm(two: _Two, overlap: str) -> Explained:
    if not two.n:
        return nan, [two.n_part()], [], NOTHING_SHARED
    terms = two.co_rated_terms(lambda i, a, b: two.pss(a, b, two.item_means[i]))
    total = sum(term.value for term in terms)
    alike, parts = two.urp()
    if overlap == "product":
        shared = two.n / (len(two.mine) * len(two.theirs))
        part = Part("J'", shared, "n / (|I_u| |I_v|)")
    else:
        shared, part = two.jaccard, two.j_part()
    sum_part = Part("ΣPSS", total, "proximity · significance · singularity, over them")
    return total * shared * alike, [two.n_part(), sum_part, part, *parts], terms, None


def _bcf(two: _Two, normalized: bool, local: str = "correlation", flat: str = "nothing") -> Explained:
    values, is_flat = item_aware.local_values(two.pairs, local)
    flat_one = flat == "one" and bool(is_flat[two.u] or is_flat[two.v])
    starts = two.pairs.matrix.indptr
    loc = {
        user: dict(zip(two.place[user], values[starts[user] : starts[user + 1]].tolist(), strict=True))
        for user in (two.u, two.v)
    }
    terms = two.all_terms(lambda i, j, a, b: 1.0 if flat_one else loc[two.u][i] * loc[two.v][j])
    total = sum(term.value for term in terms)
    parts = [two.n_part(), two.j_part(), Part("Σs·loc", total, "over all pairs of ratings")]
    if not normalized:
        return two.jaccard + total, parts, terms, None
    pairs = two.pairs_part()
    return two.jaccard + total / pairs.value, [*parts, pairs], terms, None


def _husm(two: _Two, normalized: bool) -> Explained:
    means = two.item_means
    terms = two.all_terms(lambda i, j, a, b: two.pss(a, b, (means[i] + means[j]) / 2))
    total = sum(term.value for term in terms)
    share = _sig(two.n / len(two.mine))
    alike, alike_parts = two.urp()
    value = total * share * alike
    parts = [
        Part("Σs·PSS", total, "over all pairs of ratings"),
        two.n_part(),
        Part("sig(n/|I_u|)", share, "share of the first's items that both rated"),
        *alike_parts,
    ]
    if not normalized:
        return value, parts, terms, None
    pairs = two.pairs_part()
    return value / pairs.value, [*parts, pairs], terms, None


def _pmd(two: _Two, transport: str) -> Explained:
    for user in (two.u, two.v):
        if not (two.row[user] > 0).any():
            return nan, [], [], f"user {two.pairs.ratings.users[user]!r} has no rating above 0"
    if transport == "entropic":
        value = float(mover.preference_mover(two.pairs, transport=transport)(two.pairs.users)[0, 0])
        epsilon = Part("ε", mover.TABLE_1_EPSILON, "blur of the plan")
        return value, [epsilon, Part("cost", value, "of the blurred plan, at 1 - s")], [], None

    from prefmover.measures.pmd import pmd

    ratings, geometry = two.pairs.ratings, two.pairs.geometry
    assert geometry is not None
    answer = pmd(ratings, geometry, *ratings.users[[two.u, two.v]].tolist())
    mine, theirs = ({two.ids[i]: rating for i, rating in side.items()} for side in (two.mine, two.theirs))
    terms = [
        Term(flow.source, flow.target, mine[flow.source], theirs[flow.target], flow.mass * flow.distance)
        for flow in answer.flows
    ]
    stays = sum(flow.mass for flow in answer.flows if flow.source == flow.target)
    parts = [
        two.n_part(),
        Part("stays", stays, "share of the preference that stays on its item"),
        Part("moves", 1 - stays, "share that moves to another item"),
        Part("D", answer.distance, "cost of all moves: Σ mass · distance"),
    ]
    return answer.distance, parts, terms, None


_EXPLAINERS: dict[Callable[..., Any], Callable[..., Explained]] = {
    corated.cosine: _cosine,
    corated.pearson: _pearson,
    corated.mean_squared_difference: _msd,
    overlap.jaccard: _jaccard,
    overlap.jaccard_msd: _jmsd,
    distribution.urp: _urp,
    distribution.nhsm: _nhsm,
    item_aware.bcf: _bcf,
    item_aware.husm: _husm,
    mover.preference_mover: _pmd,
}
