"""Groups of items: every item in one group of each kind."""

import numpy as np
import pytest

from prefmover import ItemGeometry
from prefmover.items.catalog import Catalog
from prefmover.server.item_groups import genre_table, groupings

ANGLES = np.concatenate([k * 0.18 + np.array([0, 0.01, 0.02]) for k in range(8)])  # eight tight groups
GEOMETRY = ItemGeometry.from_vectors(range(24), np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]))


def catalog(genres=None, years=None):
    return Catalog(range(24), [f"Title {k}" for k in range(24)], years, genres)


def test_clusters_are_the_tight_groups_and_named_after_a_member():
    groups = groupings(catalog(), GEOMETRY, np.arange(24))
    assert groups.keys() == {"cluster"}
    names = groups["cluster"]
    for k in range(0, 24, 3):
        assert len({*names[k : k + 3]}) == 1
        assert names[k] in [f"like Title {j}" for j in range(k, k + 3)]
    assert len({*names}) == 8


def test_the_main_genre_is_the_one_whose_items_are_near():
    genres = [["Near"] if k < 12 else ["Far"] for k in range(24)]
    genres[1] = ["Far", "Near"]
    assert groupings(catalog(genres), GEOMETRY, np.array([1, 20]))["genre"] == ["Near", "Far"]


def test_without_distances_the_rarest_genre_is_the_main_one():
    genres = [["Drama"]] * 23 + [["Drama", "Noir"]]
    assert groupings(catalog(genres), None, np.array([0, 23]))["genre"] == ["Drama", "Noir"]


def test_unknown_years_and_genres():
    groups = groupings(catalog(years=[1989] + [0] * 23), None, np.array([0, 5]))
    assert groups == {"decade": ["1980s", "other"]}
    assert groupings(catalog(), None, np.arange(3)) == {}


def test_genre_table():
    names, table = genre_table(Catalog([1, 2], ["a", "b"], genres=[["War", "Drama"], []]))
    assert names == ["Drama", "War"]
    assert table.tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize("n", [9, 24])
def test_every_item_has_one_group(n):
    groups = groupings(catalog([["A"]] * 24, [1990] * 24), GEOMETRY, np.arange(n))
    assert {kind: len(some) for kind, some in groups.items()} == dict.fromkeys(groups, n)
