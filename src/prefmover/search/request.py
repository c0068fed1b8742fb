"""A search by position: the queries, the lists to fill, and the threads to run on."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

from prefmover._typing import Ints, Progress
from prefmover.data.file_options import check_whole_number
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.measures import Measure, find_measure
from prefmover.search.result import NeighborPositions, Neighbors, Recall


@dataclass(slots=True, eq=False)
class Request:
    """One search, checked.

    Attributes
    ----------
    data, measure, convention
        The users to search, and the measure.
    users
        Positions of the queries: among the users of ``new`` if there are new users, else of the data.
    items
        For a search among the raters of an item: the position of an item for each query.
    new
        Ratings of new users.
    k, radius
        Most neighbors of a list (None means all), and the largest distance or least similarity.
    """

    data: Dataset
    measure: Measure
    convention: str | None
    users: Ints
    items: Ints | None = None
    new: Ratings | None = None
    k: int | None = None
    radius: float | None = None
    n_threads: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.radius is None:
            check_whole_number("k", self.k)
        else:
            self._check_radius()
        if self.items is not None and self.items.size != self.users.size:
            raise InputError(
                f"{self.users.size} users but {self.items.size} items; pass one item for each user"
            )
        if self.new is not None:
            self.new = self.new.with_items(self.data.ratings.items)
        if self.k is not None and self.items is None:
            what = f"the {self.most:,} nearest of each of {self.users.size:,} users"
            require(16 * self.users.size * self.most, what, "ask for a smaller k, or for fewer users")

    def _check_radius(self) -> None:
        least = float("-inf" if self.measure.larger_is_closer else 0)
        if not isinstance(self.radius, Real) or not float(self.radius) >= least:
            raise InputError(f"radius is {self.radius!r}; pass a number from {least:g} up")

    @classmethod
    def from_ids(
        cls,
        data: Dataset,
        users: Iterable[Any] | None,
        measure: str | Measure = "pmd",
        convention: str | None = None,
        *,
        items: Iterable[Any] | None = None,
        new: Ratings | None = None,
        **options: Any,
    ) -> Self:
        """Return the search of queries and items by id; ``users=None`` means all."""
        check_dataset(data)
        if new is not None and not isinstance(new, Ratings):
            raise InputError(f"new is of type {type(new).__name__}; pass Ratings (see Ratings.from_arrays)")
        if options.get("radius", 0) is None:
            raise InputError("radius is None; pass a number")
        queries = (data.ratings if new is None else new).user_positions(users)
        columns = None if items is None else data.ratings.item_positions(items)
        return cls(data, find_measure(measure), convention, queries, columns, new, **options)

    @property
    def most(self) -> int:
        """The largest number of neighbors in a list."""
        return self.data.n_users if self.k is None else min(int(self.k), self.data.n_users)

    def result(self, lists: NeighborPositions, recall: Recall | None = None) -> Neighbors:
        """Return the lists with ids."""
        ratings = self.data.ratings
        users = (ratings if self.new is None else self.new).users[self.users]
        items = None if self.items is None else ratings.items[self.items]
        larger = self.measure.larger_is_closer
        return Neighbors(
            users, ratings.users, lists.indptr, lists.neighbors, lists.values, larger, lists.stats, items,
            self.new is not None, recall,
        )  # fmt: skip
