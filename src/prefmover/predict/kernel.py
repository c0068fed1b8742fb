"""The default predictor over a fitted set of ratings: regression on users by likeness x items by distance."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings
from prefmover.execution.threads import Progress
from prefmover.measures.weights import Weight
from prefmover.predict.base import NeighborPart
from prefmover.predict.centering import Floats, Index
from prefmover.predict.explanations import BasePart, Through
from prefmover.predict.knn import Answer, Parts, Placed
from prefmover.predict.regression import NewUser, Regression, Shared, require_room, solve
from prefmover.predict.similarity import Likeness
from prefmover.predict.top_n import best
from prefmover.predict.user_kernel import UserKernel, choose_landmarks, say

__all__ = ["Lending", "fit_lending", "landmark_values"]

EMPTY = np.empty(0, np.int64)
SPOKEN = 3  # ratings named for each neighbor in an explanation
NAMED = 10  # neighbors for whom they are
LEAST_SAY = 1e-5  # weights are inner products in single precision: what is below may as well be 0
USERS_AT_A_TIME = 64  # whose weights to everybody are held in memory


@dataclass(frozen=True, slots=True, eq=False)
class Lending:
    """A solved regression, and the measure that places new users in it.

    Attributes
    ----------
    likeness, weight
        How users become weights to landmarks.
    landmark_own
        (landmarks,) the measure of landmarks with themselves.
    regression
        The rest.
    """

    likeness: Likeness
    weight: Weight
    landmark_own: Floats
    regression: Regression

    @property
    def ratings(self) -> Ratings:
        """The training ratings."""
        return self.likeness.ratings

    def answer(self, users: Index, items: Index, progress: Progress | None = None) -> Answer:
        """Return predictions for pairs of positions; -1 is an unknown user or item."""
        values, base = self.regression.predict(users, items), self.regression.base(users, items)
        heard = self._n_neighbors(users, items)
        if progress is not None:
            progress(len(users), len(users))
        return Answer(values, base, heard, partial(self._details, users, items))

    def place(self, guest: Ratings) -> Placed:
        """Return a guest with their place among the users: the distances to all landmarks, computed once."""
        r = self.regression
        values, own = self.likeness.guest_values(guest, r.kernel.landmarks)
        weights = say(values[None], self.weight, np.array([own]), self.landmark_own)
        features, _ = r.kernel.place(weights)
        new = r.of_new_user(guest.matrix.indices.astype(np.int64), guest.matrix.data, features[0])
        return Placed(guest, new, self._with_everybody(new.features))

    def guest_answer(self, placed: Placed, items: Index) -> Answer:
        """Return predictions for a guest; -1 is an unknown item."""
        new, weights = _placed(placed)
        heard, known = np.zeros(len(items), np.int64), np.flatnonzero(items >= 0)
        has_say = (np.abs(weights) > LEAST_SAY)[None]
        heard[known] = self._counted(has_say, np.zeros(len(known), np.int64), items[known])
        return Answer(new.predict(items), new.base(items), heard, partial(self._details, placed, items))

    def _details(self, users: Index | Placed, items: Index, k: int) -> tuple[NeighborPart, ...]:
        """Return the neighbors' parts of the k-th pair asked about."""
        user = users if isinstance(users, Placed) else int(users[k])
        return self.parts(user, int(items[k])).neighbors

    def reasons(self, user: int | Placed, items: Index, most: int) -> list[Parts]:
        """Return ``most`` neighbors' parts of several predictions: those for it, largest first."""
        weights, opinions = self._weights(user), self.regression.opinions(items)
        named = []
        for k, speak in enumerate(self._speakers(user, weights, items)):
            named.append(speak[_loudest(weights[speak] * opinions[speak, k], most)])
        distances = self._distances(user, np.unique(np.concatenate([EMPTY, *named])))
        return [
            Parts(
                (),
                self._neighbor_parts(item, named[k], weights, opinions[:, k], distances),
                self._through(item, named[k][:NAMED], weights),
            )
            for k, item in enumerate(items.tolist())
        ]

    def parts(self, user: int | Placed, item: int) -> Parts:
        """Return the parts of one prediction; user -1 and item -1 are unknown."""
        weights = self._weights(user)
        opinions = self.regression.opinions(np.array([max(item, 0)]))[:, 0]
        (speak,) = self._speakers(user, weights, np.array([max(item, 0)]))
        parts = weights * opinions
        base = self._base(user, item, parts, float(parts[speak].sum()))
        if item < 0 or user == -1:
            return Parts(base, (), {})
        order = speak[np.argsort(-np.abs(parts[speak]), kind="stable")]
        distances = self._distances(user, order[:NAMED])
        return Parts(
            base,
            self._neighbor_parts(item, order, weights, opinions, distances),
            self._through(item, order[:NAMED], weights),
        )

    def _weights(self, user: int | Placed) -> Floats:
        """Return everybody's say in what a user is told; nobody's for an unknown user."""
        if isinstance(user, Placed):
            return _placed(user)[1]
        if user < 0:
            return np.zeros(self.ratings.n_users)
        return self._with_everybody(self.regression.kernel.features[user])

    def _base(self, user: int | Placed, item: int, parts: Floats, spoken: float) -> tuple[BasePart, ...]:
        """Return what a prediction is made of besides the neighbors, who add ``spoken`` in all."""
        r = self.regression
        new = _placed(user)[0] if isinstance(user, Placed) else None
        u = -1 if isinstance(user, Placed) else user
        base = [BasePart("mean", r.mean, "of all ratings")]
        if new is not None:
            habit = r.shared.user * float(new.alpha.sum())
        else:
            habit = float(r.user[u]) if u >= 0 else 0.0
        base.append(BasePart("user", habit, "the user's habit"))
        if item < 0:
            return tuple(base)
        base.append(BasePart("item", float(r.item[item]), "the item's standing"))
        base.append(BasePart("similar items", float(r.similar_items[item]), "the standing of items like it"))
        if new is None and u < 0:
            return tuple(base)
        at = np.array([item])
        if new is None:
            own = float(r.own(*r.of_user(u), float(r.kernel.rest[u]), at)[0]) + parts[u]
        else:
            own = float(new.own(at)[0])
        base.append(BasePart("own taste", own, "the user's own ratings of items like it"))
        # The features' inner products in single precision, summed here in another order than in the
        # prediction: what that leaves, some 1e-6, goes to the own part, so that the sum is the prediction.
        whole = float(r.predict(np.array([u]), at)[0] if new is None else new.predict(at)[0])
        rounding = whole - sum(part.value for part in base) - spoken
        base[-1] = base[-1]._replace(value=own + rounding)
        return tuple(base)

    def _speakers(self, user: int | Placed, weights: Floats, items: Index) -> list[Index]:
        """Return those who add something to what a user is told of each item, without the user."""
        has_say = np.abs(weights) > LEAST_SAY
        if not isinstance(user, Placed) and user >= 0:
            has_say[user] = False
        return [np.flatnonzero(has_say & opinion) for opinion in self.regression.has_opinion(items).T]

    def _distances(self, user: int | Placed, others: Index) -> dict[int, float]:
        """Return the measure between a user and some others, by position."""
        if not len(others):
            return {}
        if isinstance(user, Placed):
            values = self.likeness.guest_values(user.ratings, others)[0]
        else:
            values = self.likeness.values(np.array([user]), others)[0]
        return dict(zip(others.tolist(), values.tolist(), strict=True))

    def _neighbor_parts(
        self, item: int, named: Index, weights: Floats, opinions: Floats, distances: dict[int, float]
    ) -> tuple[NeighborPart, ...]:
        """Return neighbors' parts; distances of the first only, which alone are shown."""
        return tuple(
            NeighborPart(id_, distances.get(v, np.nan), w, rating, opinion, w * opinion)
            for id_, v, w, rating, opinion in zip(
                self.ratings.users[named].tolist(),
                named.tolist(),
                weights[named].tolist(),
                self._given(named, item),
                opinions[named].tolist(),
                strict=True,
            )
        )

    def _through(self, item: int, named: Index, weights: Floats) -> dict[Any, tuple[Through, ...]]:
        """Return the ratings through which neighbors speak: those that pull most the way their sum does."""
        r, out = self.regression, {}
        for v in named.tolist():
            theirs, alpha = r.of_user(v)
            spoken = weights[v] * alpha * r.likeness_to(item, theirs)
            top = np.argsort(-spoken * np.sign(spoken.sum()), kind="stable")[:SPOKEN]
            first = int(r.ratings.matrix.indptr[v])
            out[r.ratings.users[v : v + 1].tolist()[0]] = tuple(
                Through(
                    r.ratings.items[theirs[k] : theirs[k] + 1].tolist()[0],
                    float(r.ratings.matrix.data[first + k]),
                    float(spoken[k]),
                )
                for k in top.tolist()
            )
        return out

    def _given(self, users: Index, item: int) -> list[float | None]:
        """Return what users gave an item, None where nothing."""
        m, given = self.ratings.matrix, list[float | None]()
        for first, last in zip(m.indptr[users].tolist(), m.indptr[users + 1].tolist(), strict=True):
            at = bisect_left(m.indices, item, first, last)
            given.append(float(m.data[at]) if at < last and m.indices[at] == item else None)
        return given

    def _with_everybody(self, features: Any) -> Floats:
        return self.regression.kernel.between(features)

    def _n_neighbors(self, users: Index, items: Index) -> Index:
        """Return how many neighbors add something to each pair: as many as :meth:`parts` lists."""
        features, heard = self.regression.kernel.features, np.zeros(len(users), np.int64)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        known = known[np.argsort(users[known], kind="stable")]
        asking, which = np.unique(users[known], return_inverse=True)
        for first in range(0, len(asking), USERS_AT_A_TIME):
            some = asking[first : first + USERS_AT_A_TIME]
            here = slice(*np.searchsorted(which, [first, first + len(some)]))
            has_say = np.abs(features[some] @ features.T) > LEAST_SAY
            has_say[np.arange(len(some)), some] = False
            heard[known[here]] = self._counted(has_say, which[here] - first, items[known[here]])
        return heard

    def _counted(self, has_say: npt.NDArray[np.bool_], rows: Index, items: Index) -> Index:
        """Return how many of those who have a say with a user also have an opinion of an item.

        Parameters
        ----------
        has_say
            (askers, n_users).
        rows, items
            (pairs,) the asker, as a row of ``has_say``, and the item.
        """
        r = self.regression
        if r.lends:
            counts: Index = np.count_nonzero(has_say & r.voiced, axis=1)[rows]
        else:
            counts = (r.spoken.T @ has_say.T.astype(np.int64))[items, rows]
        return counts

    def with_users(self, likeness: Likeness) -> "Lending":
        """Return the predictor with more users, placed by their weights to the landmarks, and solved again.

        ``likeness`` is over the ratings of the present users, in order, followed by the new ones'.
        """
        r, n = self.regression, self.ratings.n_users
        kernel = r.kernel
        more = np.arange(n, likeness.ratings.n_users)
        own = likeness.own_values(more)
        values = likeness.values(more, kernel.landmarks)
        kernel = kernel.extended(say(values, self.weight, own, self.landmark_own))
        start = np.concatenate([r.alpha, np.zeros(likeness.ratings.n_ratings - len(r.alpha))])
        solved = solve(likeness.ratings, likeness.geometry, kernel, r.shared, start=start)
        return Lending(likeness, self.weight, self.landmark_own, solved)


def _loudest(parts: Floats, most: int) -> Index:
    """Return the places of those who say most for it, and, if they are too few, most against it.

    >>> _loudest(np.array([0.1, -0.9, 0.3, -0.2]), 3)
    array([2, 0, 1])
    """
    is_for = parts > 0
    found = best(np.where(is_for, parts, np.nan), EMPTY, most)
    if len(found) < most:
        found = np.concatenate([found, best(np.where(is_for, np.nan, -parts), EMPTY, most)])[:most]
    return found


def _placed(guest: Placed) -> tuple[NewUser, Floats]:
    assert guest.new is not None, "made by Lending.place"
    assert guest.weights is not None
    return guest.new, guest.weights


def landmark_values(
    likeness: Likeness, most: int, seed: int, progress: Progress | None = None
) -> tuple[Index, Floats]:
    """Return landmarks, and the measure of everybody with them, (n_users, landmarks)."""
    counts = np.diff(likeness.ratings.matrix.indptr)
    landmarks = choose_landmarks(counts, most, seed)
    require_room(likeness.ratings.n_users, likeness.ratings.n_items, len(landmarks))
    everybody = np.arange(likeness.ratings.n_users)
    if len(landmarks) == len(everybody):
        return landmarks, likeness.values(everybody, everybody, progress)
    if likeness.measure.symmetric:
        return landmarks, np.ascontiguousarray(likeness.values(landmarks, everybody, progress).T)
    return landmarks, likeness.values(everybody, landmarks, progress)


def fit_lending(
    likeness: Likeness, weight: Weight, shared: Shared, landmarks: Index, values: Floats
) -> Lending:
    """Return the predictor, given everybody's values with the landmarks."""
    own = likeness.own_values(np.arange(likeness.ratings.n_users))
    kernel = UserKernel.of(_with_self(say(values, weight, own, own[landmarks]), landmarks), landmarks)
    regression = solve(likeness.ratings, likeness.geometry, kernel, shared)
    return Lending(likeness, weight, own[landmarks], regression)


def _with_self(weights: Floats, landmarks: Index) -> Floats:
    """Set each landmark's weight to itself to 1."""
    weights[landmarks, np.arange(len(landmarks))] = 1.0
    return weights
