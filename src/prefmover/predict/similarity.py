"""UserSimilarity: a measure bound to a data set, for its users and for guests, by position.

Who is compared is given as positions of users of the data, or as the
:class:`~prefmover.data.ratings.Ratings` of one guest over the items of the data. Values are exact or
estimated, as the name of the function says; PMD between many users is estimated where a fit needs no more
(:mod:`prefmover.measures.estimates`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._pickled import PickledFields
from prefmover._typing import Floats, Ints, Progress, Singles
from prefmover.data.preferences import Preferences, preferences
from prefmover.data.ratings import Ratings, one_user
from prefmover.dataset import Dataset
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure
from prefmover.measures.estimates import (
    Calibration,
    Landmarks,
    UserRows,
    calibrate,
    estimate,
    estimate_to_landmarks,
)
from prefmover.measures.pairs import Pairs, compute, value_blocks, values
from prefmover.measures.pmd import distances_from, item_space
from prefmover.search import NeighborIndex
from prefmover.search.index import Request
from prefmover.search.nearest import search_positions
from prefmover.search.result import NeighborPositions, SearchStats

__all__ = ["LandmarkValues", "UserSimilarity", "Who", "choose_landmarks"]

Who = Ints | Ratings
"""Users of the data by position, or the ratings of one guest."""

BLOCK_USERS = 256

FEW_USERS = 64
"""For up to this number of users, the masses of all users are not prepared."""

EXACT_PAIRS = 10_000
"""Up to this number of pairs of users, nothing is estimated: exact distances take a second or two."""


class LandmarkValues(NamedTuple):
    """The measure between all users and the landmarks."""

    landmarks: Ints  # their positions
    values: Floats | Singles  # (n_users, landmarks) the measure, NaN where it is undefined
    self_values: Floats  # (n_users,) the measure between each user and itself


@dataclass(frozen=True, eq=False)
class UserSimilarity(PickledFields):
    """A measure between the users of a data set."""

    data: Dataset
    measure: Measure
    convention: str | None = None
    n_threads: int | None = None  # threads; None means all cores
    # How PMD is estimated between many users; None if all values are exact.
    calibration: Calibration | None = None
    # Positions of the users with whom everybody is compared in a fit.
    landmarks: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    # The data as they were fitted, if ratings have changed since: landmarks keep their places.
    fitted: Dataset | None = None
    # The distance from every item to the nearest item of each landmark, if it was stored.
    stored_nearest: Singles | None = None

    def with_data(self, data: Dataset) -> UserSimilarity:
        """Return the measure between the users of another data set, without landmarks."""
        return UserSimilarity(data, self.measure, self.convention, self.n_threads, self.calibration)

    def updated(self, data: Dataset) -> UserSimilarity:
        """Return the measure after an update of the data; landmarks are those of the fit."""
        return replace(self, data=data, fitted=self.landmark_data if len(self.landmarks) else None)

    def with_items(self, data: Dataset) -> UserSimilarity:
        """Return the measure on data with more items, which nobody has rated."""
        fitted = None if self.fitted is None else data.with_ratings(self.fitted.ratings)
        return replace(self, data=data, fitted=fitted, stored_nearest=None)

    @property
    def landmark_data(self) -> Dataset:
        """The data in which landmarks are looked up."""
        return self.data if self.fitted is None else self.fitted

    def calibrated(self, seed: int = 0) -> UserSimilarity:
        """Return the measure with a calibration for these data, if it takes one.

        Only PMD is estimated, alone or as part of a measure, and only if there are more than
        :data:`EXACT_PAIRS` pairs of users.
        """
        if not self._has_pmd or self.data.n_users * (self.data.n_users - 1) // 2 <= EXACT_PAIRS:
            return replace(self, calibration=None)
        return replace(self, calibration=calibrate(self.data, seed=seed, n_threads=self.n_threads))

    @property
    def _has_pmd(self) -> bool:
        """Whether the measure is exact PMD, or PMD plus a term."""
        return self.searches_by_bounds and self.measure.space is item_space

    @property
    def searches_by_bounds(self) -> bool:
        """Whether a search computes only a few of the values."""
        return self.measure.searches_by_bounds(self.convention)

    @property
    def _geometry(self) -> ItemGeometry:
        return self.data.require_geometry(self.measure.label)

    def exact_values(self, who: Who, others: Ints, progress: Progress | None = None) -> Floats:
        """Return the measure between users, or a guest, and others: (who, others), NaN where undefined."""
        if isinstance(who, Ratings):
            return self._guest_row(self.data, who, others)[0][None]
        return values(self.data, self.measure, self.convention, who, others, self.n_threads, progress)

    def exact_blocks(self, who: Who, but: int = -1) -> Iterator[tuple[Ints, Floats]]:
        """Yield :meth:`exact_values` to all users for some users at a time, with their positions.

        That of a guest is ``but``.
        """
        everyone = np.arange(self.data.n_users)
        if isinstance(who, Ratings):
            return iter([(np.array([but]), self.exact_values(who, everyone))])
        return value_blocks(self.data, self.measure, self.convention, who, everyone, n_threads=self.n_threads)

    def estimated_values(
        self, who: Who, others: Ints, progress: Progress | None = None, dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return :meth:`exact_values`, estimated if there is a calibration; positions are all different.

        The estimate between a user and itself is 0.
        """
        if self.calibration is None:
            return self.exact_values(who, others, progress).astype(dtype, copy=False)
        if isinstance(who, Ratings):
            rows, same = _rows_of(who, self._geometry), False
        else:
            rows, same = self._rows(who), np.array_equal(who, others)
        columns = rows if same else self._rows(others)
        out = estimate(self.calibration, self._geometry, rows, columns, n_threads=self.n_threads, dtype=dtype)
        if not isinstance(who, Ratings):
            _, at, to = np.intersect1d(who, others, assume_unique=True, return_indices=True)
            out[at, to] = 0.0
        if self.measure.extra_term is not None:
            out += self._terms(self.data, who, others)
        return out

    def to_landmarks(self, ratings: Ratings) -> tuple[Floats, float]:
        """Return the measure between one user's ratings and the landmarks as fitted, and to the user itself.

        It is estimated if there is a calibration. The user is not recognized as a landmark.
        """
        if self.calibration is None:
            return self._guest_row(self.landmark_data, ratings, self.landmarks)
        rows = _rows_of(ratings, self._geometry)
        estimates = estimate_to_landmarks(self.calibration, self._geometry, rows, self.prepared_landmarks)[0]
        if self.measure.extra_term is None:
            return estimates, 0.0
        terms = self._terms(self.landmark_data, ratings, self.landmarks, itself=True)[0]
        return estimates + terms[:-1], float(terms[-1])

    @cached_property
    def prepared_landmarks(self) -> Landmarks:
        """The landmarks, prepared for estimates."""
        rows = _rows_of(self.landmark_data.ratings.take(users=self.landmarks), self._geometry)
        return Landmarks.prepare(rows, self._geometry, self.n_threads, self.stored_nearest)

    def compared(self, progress: Progress | None = None) -> LandmarkValues:
        """Compare all users with the landmarks."""
        landmarks, everyone = self.landmarks, np.arange(self.data.n_users)
        self_values = self.self_values(everyone)
        if self.calibration is not None:
            values = self.estimated_values(everyone, landmarks, dtype=np.float32)
        elif self.measure.symmetric and len(landmarks) < len(everyone):
            values = np.ascontiguousarray(self.exact_values(landmarks, everyone, progress).T)
        else:
            values = self.exact_values(everyone, landmarks, progress)
        return LandmarkValues(landmarks, values, self_values)

    def self_values(self, users: Ints) -> Floats:
        """Return the measure between each user and itself."""
        if self.measure.is_zero_for_itself:
            return np.zeros(len(users))
        parts = np.split(users, range(BLOCK_USERS, len(users), BLOCK_USERS))
        if (term := self.measure.extra_term) is not None:  # transport from a user to itself costs nothing
            return np.concatenate([np.diagonal(term(Pairs(self.data, some, some))(some)) for some in parts])
        return np.concatenate([np.diagonal(self.exact_values(some, some)) for some in parts])

    def nearest(
        self,
        who: Who,
        k: int,
        progress: Progress | None = None,
        *,
        raters_of: Ints | None = None,
        but: int = -1,
    ) -> NeighborPositions:
        """Return the k nearest users of each user, or of a guest.

        With ``raters_of``, one item for each user, or any number for a guest: the nearest among its raters.
        ``but`` is the position of a user who is no neighbor of a guest.
        """
        if but >= 0 and isinstance(who, Ratings):
            return self.nearest(who, k + 1, progress, raters_of=raters_of).without(but, k)
        guest = who if isinstance(who, Ratings) else None
        n_lists = 1 if raters_of is None else len(raters_of)
        users = np.zeros(n_lists, np.int64) if isinstance(who, Ratings) else who
        request = Request(
            self.data, self.measure, self.convention, users, raters_of, guest, k=k,
            n_threads=self.n_threads, progress=progress,
        )  # fmt: skip
        return search_positions(request, self._index)

    def nearest_without_common_items(
        self, who: Who, k: int, progress: Progress | None = None
    ) -> NeighborPositions:
        """Return the k nearest of the users who have rated none of the items of one user, or of a guest.

        Every such pair is computed: they are few where users have rated much, and quick to compare where
        they have rated little. Measures of items in common are undefined for them; their list is empty.
        """
        rated = who.row(0)[0] if isinstance(who, Ratings) else self.data.ratings.row(int(who[0]))[0]
        others = np.flatnonzero(self.data.ratings.n_common(rated) == 0)
        if not isinstance(who, Ratings):
            others = others[others != who[0]]
        row = self.exact_values(who, others, progress)[0] if len(others) else np.empty(0)
        order = np.argsort(-row if self.measure.larger_is_closer else row, kind="stable")
        order = order[~np.isnan(row[order])][:k]
        return NeighborPositions.from_lists([(others[order], row[order])], SearchStats(solved=len(others)))

    @cached_property
    def _index(self) -> NeighborIndex | None:
        return NeighborIndex(self.data, self.measure) if self.searches_by_bounds else None

    def _guest_row(self, data: Dataset, guest: Ratings, others: Ints) -> tuple[Floats, float]:
        """Return the exact measure between a guest and others of the data, and the guest itself."""
        if not self._has_pmd:
            # Some measures use the means of items, which depend on all ratings.
            some = None if self.measure.uses_others else others
            whole = data.with_guests(
                _renamed(guest, data.ratings), some, with_geometry=self.measure.needs_geometry
            )
            query = np.array([whole.n_users - 1])
            columns = np.append(others if some is None else np.arange(len(others)), query)
            row = values(whole, self.measure, self.convention, query, columns, self.n_threads)
            return row[0, :-1], 0.0 if self.measure.is_zero_for_itself else float(row[0, -1])
        # The masses of the data's users are prepared once for all guests.
        both = Preferences.stack([data.preferences.take(others), preferences(guest)])
        distances = distances_from(both, self._geometry, len(others), np.arange(len(others)))
        if self.measure.extra_term is None:
            return distances, 0.0
        terms = self._terms(data, guest, others, itself=True)[0]
        return distances + terms[:-1], float(terms[-1])

    def _terms(self, data: Dataset, who: Who, others: Ints, *, itself: bool = False) -> Floats:
        """Return the term that the measure adds to PMD, (who, others), and for a guest itself at the end."""
        assert self.measure.extra_term is not None
        if isinstance(who, Ratings):
            data = data.with_guests(_renamed(who, data.ratings), others)
            who, others = np.array([len(others)]), np.arange(len(others) + itself)
        pairs = Pairs(data, who, others)
        return compute(
            self.measure.extra_term(pairs), pairs, rows_per_task=BLOCK_USERS, n_threads=self.n_threads
        )

    def _rows(self, users: Ints) -> UserRows:
        if len(users) <= FEW_USERS and "preferences" not in vars(self.data):
            return _rows_of(self.data.ratings.take(users=users), self._geometry)
        return UserRows.take(self.data.preferences, self._geometry, users)


def choose_landmarks(ratings: Ratings, limit: int, seed: int) -> Ints:
    """Return users with ratings by position: all if they are up to twice ``limit``, else a sample."""
    eligible = np.flatnonzero(np.diff(ratings.matrix.indptr))
    if len(eligible) <= 2 * limit:
        return eligible
    return np.sort(np.random.default_rng(seed).choice(eligible, limit, replace=False))


def _rows_of(ratings: Ratings, geometry: ItemGeometry) -> UserRows:
    return UserRows.take(preferences(ratings), geometry, np.arange(ratings.n_users))


def _renamed(guest: Ratings, others: Ratings) -> Ratings:
    """Return the ratings of a guest under a name that is not the id of a user."""
    (name,) = guest.users.tolist()
    free = others.user_index.free_name(name)
    return guest if free == name else one_user(others, free, *guest.row(0))
