"""Predictions, recommendations, the contributions that explain them, and the protocol of predictors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.errors import InputError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.predict.similarity import UserSimilarity

__all__ = [
    "HOW",
    "Baseline",
    "Contribution",
    "Evidence",
    "How",
    "Prediction",
    "Predictions",
    "Predictor",
    "Recommendation",
    "Recommendations",
    "Scores",
    "UserState",
    "best",
    "clip",
    "how_predicted",
]

How = Literal["neighbors", "no neighbor", "unknown item", "unknown user", "nothing known"]
HOW: tuple[How, ...] = ("neighbors", "no neighbor", "unknown item", "unknown user", "nothing known")
"""How a prediction was made: from neighbors, or by which fallback."""

NEIGHBORS, NO_NEIGHBOR, UNKNOWN_ITEM, UNKNOWN_USER, NOTHING_KNOWN = range(5)


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
    """A part of a prediction that is made by no neighbor, such as the mean of all ratings."""

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

    Attributes
    ----------
    users, items
        Ids, as they were passed.
    ratings
        (n,) predictions, within the scale.
    baselines
        (n,) ratings to expect before neighbors contribute.
    how
        (n,) positions in :data:`HOW`.
    clipped
        (n,) whether the sum was outside the scale.
    n_neighbors
        (n,) numbers of neighbors who contribute.
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
        return Prediction(
            self.users[row],
            self.items[row],
            float(self.ratings[row]),
            float(self.baselines[row]),
            HOW[self.how[row]],
            bool(self.clipped[row]),
            int(self.n_neighbors[row]),
        )

    def __iter__(self) -> Iterator[Prediction]:
        return (self[k] for k in range(len(self)))

    def counts(self) -> dict[How, int]:
        """Return the number of predictions made in each way."""
        return {how: int((self.how == code).sum()) for code, how in enumerate(HOW)}

    def to_frame(self) -> Any:
        """Return a `pyarrow.Table`: user, item, rating, baseline, how, clipped, n_neighbors."""
        import pyarrow as pa

        return pa.table(
            {
                "user": _id_column(self.users),
                "item": _id_column(self.items),
                "rating": self.ratings,
                "baseline": self.baselines,
                "how": pa.array([HOW[code] for code in self.how.tolist()], pa.string()),
                "clipped": self.clipped,
                "n_neighbors": self.n_neighbors,
            }
        )

    def __repr__(self) -> str:
        sources = ", ".join(f"{n:,} from {how}" for how, n in self.counts().items() if n)
        return f"Predictions({counted(len(self), 'pair')}: {sources})"


def _id_column(ids: list[Any]) -> Any:
    """Return ids as an Arrow array; as text if integers and strings are mixed, as unknown ids may be."""
    import pyarrow as pa

    mixed = len({isinstance(id_, str) for id_ in ids}) > 1
    return pa.array([str(id_) for id_ in ids] if mixed else ids)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended item.

    Attributes
    ----------
    item
        Id.
    score
        The number that items are ranked by; for the rating models, the predicted rating before it is
        clipped to the scale.
    rating
        The predicted rating, within the scale.
    title
        Title and year; the id where there is no title.
    n_neighbors
        The number of neighbors who contribute to the rating.
    how
        How the rating was predicted: one of :data:`HOW`.
    """

    item: Any
    score: float
    rating: float
    title: str
    n_neighbors: int
    how: How = "neighbors"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recommendations(Sequence[Recommendation]):
    """Recommended items, the best first.

    Attributes
    ----------
    user
        Id of the user, or name of the guest.
    """

    user: Any
    _items: tuple[Recommendation, ...]

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, k: int) -> Recommendation: ...

    @overload
    def __getitem__(self, k: slice) -> Recommendations: ...

    def __getitem__(self, k: int | slice) -> Recommendation | Recommendations:
        if isinstance(k, slice):
            return Recommendations(self.user, self._items[k])
        return self._items[k]

    def to_dict(self) -> dict[str, Any]:
        """Return the user and the recommendations, ready for JSON."""
        return {"user": self.user, "recommendations": [one.to_dict() for one in self._items]}

    def to_frame(self) -> Any:
        """Return a `pyarrow.Table`: rank (from 1), item, title, score, rating, n_neighbors, how."""
        import pyarrow as pa

        return pa.table(
            {
                "rank": pa.array(range(1, len(self) + 1), pa.int64()),
                "item": pa.array([one.item for one in self._items]),
                "title": pa.array([one.title for one in self._items], pa.string()),
                "score": pa.array([one.score for one in self._items], pa.float64()),
                "rating": pa.array([one.rating for one in self._items], pa.float64()),
                "n_neighbors": pa.array([one.n_neighbors for one in self._items], pa.int64()),
                "how": pa.array([one.how for one in self._items], pa.string()),
            }
        )

    def __repr__(self) -> str:
        items = ", ".join(f"{one.title} {one.rating:.2f}" for one in self._items[:3])
        more = ", ..." if len(self) > 3 else ""
        return f"Recommendations({self.user!r}, {counted(len(self), 'item')}: {items}{more})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserState:
    """The state of one user in a fitted model: a user of the data, a guest, or an unknown user.

    Models make states: :meth:`~prefmover.model.Recommender.guest` makes that of a guest from ratings, and
    every method of a model that takes a user's id takes the state too. Nothing is refitted.

    Attributes
    ----------
    name
        Id of the user, or name of the guest.
    position
        Position of the user in the data; -1 for a guest or an unknown user.
    items, values
        Positions of the rated items, ascending, and the ratings.
    fit_id
        Identifies the fit that made the state.
    """

    name: Any
    position: int
    items: Ints
    values: Floats
    fit_id: str

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the user: a user of the data, or a guest with ratings."""
        return self.position >= 0 or len(self.items) > 0

    def __repr__(self) -> str:
        return f"UserState({self.name!r}, {counted(len(self.items), 'rating')})"


class Scores(NamedTuple):
    """Predictions before they are clipped to the scale, with their baselines and numbers of neighbors."""

    values: Floats
    baselines: Floats
    n_neighbors: Ints

    def take(self, chosen: Ints) -> Scores:
        """Return the scores at some positions."""
        return Scores(self.values[chosen], self.baselines[chosen], self.n_neighbors[chosen])


State = TypeVar("State", bound=UserState)


class Predictor(Protocol[State]):
    """A fitted predictor. Users and items are positions; -1 is an unknown user or item."""

    @property
    def similarity(self) -> UserSimilarity:
        """The measure between the users of the data."""
        ...

    @property
    def fit_id(self) -> str:
        """Identifies this fit; states carry it."""
        ...

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs."""
        ...

    def state(self, position: int, name: Any = None) -> State:
        """Return the state of a user of the data, or of an unknown user."""
        ...

    def guest_state(self, guest: Ratings) -> State:
        """Return the state of a guest: the ratings of one user over the items of the data."""
        ...

    def scores(self, state: State, items: Ints) -> Scores:
        """Return the scores of items for one user."""
        ...

    def contributions(self, state: State, items: Ints, n: int) -> list[tuple[Contribution, ...]]:
        """Return the n strongest contributions to the score of each item, those in favor first."""
        ...

    def explain(self, state: State, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return all parts of one score, which sum to it; contributions by size."""
        ...

    def with_users(self, data: Dataset) -> Predictor[State]:
        """Return the predictor with more users: those of ``data``, of whom the present ones are the first."""
        ...


def clip(values: Floats, scale: Scale) -> tuple[Floats, Bools]:
    """Return values clipped to the scale, and which of them were outside."""
    inside = np.clip(values, scale.lowest, scale.highest)
    return inside, inside != values


def how_predicted(users: Ints, items: Ints, n_neighbors: Ints) -> npt.NDArray[np.int8]:
    """Return how each pair was predicted, as positions in :data:`HOW`; -1 is an unknown user or item."""
    known = np.where(n_neighbors > 0, NEIGHBORS, NO_NEIGHBOR)
    one = np.where(items < 0, UNKNOWN_ITEM, np.where(users < 0, UNKNOWN_USER, known))
    return np.where((users < 0) & (items < 0), NOTHING_KNOWN, one).astype(np.int8)


def best(scores: Floats, excluded: Ints, n: int) -> Ints:
    """Return the positions of the n highest scores: ties in order, never NaN, none of the excluded.

    Examples
    --------
    >>> best(np.array([3.0, 5.0, np.nan, 3.0, 1.0]), excluded=np.array([1]), n=2)
    array([0, 3])
    """
    if n != int(n) or n < 1:
        raise InputError(f"n is {n!r}; give a whole number from 1")
    eligible = ~np.isnan(scores)
    eligible[excluded] = False
    positions = np.flatnonzero(eligible)
    if len(positions) > n:
        # All that tie with the n-th remain, so that the earlier ones win.
        least = np.partition(scores[positions], len(positions) - n)[len(positions) - n]
        positions = positions[scores[positions] >= least]
    return positions[np.argsort(-scores[positions], kind="stable")[:n]]
