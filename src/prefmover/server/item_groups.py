"""Groups of items, to show many of them as a few: by genre, by decade, or by likeness.

Every item is in exactly one group of each kind, so that sums over groups are sums over items.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Ints
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry

UNKNOWN = "other"
N_CLUSTERS = 8
ROUNDS = 5  # moves of the centers of clusters
MEMBERS = 200  # items of a genre that an item is compared with


def groupings(catalog: Catalog, geometry: ItemGeometry | None, positions: Ints) -> dict[str, list[str]]:
    """Return the group of each item by kind; kinds that say nothing about these items are left out.

    ``"genre"``
        Of the genres of an item, the one to whose items it is nearest on average.
    ``"decade"``
        Such as "1980s".
    ``"cluster"``
        Items around a typical one, after which the group is named.

    >>> films = Catalog([7, 9], ["Alien", "Fargo"], [1979, 1996], [["Horror"], []])
    >>> groupings(films, None, np.array([0, 1]))
    {'genre': ['Horror', 'other'], 'decade': ['1970s', '1990s']}
    """
    kinds = {}
    if any(catalog.genres[k] for k in positions.tolist()):
        kinds["genre"] = _main_genres(catalog, geometry, positions)
    if (catalog.years[positions] > 0).any():
        years = catalog.years[positions].tolist()
        kinds["decade"] = [f"{year // 10 * 10}s" if year > 0 else UNKNOWN for year in years]
    if geometry is not None and len(positions) > N_CLUSTERS:
        medoids, nearest = _clusters(geometry, positions)
        names = [f"like {catalog.titles[k]}" for k in positions[medoids].tolist()]
        kinds["cluster"] = [names[k] for k in nearest.tolist()]
    return kinds


def genre_table(catalog: Catalog) -> tuple[list[str], Bools]:
    """Return all genres in alphabetical order, and which items have them, (items, genres)."""
    names = sorted({genre for some in catalog.genres for genre in some})
    column = {genre: k for k, genre in enumerate(names)}
    table = np.zeros((len(catalog), len(names)), np.bool_)
    for row, some in enumerate(catalog.genres):
        table[row, [column[genre] for genre in some]] = True
    return names, table


def _main_genres(catalog: Catalog, geometry: ItemGeometry | None, positions: Ints) -> list[str]:
    names, table = genre_table(catalog)
    mine = table[positions]
    far = np.full(mine.shape, np.inf)
    for k in np.flatnonzero(mine.any(axis=0)).tolist():
        members = np.flatnonzero(table[:, k])
        rows = np.flatnonzero(mine[:, k])
        if geometry is None:
            far[rows, k] = len(members)  # the rarest genre says most
        else:
            some = members[:: max(1, len(members) // MEMBERS)]
            far[rows, k] = geometry.block(positions[rows], some).mean(axis=1)
    best = far.argmin(axis=1)
    return [names[k] if mine[row, k] else UNKNOWN for row, k in enumerate(best.tolist())]


def _clusters(geometry: ItemGeometry, positions: Ints) -> tuple[Ints, npt.NDArray[np.intp]]:
    """Return medoids (indices of ``positions``), and for each item the nearest: k-medoids."""
    D = geometry.block(positions, positions)
    medoids = [int(D.sum(axis=1).argmin())]
    while len(medoids) < N_CLUSTERS:  # greedy: the item that takes most off the sum of distances
        least = D[:, medoids].min(axis=1)
        gain = np.maximum(least[:, None] - D, 0).sum(axis=0)
        medoids.append(int(gain.argmax()))
    chosen = np.array(medoids)
    for _ in range(ROUNDS):
        nearest = D[:, chosen].argmin(axis=1)
        moved = chosen.copy()
        for k in range(len(chosen)):
            members = np.flatnonzero(nearest == k)
            if len(members):
                moved[k] = members[D[np.ix_(members, members)].sum(axis=0).argmin()]
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return chosen, D[:, chosen].argmin(axis=1)
