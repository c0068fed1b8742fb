r"""Ratings from neighbors: a weighted mean of what they said, measured from what to expect.

.. math:: \hat r_{ui} = \text{base}_{ui} + \sigma_u
          \frac{\sum_{v} w_{uv} z_{vi}}{\sum_{v} |w_{uv}| + \lambda}

over the K nearest of those who rated i (``neighborhood="raters"``), or those of the K nearest overall who
did (``"global"``). With ``centering="mean"`` and λ = 0 this is the paper's predictor.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings, Scale
from prefmover.execution.format import counted
from prefmover.measures.weights import Weight
from prefmover.predict.centering import Floats, Index

__all__ = [
    "HOW",
    "How",
    "Lists",
    "NeighborPart",
    "Prediction",
    "Predictions",
    "average",
    "clip",
    "how_made",
    "ratings_of",
]

How = Literal["neighbors", "no neighbor", "unknown item", "unknown user", "nothing known"]
HOW: tuple[How, ...] = ("neighbors", "no neighbor", "unknown item", "unknown user", "nothing known")
"""How a prediction was made: from neighbors, or by which fallback."""

SPELLED = {"neighbors": "neighbors", "no neighbor": "no neighbor"}
"""How people read it: names in the code are spelled the American way, texts the British way."""

NEIGHBORS, NO_NEIGHBOR, UNKNOWN_ITEM, UNKNOWN_USER, NOTHING_KNOWN = range(5)


class NeighborPart(NamedTuple):
    """What one neighbor adds to a prediction.

    Attributes
    ----------
    user
        The neighbor's id.
    distance
        From the user (or similarity, for such a measure). NaN where it was not computed: the kernel
        predictor needs no distances to predict, and looks up those of the ten largest parts only.
    weight
        Their say.
    rating
        What they gave the item; None if they did not rate it, and speak through similar items.
    opinion
        How much more, or less, than expected they like the item.
    value
        What they add: the values of all neighbors and the base sum to the prediction.
    """

    user: Any
    distance: float
    weight: float
    rating: float | None
    opinion: float
    value: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """One predicted rating, and how it was made.

    Attributes
    ----------
    user, item
        Ids.
    rating
        The prediction, within the scale.
    base
        What was expected before neighbors spoke.
    how
        One of :data:`HOW`.
    clipped
        Whether the sum lay outside the scale.
    n_neighbors
        How many neighbors spoke.
    details
        Gives their parts; called by :attr:`neighbors`.
    """

    user: Any
    item: Any
    rating: float
    base: float
    how: How
    clipped: bool
    n_neighbors: int
    details: Callable[[], tuple[NeighborPart, ...]]

    @property
    def neighbors(self) -> tuple[NeighborPart, ...]:
        """The neighbors who spoke, the one with the largest part first."""
        parts = self.details()
        return tuple(sorted(parts, key=lambda part: -abs(part.value)))

    @property
    def source(self) -> str:
        """What the prediction was made from, for people: ``"3 neighbors"``, or the fallback."""
        if self.how == "neighbors":
            return counted(self.n_neighbors, "neighbor")
        return SPELLED.get(self.how, self.how)

    def __repr__(self) -> str:
        cut = ", clipped" if self.clipped else ""
        return f"Prediction({self.user!r}, {self.item!r}: {self.rating:.3f} from {self.source}{cut})"


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predicted ratings of many (user, item) pairs: arrays, and one :class:`Prediction` by index.

    Pickled with what their neighbors are found by, which for the kernel predictor is the whole model; where
    that is too much, :meth:`to_frame` has the plain numbers.

    Attributes
    ----------
    users, items
        Ids as asked.
    ratings, base
        (n,) predictions, within the scale, and their bases.
    how
        (n,) positions in :data:`HOW`.
    clipped
        (n,) whether the sum lay outside the scale.
    n_neighbors
        (n,) how many neighbors spoke.
    """

    users: list[Any]
    items: list[Any]
    ratings: Floats
    base: Floats
    how: npt.NDArray[np.int8]
    clipped: npt.NDArray[np.bool_]
    n_neighbors: Index
    details: Callable[[int], tuple[NeighborPart, ...]]

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, k: int) -> Prediction:
        at = range(len(self))[k]
        return Prediction(
            self.users[at],
            self.items[at],
            float(self.ratings[at]),
            float(self.base[at]),
            HOW[self.how[at]],
            bool(self.clipped[at]),
            int(self.n_neighbors[at]),
            partial(self.details, at),
        )

    def __iter__(self) -> Iterator[Prediction]:
        return (self[k] for k in range(len(self)))

    def counts(self) -> dict[How, int]:
        """Return how many predictions were made in each way."""
        return {how: int((self.how == code).sum()) for code, how in enumerate(HOW)}

    def to_frame(self) -> Any:
        """Return a `pyarrow.Table` with columns user, item, rating, base, how, clipped, neighbors."""
        import pyarrow as pa

        return pa.table(
            {
                "user": _id_column(self.users),
                "item": _id_column(self.items),
                "rating": self.ratings,
                "base": self.base,
                "how": pa.array([HOW[code] for code in self.how.tolist()]),
                "clipped": self.clipped,
                "neighbors": self.n_neighbors,
            }
        )

    def __repr__(self) -> str:
        made = ", ".join(f"{n:,} from {SPELLED.get(how, how)}" for how, n in self.counts().items() if n)
        return f"Predictions({counted(len(self), 'pair')}: {made})"


def _id_column(ids: list[Any]) -> Any:
    """Return ids as an Arrow array; as text if some are numbers and some are not, as unknown ones may be."""
    import pyarrow as pa

    mixed = len({isinstance(id_, str) for id_ in ids}) > 1
    return pa.array([str(id_) for id_ in ids] if mixed else ids)


class Lists(NamedTuple):
    """Neighbors of each pair, as CSR: positions among the users, values of the measure, deviations."""

    indptr: Index
    neighbors: Index
    values: Floats
    deviations: Floats
    ratings: Floats


def ratings_of(ratings: Ratings, users: Index, items: Index) -> Index:
    """Return where in ``ratings.matrix.data`` the rating of each (user, item) is; -1 where there is none."""
    matrix = ratings.matrix
    rows = np.repeat(np.arange(ratings.n_users, dtype=np.int64), np.diff(matrix.indptr))
    keys = rows * ratings.n_items + matrix.indices
    wanted = users * ratings.n_items + items
    at = np.searchsorted(keys, wanted)
    found = keys[np.minimum(at, len(keys) - 1)] == wanted
    return np.where(found & (users >= 0) & (items >= 0), at, -1)


def average(
    base: Floats, spread: Floats, lists: Lists, weight: Weight, shrinkage: float
) -> tuple[Floats, Floats, Index]:
    """Return predictions, the parts of all neighbors, and how many of them had a say in each pair.

    Parameters
    ----------
    base, spread
        (pairs,) of the user and the item.
    lists
        Neighbors of each pair.
    weight
        From a value of the measure to a say.
    shrinkage
        λ: how many full-weight neighbors' worth of doubt.
    """
    n = len(base)
    pair = np.repeat(np.arange(n), np.diff(lists.indptr))
    w = weight(lists.values)
    total = np.bincount(pair, np.abs(w), n) + shrinkage
    speaks = w != 0
    share = np.divide(w, total[pair], out=np.zeros_like(w), where=speaks)
    parts = spread[pair] * share * lists.deviations
    return base + np.bincount(pair, parts, n), parts, np.bincount(pair[speaks], minlength=n)


def clip(values: Floats, scale: Scale) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return values moved into the scale, and which were outside."""
    inside = np.clip(values, scale.lowest, scale.highest)
    return inside, inside != values


def how_made(users: Index, items: Index, n_neighbors: Index) -> npt.NDArray[np.int8]:
    """Return the code of how each pair was predicted; -1 is an unknown user or item."""
    known = np.where(n_neighbors > 0, NEIGHBORS, NO_NEIGHBOR)
    one = np.where(items < 0, UNKNOWN_ITEM, np.where(users < 0, UNKNOWN_USER, known))
    return np.where((users < 0) & (items < 0), NOTHING_KNOWN, one).astype(np.int8)
