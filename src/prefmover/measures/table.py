"""The table of measures: one row each, read by the search, the command line, the docs and the tests.

Twelve rows come with the package. A row of your own is made from a function on two users' ratings
(:meth:`Measure.from_function`) or from a matrix (:meth:`Measure.from_matrix`). The object works wherever
``measure=`` is taken; :func:`register` makes it work by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import exp, inf, pi
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import IdIndex, as_ids, close_names
from prefmover.errors import InputError
from prefmover.measures import corated, distribution, item_aware, mover, overlap
from prefmover.measures.pairs import Floats, Index, Kernel, Pairs, Rows

__all__ = ["MEASURES", "Convention", "Measure", "find_measure", "properties", "register"]

PUBLISHED = "published"
TABLE_1 = "table-1"


@dataclass(frozen=True, slots=True)
class Convention:
    """A named choice where a measure's definition leaves one, or where publications differ.

    Attributes
    ----------
    summary
        What it does, in a line.
    options
        Keyword arguments for the measure's kernel.
    """

    summary: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One row of the table.

    Attributes
    ----------
    name
        Lower case; what ``measure=`` takes.
    label
        As the literature writes it.
    summary
        What it looks at, in a line.
    kernel
        ``kernel(pairs, **options)`` prepares and returns a function from users to rows of values.
    larger_is_closer
        True for similarities, False for distances.
    range
        Least and greatest value under the default convention.
    symmetric
        Whether the value of (u, v) is that of (v, u).
    metric
        Whether it obeys the triangle inequality and is 0 for equal preferences (PMD: if the item
        distance is a metric).
    needs_geometry
        Whether item similarities are needed.
    needs_overlap
        Whether users without a co-rated item have no value.
    conventions
        By name; ``"published"`` and ``"table-1"`` are always there.
    default
        The convention used unless another is named.
    halves
        Whether the kernel can leave out the lower half of a symmetric result (``pairs.upper``).
    weight
        The rule that makes a neighbor's weight of a value; see :mod:`prefmover.measures.weights`.
    reference
        Where it was published.
    """

    name: str
    label: str
    summary: str
    kernel: Kernel
    larger_is_closer: bool
    range: tuple[float, float]
    symmetric: bool = True
    metric: bool = False
    needs_geometry: bool = False
    needs_overlap: bool = False
    conventions: Mapping[str, Convention] = field(default_factory=dict)
    default: str = PUBLISHED
    halves: bool = False
    weight: str = "as-is"
    reference: str = ""

    def __repr__(self) -> str:
        kind = "similarity" if self.larger_is_closer else "distance"
        return f"Measure({self.name!r}, a {kind}: {self.summary})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy a row of the table by its name, a row of one's own by its fields."""
        if MEASURES.get(self.name) is self:
            return find_measure, (self.name,)
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return _restored, ({**values, "conventions": dict(self.conventions)},)

    def convention(self, name: str | None = None) -> str:
        """Return the name of the convention meant: the default for None, checked otherwise."""
        if name is None:
            return self.default
        if name not in self.conventions:
            known = ", ".join(f'"{known}"' for known in self.conventions)
            raise InputError(f"measure {self.name!r} has no convention {name!r}; choose one of {known}")
        return name

    def options(self, convention: str | None = None) -> dict[str, Any]:
        """Return the kernel's keyword arguments under a convention."""
        return dict(self.conventions[self.convention(convention)].options)

    @classmethod
    def from_function(
        cls,
        name: str,
        function: Callable[[dict[Any, float], dict[Any, float]], float | None],
        *,
        larger_is_closer: bool = True,
        symmetric: bool = False,
        range: tuple[float, float] = (-inf, inf),  # noqa: A002 - the attribute's name
        weight: str | None = None,
        summary: str = "a function of two users' ratings",
    ) -> Self:
        """Make a measure of a function on two users' ratings.

        Parameters
        ----------
        function
            Called with two dictionaries from item id to rating, for every pair asked for; returns a
            number, or None (or NaN) where the measure is undefined. It is not called for users without
            ratings. It runs as Python: fine for thousands of users against some, slow for all pairs.
        symmetric
            Promise that f(u, v) = f(v, u).
        weight
            How values become weights: ``"as-is"`` for a similarity, ``"exponential(1)"`` for a distance,
            unless named.

        Examples
        --------
        >>> from prefmover.data.ratings import Ratings
        >>> from prefmover.measures import similarities
        >>> def shared(u, v):
        ...     return len(u.keys() & v.keys())
        >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 3, 3])
        >>> similarities(ratings, Measure.from_function("shared", shared, symmetric=True))
        array([[2., 1.],
               [1., 1.]])
        """
        return cls._own(
            name, summary, _FunctionKernel(name, function), larger_is_closer, range, symmetric, weight
        )

    @classmethod
    def from_matrix(
        cls,
        name: str,
        matrix: npt.ArrayLike,
        users: npt.ArrayLike,
        *,
        larger_is_closer: bool = True,
        weight: str | None = None,
        summary: str = "a precomputed matrix",
    ) -> Self:
        """Make a measure of a precomputed matrix of values.

        Parameters
        ----------
        matrix
            (n, n) values, NaN where undefined; rows are the users asked about. Not copied.
        users
            The n user ids of its rows and columns, in any order; users of the ratings that are not among
            them cannot be asked for.

        Examples
        --------
        >>> from prefmover.data.ratings import Ratings
        >>> from prefmover.measures import similarities
        >>> ratings = Ratings.from_arrays(["ann", "bob"], ["x", "y"], [5, 3])
        >>> friends = Measure.from_matrix("friends", [[1, 0.5], [0.25, 1]], users=["bob", "ann"])
        >>> similarities(ratings, friends, users=["ann"])
        array([[1.  , 0.25]])
        """
        values = np.asarray(matrix, dtype=np.float64)
        ids = as_ids(users, "user")
        if values.shape != (len(ids), len(ids)):
            raise InputError(
                f"measure {name!r}: a matrix of shape {values.shape} does not fit {len(ids):,} user ids"
            )
        if np.isinf(values).any():
            u, v = np.argwhere(np.isinf(values))[0]
            raise InputError(
                f"measure {name!r}: the value of users {ids[u]!r} and {ids[v]!r} is infinite; "
                "use NaN where there is none"
            )
        ends = (
            (float(np.nanmin(values)), float(np.nanmax(values))) if (values == values).any() else (-inf, inf)
        )
        symmetric = np.array_equal(values, values.T, equal_nan=True)
        kernel = _MatrixKernel(name, values, IdIndex("user", ids))
        return cls._own(name, summary, kernel, larger_is_closer, ends, symmetric, weight)

    @classmethod
    def _own(
        cls,
        name: str,
        summary: str,
        kernel: Kernel,
        larger_is_closer: bool,
        ends: tuple[float, float],
        symmetric: bool,
        weight: str | None,
    ) -> Self:
        only = Convention("as given")
        return cls(
            name=_checked_name(name),
            label=name,
            summary=summary,
            kernel=kernel,
            larger_is_closer=larger_is_closer,
            range=ends,
            symmetric=symmetric,
            conventions=MappingProxyType({PUBLISHED: only, TABLE_1: only}),
            weight=weight or ("as-is" if larger_is_closer else "exponential(1)"),
        )


def register(measure: Measure, *, replace: bool = False) -> Measure:
    """Add a row to :data:`MEASURES`, so that it works by name, and return it.

    Examples
    --------
    >>> row = register(Measure.from_function("shared", lambda u, v: len(u.keys() & v.keys())))
    >>> find_measure("shared") is row
    True
    >>> del MEASURES["shared"]
    """
    if measure.name in MEASURES and not replace:
        raise InputError(
            f"there is a measure {measure.name!r} already; choose another name, or pass replace=True"
        )
    MEASURES[measure.name] = measure
    return measure


def find_measure(measure: str | Measure) -> Measure:
    """Return the row of that name (in any case), or the object itself.

    >>> find_measure("N-BCF").name
    'n-bcf'
    """
    if isinstance(measure, Measure):
        return measure
    row = MEASURES.get(str(measure).lower())
    if row is None:
        near = close_names(str(measure), MEASURES)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"measure {measure!r} is not known; {hint}choose one of {', '.join(MEASURES)}")
    return row


def properties() -> str:
    """Return the table of properties in Markdown, as ``docs/measures.md`` shows it."""

    def yes(flag: bool) -> str:
        return "yes" if flag else "no"

    def end(x: float) -> str:
        named = {inf: "∞", -inf: "-∞", pi / 2: "π/2", 1 / 8: "1/8", _SIG_1 / 8: "sig(1)/8", 0.5: "1/2"}
        return named.get(x, f"{x:g}")

    head = ["measure", "name", "closer is", "range", "symmetric", "metric", "item geometry"]
    head += ["without a co-rated item", "conventions (default first)", "weight"]
    lines = [head, ["---"] * len(head)]
    lines += [
        [
            row.label,
            f"`{row.name}`",
            "larger" if row.larger_is_closer else "smaller",
            f"{end(row.range[0])} to {end(row.range[1])}",
            yes(row.symmetric),
            yes(row.metric),
            "needed" if row.needs_geometry else "no",
            "undefined" if row.needs_overlap else "defined",
            ", ".join(f"`{name}`" for name in sorted(row.conventions, key=lambda n: n != row.default)),
            f"`{row.weight}`",
        ]
        for row in _ROWS
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _restored(values: dict[str, Any]) -> Measure:
    """Return a measure from its fields, with conventions that cannot be changed again."""
    return Measure(**{**values, "conventions": MappingProxyType(values["conventions"])})


def _checked_name(name: str) -> str:
    if not name or name != name.strip().lower():
        raise InputError(f"measure name {name!r}: use lower case and no blanks around it, as in 'n-bcf'")
    return name


@dataclass(frozen=True, slots=True, eq=False)
class _FunctionKernel:
    """The kernel of a function on two users' ratings; a class, since closures cannot be pickled."""

    name: str
    function: Callable[[dict[Any, float], dict[Any, float]], float | None]

    def __call__(self, pairs: Pairs) -> Rows:
        ratings, name, function = pairs.ratings, self.name, self.function
        theirs = [ratings[v] for v in ratings.users[pairs.others]]

        def value(u: Any, mine: dict[Any, float], v: Any, row: dict[Any, float]) -> float:
            if not mine or not row:
                return np.nan
            try:
                result = function(mine, row)
                number = np.nan if result is None else float(result)
            except Exception as error:
                error.add_note(f"in measure {name!r}, for users {u!r} and {v!r}")
                raise
            if number in (inf, -inf):
                raise InputError(
                    f"measure {name!r} is infinite for users {u!r} and {v!r}; return None if undefined"
                )
            return number

        def rows(users: Index) -> Floats:
            out = np.empty((len(users), len(theirs)))
            for k, u in enumerate(ratings.users[users].tolist()):
                mine = ratings[u]
                out[k] = [
                    value(u, mine, v, row)
                    for v, row in zip(ratings.users[pairs.others].tolist(), theirs, strict=True)
                ]
            return out

        return rows


@dataclass(frozen=True, slots=True, eq=False)
class _MatrixKernel:
    """The kernel of a matrix of values, over the users of an index."""

    name: str
    values: Floats
    index: IdIndex

    def __call__(self, pairs: Pairs) -> Rows:
        users, values = pairs.ratings.users, self.values

        def places(positions: Index) -> Index:
            try:
                return self.index.positions(users[positions])
            except InputError as error:
                raise InputError(
                    f"measure {self.name!r} was made without one of these users: {error}"
                ) from None

        columns = places(pairs.others)
        places(pairs.users)  # complain before the work begins
        return lambda some: values[np.ix_(places(some), columns)]


def _row(
    name: str,
    label: str,
    summary: str,
    kernel: Kernel,
    range: tuple[float, float],  # noqa: A002 - the attribute's name
    reference: str,
    published: Convention,
    others: Mapping[str, Convention] = MappingProxyType({}),
    **flags: Any,
) -> Measure:
    """Return a row in which ``"table-1"`` is the published convention unless it says otherwise."""
    conventions = {PUBLISHED: published, **others}
    conventions.setdefault(TABLE_1, Convention("the same", published.options))
    flags.setdefault("larger_is_closer", True)
    return Measure(
        name,
        label,
        summary,
        kernel,
        range=range,
        reference=reference,
        conventions=MappingProxyType(conventions),
        **flags,
    )


def _bcf_conventions(normalized: bool) -> tuple[Convention, dict[str, Convention]]:
    def options(**chosen: Any) -> dict[str, Any]:
        return {"normalized": normalized, **chosen}

    return Convention("loc_cor over the rated items; a flat user adds nothing to J", options()), {
        "median": Convention(
            "loc_med: ratings centered on the middle of the scale, over the L2 norms", options(local="median")
        ),
        TABLE_1: Convention(
            "mean and deviation of the zero-filled row over all items; loc = 1 for a flat user",
            options(local="zero-filled", flat="one"),
        ),
    }


BREESE = "Breese, Heckerman, Kadie: Empirical analysis of predictive algorithms, UAI 1998"
SHARDANAND = "Shardanand, Maes: Social information filtering, CHI 1995"
KOUTRIKA = "Koutrika, Bercovitz, Garcia-Molina: FlexRecs, SIGMOD 2009"
LIU = "Liu, Hu, Mian, Tian, Zhu: A new user similarity model, Knowledge-Based Systems 56, 2014"
BOBADILLA = (
    "Bobadilla, Serradilla, Bernal: A new collaborative filtering metric, Knowledge-Based Systems 23, 2010"
)
PATRA = "Patra, Launonen, Ollikainen, Nandi: A new similarity measure, Knowledge-Based Systems 82, 2015"
WANG = "Wang, Deng, Gao, Zhang: A hybrid user similarity model, Information Sciences 418, 2017"
MENG = "Meng, Liu, Liao, Guo, Chen: PMD: a new user distance for recommender systems"

_PLAIN = Convention("as defined")
_BCF, _BCF_OTHERS = _bcf_conventions(normalized=False)
_NBCF, _NBCF_OTHERS = _bcf_conventions(normalized=True)
_SIG_1 = 1 / (1 + exp(-1))

_ROWS = [
    _row(
        "cos", "COS", "angle between the co-rated ratings",
        corated.cosine, (0, 1), BREESE, _PLAIN, needs_overlap=True, halves=True,
    ),
    _row(
        "pcc", "PCC", "correlation of the co-rated ratings",
        corated.pearson, (-1, 1), BREESE,
        Convention("centered on the mean of all of a user's ratings"),
        {"co-rated-means": Convention("centered on the mean over the co-rated items", {"means": "co-rated"})},
        needs_overlap=True, halves=True,
    ),
    _row(
        "msd", "MSD", "mean squared difference of the co-rated ratings",
        corated.mean_squared_difference, (0, 1), SHARDANAND,
        Convention("differences as a share of the scale"),
        larger_is_closer=False, needs_overlap=True, halves=True, weight="one-minus",
    ),
    _row(
        "jaccard", "Jaccard", "share of the items of either that both rated",
        overlap.jaccard, (0, 1), KOUTRIKA, _PLAIN, halves=True,
    ),
    _row(
        "urp", "URP", "likeness of the means and deviations of two users' ratings",
        distribution.urp, (0, 0.5), LIU, _PLAIN,
    ),
    _row(
        "jmsd", "JMSD", "Jaccard times 1 - MSD",
        overlap.jaccard_msd, (0, 1), BOBADILLA, _PLAIN, needs_overlap=True, halves=True,
    ),
    _row(
        "nhsm", "NHSM", "proximity, significance and singularity of co-rated ratings, times overlap and URP",
        distribution.nhsm, (0, 1 / 8), LIU,
        Convention("overlap n / (|I_u| |I_v|)", {"overlap": "product"}),
        {TABLE_1: Convention("overlap is Jaccard's", {"overlap": "union"})},
        needs_overlap=True, halves=True,
    ),
    _row(
        "bcf", "BCF", "Jaccard plus all pairs of ratings, weighted by item similarity",
        item_aware.bcf, (-inf, inf), PATRA, _BCF, _BCF_OTHERS, needs_geometry=True,
    ),
    _row(
        "n-bcf", "N-BCF", "BCF with the mean over all pairs of ratings in place of their sum",
        item_aware.bcf, (-1, 2), MENG, _NBCF, _NBCF_OTHERS, needs_geometry=True,
    ),
    _row(
        "husm", "HUSM", "NHSM's likeness of all pairs of ratings, weighted by item similarity",
        item_aware.husm, (0, inf), WANG,
        Convention("as defined", {"normalized": False}),
        needs_geometry=True, symmetric=False,
    ),
    _row(
        "n-husm", "N-HUSM", "HUSM with the mean over all pairs of ratings in place of their sum",
        item_aware.husm, (0, _SIG_1 / 8), MENG,
        Convention("as defined", {"normalized": True}),
        needs_geometry=True, symmetric=False,
    ),
    _row(
        "pmd", "PMD", "least cost of moving one user's preferences onto the other's",
        mover.preference_mover, (0, pi / 2), MENG,
        Convention("exact; the geometry's own distance, arccos s in the paper", {"transport": "exact"}),
        {TABLE_1: Convention("entropic (Sinkhorn, ε = .05), d = 1 - s", {"transport": "entropic"})},
        larger_is_closer=False, metric=True, needs_geometry=True, weight="exponential(4)",
    ),
]  # fmt: skip

MEASURES: dict[str, Measure] = {row.name: row for row in _ROWS}
"""All measures by name, in the order of the paper's Table 1."""
