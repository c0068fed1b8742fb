"""The table of measures. A row says everything that depends on the measure.

The paper's twelve measures and two extensions come with the package. Make a row of your own from a
function on two users' ratings
(:meth:`Measure.from_function`) or from a matrix (:meth:`Measure.from_matrix`). Pass the object wherever
``measure=`` is taken, or call :func:`register_measure` to use it by name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from math import exp, inf, pi
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Progress
from prefmover.data.ids import IdIndex, as_ids
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError, close_names
from prefmover.measures import agreement, corated, distribution, item_aware, opinions, overlap
from prefmover.measures import pmd as mover
from prefmover.measures.breakdown import Breakdown
from prefmover.measures.custom import FunctionKernel, MatrixKernel
from prefmover.measures.pairs import Kernel, values

PUBLISHED = "published"
TABLE_1 = "table-1"

# Okabe and Ito's colors, which people with any color vision can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#B8A800", "#0072B2", "#D55E00", "#CC79A7"


class Style(NamedTuple):
    """The look of a measure in plots: a color, and matplotlib's dash and marker."""

    color: str
    dash: str
    marker: str


CUSTOM_STYLE = Style(PURPLE, "-", "x")


@dataclass(frozen=True, slots=True)
class Convention:
    """A named choice where a measure's definition leaves one, or where publications differ.

    ``options`` are keyword arguments of the measure's kernel and of its breakdown. ``practical`` says whether
    it is fast enough for whole data sets.
    """

    summary: str
    options: Mapping[str, Any] = field(default_factory=dict)
    practical: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One row of the table.

    Attributes
    ----------
    name, label, summary
        The name that ``measure=`` takes, in lower case; the name in the literature; and one sentence on what
        the measure compares.
    kernel
        ``kernel(pairs, **options)`` prepares, and returns a function from users to rows of values.
    breakdown
        ``breakdown(pair, **options)`` returns the factors and terms of one pair.
    range
        Least and greatest value under the default convention.
    style, reference
        Its look in plots, and the publication.
    conventions, default
        By name, and the one used unless another is named. ``"published"`` and ``"table-1"`` are always there.
    larger_is_closer
        True for similarities, False for distances.
    symmetric
        Whether the value of (u, v) is that of (v, u).
    metric
        Whether it obeys the triangle inequality and is 0 for equal preferences (PMD: if the item
        distance is a metric).
    needs_geometry
        Whether it needs distances between items.
    needs_overlap
        Whether users without a co-rated item have no value.
    uses_others
        Whether the value of a pair depends on the ratings of other users (through item means).
    search
        ``"cascade"`` if lower bounds let the search skip most pairs under the default convention,
        ``"exhaustive"`` if every pair is computed.
    fills_upper_triangle
        Whether the kernel can skip the lower half of a symmetric result (``pairs.upper``).
    rows_per_task
        Number of rows that a thread computes at a time.
    is_zero_for_itself
        Whether the value of a user and itself is 0.
    weight
        The rule that turns a value into a neighbor's weight; see :mod:`prefmover.measures.weights`. By
        default ``"as-is"`` for a similarity and ``"exponential(1)"`` for a distance.
    extension
        Whether it is an extension of this package, and not a measure of the paper. ``"all"`` measures are
        those of the paper.
    space, extra_term
        For the search by bounds: a function from a data set to the space of its transports, and a kernel for
        what the measure adds to them.
    """

    name: str
    label: str
    summary: str
    kernel: Kernel
    breakdown: Breakdown | None = None
    range: tuple[float, float] = (-inf, inf)
    style: Style = CUSTOM_STYLE
    reference: str = ""
    conventions: Mapping[str, Convention] = field(default_factory=dict)
    larger_is_closer: bool = True
    symmetric: bool = True
    metric: bool = False
    needs_geometry: bool = False
    needs_overlap: bool = False
    uses_others: bool = False
    search: Literal["cascade", "exhaustive"] = "exhaustive"
    default: str = PUBLISHED
    fills_upper_triangle: bool = False
    rows_per_task: int = 64
    is_zero_for_itself: bool = False
    weight: str = ""
    extension: bool = False
    space: Callable[[Dataset], mover.TransportSpace] | None = None
    extra_term: Kernel | None = None

    def __post_init__(self) -> None:
        """Check the name, and add the conventions and the weight that every measure has."""
        if not self.name or self.name != self.name.strip().lower():
            raise InputError(f"measure name {self.name!r}: use lower case without surrounding spaces")
        conventions = {PUBLISHED: Convention("as defined"), **self.conventions}
        conventions.setdefault(TABLE_1, Convention("the same", conventions[PUBLISHED].options))
        object.__setattr__(self, "conventions", MappingProxyType(conventions))
        default = "as-is" if self.larger_is_closer else "exponential(1)"
        object.__setattr__(self, "weight", self.weight or default)

    def __repr__(self) -> str:
        return f"Measure({self.name!r}, a {self.value_name}: {self.summary})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy a row of the table by its name, any other row by its fields."""
        if MEASURES.get(self.name) is self:
            return find_measure, (self.name,)
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return partial(Measure, **{**values, "conventions": dict(self.conventions)}), ()

    @property
    def value_name(self) -> Literal["distance", "similarity"]:
        """Whether a value is a ``"distance"`` or a ``"similarity"``."""
        return "similarity" if self.larger_is_closer else "distance"

    def searches_by_bounds(self, convention: str | None = None) -> bool:
        """Whether the search can skip most pairs by lower bounds."""
        return self.search == "cascade" and self.convention(convention) == self.default

    def distinct_conventions(self) -> list[str]:
        """Return the conventions that give different values, the default first.

        >>> MEASURES["nhsm"].distinct_conventions(), MEASURES["cos"].distinct_conventions()
        (['published', 'table-1'], ['published'])
        """
        distinct: dict[str, str] = {}
        for name in sorted(self.conventions, key=lambda name: name != self.default):
            distinct.setdefault(repr(sorted(self.conventions[name].options.items())), name)
        return list(distinct.values())

    def convention(self, name: str | None = None) -> str:
        """Return a checked convention name; None means the default."""
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
        """Make a measure from a function on two users' ratings.

        Parameters
        ----------
        function
            Called with two dictionaries from item id to rating. Returns a number, or None (or NaN) where
            the measure is undefined. It is not called for users without ratings. It runs as Python: fast
            enough for some users against thousands, slow for all pairs.
        larger_is_closer, symmetric, range, weight, summary
            As in :class:`Measure`.

        Examples
        --------
        >>> from prefmover import Dataset, Ratings, pairwise
        >>> def common(u, v):
        ...     return len(u.keys() & v.keys())
        >>> data = Dataset(Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 3, 3]))
        >>> pairwise(data, Measure.from_function("common", common, symmetric=True))
        array([[2., 1.],
               [1., 1.]])
        """
        return cls(
            name, name, summary, FunctionKernel(name, function), range=range,
            larger_is_closer=larger_is_closer, symmetric=symmetric, weight=weight or "",
        )  # fmt: skip

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
        """Make a measure from a precomputed matrix of values.

        Parameters
        ----------
        matrix
            (n, n) values, NaN where undefined; rows are the queries. Not copied.
        users
            The n user ids of its rows and columns, in any order. The data may have no other users.

        Examples
        --------
        >>> from prefmover import Dataset, Ratings, pairwise
        >>> data = Dataset(Ratings.from_arrays(["ann", "bob"], ["x", "y"], [5, 3]))
        >>> friends = Measure.from_matrix("friends", [[1, 0.5], [0.25, 1]], users=["bob", "ann"])
        >>> pairwise(data, friends, users=["ann"])
        array([[1.  , 0.25]])
        """
        values = np.asarray(matrix, dtype=np.float64)
        ids = as_ids(users, "user")
        if values.shape != (len(ids), len(ids)):
            raise InputError(
                f"measure {name!r}: a matrix of {values.shape} does not fit {len(ids):,} user ids; "
                "give a row and a column for each user"
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
        kernel = MatrixKernel(name, values, IdIndex("user", ids))
        is_zero = not larger_is_closer and not np.diagonal(values).any()
        return cls(
            name, name, summary, kernel, range=ends, larger_is_closer=larger_is_closer,
            symmetric=symmetric, weight=weight or "", is_zero_for_itself=is_zero,
        )  # fmt: skip


def register_measure(measure: Measure, *, replace: bool = False) -> Measure:
    """Add a row to :data:`MEASURES`, so that it works by name, and return it.

    Examples
    --------
    >>> row = register_measure(Measure.from_function("common", lambda u, v: len(u.keys() & v.keys())))
    >>> find_measure("common") is row
    True
    >>> unregister_measure("common")
    """
    if measure.name in MEASURES and not replace:
        raise InputError(f"measure {measure.name!r} exists already; use another name, or pass replace=True")
    _TABLE[measure.name] = measure
    return measure


def unregister_measure(name: str) -> None:
    """Remove a row that :func:`register_measure` added."""
    if find_measure(name) in _ROWS:
        raise InputError(f"measure {name!r} is part of prefmover; only your own can be removed")
    del _TABLE[name]


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


def pairwise(
    data: Dataset,
    measure: str | Measure = "pmd",
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    *,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return the values of a measure between ``users`` and ``others``.

    They are distances or similarities, as ``find_measure(measure).value_name`` says: PMD, PMD-agreement,
    PMD-opinions and MSD are distances, where smaller is closer, and all others are similarities. A value does
    not depend on the number of threads or the order of the users.

    Parameters
    ----------
    data
        Item means and the rating scale are those of all its ratings.
    measure
        A name in :data:`~prefmover.measures.MEASURES`, in any case, or a
        :class:`~prefmover.measures.Measure` of your own.
    users, others
        User ids; None means all users. If the two are the same, each pair is solved once where the
        measure is symmetric.
    convention
        One of the measure's named conventions; by default that of its publication. ``"table-1"`` is the
        reconstruction of the paper's Table 1, for every measure.
    n_threads
        Number of threads; None means all cores.
    progress
        Called with (users done, all users).
    dtype
        float64, or float32 to halve the memory.

    Returns
    -------
    array of shape (len(users), len(others))
        NaN where the measure is undefined. Such users are never neighbors.

    Examples
    --------
    >>> from prefmover import Dataset, Ratings
    >>> data = Dataset(Ratings.from_arrays(
    ...     ["ann", "ann", "bob", "bob", "cid"], ["x", "y", "y", "z", "z"], [5, 3, 3, 1, 2]
    ... ))
    >>> pairwise(data, "jaccard").round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.5  ],
           [0.   , 0.5  , 1.   ]])
    >>> pairwise(data, "cos", users=["ann"])  # ann and cid have no item in common
    array([[ 1.,  1., nan]])
    """
    check_dataset(data)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise InputError(f"dtype is {dtype!r}; choose float64 or float32")
    row, at = find_measure(measure), data.ratings.user_positions
    return values(data, row, convention, at(users), at(others), n_threads, progress, dtype)


def _bcf_conventions(normalized: bool) -> dict[str, Convention]:
    def convention(summary: str, **options: Any) -> Convention:
        return Convention(summary, {"normalized": normalized, **options})

    return {
        PUBLISHED: convention("loc_cor over the rated items; a flat user adds nothing to J"),
        "median": convention(
            "loc_med: ratings centered on the middle of the scale, divided by the L2 norms", local="median"
        ),
        TABLE_1: convention(
            "mean and deviation of the zero-filled row over all items; loc = 1 for a flat user",
            local="zero-filled",
            flat="one",
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
PREFMOVER = "prefmover, an extension (docs/measures.md)"
MENG = "Meng, Liu, Liao, Guo, Chen: PMD: a new user distance for recommender systems"

_SIG_1 = 1 / (1 + exp(-1))

_ROWS = [
    Measure(
        "cos", "COS", "The angle between the ratings of co-rated items.",
        corated.cosine, corated.cosine_breakdown, (0, 1), Style(SKY, "--", "s"), BREESE,
        needs_overlap=True, fills_upper_triangle=True,
    ),
    Measure(
        "pcc", "PCC", "The correlation of the ratings of co-rated items.",
        corated.pearson, corated.pearson_breakdown, (-1, 1), Style(ORANGE, "--", "^"), BREESE,
        {
            PUBLISHED: Convention("centered on the mean of all of a user's ratings"),
            "co-rated-means": Convention(
                "centered on the mean over the co-rated items", {"means": "co-rated"}
            ),
        },
        needs_overlap=True, fills_upper_triangle=True,
    ),
    Measure(
        "msd", "MSD", "The mean squared difference of the ratings of co-rated items.",
        corated.mean_squared_difference, corated.msd_breakdown, (0, 1), Style(GREEN, "--", "D"), SHARDANAND,
        {PUBLISHED: Convention("differences as a share of the scale")},
        larger_is_closer=False, needs_overlap=True, fills_upper_triangle=True, weight="one-minus",
        is_zero_for_itself=True,
    ),
    Measure(
        "jaccard", "Jaccard", "The share of all items rated by either user that both rated.",
        overlap.jaccard, overlap.jaccard_breakdown, (0, 1), Style(PURPLE, "--", "v"), KOUTRIKA,
        fills_upper_triangle=True,
    ),
    Measure(
        "urp", "URP", "The similarity of the means and standard deviations of two users' ratings.",
        distribution.urp, distribution.urp_breakdown, (0, 0.5), Style(YELLOW, "--", "P"), LIU,
    ),
    Measure(
        "jmsd", "JMSD", "Jaccard times 1 - MSD.",
        overlap.jaccard_msd, overlap.jmsd_breakdown, (0, 1), Style(BLUE, "--", "X"), BOBADILLA,
        needs_overlap=True, fills_upper_triangle=True,
    ),
    Measure(
        "nhsm", "NHSM", "Proximity, significance and singularity of co-rated ratings, times overlap and URP.",
        distribution.nhsm, distribution.nhsm_breakdown, (0, 1 / 8), Style(RED, "--", "<"), LIU,
        {
            PUBLISHED: Convention("overlap n / (|I_u| |I_v|)", {"overlap": "product"}),
            TABLE_1: Convention("Jaccard as the overlap", {"overlap": "union"}),
        },
        needs_overlap=True, fills_upper_triangle=True, uses_others=True,
    ),
    Measure(
        "bcf", "BCF", "Jaccard plus all pairs of ratings, weighted by item similarity.",
        item_aware.bcf, item_aware.bcf_breakdown, (-inf, inf), Style(SKY, "-", ">"), PATRA,
        _bcf_conventions(normalized=False), needs_geometry=True,
    ),
    Measure(
        "n-bcf", "N-BCF", "BCF with the mean over all pairs of ratings in place of their sum.",
        item_aware.bcf, item_aware.bcf_breakdown, (-1, 2), Style(BLUE, "-", "h"), MENG,
        _bcf_conventions(normalized=True), needs_geometry=True,
    ),
    Measure(
        "husm", "HUSM", "NHSM's factors of all pairs of ratings, weighted by item similarity.",
        item_aware.husm, item_aware.husm_breakdown, (0, inf), Style(ORANGE, "-", "*"), WANG,
        {PUBLISHED: Convention("as defined", {"normalized": False})},
        needs_geometry=True, symmetric=False, uses_others=True,
    ),
    Measure(
        "n-husm", "N-HUSM", "HUSM with the mean over all pairs of ratings in place of their sum.",
        item_aware.husm, item_aware.husm_breakdown, (0, _SIG_1 / 8), Style(RED, "-", "p"), MENG,
        {PUBLISHED: Convention("as defined", {"normalized": True})},
        needs_geometry=True, symmetric=False, uses_others=True,
    ),
    Measure(
        "pmd", "PMD", "The least cost of moving one user's preferences onto the other's.",
        mover.preference_mover, mover.pmd_breakdown, (0, pi / 2), Style(BLACK, "-", "o"), MENG,
        {
            PUBLISHED: Convention(
                "exact, with the distances of the geometry (the paper: arccos s)", {"transport": "exact"}
            ),
            TABLE_1: Convention(
                "entropic (Sinkhorn, ε = .05), d = 1 - s", {"transport": "entropic"}, practical=False
            ),
        },
        larger_is_closer=False, metric=True, needs_geometry=True, weight="exponential(4)",
        search="cascade", fills_upper_triangle=True, rows_per_task=1, space=mover.item_space,
        is_zero_for_itself=True,
    ),
    Measure(
        "pmd-agreement", "PMD-agreement", "PMD plus disagreement on the items that both rated.",
        agreement.agreement, agreement.agreement_breakdown, (0, agreement.LARGEST), Style(PURPLE, "-", "D"),
        PREFMOVER,
        larger_is_closer=False, needs_geometry=True, weight="exponential(2)",
        search="cascade", fills_upper_triangle=True, rows_per_task=1, extension=True,
        space=mover.item_space, extra_term=agreement.agreement_term,
    ),
    Measure(
        "pmd-opinions", "PMD-opinions", "PMD between items with their ratings: a fan is not a critic.",
        opinions.opinions, opinions.opinions_breakdown, (0, 5 * pi / 8), Style(GREEN, "-", "s"), PREFMOVER,
        larger_is_closer=False, metric=True, needs_geometry=True, weight="exponential(4)",
        search="cascade", fills_upper_triangle=True, rows_per_task=1, extension=True,
        space=opinions.opinion_space, is_zero_for_itself=True,
    ),
]  # fmt: skip

_TABLE: dict[str, Measure] = {row.name: row for row in _ROWS}
MEASURES: Mapping[str, Measure] = MappingProxyType(_TABLE)
"""All measures by name: the paper's twelve in the order of its Table 1, then extensions, then your own.

It cannot be changed; :func:`register_measure` and :func:`unregister_measure` add and remove your own.
"""
