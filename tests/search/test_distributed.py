"""Any division of queries and users gives the same lists; queries are divided by cost."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover.errors import InputError
from prefmover.execution import LocalExecutor, Summary, open_executor
from prefmover.search import NeighborIndex, nearest
from prefmover.search import distributed as module
from prefmover.search.distributed import bytes_before, divide_queries, divide_users, search_blocks
from tests.execution.conftest import make
from tests.messages import names, unnamed
from tests.search.strategies import rated
from tests.search.test_nearest import assert_same


@pytest.fixture(scope="module")
def index():
    return NeighborIndex(make(260))


@pytest.fixture(scope="module")
def whole(index):
    return index.nearest(k=7, n_threads=1)


def in_blocks(index, executor, k=7, **options):
    return search_blocks(index, np.arange(index.data.n_users), k, executor, **options)


@pytest.mark.slow
@given(rated(), st.integers(1, 6), st.integers(1, 400), st.integers(1, 9), st.sampled_from([0, 2**28]))
@settings(max_examples=60)
def test_any_cut_gives_the_same_lists(data, k, shard_bytes, n_blocks, table_budget):
    index = NeighborIndex(data, table_budget=table_budget)
    found = in_blocks(index, LocalExecutor(1, shard_bytes), min(k, data.n_users), blocks=n_blocks)
    whole = index.nearest(k=k, n_threads=1)
    assert_same(found, whole)
    assert found.stats.pairs == whole.stats.pairs
    assert found.stats.undefined == whole.stats.undefined


def test_tables_of_shards(index, whole, monkeypatch):
    """Shards are as small as their tables ask for; without room for any there is none."""
    tables, calls = module.nearest_item_table, []
    monkeypatch.setattr(
        module, "nearest_item_table", lambda *a, **k: calls.append(a[1].n_users) or tables(*a, **k)
    )
    assert_same(in_blocks(index, LocalExecutor(2, 45_000), blocks=5), whole)
    assert len(calls) == 4
    assert sum(calls) == 260
    without = NeighborIndex(index.data, table_budget=0)
    assert_same(in_blocks(without, LocalExecutor(1, 22_000), blocks=5), whole)
    assert len(calls) == 4


def test_bounds_travel(index):
    """A block that carries its lists along solves fewer pairs than shards that begin anew."""
    ends = divide_users(bytes_before(index.data.preferences), 22_000)
    assert ends.size == 5
    carried = in_blocks(index, LocalExecutor(1, 60_000), blocks=5)
    anew = 0
    for start, stop in pairwise(ends.tolist()):
        part = index.data.with_ratings(index.data.ratings.take(users=np.arange(start, stop)))
        anew += nearest(part, 7, new=index.data.ratings, n_threads=1).stats.solved
    assert carried.stats.solved < 0.7 * anew


def test_solved_pairs_are_known_to_the_other_side(index, monkeypatch):
    together = in_blocks(index, LocalExecutor(1), blocks=20)
    monkeypatch.setattr(module, "KNOWN_BYTES", 0)
    apart = in_blocks(index, LocalExecutor(1), blocks=20)
    assert_same(together, apart)
    assert together.stats.known > 2 * apart.stats.known
    assert together.stats.solved < apart.stats.solved


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=80), st.integers(1, 20), st.sampled_from([10, 10**9])
)
def test_blocks_are_of_equal_cost(sizes, least, shard_ratings):
    sizes = np.array(sizes)
    blocks = divide_queries(sizes, shard_ratings, least)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(sizes.size))
    costs = [int((sizes[block] + 1).sum()) for block in blocks]
    share = (sizes + 1).sum() / max(least, np.ceil((sizes + 1.0).sum() * shard_ratings / module.TASK_COST))
    for block, cost in zip(blocks, costs, strict=True):
        assert cost <= share + sizes[block].max() + 1
    ordered = np.concatenate([sizes[block] for block in blocks])
    assert (np.diff(ordered) <= 0).all()  # heavy ones first


def test_no_queries(index):
    assert index.nearest([], 3, executor="threads").ids.shape == (0, 0)


def test_shards_are_ranges_of_equal_size(index):
    before = bytes_before(index.data.preferences)
    for bytes_ in (None, 10**9, 22_000, 5_000, 1):
        ends = divide_users(before, bytes_)
        assert ends[0] == 0
        assert ends[-1] == 260
        assert (np.diff(ends) > 0).all()
    assert divide_users(before, 22_000).size == 5


def test_a_summary_counts():
    summary = Summary(resumed=3, nodes_lost=1, retries=2)
    summary.record("b", {"exact": 1.5}, solved=4)
    assert not unnamed(str(summary), 2, 1, 4, 3)


def test_an_executor_object(index, whole):
    executor = LocalExecutor(1)
    with open_executor(executor) as same:
        assert same is executor
    assert_same(index.nearest(k=7, executor=executor), whole)
    assert executor.summary.tasks >= 16
    with pytest.raises(InputError, match=names("executor", 5)), open_executor(5):
        pass
