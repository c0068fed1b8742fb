"""Five users and five films, one of which has a title that HTML has to escape."""

from functools import cache

from prefmover import Dataset, ItemGeometry, Ratings, Scale
from prefmover.items.catalog import Catalog

FILMS = ["alien", "aliens", "emma", "clueless", "heat"]
TITLES = ["Alien", "Aliens", "Emma", "Clueless <1995>", "Heat"]
VECTORS = [[9, 0, 1], [8, 1, 1], [0, 9, 1], [1, 8, 2], [5, 1, 6]]
ROWS = [
    ("ann", "alien", 5), ("ann", "emma", 2), ("ann", "heat", 4),
    ("bob", "aliens", 5), ("bob", "clueless", 3), ("bob", "heat", 2),
    ("cid", "emma", 5), ("cid", "clueless", 4),
    ("dot", "alien", 1), ("dot", "emma", 4),
    ("eve", "aliens", 2),
]  # fmt: skip


@cache
def five_films() -> Dataset:
    ratings = Ratings.from_arrays(*map(list, zip(*ROWS, strict=True)), scale=Scale(1, 5, 1))
    items = Catalog(FILMS, TITLES, [0] * len(FILMS), [()] * len(FILMS))
    return Dataset(ratings, ItemGeometry.from_vectors(FILMS, VECTORS), items)
