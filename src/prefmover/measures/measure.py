"""A measure, the names that measures have, and the rules that turn their values into weights.

The paper's twelve measures and two extensions come with the package (``table.py``). Make a row of your own
from a function on two users' ratings (:meth:`Measure.from_function`) or from a matrix
(:meth:`Measure.from_matrix`). Pass the object wherever ``measure=`` is taken, or call
:func:`register_measure` to use it by name.

The paper derives a similarity from PMD "easily" and prints ``1 - PMD``, but with d = arccos(s) a distance can
reach π/2, where that is negative. The rules for the weight of a neighbor:

=====================  ==============  ==========================================================
name                   weight          remarks
=====================  ==============  ==========================================================
``one-minus``          1 - D           the paper's; negative where D > 1
``cosine``             cos D           undoes the arccos: for two users with one item each, the
                                       similarity of the two items; 0 from a right angle on
``exponential(g)``     exp(-g D)       always positive; g sets how fast a neighbor's weight falls
``as-is``              the value       for measures that are similarities
=====================  ==============  ==========================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.ids import IdIndex, as_ids
from prefmover.errors import InputError, close_names

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.measures.breakdown import Breakdown
    from prefmover.measures.pairs import Kernel, Pairs, Rows
    from prefmover.measures.pmd import TransportSpace

PUBLISHED = "published"
TABLE_1 = "table-1"
PURPLE = "#CC79A7"


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
        The rule that turns a value into a neighbor's weight; see :func:`prefmover.measures.weight`. By
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
    space: Callable[[Dataset], TransportSpace] | None = None
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


_TABLE: dict[str, Measure] = {}
MEASURES: Mapping[str, Measure] = MappingProxyType(_TABLE)
"""All measures by name: the paper's twelve in the order of its Table 1, then extensions, then your own.

It cannot be changed; :func:`register_measure` and :func:`unregister_measure` add and remove your own.
"""


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
    from prefmover.measures.table import ROWS  # which are made of this module's classes

    if find_measure(name) in ROWS:
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


@dataclass(frozen=True, slots=True, eq=False)
class FunctionKernel:
    """The kernel of a function on two users' ratings; a class, since closures cannot be pickled."""

    name: str
    function: Callable[[dict[Any, float], dict[Any, float]], float | None]

    def __call__(self, pairs: Pairs) -> Rows:  # noqa: D102 - see Kernel
        ratings = pairs.ratings

        def rows_of(users: Ints) -> list[tuple[Any, dict[Any, float]]]:
            """Return ids and ratings; found by position, since a new user may have the id of another."""
            rows = zip(ratings.users[users].tolist(), map(ratings.row, users.tolist()), strict=True)
            return [
                (u, dict(zip(ratings.items[items].tolist(), values.tolist(), strict=True)))
                for u, (items, values) in rows
            ]

        others = rows_of(pairs.others)

        def rows(users: Ints) -> Floats:
            out = np.empty((len(users), len(others)))
            for k, (u, row) in enumerate(rows_of(users)):
                out[k] = [self._value(u, row, v, other) for v, other in others]
            return out

        return rows

    def _value(self, u: Any, row: dict[Any, float], v: Any, other: dict[Any, float]) -> float:
        if not row or not other:
            return np.nan
        try:
            result = self.function(row, other)
            number = np.nan if result is None else float(result)
        except Exception as error:
            error.add_note(f"in measure {self.name!r}, for users {u!r} and {v!r}")
            raise
        if number in (inf, -inf):
            raise InputError(
                f"measure {self.name!r} is infinite for users {u!r} and {v!r}; return None where undefined"
            )
        return number


@dataclass(frozen=True, slots=True, eq=False)
class MatrixKernel:
    """The kernel of a matrix of values, over the users of an index."""

    name: str
    values: Floats
    index: IdIndex

    def __call__(self, pairs: Pairs) -> Rows:  # noqa: D102 - see Kernel
        columns = self._positions(pairs, pairs.others)
        self._positions(pairs, pairs.users)  # an unknown user is an error before the work begins
        return lambda users: self.values[np.ix_(self._positions(pairs, users), columns)]

    def _positions(self, pairs: Pairs, users: Ints) -> Ints:
        try:
            return self.index.positions(pairs.ratings.users[users])
        except InputError as error:
            raise InputError(f"the matrix of measure {self.name!r} lacks a user: {error}") from None


@dataclass(frozen=True, slots=True)
class Weight:
    """A rule that turns values of a measure into weights; NaN stays NaN.

    Examples
    --------
    >>> weight("exponential(4)")(np.array([0.0, 0.25, np.nan]))
    array([1.        , 0.36787944,        nan])
    >>> print(weight("exponential(4)"))
    exponential(4)
    """

    name: str
    rule: Callable[[Floats], Floats]

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Return the weights of an array of values."""
        return self.rule(np.asarray(values, dtype=np.float64))

    def __str__(self) -> str:
        return self.name


WEIGHTS: dict[str, str] = {
    "as-is": "the value itself, for similarities",
    "one-minus": "1 - D, negative where D > 1",
    "cosine": "cos D; 0 at a right angle or beyond",
    "exponential(g)": "exp(-g D), where g is 0 or more",
}
"""The names that :func:`weight` takes, and their formulas."""


def _cosine(distance: Floats) -> Floats:
    return np.asarray(np.cos(np.minimum(distance, np.pi / 2)))


def _exponential(gamma: float, distance: Floats) -> Floats:
    return np.asarray(np.exp(-gamma * distance))


# No lambdas, since they cannot be pickled.
_RULES: dict[str, Callable[[Floats], Floats]] = {
    "as-is": np.copy, "one-minus": partial(np.subtract, 1.0), "cosine": _cosine
}  # fmt: skip


def weight(rule: str | Weight) -> Weight:
    """Return a rule by name; ``"exponential(2.5)"`` includes its rate.

    Examples
    --------
    >>> weight("one-minus")(np.array([0.25, 1.5]))
    array([ 0.75, -0.5 ])
    >>> weight("cosine")(np.arccos([0.8, 0.0])).round(12)
    array([0.8, 0. ])
    """
    if isinstance(rule, Weight):
        return rule
    if str(rule) in _RULES:
        return Weight(str(rule), _RULES[str(rule)])
    match = re.fullmatch(r"exponential\(\s*([^()\s]+)\s*\)", str(rule))
    if match:
        try:
            gamma = float(match[1])
        except ValueError:
            gamma = math.nan
        if 0 <= gamma < math.inf:
            return Weight(f"exponential({gamma:g})", partial(_exponential, gamma))
    names = ", ".join(f'"{name}"' for name in WEIGHTS)
    raise InputError(f'weight is {rule!r}; choose one of {names}, such as "exponential(4)"')
