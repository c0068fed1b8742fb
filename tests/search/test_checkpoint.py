"""A search that was killed resumes from its parts, with the same result."""

import json

import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.errors import InputError
from prefmover.execution import LocalExecutor, atomic
from prefmover.model import KNNRecommender
from prefmover.search import NeighborIndex, nearest
from prefmover.search.distributed import search_blocks
from tests.messages import names
from tests.search.test_nearest import assert_same


def make(n_users=160):
    rng = np.random.default_rng(8)
    lengths = rng.integers(1, 30, n_users)
    users = np.repeat(np.arange(n_users), lengths)
    items = np.concatenate([rng.choice(60, n, replace=False) for n in lengths])
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))
    return Dataset(ratings, ItemGeometry.from_vectors(ratings.items, rng.random((ratings.n_items, 6))))


def in_blocks(index, n_threads, folder, **options):
    everyone = np.arange(index.data.n_users)
    return search_blocks(index, everyone, 5, LocalExecutor(n_threads), folder, **options)


def test_parts_make_the_whole(tmp_path):
    data = make()
    whole = nearest(data, 5)
    assert_same(nearest(data, 5, checkpoint=tmp_path / "a"), whole)
    index = NeighborIndex(data)
    calls = []
    neighbors = in_blocks(index, 2, tmp_path / "b", blocks=23, progress=lambda *call: calls.append(call))
    assert_same(neighbors, whole)
    assert calls[-1] == (160, 160)
    assert len(list((tmp_path / "b").glob("part-*.parquet"))) == 23
    again = in_blocks(index, 1, tmp_path / "b")
    assert_same(again, whole)
    assert again.stats == neighbors.stats  # nothing was computed again


def test_another_search_is_refused(tmp_path):
    data = make(30)
    nearest(data, 3, checkpoint=tmp_path)
    for other in (
        lambda: nearest(data, 4, checkpoint=tmp_path),
        lambda: nearest(data, 3, users=data.ratings.users[:5], checkpoint=tmp_path),
        lambda: nearest(make(29), 3, checkpoint=tmp_path),
    ):
        with pytest.raises(InputError):
            other()


def test_damage_is_named(tmp_path):
    data = make(30)
    nearest(data, 3, checkpoint=tmp_path)
    part = tmp_path / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(InputError, match=names("part-00000.parquet")):
        nearest(data, 3, checkpoint=tmp_path)
    header = tmp_path / "_search.json"
    header.write_text("{")
    with pytest.raises(InputError, match=names("_search.json")):
        nearest(data, 3, checkpoint=tmp_path)
    header.unlink()
    with pytest.raises(InputError):
        nearest(data, 3, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda lists: lists["distances"][0].reverse(),
        lambda lists: lists["distances"][0].__setitem__(0, -1.0),
        lambda lists: lists["distances"][0].__setitem__(2, float("nan")),
        lambda lists: lists["distances"][0].pop(),
        lambda lists: lists["neighbors"][0].__setitem__(0, lists["neighbors"][0][1]),
        lambda lists: [column[0].append(column[0][-1]) for column in lists.values()],
    ],
    ids=["not in order", "negative", "missing", "not as many distances", "there twice", "damaged"],
)
def test_lists_that_no_search_makes_are_refused(tmp_path, change):
    import pyarrow as pa
    from pyarrow import parquet

    data = make(30)
    nearest(data, 3, checkpoint=tmp_path)
    part = tmp_path / "part-00000.parquet"
    table = parquet.read_table(part)
    lists = {name: table[name].to_pylist() for name in ("neighbors", "distances")}
    change(lists)
    changed = pa.table({"user": table["user"], **lists}).replace_schema_metadata(table.schema.metadata)
    parquet.write_table(changed, part)
    with pytest.raises(InputError, match=names("part-00000.parquet")):
        nearest(data, 3, checkpoint=tmp_path)


def test_new_users_need_no_checkpoint(tmp_path):
    data = make(30)
    with pytest.raises(InputError):
        nearest(data, 3, new=data.ratings.take(users=[0]), checkpoint=tmp_path)


def test_the_header_tells_what_is_searched(tmp_path):
    data = make(30)
    nearest(data, 3, checkpoint=tmp_path)
    assert json.loads((tmp_path / "_search.json").read_text())["k"] == 3


def test_the_disk_is_checked_first(monkeypatch, tmp_path):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(atomic.shutil, "disk_usage", lambda place: usage)
    data = make()
    with pytest.raises(InputError, match=names("disk", str(tmp_path))):
        nearest(data, 4, checkpoint=tmp_path / "deep" / "folder", n_threads=1)
    with pytest.raises(InputError, match=names("disk", str(tmp_path))):
        KNNRecommender(measure="jaccard").fit(data).recommend_all(4, checkpoint=tmp_path / "other")
    assert not list(tmp_path.iterdir())
