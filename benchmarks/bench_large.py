"""Data of the size that people have: 160,000 users x 60,000 items, and a million users.

``python benchmarks/bench_large.py [--write] [--share S]``. The data sets of :data:`SIZES` are synthetic, with the skew of
real ratings. ``--share .02`` makes all of them smaller (users, items and ratings alike), so that a trial takes a minute.
"""

from typing import NamedTuple

from prefmover import Dataset, datasets


class Size(NamedTuple):
    """The size of a data set: users, items, and the fewest, mean and most ratings of a user."""

    users: int
    items: int
    fewest: int
    mean: float
    most: int


SIZES = {
    "160k x 60k": Size(160_000, 60_000, 15, 66.25, 2000),  # 10.6 M ratings
    "1M x 20k": Size(1_000_000, 20_000, 5, 20.0, 500),  # 20 M ratings
}


def large(name: str, share: float = 1.0, seed: int = 0) -> Dataset:
    """Return a data set of :data:`SIZES`, or a share of its users and items."""
    size = SIZES[name]
    users, items = max(50, round(share * size.users)), max(100, round(share * size.items))
    most = min(size.most, items // 2)
    mean = min(size.mean, (size.fewest + most) / 2)
    return datasets.synthetic(users, items, ratings=(size.fewest, most), mean=mean, seed=seed)
