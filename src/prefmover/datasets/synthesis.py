"""Synthetic ratings of any size, for tests of scale: a million users in minutes.

Items belong to tastes: a taste is a direction in a space of features, not negative, and an item is the
direction of its taste plus noise. Within a taste, popularity falls off as 1 / rank, so that few items are
rated by many users and most by few. A user has a favorite taste and a second one, and sometimes rates any
popular item; items that suit the user's tastes get more stars.

Ratings are drawn in blocks of users, each with its own stream of random numbers, and written directly into
the arrays of the sparse matrix: besides the result (12 bytes per rating), only one block is in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from numbers import Real

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.ids import as_ids
from prefmover.data.preferences import entries_of_rows
from prefmover.data.ratings import Ratings, Scale
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry

__all__ = ["synthetic"]

BLOCK = 20_000  # users; the result of a seed depends on it
TABLE = 2_000_000  # entries of a table of users' items; the same is true of it
FAVORITE, SECOND = 0.6, 0.85  # cumulated shares of the favorite and the second taste; the rest is any taste


def synthetic(
    users: int = 1000,
    items: int = 500,
    *,
    ratings: tuple[int, int] = (20, 60),
    mean: float | None = None,
    tastes: int = 24,
    features: int = 32,
    seed: int = 0,
) -> Dataset:
    """Return a synthetic data set of ``users`` users and ``items`` items.

    Ids are 0, 1, 2, ...; the only genre of an item is its taste.

    Parameters
    ----------
    users, items : int
        Numbers of users and items.
    ratings : (int, int)
        Smallest and largest number of ratings of a user; all numbers between are equally likely, unless
        there is a ``mean``.
    mean : float, optional
        Mean number of ratings of a user. Numbers then follow a power law, as in real data: most users have
        few ratings, and a few users have many.
    tastes : int
        Number of taste clusters.
    features : int
        Length of an item vector.
    seed : int
        The same seed and sizes give the same ratings (with the same version of NumPy).

    Examples
    --------
    >>> data = synthetic(1000, 200, ratings=(30, 30))
    >>> data.ratings
    Ratings(1,000 users x 200 items, 30,000 ratings from 1 to 5 in steps of 0.5)
    >>> data.geometry
    ItemGeometry(synthetic: 32 features, angle: 200 items, dense, metric by construction)
    """
    from scipy.sparse import csr_array

    fewest, most = ratings
    _check_sizes(users, items, tastes, features, fewest, most, mean)
    world = np.random.default_rng([seed, 0])
    drawn = _Items.draw_all(items, tastes, features, world)
    counts = _counts(fewest, most, mean, users, world)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    width = np.int32 if indptr[-1] < 2**31 else np.int64
    indices, stars = np.empty(indptr[-1], width), np.empty(indptr[-1])
    # Tastes differ in size: the largest has about three times the users of the smallest.
    share = np.linspace(3.0, 1.0, tastes)
    share /= share.sum()
    for start in range(0, users, BLOCK):
        stop = min(start + BLOCK, users)
        random = np.random.default_rng([seed, 1, start])
        mixture = random.choice(tastes, size=(stop - start, 2), p=share)  # favorite and second taste
        for some in _groups(counts[start:stop]):
            seen, used = _seen(drawn, mixture[some], counts[start:stop][some], random)
            _, part = entries_of_rows(indptr, start + some)
            indices[part] = seen[used]
            stars[part] = _stars(drawn, mixture[some], seen, random)[used]
    # Not by from_csr, which would sort and copy arrays that are in order.
    matrix = csr_array((stars, indices, indptr.astype(width)), shape=(users, items))
    user_ids, item_ids = as_ids(np.arange(users), "user"), as_ids(np.arange(items), "item")
    titles, genres = [f"Item {i}" for i in range(items)], [(f"taste {t}",) for t in drawn.tastes]
    name, skew = f"synthetic: {features} features, angle", "" if mean is None else f", mean={mean:g}"
    geometry = cache(lambda: ItemGeometry.from_vectors(item_ids, drawn.vectors, name=name))
    return Dataset(
        Ratings(matrix, user_ids, item_ids, Scale(1.0, 5.0, 0.5)),
        lambda _: geometry(),
        Catalog(item_ids, titles, [0] * items, genres),
        name=f"synthetic({users}, {items}, ratings={tuple(ratings)}{skew}, seed={seed})",
        terms="Free of rights (CC0 1.0): users, items and ratings are made up.",
        citation="The prefmover developers. Synthetic ratings.",
    )


def _check_sizes(
    users: int, items: int, tastes: int, features: int, fewest: int, most: int, mean: float | None
) -> None:
    sizes = {"users": users, "items": items, "tastes": tastes, "features": features, "ratings": fewest}
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {size!r}")
    if not fewest <= most <= items:
        remedy = "give the smallest and the largest number of items that a user rates"
        raise InputError(f"ratings=({fewest}, {most}) is not possible with {items:,} items; {remedy}")
    if mean is not None and not (isinstance(mean, Real) and fewest < mean < most):
        ends = f"the smallest and the largest number, {fewest} and {most}"
        raise InputError(f"mean={mean!r} is not between {ends}")
    if tastes > items:
        raise InputError(f"tastes={tastes} is more than the {items:,} items; every taste needs an item")


def _counts(fewest: int, most: int, mean: float | None, users: int, random: np.random.Generator) -> Ints:
    """Return the number of ratings of each user: any is equally likely, or P(n) ∝ n^-a with this mean."""
    if mean is None:
        return random.integers(fewest, most, endpoint=True, size=users)
    n = np.arange(fewest, most + 1)
    low, high = -20.0, 20.0  # the mean falls as the exponent grows
    for _ in range(60):
        middle = (low + high) / 2
        weight = (n / fewest) ** -middle
        low, high = (middle, high) if weight @ n > mean * weight.sum() else (low, middle)
    return random.choice(n, size=users, p=weight / weight.sum())


def _groups(counts: Ints) -> list[Ints]:
    """Return groups of users with similar numbers of ratings, so that no table of theirs is large.

    A table has a row for each user, as long as the largest number.
    """
    order = np.argsort(-counts, kind="stable")
    groups = []
    while len(order):
        size = max(1, TABLE // int(counts[order[0]]))
        groups.append(np.sort(order[:size]))
        order = order[size:]
    return groups


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """Items sorted by taste, so that a draw from a taste is a draw from an interval."""

    vectors: Floats  # (n_items, features)
    tastes: Ints  # (n_items,), not sorted
    order: Ints  # items sorted by taste
    cumulated: Floats  # popularity, cumulated in that order; the last is 1
    start: Ints  # (n_tastes + 1,) start of each taste in that order
    quality: npt.NDArray[np.float32]
    suits: npt.NDArray[np.float32]  # (n_tastes, n_items), standardized within a taste

    @classmethod
    def draw_all(cls, items: int, tastes: int, features: int, random: np.random.Generator) -> _Items:
        centers = random.exponential(size=(tastes, features)) ** 2
        centers /= np.linalg.norm(centers, axis=1, keepdims=True)
        taste = random.permutation(np.arange(items) % tastes)
        vectors = centers[taste] + 0.5 * random.exponential(size=(items, features)) / features**0.5
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        order = np.argsort(taste, kind="stable")
        start = np.searchsorted(taste[order], np.arange(tastes + 1))
        rank = np.arange(items) - start[taste[order]]
        popularity = 1.0 / (rank + 10)  # flat at the head: nobody sees everything
        cumulated = np.cumsum(popularity)
        suits = centers @ vectors.T
        suits = (suits - suits.mean(axis=1, keepdims=True)) / (suits.std(axis=1, keepdims=True) + 1e-9)
        quality = 0.3 * random.standard_normal(items, np.float32)
        return cls(vectors, taste, order, cumulated / cumulated[-1], start, quality, suits.astype(np.float32))

    def draw(self, taste: Ints, random: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw an item of each taste, by popularity; -1 stands for any taste."""
        edges = np.concatenate([[0.0], self.cumulated])
        low = np.where(taste < 0, 0.0, edges[self.start[taste]])
        high = np.where(taste < 0, 1.0, edges[self.start[taste + 1]])
        draws = low + random.random(taste.shape) * (high - low)
        positions = np.searchsorted(self.cumulated, draws, side="right")
        return np.asarray(self.order[np.minimum(positions, len(self.order) - 1)], np.int32)


def _seen(
    catalog: _Items, mixture: Ints, counts: Ints, random: np.random.Generator
) -> tuple[npt.NDArray[np.int32], Bools]:
    """Return a table (users, most) of distinct items, sorted within users, and which entries are used."""
    n, most, n_items = len(counts), int(counts.max()), len(catalog.tastes)
    width = min(2 * most, n_items)
    which = random.random((n, width))
    taste = np.where(which < FAVORITE, mixture[:, :1], mixture[:, 1:])
    drawn = catalog.draw(np.where(which < SECOND, taste, -1), random)
    fresh = _first_times(drawn)
    for u in np.flatnonzero(fresh.sum(axis=1) < counts):  # few items in the tastes: add any others
        rest = random.permutation(np.setdiff1d(np.arange(n_items), drawn[u]))
        gaps = np.flatnonzero(~fresh[u])
        use = min(len(gaps), len(rest))
        drawn[u, gaps[:use]] = rest[:use]
        fresh[u, gaps[:use]] = True
    chosen = fresh & (np.cumsum(fresh, axis=1) <= counts[:, None])
    # Unused entries sort behind the others: int32 has room above every item.
    table = np.sort(np.where(chosen, drawn, np.int32(2**31 - 1)), axis=1)[:, :most]
    used = np.arange(most) < counts[:, None]
    return np.where(used, table, 0), used


def _first_times(drawn: npt.NDArray[np.int32]) -> Bools:
    """Return where an item occurs for the first time in its row."""
    order = np.argsort(drawn, axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, order, axis=1)
    fresh = np.ones(drawn.shape, bool)
    np.put_along_axis(fresh, order[:, 1:], ranked[:, 1:] != ranked[:, :-1], axis=1)
    return fresh


def _stars(
    catalog: _Items, mixture: Ints, seen: npt.NDArray[np.int32], random: np.random.Generator
) -> Floats:
    """Return half stars from 1 to 5 for a table of items."""
    suits = 0.7 * catalog.suits[mixture[:, :1], seen] + 0.3 * catalog.suits[mixture[:, 1:], seen]
    leniency = 0.35 * random.standard_normal((len(seen), 1), np.float32)
    chance = 0.6 * random.standard_normal(seen.shape, np.float32)
    stars = 3.3 + 0.4 * suits + leniency + catalog.quality[seen] + chance
    return np.asarray(np.clip(np.rint(2 * stars) / 2, 1.0, 5.0), np.float64)
