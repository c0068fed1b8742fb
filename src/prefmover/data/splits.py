"""Train and test ratings, split by a seed or by time: the same on every machine and with every version.

The rank of a rating in a random order is a hash of the seed and of its position in the table. Users and items
are sorted, so the position does not depend on the order of the rows of the input, and no library can change
the result with its random generator.

Users and items without training ratings are kept: as empty rows and columns of the training table, so that
positions stay the same, and in the test set.

=========================  ==============================================================================
:func:`random_split`       a share of all ratings, or of each user's (``stratify="user"``)
:func:`k_fold`             every rating is tested once
:func:`by_time`            the earliest ratings train, the latest test
:func:`leave_last_out`     each user's last ratings test
:func:`masked_split`       any part, such as that of a file (:mod:`prefmover.data.public_split`), or without
                           some items, or people (:mod:`prefmover.data.cold_start`)
:func:`validation_split`   a part of the *training* ratings of a split, for choices; made in the same way
=========================  ==============================================================================

Times are seconds since any moment. More than 10¹¹ seconds would be more than 3,000 years. Such large numbers
are read as milliseconds, microseconds or nanoseconds since 1970, which JavaScript and pandas write, and are
converted (:func:`in_seconds`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.file_options import check_whole_number
from prefmover.data.preferences import indptr_where
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.errors import InputError, UnknownIdError

__all__ = [
    "Kind",
    "Split",
    "by_time",
    "check_share",
    "hashed",
    "in_seconds",
    "k_fold",
    "leave_last_out",
    "masked_split",
    "published_folds",
    "random_keys",
    "random_split",
    "rating_times",
    "take_part",
    "time_table",
    "validation_split",
]

LOG = logging.getLogger(__name__)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
VALIDATION = 1_000_003  # added to a seed, so that the validation part does not repeat the split around it

LATEST = 1e11
"""The largest number that is a time in seconds: the year 5138, counted from 1970."""

FRACTIONS = (("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9))

Kind: TypeAlias = Literal["random", "user", "time", "last"]
Again: TypeAlias = "Callable[[Ratings, float, int], Split]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Split:
    """Training ratings, and test ratings to predict from them.

    Attributes
    ----------
    train
        Training ratings, over all users and items of the whole table, on its scale.
    users, items, ratings
        (n_test,) the test ratings, and their sorted positions in ``train.users`` and ``train.items``.
    name
        A description of the split.
    kind
        How it was made: ``"random"``, by ``"user"`` (the same share of each), by ``"time"``, or with the
        ``"last"`` ratings of each user as the test set.
    times
        (train.n_ratings,) times of the training ratings, in the order of ``train.matrix.data``; None for a
        split that needed none.
    held
        (train.n_ratings,) the training ratings that were published as the validation part; None for a split
        without one.
    again
        How to split training ratings in the same way, given the share to train on and a seed; None for splits
        of a kind.
    """

    train: Ratings
    users: Ints
    items: Ints
    ratings: Floats
    name: str
    kind: Kind = "random"
    times: Floats | None = None
    held: Bools | None = None
    again: Again | None = None

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
        """Number of users in the test set without a training rating."""
        return int((np.diff(self.train.matrix.indptr)[np.unique(self.users)] == 0).sum())

    @property
    def new_items(self) -> int:
        """Number of items in the test set without a training rating."""
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
    """Draw a share of the ratings at random to train on; the others are the test set.

    Parameters
    ----------
    train
        The share to train on, between 0 and 1: ``round(train * n)`` of n ratings.
    seed
        A whole number from 0; each gives another split.
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
    check_share(train)
    if stratify not in (None, "user"):
        raise InputError(f'stratify is {stratify!r}; choose None or "user"')
    keys, n = random_keys(ratings, seed), ratings.n_ratings
    if stratify is None:
        chosen = np.zeros(n, bool)
        chosen[np.argsort(keys, kind="stable")[: round(train * n)]] = True
    else:
        # Rounding the running total gives each user nearly the share, and the whole table exactly.
        rows = ratings.rows()
        quota = np.diff(np.floor(train * ratings.matrix.indptr + 0.5).astype(np.int64))
        order = np.lexsort((keys, rows))
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n) - ratings.matrix.indptr[rows[order]]
        chosen = rank < quota[rows]
    name = f"{chosen.sum():,} of {n:,} ratings, seed {seed}" + (", by user" if stratify else "")
    return masked_split(ratings, chosen, name, kind=stratify or "random")


def k_fold(ratings: Ratings, folds: int = 5, seed: int = 0) -> list[Split]:
    """Return ``folds`` splits; every rating is in the test set of exactly one.

    >>> ratings = Ratings.from_arrays([1, 1, 1, 2, 2], list("abcab"), [5, 4, 3, 1, 5])
    >>> [split.n_test for split in k_fold(ratings, 2)]
    [3, 2]
    """
    if folds != int(folds) or not 2 <= folds <= ratings.n_ratings:
        raise InputError(f"folds is {folds!r}; give a whole number from 2 to {ratings.n_ratings:,}")
    fold = np.empty(ratings.n_ratings, np.int64)
    fold[np.argsort(random_keys(ratings, seed), kind="stable")] = np.arange(ratings.n_ratings) % folds
    return [masked_split(ratings, fold != k, f"fold {k + 1} of {folds}, seed {seed}") for k in range(folds)]


def by_time(ratings: Ratings, times: Any, train: float = 0.8) -> Split:
    """Train on the earliest ratings; the later ones are the test set, as if the model had run since then.

    Parameters
    ----------
    times
        The time of each rating, as :func:`rating_times` takes them.
    train
        The share to train on, between 0 and 1. Ratings of the same time are taken in a pseudo-random order.

    Examples
    --------
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2], list("abab"), [5, 4, 3, 2])
    >>> split = by_time(ratings, {(1, "a"): 30, (1, "b"): 10, (2, "a"): 20, (2, "b"): 40}, 0.5)
    >>> split.test_pairs()
    [(1, 'a'), (2, 'b')]
    """
    check_share(train)
    when, n = rating_times(ratings, times), ratings.n_ratings
    chosen = np.zeros(n, bool)
    chosen[np.lexsort((random_keys(ratings, 0), when))[: round(train * n)]] = True
    name = f"the first {chosen.sum():,} of {n:,} ratings"
    return masked_split(ratings, chosen, name, kind="time", times=when)


def leave_last_out(ratings: Ratings, times: Any, n: int = 1) -> Split:
    """Test each user's last n ratings, and train on the others.

    A user with n ratings or fewer is trained on and not tested. ``times`` are as in :func:`rating_times`;
    ratings of the same user and time are taken in a pseudo-random order.

    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3], list("ababa"), [5, 4, 3, 2, 1])
    >>> split = leave_last_out(ratings, [30, 10, 20, 40, 50])  # in the order of the table
    >>> split.test_pairs()
    [(1, 'a'), (2, 'b')]
    """
    check_whole_number("n", n)
    when, rows = rating_times(ratings, times), ratings.rows()
    order = np.lexsort((random_keys(ratings, 0), when, rows))
    rank = np.empty(ratings.n_ratings, np.int64)  # from a user's last rating, 0, to the first
    rank[order] = ratings.matrix.indptr[rows[order] + 1] - 1 - np.arange(ratings.n_ratings)
    has_more = np.diff(ratings.matrix.indptr)[rows] > n
    if not has_more.any():
        raise InputError(f"no user has more than {n} ratings; there is nobody to leave the last {n} out of")
    name = f"all but the last {n} of each user"
    return masked_split(ratings, ~(has_more & (rank < n)), name, kind="last", times=when)


def validation_split(split: Split, train: float = 0.8, seed: int = 0) -> Split:
    """Split the training ratings of a split again, in the same way; its test ratings play no part.

    Choices, such as that of a penalty, may look at this split only. A split by time is divided at an earlier
    time, and one that leaves the last ratings out leaves out the last of the others. One that was published
    with a validation part has that.

    >>> ratings = Ratings.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), [5, 4, 3, 2, 1, 5])
    >>> outer = random_split(ratings, 0.5)
    >>> inner = validation_split(outer, 0.67)
    >>> (outer.train.n_ratings, inner.train.n_ratings, inner.n_test)
    (3, 2, 1)
    """
    if split.held is not None:
        return masked_split(split.train, ~split.held, f"validation part of {split.name}")
    if split.again is not None:
        return split.again(split.train, train, seed + VALIDATION)
    if split.kind == "time":
        return by_time(split.train, split.times, train)
    if split.kind == "last":
        return leave_last_out(split.train, split.times)
    stratify: Literal["user"] | None = "user" if split.kind == "user" else None
    return random_split(split.train, train, seed + VALIDATION, stratify=stratify)


def take_part(split: Split, users: Ints | None = None, items: Ints | None = None) -> Split:
    """Return the part of a split that belongs to some users and items, by position, ascending; None is all.

    >>> ratings = Ratings.from_arrays([1, 1, 2, 2], list("abab"), [5, 4, 3, 2])
    >>> take_part(k_fold(ratings, 2)[0], users=np.array([1])).train.n_users
    1
    """
    train = split.train
    users = np.arange(train.n_users) if users is None else users
    items = np.arange(train.n_items) if items is None else items
    own = np.isin(split.users, users) & np.isin(split.items, items)
    kept = np.isin(train.rows(), users) & np.isin(train.matrix.indices, items)
    return replace(
        split,
        train=train.take(users, items),
        users=np.searchsorted(users, split.users[own]),
        items=np.searchsorted(items, split.items[own]),
        ratings=split.ratings[own],
        times=None if split.times is None else split.times[kept],
        held=None if split.held is None else split.held[kept],
        name=f"{split.name}, {len(users):,} users, {len(items):,} items",
    )


def published_folds(ratings: Ratings, folds: Iterable[tuple[Ratings, Ratings]]) -> list[Split]:
    """Return (train, test) pairs that a data set was published with as splits of the whole table.

    >>> whole = Ratings.from_arrays([1, 1, 2], list("aba"), [5, 4, 3])
    >>> published_folds(whole, [(whole.take(users=[0]), whole.take(users=[1]))])
    [Split(published fold 1: 2 ratings to train on, 1 to test, 1 users and 0 items of them new)]
    """
    keys = ratings.rows() * ratings.n_items + ratings.matrix.indices

    def mask(part: Ratings, name: str) -> Bools:
        """Return which ratings of the whole table a part has."""
        try:
            users, items = ratings.user_positions(part.users), ratings.item_positions(part.items)
        except UnknownIdError as error:
            raise InputError(f"{name} does not belong to the whole table of ratings: {error}") from None
        part_keys = users[part.rows()] * ratings.n_items + items[part.matrix.indices]
        positions = np.minimum(np.searchsorted(keys, part_keys), len(keys) - 1)
        is_same = (keys[positions] == part_keys) & (ratings.matrix.data[positions] == part.matrix.data)
        if not is_same.all():
            raise InputError(f"{name} has ratings that differ from the whole table, or are not in it")
        chosen = np.zeros(len(keys), bool)
        chosen[positions] = True
        return chosen

    def split(name: str, train: Ratings, test: Ratings) -> Split:
        train_mask, test_mask = mask(train, f"train of {name}"), mask(test, f"test of {name}")
        if (train_mask & test_mask).any():
            raise InputError(f"{name} has the same ratings in train and test")
        return masked_split(ratings, train_mask, name, test_mask)

    return [split(f"published fold {k}", *parts) for k, parts in enumerate(folds, 1)]


def hashed(seed: int, keys: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of each whole number: the finalizer of SplitMix64 (Steele et al., 2014).

    >>> hashed(0, np.arange(2))
    array([16294208416658607535,  7960286522194355700], dtype=uint64)
    """
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed], dtype=np.uint64)) if seed else np.zeros(1, np.uint64)
        return _mixed(start + (np.asarray(keys).astype(np.uint64) + np.uint64(1)) * GOLDEN)


def _mixed(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def check_share(train: float) -> None:
    """Raise an error unless a share to train on is between 0 and 1."""
    if not 0 < train < 1:
        raise InputError(f"train is {train!r}; give the share to train on, between 0 and 1, such as 0.8")


def random_keys(ratings: Ratings, seed: int) -> npt.NDArray[np.uint64]:
    """Return a hash of the seed and of the position of each rating."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}; give a whole number from 0")
    return hashed(int(seed), np.arange(ratings.n_ratings))


def masked_split(
    ratings: Ratings,
    train_mask: Bools,
    name: str,
    test_mask: Bools | None = None,
    *,
    kind: Kind = "random",
    times: Floats | None = None,
    held: Bools | None = None,
    again: Again | None = None,
) -> Split:
    """Return the split that two masks over the ratings say; by default all others are test ratings.

    ``times`` are those of all ratings, and ``held`` is a mask over the training ratings.

    >>> ratings = Ratings.from_arrays([1, 1, 2], list("aba"), [5, 4, 3])
    >>> masked_split(ratings, np.array([True, False, True]), "by hand").test_pairs()
    [(1, 'b')]
    """
    from scipy.sparse import csr_array

    test_mask = ~train_mask if test_mask is None else test_mask
    if not train_mask.any() or not test_mask.any():
        raise InputError(f"{name}: no rating is left to {'test' if train_mask.any() else 'train on'}")
    matrix = ratings.matrix
    indptr = indptr_where(matrix.indptr, train_mask)
    train = csr_array((matrix.data[train_mask], matrix.indices[train_mask], indptr), shape=matrix.shape)
    users, items = ratings.rows()[test_mask], matrix.indices[test_mask].astype(np.int64)
    train_ratings = Ratings(train, ratings.users, ratings.items, ratings.scale)
    when = None if times is None else times[train_mask]
    return Split(train_ratings, users, items, matrix.data[test_mask], name, kind, when, held, again)


def in_seconds(times: Floats) -> Floats:
    """Return times in seconds; their unit is recognized by their size.

    Times are numbers from 0, all in one unit: seconds, or a fraction of seconds since 1970.

    >>> in_seconds(np.array([1.5e9, 86400.0])).tolist()
    [1500000000.0, 86400.0]
    >>> in_seconds(np.array([1.5e12, 1.4e12])).tolist()
    [1500000000.0, 1400000000.0]
    """
    latest = float(np.max(times, initial=0.0))
    if latest <= LATEST:
        return times
    unit, per_second = next((one for one in FRACTIONS if latest <= LATEST * one[1]), FRACTIONS[-1])
    earliest = float(np.min(times, initial=latest, where=times > 0))
    if latest > LATEST * per_second or earliest <= LATEST * per_second / 1e3:
        problem = "which is neither seconds nor a fraction of seconds since 1970; give all in one unit"
        raise InputError(f"times are from {earliest:.0f} to {latest:.0f}, {problem}", argument="time")
    LOG.warning("times up to %.0f are too large for seconds; they are read as %s", latest, unit)
    return times / per_second


def rating_times(ratings: Ratings, times: Any) -> Floats:
    """Return the time of each rating, in the order of ``ratings.matrix.data``.

    Parameters
    ----------
    times
        ``{(user, item): time}``; a frame with columns user, item and time; a :class:`~prefmover.Ratings`
        whose values are times, such as ``Ratings.read(file, rating="timestamp")``; or an array in the order
        of ``ratings.matrix.data``: by user, and each user's by item. Times are numbers from
        0, such as seconds. Entries of pairs that are not rated are ignored.
    """
    if isinstance(times, Mapping):
        try:
            users, items = zip(*times, strict=True)
        except (TypeError, ValueError):
            raise InputError("times must map (user, item) to numbers") from None
        times = Ratings.from_arrays(users, items, list(times.values()), feedback="explicit")
    elif hasattr(times, "columns") or hasattr(times, "column_names"):
        times = Ratings.from_frame(times, rating="time", duplicates="last", feedback="explicit")
    if isinstance(times, Ratings):
        return _looked_up(ratings, times)
    try:
        when = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"times is a {type(times).__name__}; give a number for each rating") from None
    if when.shape != (ratings.n_ratings,) or not np.isfinite(when).all():
        remedy = f"give a finite number for each of {ratings.n_ratings:,} ratings"
        raise InputError(f"times has shape {when.shape}; {remedy}")
    return when


def _looked_up(ratings: Ratings, times: Ratings) -> Floats:
    """Return the entries of another table at the ratings of this one; all must be there."""
    rows, columns = times.user_index.get(ratings.users)[ratings.rows()], times.item_index.get(ratings.items)
    at = columns[ratings.matrix.indices]
    keys = times.rows() * times.n_items + times.matrix.indices
    wanted = np.where((rows < 0) | (at < 0), -1, rows * times.n_items + at)
    found = np.searchsorted(keys, wanted)
    missing = np.append(keys, -2)[found] != wanted
    if missing.any():
        first = int(missing.argmax())
        user = ratings.users[ratings.rows()[first : first + 1]].tolist()[0]
        item = ratings.items[ratings.matrix.indices[first : first + 1]].tolist()[0]
        pair = f"user {user!r} and item {item!r} ({missing.sum():,} such ratings)"
        raise InputError(f"times has no entry for {pair}; give the time of every rating")
    return np.asarray(times.matrix.data[found])


def time_table(ratings: Ratings, times: Any) -> Ratings:
    """Return the times of ratings, in any form, as a table of seconds."""
    from scipy.sparse import csr_array

    if isinstance(times, Ratings):
        ratings, when = times, times.matrix.data
    else:
        if isinstance(times, np.ndarray) and times.dtype.kind == "M":  # dates of any unit, as seconds
            seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
            times = np.where(np.isnat(times), np.nan, seconds)
        when = rating_times(ratings, times)
    if when.min(initial=0.0) < 0:
        problem = f"a rating has the time {when.min():g}, which is before 1970"
        raise InputError(f"{problem}; give seconds since then, or dates")
    m = ratings.matrix
    table = csr_array((in_seconds(when), m.indices, m.indptr), shape=m.shape)
    return Ratings(table, ratings.users, ratings.items, Scale(0.0, float(table.data.max(initial=1.0)), 0.0))
