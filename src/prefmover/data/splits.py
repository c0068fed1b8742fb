"""Train and test: ratings dealt out by a seed, the same on every machine and with every version.

A rating's lot is a hash of the seed and of its place in the table (users and items are sorted, so the place
does not depend on the order of the input's rows). No random generator is involved whose stream a library
could change.

Users and items that are left without training ratings stay: in the train table as empty rows and columns, so
that positions agree with those of the whole, and in the test set, where they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import show
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError

__all__ = ["Split", "hashed", "k_fold", "published_folds", "random_split"]

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Split:
    """Training ratings, and the test ratings to predict from them.

    Attributes
    ----------
    train
        Over all users and all items of the whole, on its scale.
    users, items
        (n_test,) positions of the test ratings in ``train.users`` and ``train.items``, sorted.
    ratings
        (n_test,) the test ratings.
    name
        How the split was made.
    """

    train: Ratings
    users: Index
    items: Index
    ratings: npt.NDArray[np.float64]
    name: str

    def test_pairs(self) -> list[tuple[Any, Any]]:
        """Return the (user id, item id) pairs of the test ratings."""
        users, items = self.train.users[self.users], self.train.items[self.items]
        return list(zip(users.tolist(), items.tolist(), strict=True))

    @property
    def n_test(self) -> int:
        """Number of test ratings."""
        return len(self.ratings)

    @property
    def new_users(self) -> int:
        """How many users of the test set have no training rating."""
        return int((np.diff(self.train.matrix.indptr)[np.unique(self.users)] == 0).sum())

    @property
    def new_items(self) -> int:
        """How many items of the test set have no training rating."""
        n = np.bincount(self.train.matrix.indices, minlength=self.train.n_items)
        return int((n[np.unique(self.items)] == 0).sum())

    def __repr__(self) -> str:
        return (
            f"Split({self.name}: {self.train.n_ratings:,} ratings to train on, {self.n_test:,} to test, "
            f"{self.new_users:,} users and {self.new_items:,} items of them new)"
        )


def random_split(
    ratings: Ratings, train: float = 0.8, seed: int = 0, *, stratify: Literal["user"] | None = None
) -> Split:
    """Return a split with a share of the ratings, drawn at random, to train on.

    Parameters
    ----------
    ratings
        All ratings.
    train
        The share, between 0 and 1; of n ratings, ``round(train * n)`` are drawn.
    seed
        A whole number from 0; another one gives another split.
    stratify
        ``"user"`` gives every user the same share, as nearly as whole numbers allow.

    Examples
    --------
    >>> ratings = Ratings.from_arrays([1, 1, 1, 1, 2, 2], list("abcdab"), [5, 4, 3, 2, 1, 5])
    >>> random_split(ratings, 0.5, seed=1)
    Split(3 of 6 ratings, seed 1: 3 ratings to train on, 3 to test, 0 users and 1 items of them new)
    >>> random_split(ratings, 0.5, seed=1, stratify="user").new_users
    0
    """
    if not 0 < train < 1:
        raise InputError(f"train is {train!r}; give the share to train on, between 0 and 1, such as 0.8")
    if stratify not in (None, "user"):
        raise InputError(f'stratify is {stratify!r}; choose None or "user"')
    lots, n = _lots(ratings, seed), ratings.n_ratings
    if stratify is None:
        chosen = np.zeros(n, bool)
        chosen[np.argsort(lots, kind="stable")[: round(train * n)]] = True
    else:
        # Rounding the running total gives each user the share, and the whole set exactly its own.
        rows = _rows(ratings)
        quota = np.diff(np.floor(train * ratings.matrix.indptr + 0.5).astype(np.int64))
        order = np.lexsort((lots, rows))
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n) - ratings.matrix.indptr[rows[order]]
        chosen = rank < quota[rows]
    how = f"{chosen.sum():,} of {n:,} ratings, seed {seed}" + (", by user" if stratify else "")
    return _split(ratings, chosen, how)


def k_fold(ratings: Ratings, folds: int = 5, seed: int = 0) -> list[Split]:
    """Return ``folds`` splits; every rating is in the test set of exactly one.

    Examples
    --------
    >>> ratings = Ratings.from_arrays([1, 1, 1, 2, 2], list("abcab"), [5, 4, 3, 1, 5])
    >>> [split.n_test for split in k_fold(ratings, 2)]
    [3, 2]
    """
    if folds != int(folds) or not 2 <= folds <= ratings.n_ratings:
        raise InputError(f"folds is {folds!r}; give a whole number from 2 to {ratings.n_ratings:,}")
    fold = np.empty(ratings.n_ratings, np.int64)
    fold[np.argsort(_lots(ratings, seed), kind="stable")] = np.arange(ratings.n_ratings) % folds
    return [_split(ratings, fold != k, f"fold {k + 1} of {folds}, seed {seed}") for k in range(folds)]


def published_folds(ratings: Ratings, folds: Iterable[tuple[Ratings, Ratings]]) -> list[Split]:
    """Return a publisher's own (train, test) pairs, such as ``dataset.folds()``, as splits of the whole.

    Examples
    --------
    >>> whole = Ratings.from_arrays([1, 1, 2], list("aba"), [5, 4, 3])
    >>> parts = whole.take(users=[0]), whole.take(users=[1])
    >>> published_folds(whole, [parts])
    [Split(published fold 1: 2 ratings to train on, 1 to test, 1 users and 0 items of them new)]
    """
    place = {user: k for k, user in enumerate(ratings.users.tolist())}
    column = {item: k for k, item in enumerate(ratings.items.tolist())}
    keys = _rows(ratings) * ratings.n_items + ratings.matrix.indices

    def where(part: Ratings, name: str) -> Index:
        users = _known(part.users.tolist(), place, f"{name}: user")
        items = _known(part.items.tolist(), column, f"{name}: item")
        wanted = users[_rows(part)] * ratings.n_items + items[part.matrix.indices]
        at = np.searchsorted(keys, wanted)
        found = keys[np.minimum(at, len(keys) - 1)] == wanted
        if not found.all() or (ratings.matrix.data[at] != part.matrix.data).any():
            raise InputError(f"{name} has ratings that the whole table has not, or other values of them")
        return at

    splits = []
    for number, (train, test) in enumerate(folds, 1):
        name = f"published fold {number}"
        learned, asked = where(train, f"train of {name}"), where(test, f"test of {name}")
        if np.intersect1d(learned, asked).size:
            raise InputError(f"{name} has ratings both to train on and to test")
        chosen, tested = np.zeros(len(keys), bool), np.zeros(len(keys), bool)
        chosen[learned], tested[asked] = True, True
        splits.append(_split(ratings, chosen, name, tested))
    return splits


def hashed(seed: int, keys: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return 64 well-mixed bits for each whole number: the finalizer of SplitMix64 (Steele et al., 2014).

    Examples
    --------
    >>> hashed(0, np.arange(2))
    array([16294208416658607535,  7960286522194355700], dtype=uint64)
    """
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed], dtype=np.uint64)) if seed else np.zeros(1, np.uint64)
        return _mixed(start + (np.asarray(keys).astype(np.uint64) + np.uint64(1)) * GOLDEN)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _lots(ratings: Ratings, seed: int) -> npt.NDArray[np.uint64]:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}; give a whole number from 0")
    return hashed(int(seed), np.arange(ratings.n_ratings))


def _rows(ratings: Ratings) -> Index:
    return np.repeat(np.arange(ratings.n_users), np.diff(ratings.matrix.indptr))


def _known(ids: list[Any], place: dict[Any, int], what: str) -> Index:
    for one in ids:
        if one not in place:
            raise InputError(f"{what} {show(one)} is not in the whole table of ratings")
    return np.array([place[one] for one in ids], dtype=np.int64)


def _split(
    ratings: Ratings,
    chosen: npt.NDArray[np.bool_],
    name: str,
    tested: npt.NDArray[np.bool_] | None = None,
) -> Split:
    from scipy.sparse import csr_array

    tested = ~chosen if tested is None else tested
    matrix, rows = ratings.matrix, _rows(ratings)
    if not chosen.any() or not tested.any():
        raise InputError(f"{name}: nothing is left to {'test' if chosen.any() else 'train on'}")
    before = np.concatenate(([0], np.cumsum(chosen)))
    parts = (matrix.data[chosen], matrix.indices[chosen], before[matrix.indptr].astype(matrix.indptr.dtype))
    train = Ratings(csr_array(parts, shape=matrix.shape), ratings.users, ratings.items, ratings.scale)
    return Split(
        train, rows[tested], matrix.indices[tested].astype(np.int64), matrix.data[tested].copy(), name
    )
