"""Kernels of measures that users make: from a function on two users' ratings, or from a matrix of values."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.ids import IdIndex
from prefmover.errors import InputError
from prefmover.measures.pairs import Pairs, Rows

__all__ = ["FunctionKernel", "MatrixKernel"]


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
