"""Any cut of the askers and of the users gives the same lists; the cut is by cost."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover.errors import InputError
from prefmover.execution import Local, Summary, constants, estimate, opened
from prefmover.search import NeighborIndex
from prefmover.search import distributed as module
from prefmover.search.distributed import cut_askers, cut_users, in_blocks
from tests.execution.conftest import made
from tests.messages import names, unnamed
from tests.search.strategies import rated
from tests.search.test_nearest import assert_same


@pytest.fixture(scope="module")
def index():
    return NeighborIndex(*made(260))


@pytest.fixture(scope="module")
def whole(index):
    return index.nearest(None, 7, n_threads=1)


@pytest.mark.slow
@given(rated(), st.integers(1, 6), st.integers(1, 400), st.integers(1, 9), st.sampled_from([0, 2**28]))
@settings(max_examples=60)
def test_any_cut_gives_the_same_lists(data, k, shard_bytes, n_blocks, table_budget):
    index = NeighborIndex(*data, table_budget=table_budget)
    found = in_blocks(index, None, min(k, data[0].n_users), Local(1, shard_bytes), blocks=n_blocks)
    whole = index.nearest(None, k, n_threads=1)
    assert_same(found, whole)
    assert found.stats.pairs == whole.stats.pairs
    assert found.stats.undefined == whole.stats.undefined


def test_tables_of_shards(index, whole, monkeypatch):
    """Shards are as small as their tables ask for; without room for any there is none."""
    tables, calls = module.nearest_items, []
    monkeypatch.setattr(
        module, "nearest_items", lambda *a, **k: calls.append(a[1].n_users) or tables(*a, **k)
    )
    assert_same(in_blocks(index, None, 7, Local(2, 60_000), blocks=5), whole)
    assert len(calls) == 4
    assert sum(calls) == 260
    without = NeighborIndex(index.ratings, index.geometry, table_budget=0)
    assert_same(in_blocks(without, None, 7, Local(1, 22_000), blocks=5), whole)
    assert len(calls) == 4


def test_bounds_travel(index):
    """A block that carries its lists along solves fewer pairs than shards that begin anew."""
    shards = cut_users(index.preferences, 22_000)
    assert len(shards) == 4
    carried = in_blocks(index, None, 7, Local(1, 60_000), blocks=5)
    anew = 0
    for start, stop in shards:
        part = NeighborIndex(index.ratings.take(users=np.arange(start, stop)), index.geometry)
        anew += part.nearest(index.ratings, 7, n_threads=1).stats.solved
    assert carried.stats.solved < 0.7 * anew


def test_solved_pairs_are_known_to_the_other_side(index, monkeypatch):
    together = in_blocks(index, None, 7, Local(1), blocks=20)
    monkeypatch.setattr(module, "KNOWN_BYTES", 0)
    apart = in_blocks(index, None, 7, Local(1), blocks=20)
    assert_same(together, apart)
    assert together.stats.known > 2 * apart.stats.known
    assert together.stats.solved < apart.stats.solved


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=80), st.integers(1, 20), st.sampled_from([10, 10**9])
)
def test_blocks_are_of_equal_cost(sizes, least, shard_ratings):
    sizes = np.array(sizes)
    blocks = cut_askers(sizes, shard_ratings, least)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(sizes.size))
    costs = [int((sizes[block] + 1).sum()) for block in blocks]
    share = (sizes + 1).sum() / max(least, np.ceil((sizes + 1.0).sum() * shard_ratings / module.TASK_COST))
    for block, cost in zip(blocks, costs, strict=True):
        assert cost <= share + sizes[block].max() + 1
    ordered = np.concatenate([sizes[block] for block in blocks])
    assert (np.diff(ordered) <= 0).all()  # heavy ones first


def test_nobody_asks(index):
    found = in_blocks(index, [], 3, Local(1))
    assert found.ids.shape == (0, 0)


def test_shards_are_ranges_of_equal_size(index):
    for bytes_ in (None, 10**9, 22_000, 5_000, 1):
        shards = cut_users(index.preferences, bytes_)
        assert shards[0][0] == 0
        assert shards[-1][1] == 260
        assert all(a[1] == b[0] for a, b in pairwise(shards))
        assert all(start < stop for start, stop in shards)
    assert len(cut_users(index.preferences, 22_000)) == 4
    assert len(cut_users(index.preferences, 1)) <= 260


def test_a_summary_counts():
    summary = Summary(resumed=3, nodes_lost=1, retries=2)
    summary.record("b", {"exact": 1.5}, solved=4)
    assert not unnamed(str(summary), 2, 1, 4, 3)


def test_an_executor_of_ones_own(index, whole):
    mine = Local(1)
    with opened(mine) as given_back:
        assert given_back is mine
    assert_same(index.nearest(None, 7, executor=mine), whole)
    assert mine.summary.tasks >= 16
    with pytest.raises(InputError, match=names("executor", 5)), opened(5):
        pass


def test_estimates_grow_as_they_should():
    small, large = estimate(10_000, 40, 4_000), estimate(20_000, 40, 4_000)
    assert large.core_seconds["bounds"] == pytest.approx(4 * small.core_seconds["bounds"])
    assert large.core_seconds["table"] == pytest.approx(2 * small.core_seconds["table"])
    assert 1.5 < large.core_seconds["exact"] / small.core_seconds["exact"] < 4
    assert estimate(10_000, 40, 4_000, cores=8).seconds == pytest.approx(small.seconds / 8)
    assert estimate(10**8, 40, 10**4).shards > 1000
    until = small.all_pairs_until
    there = estimate(until, 40, 4_000, using=replace(constants(), growth=0.0), shard_bytes=2**60)
    flat = there.core_seconds
    assert flat["bounds"] == pytest.approx(flat["layout"] + flat["exact"], rel=0.5)
    with pytest.raises(InputError):
        estimate(0, 40, 100)
