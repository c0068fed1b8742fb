"""UserSimilarity: a measure bound to a data set, for its users and for guests, by position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.csr import entries_of_rows
from prefmover.data.preferences import Preferences, preferences
from prefmover.data.ratings import Ratings, one_user
from prefmover.dataset import Dataset
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure
from prefmover.measures.estimates import (
    Calibration,
    Landmarks,
    Singles,
    UserRows,
    calibrate,
    estimate,
    estimate_to_landmarks,
)
from prefmover.measures.pairs import Pairs, compute, value_blocks, values
from prefmover.measures.pmd import distances_from, item_space
from prefmover.search import NeighborIndex
from prefmover.search.nearest import search_positions
from prefmover.search.request import Request
from prefmover.search.result import NeighborPositions, SearchStats

__all__ = ["UserSimilarity"]

BLOCK_USERS = 256

REMEMBERED = 10_000
"""Users whose nearest users are remembered, some 700 bytes each."""

REMEMBERED_GUESTS = 128
"""Guests whose estimated distances to landmarks are remembered, some 5,000 bytes each."""

FEW_USERS = 64
"""For up to this number of users, the masses of all users are not prepared."""

EXACT_PAIRS = 10_000
"""Up to this number of pairs of users, nothing is estimated: exact distances take a second or two."""


@dataclass(frozen=True, eq=False)
class UserSimilarity:
    """A measure between the users of a data set.

    A guest is given as the :class:`~prefmover.data.ratings.Ratings` of one user over the items of the data.

    Attributes
    ----------
    data
        The data set.
    measure, convention
        A row of the table of measures, and the name of a convention.
    n_threads
        Threads; None means all cores.
    calibration
        How PMD is estimated between many users; None if all values are exact.
    fitted
        The data as they were fitted, if ratings have changed since: landmarks keep their places.
    prepared
        Landmarks, prepared for estimates, by their positions.
    remembered
        For users who were asked for lately: how many nearest users were searched, these users, and values.
    remembered_guests
        For guests who came lately, by their ratings and the landmarks: their rows, and estimates to these.
    stored_nearest
        For landmarks, the distance from every item to the nearest item of each, if it was stored.
    """

    data: Dataset
    measure: Measure
    convention: str | None = None
    n_threads: int | None = None
    calibration: Calibration | None = None
    fitted: Dataset | None = None
    prepared: dict[bytes, Landmarks] = field(default_factory=dict)
    remembered: dict[int, tuple[int, Ints, Floats]] = field(default_factory=dict)
    remembered_guests: dict[tuple[bytes, ...], tuple[UserRows, Floats]] = field(default_factory=dict)
    stored_nearest: Mapping[bytes, Singles] | None = None

    def with_data(self, data: Dataset) -> UserSimilarity:
        """Return the measure between the users of another data set."""
        return replace(self, data=data, fitted=None, stored_nearest=None, **_nothing_known())

    def updated(self, data: Dataset) -> UserSimilarity:
        """Return the measure after an update of the data; landmarks are those of the fit."""
        return replace(self, data=data, fitted=self.landmark_data, remembered={})

    def with_items(self, data: Dataset) -> UserSimilarity:
        """Return the measure on data with more items, which nobody has rated."""
        fitted = self.fitted
        if fitted is not None:
            fitted = data.with_ratings(fitted.ratings)
        return replace(self, data=data, fitted=fitted, stored_nearest=None, **_nothing_known())

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

    @cached_property
    def _index(self) -> NeighborIndex | None:
        """The search index; None for measures that are searched without one."""
        return NeighborIndex(self.data, self.measure) if self.searches_by_bounds else None

    def values(self, users: Ints, others: Ints, progress: Progress | None = None) -> Floats:
        """Return the measure of ``users`` x ``others``, NaN where undefined."""
        return values(self.data, self.measure, self.convention, users, others, self.n_threads, progress)

    def estimates(
        self,
        users: Ints,
        others: Ints,
        progress: Progress | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> npt.NDArray[Any]:
        """Return the measure of ``users`` x ``others``, all different: estimated if there is a calibration.

        Otherwise it is exact.
        """
        if self.calibration is None:
            return self.values(users, others, progress).astype(dtype, copy=False)
        rows = self._rows(users)
        same = np.array_equal(users, others)
        geometry = self.data.require_geometry(self.measure.label)
        columns = rows if same else self._rows(others)
        out = estimate(self.calibration, geometry, rows, columns, n_threads=self.n_threads, dtype=dtype)
        _, at, to = np.intersect1d(users, others, assume_unique=True, return_indices=True)
        out[at, to] = 0.0
        if self.measure.extra_term is not None:
            pairs = Pairs(self.data, users, others)
            out += compute(
                self.measure.extra_term(pairs), pairs, rows_per_task=BLOCK_USERS, n_threads=self.n_threads
            )
        return out

    def landmark_estimates(self, guest: Ratings, landmarks: Ints) -> tuple[Floats, float]:
        """Return :meth:`guest_values` of landmarks as fitted, estimated if there is a calibration."""
        if self.calibration is None:
            return replace(self, data=self.landmark_data, fitted=None).guest_values(guest, landmarks)
        estimates = self._guest_estimates(self.calibration, guest, landmarks)[1]
        if self.measure.extra_term is None:
            return estimates, 0.0
        terms, itself = self._guest_terms(self.landmark_data, guest, landmarks)
        return estimates + terms, itself

    def estimates_from(
        self, user: int, guest: Ratings | None, landmarks: Ints, others: Ints
    ) -> tuple[Floats, Floats]:
        """Return the measure between a user, or a guest, and landmarks, and that to a few others.

        Both are estimated if there is a calibration; a user is not recognized as itself.
        """
        if self.calibration is None:
            few = self.exact_values(user, guest, others) if len(others) else np.empty(0)
            return self.exact_values(user, guest, landmarks), few
        geometry, prepared = self.data.require_geometry(self.measure.label), self.landmarks(landmarks)
        few = np.empty(0)
        if guest is None:
            one = self._rows(np.array([user]))
            found = estimate_to_landmarks(self.calibration, geometry, one, prepared)[0]
        else:
            one, found = self._guest_estimates(self.calibration, guest, landmarks)
        if len(others):
            few = estimate(self.calibration, geometry, one, self._rows(others), n_threads=self.n_threads)[0]
        if self.measure.extra_term is not None:
            found = found + self._terms(user, guest, landmarks)
            few = few + self._terms(user, guest, others) if len(others) else few
        return found, few

    def _guest_estimates(
        self, calibration: Calibration, guest: Ratings, landmarks: Ints
    ) -> tuple[UserRows, Floats]:
        """Return the row of a guest, and estimates to landmarks: both sides of a model and reasons ask."""
        known, key = self.remembered_guests, (guest.matrix.indices.tobytes(), guest.matrix.data.tobytes())
        found = known.get((*key, landmarks.tobytes()))
        if found is None:
            geometry = self.data.require_geometry(self.measure.label)
            one = UserRows.take(preferences(guest), geometry, np.zeros(1, np.int64))
            estimates = estimate_to_landmarks(calibration, geometry, one, self.landmarks(landmarks))[0]
            while len(known) >= REMEMBERED_GUESTS:
                known.pop(next(iter(known)), None)
            found = known[(*key, landmarks.tobytes())] = one, estimates
        return found[0], found[1].copy()

    def _terms(self, user: int, guest: Ratings | None, others: Ints) -> Floats:
        """Return the term that the measure adds to PMD, between a user, or a guest, and others."""
        assert self.measure.extra_term is not None
        if guest is not None:
            return self._guest_terms(self.data, guest, others)[0]
        query = np.array([user])
        return np.asarray(self.measure.extra_term(Pairs(self.data, query, others))(query)[0])

    def _guest_terms(self, data: Dataset, guest: Ratings, others: Ints) -> tuple[Floats, float]:
        """Return the term that the measure adds to PMD, between a guest and others, and the guest itself."""
        assert self.measure.extra_term is not None
        whole = data.with_guests(_renamed(guest, data.ratings), others)
        query = np.array([len(others)])
        row = self.measure.extra_term(Pairs(whole, query, np.arange(len(others) + 1)))(query)[0]
        return row[:-1], float(row[-1])

    def landmarks(self, landmarks: Ints) -> Landmarks:
        """Return landmarks by their positions, prepared for estimates; once for a model."""
        geometry, key = self.data.require_geometry(self.measure.label), landmarks.tobytes()
        if key not in self.prepared:
            rows = _few_rows(self.landmark_data, geometry, landmarks)
            nearest = None if self.stored_nearest is None else self.stored_nearest.get(key)
            self.prepared[key] = Landmarks.prepare(rows, geometry, self.n_threads, nearest)
        return self.prepared[key]

    def _rows(self, users: Ints) -> UserRows:
        geometry = self.data.require_geometry(self.measure.label)
        if len(users) <= FEW_USERS:
            return _few_rows(self.data, geometry, users)
        return UserRows.take(self.data.preferences, geometry, users)

    def blocks(self, users: Ints, guest: Ratings | None = None) -> Iterator[tuple[Ints, Floats]]:
        """Yield the measure between blocks of users, or a guest, and all users: (positions, rows)."""
        everyone = np.arange(self.data.n_users)
        if guest is not None:
            return iter([(users, self.guest_values(guest, everyone)[0][None])])
        return value_blocks(
            self.data, self.measure, self.convention, users, everyone, n_threads=self.n_threads
        )

    def self_values(self, users: Ints) -> Floats:
        """Return the measure between each user and itself."""
        if self.measure.is_zero_for_itself:
            return np.zeros(len(users))
        parts = np.split(users, range(BLOCK_USERS, len(users), BLOCK_USERS))
        if self.measure.extra_term is not None:  # the transport from a user to itself costs nothing
            term = self.measure.extra_term
            return np.concatenate([np.diagonal(term(Pairs(self.data, some, some))(some)) for some in parts])
        return np.concatenate([np.diagonal(self.values(some, some)) for some in parts])

    def guest_values(self, guest: Ratings, others: Ints) -> tuple[Floats, float]:
        """Return the measure between a guest and ``others``, and between the guest and itself."""
        if self._has_pmd:
            distances = self._guest_distances(guest, others)
            if self.measure.extra_term is None:
                return distances, 0.0
            terms, itself = self._guest_terms(self.data, guest, others)
            return distances + terms, itself
        # Some measures use the means of items, which depend on all ratings.
        users, columns = (None, others) if self.measure.uses_others else (others, np.arange(len(others)))
        whole = self.data.with_guests(
            _renamed(guest, self.data.ratings), users, with_geometry=self.measure.needs_geometry
        )
        query = np.array([whole.n_users - 1])
        others = np.append(columns, query)
        row = values(whole, self.measure, self.convention, query, others, self.n_threads)[0]
        return row[:-1], 0.0 if self.measure.is_zero_for_itself else float(row[-1])

    def exact_values(self, user: int, guest: Ratings | None, others: Ints) -> Floats:
        """Return the exact measure between a user, or a guest, and ``others``; NaN where it is undefined."""
        if not len(others):
            return np.empty(0)
        if guest is not None:
            return self.guest_values(guest, others)[0]
        row: Floats = self.values(np.array([user]), others)[0]
        return row

    def _guest_distances(self, guest: Ratings, others: Ints) -> Floats:
        """Return exact distances from a guest; the masses of the data's users are prepared once for all."""
        some, one = self.data.preferences, preferences(guest)
        rows, entries = entries_of_rows(some.indptr, others)
        lengths = np.bincount(rows, minlength=len(others))
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        both = Preferences(
            np.concatenate([indptr, indptr[-1] + one.indptr[1:]]),
            np.concatenate([some.indices[entries], one.indices]),
            np.concatenate([some.mass[entries], one.mass]),
            np.concatenate([some.total[others], one.total]),
        )
        geometry = self.data.require_geometry(self.measure.label)
        return distances_from(both, geometry, len(others), np.arange(len(others)))

    def nearest(
        self, users: Ints | None, k: int, guest: Ratings | None = None, progress: Progress | None = None
    ) -> NeighborPositions:
        """Return the k nearest users of each user, or of a guest."""
        if users is None or guest is not None:
            users = (self.data.ratings if guest is None else guest).user_positions(None)
        return self._search(users, None, guest, k, progress)

    def _search(
        self, users: Ints, items: Ints | None, guest: Ratings | None, k: int, progress: Progress | None
    ) -> NeighborPositions:
        request = Request(
            self.data, self.measure, self.convention, users, items, guest, k,
            n_threads=self.n_threads, progress=progress,
        )  # fmt: skip
        return search_positions(request, self._index)

    def nearest_to(self, user: int, k: int) -> tuple[Ints, Floats]:
        """Return the k nearest users of one user, and the values.

        The list is remembered. A later call with the same k or a smaller one takes its first k, without a
        search.
        """
        found = self.remembered.get(user)
        if found is None or found[0] < k:
            found = k, *self.nearest(np.array([user]), k).row(0)
            while len(self.remembered) >= REMEMBERED:
                self.remembered.pop(next(iter(self.remembered)), None)  # the first that was asked for
            self.remembered[user] = found
        return found[1][:k], found[2][:k]

    def nearest_strangers(
        self,
        user: int,
        items: Ints,
        k: int,
        guest: Ratings | None = None,
        progress: Progress | None = None,
    ) -> NeighborPositions:
        """Return the k nearest of the users who have rated none of the items of a user, or of a guest.

        Every such pair is computed: strangers are few where users have rated much, and quick to compare where
        they have rated little. Measures of items in common are undefined for strangers; their list is empty.
        """
        strangers = np.flatnonzero(self.data.ratings.n_common(items) == 0)
        strangers = strangers[strangers != user]
        if guest is None:
            row = self.values(np.array([user]), strangers, progress)[0]
        else:
            row = self.guest_values(guest, strangers)[0] if len(strangers) else np.empty(0)
        order = np.argsort(-row if self.measure.larger_is_closer else row, kind="stable")
        order = order[~np.isnan(row[order])][:k]
        stats = SearchStats(solved=len(strangers))
        return NeighborPositions.from_lists([(strangers[order], row[order])], stats)

    def raters(
        self, users: Ints, items: Ints, k: int, guest: Ratings | None = None, progress: Progress | None = None
    ) -> NeighborPositions:
        """Return the k nearest among the raters of each item, of ``users`` or of a guest."""
        if not len(items):
            return NeighborPositions.empty(0)
        queries = users if guest is None else np.zeros(len(items), np.int64)
        return self._search(queries, items, guest, k, progress)


def _nothing_known() -> dict[str, Any]:
    """Return the tables of a measure on data that are new to it."""
    return {"prepared": {}, "remembered": {}, "remembered_guests": {}}


def _few_rows(data: Dataset, geometry: ItemGeometry, users: Ints) -> UserRows:
    """Return rows of some users, without the masses of all unless they are there or needed."""
    if "preferences" in vars(data):
        return UserRows.take(data.preferences, geometry, users)
    return UserRows.take(preferences(data.ratings.take(users=users)), geometry, np.arange(len(users)))


def _renamed(guest: Ratings, others: Ratings) -> Ratings:
    """Return the ratings of a guest under a name that is not the id of a user."""
    (name,) = guest.users.tolist()
    free = others.user_index.free_name(name)
    return guest if free == name else one_user(others, free, *guest.row(0))
