"""Predicted ratings, and the contributions that explain them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from prefmover._format import counted
from prefmover._typing import Bools, Floats, Ints
from prefmover.data.scale import Scale

__all__ = [
    "HOW",
    "Baseline",
    "Contribution",
    "Evidence",
    "How",
    "Prediction",
    "Predictions",
    "clip",
    "how_predicted",
    "id_column",
]

How = Literal["neighbors", "no neighbor", "unknown item", "unknown user", "nothing known"]
HOW: tuple[How, ...] = get_args(How)
"""How a prediction was made: from neighbors, or by which fallback."""


class Evidence(NamedTuple):
    """A rating through which a neighbor contributes, and the part of the contribution it makes."""

    item: Any
    rating: float
    value: float


class Contribution(NamedTuple):
    """The part of a prediction that one neighbor makes.

    Attributes
    ----------
    user
        The neighbor's id.
    weight
        The weight of the neighbor.
    rating
        The neighbor's rating of the item; None if the neighbor has not rated it and contributes through
        ratings of similar items.
    residual
        How much more, or less, than expected the neighbor likes the item.
    value
        The part of the prediction. The values of all neighbors and the baseline sum to the prediction.
    measure_value
        The distance (or similarity) between the user and the neighbor. None if it was not computed: the
        kernel model needs no distances to predict, and computes those of the ten largest contributions only.
    evidence
        The ratings through which the neighbor contributes, strongest first; empty if it is the rating of
        the item itself.
    """

    user: Any
    weight: float
    rating: float | None
    residual: float
    value: float
    measure_value: float | None
    evidence: tuple[Evidence, ...] = ()


class Baseline(NamedTuple):
    """A part of a prediction that does not come from neighbors, such as the overall mean."""

    name: str
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted rating.

    Attributes
    ----------
    user, item
        Ids.
    rating
        The prediction, within the scale.
    baseline
        The rating to expect before neighbors contribute.
    how
        How the prediction was made: one of :data:`HOW`.
    clipped
        Whether the sum was outside the scale.
    n_neighbors
        The number of neighbors who contribute.
    """

    user: Any
    item: Any
    rating: float
    baseline: float
    how: How
    clipped: bool
    n_neighbors: int

    @property
    def source(self) -> str:
        """The source of the prediction in words: ``"3 neighbors"``, or the fallback."""
        return counted(self.n_neighbors, "neighbor") if self.how == "neighbors" else self.how

    def __repr__(self) -> str:
        end = ", clipped" if self.clipped else ""
        return f"Prediction({self.user!r}, {self.item!r}: {self.rating:.3f} from {self.source}{end})"


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predicted ratings of many (user, item) pairs: a table, each row of which is a :class:`Prediction`.

    Its columns are the fields of a prediction. Ids are as they were passed; ``how`` has positions in
    :data:`HOW`.
    """

    users: list[Any]
    items: list[Any]
    ratings: Floats
    baselines: Floats
    how: npt.NDArray[np.int8]
    clipped: Bools
    n_neighbors: Ints

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, k: int) -> Prediction:
        row = range(len(self))[k]
        columns = self.ratings, self.baselines, self.clipped, self.n_neighbors
        rating, baseline, clipped, n = (column[row].item() for column in columns)
        return Prediction(self.users[row], self.items[row], rating, baseline, HOW[self.how[row]], clipped, n)

    def __iter__(self) -> Iterator[Prediction]:
        return (self[k] for k in range(len(self)))

    def counts(self) -> dict[How, int]:
        """Return the number of predictions made in each way."""
        return {how: int((self.how == code).sum()) for code, how in enumerate(HOW)}

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`: user, item, rating, baseline, how, clipped, n_neighbors."""
        import pyarrow as pa

        how = [HOW[code] for code in self.how.tolist()]
        columns = [id_column(self.users), id_column(self.items), self.ratings, self.baselines]
        columns += [pa.array(how, pa.string()), self.clipped, self.n_neighbors]
        return pa.table(columns, [one.name for one in fields(Prediction)])

    def __repr__(self) -> str:
        sources = ", ".join(f"{n:,} from {how}" for how, n in self.counts().items() if n)
        return f"Predictions({counted(len(self), 'pair')}: {sources})"


def id_column(ids: list[Any]) -> Any:
    """Return ids as an Arrow array; as text if integers and strings are mixed, as unknown ids may be."""
    import pyarrow as pa

    mixed = len({isinstance(id_, str) for id_ in ids}) > 1
    return pa.array([str(id_) for id_ in ids] if mixed else ids)


def clip(values: Floats, scale: Scale) -> tuple[Floats, Bools]:
    """Return values clipped to the scale, and which of them were outside."""
    inside = np.clip(values, scale.lowest, scale.highest)
    return inside, inside != values


def how_predicted(users: Ints, items: Ints, has_neighbors: Ints | Bools) -> npt.NDArray[np.int8]:
    """Return how each pair was predicted, as positions in :data:`HOW`; -1 is an unknown user or item.

    ``has_neighbors`` may be the number of neighbors.
    """
    unknown = 2 * (users < 0) + (items < 0)  # 1: the item, 2: the user, 3: both
    return np.where(unknown > 0, unknown + 1, has_neighbors == 0).astype(np.int8)
