"""Every bound is at most the exact distance; sorted lists are sorted lists."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.measures import pairwise
from prefmover.search import NeighborIndex
from prefmover.search import _bounds as bounds
from prefmover.search import _cascade as cascade
from prefmover.search._climb import climb
from prefmover.search._topk import offer
from prefmover.search.cascade import _shape_prices
from prefmover.search.shard import NO_TABLE, Scratches, lay_out
from tests.search.strategies import rated

TINY = 1e-9


def prepare(data, u):
    """Return the query of a user, the candidates twice, scratch, and all exact distances in grid units."""
    index = NeighborIndex(data)
    p, geometry = data.preferences, data.geometry
    mine = slice(p.indptr[u], p.indptr[u + 1])
    items = p.indices[mine].astype(np.int32)
    query = lay_out(geometry, items, p.mass[mine], int(p.total[u]), u, np.inf, Scratches())
    exact = pairwise(data, "pmd", [data.ratings.users[u]])[0] / geometry.unit
    shard = index.shard(with_table=True, n_threads=1)
    s = Scratches().get(shard, geometry.n_items, items.size)
    return query, shard.candidates(), shard.compact(), s, exact


@settings(max_examples=60)
@given(rated(most_users=15), st.integers(0, 14))
def test_bounds_are_bounds(data, u):
    assume(data.preferences.total[u := u % data.n_users] > 0)
    query, users, compact, s, exact = prepare(data, u)
    cascade.bound_all(query, users, compact, s)
    alive = np.flatnonzero(data.preferences.total > 0)
    assert (s.bound[alive] <= exact[alive] * (1 + TINY)).all()
    s.alive[: alive.size] = alive
    before = s.bound.copy()
    _shape_prices(query, users, s, alive)
    cascade.apply_prices(query, compact, s, alive.size)
    assert (s.bound[alive] <= exact[alive] * (1 + TINY) + TINY).all()
    assert (s.bound >= before).all()
    for v in alive:
        if exact[v] > 0:
            for limit in (exact[v], 0.5 * exact[v], 3.0 * exact[v]):
                value = climb(v, s.g, 20, limit, query, users, s)
                assert value <= exact[v] * (1 + TINY) + TINY
                prices = s.best_g.copy()
                assert climb(v, prices, 0, limit, query, users, s) >= value - TINY * abs(value)


@settings(max_examples=30)
@given(rated(most_users=15), st.integers(0, 14))
def test_table_and_direct_bound_agree(data, u):
    assume(data.preferences.total[u := u % data.n_users] > 0)
    query, users, compact, s, _ = prepare(data, u)
    cascade.bound_all(query, users, compact, s)
    with_table = s.bound.copy()
    without = users._replace(table=NO_TABLE)
    cascade.bound_all(query, without, compact, s)
    np.testing.assert_allclose(s.bound, with_table, rtol=1e-12)


def test_prices_of_a_pair_bound_it_exactly():
    """Between a user and one other, the prices for the mixture come close to the distance itself."""
    rng = np.random.default_rng(0)
    d = rng.integers(1, 1000, (30, 6)).astype(np.int16)
    g = rng.integers(-50, 50, 6).astype(np.int16)
    f = np.empty(30, np.int16)
    bounds.extend(d, g, f)
    np.testing.assert_array_equal(f, (d - g).min(axis=1))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=40), st.integers(1, 6))
def test_a_list_keeps_the_first_k(offers, k):
    users, values, count = np.empty(k, np.int64), np.empty(k), 0
    distinct = {user: distance for distance, user in offers}
    for user, distance in distinct.items():
        count = offer(users, values, count, k, user, float(distance))
    expected = sorted((distance, user) for user, distance in distinct.items())[:k]
    assert [(values[a], users[a]) for a in range(count)] == expected


@pytest.mark.parametrize(("most", "kind"), [(5, np.uint8), (1000, np.int64)])
def test_masses_are_kept_in_few_bytes_where_they_fit(most, kind):
    ratings = Ratings.from_arrays([1, 1, 2, 3, 3], list("xyyxz"), [most, 1, 3, 2, 1], feedback="explicit")
    data = Dataset(ratings, ItemGeometry.from_vectors(list("xyz"), [[1, 0], [1, 1], [0, 1]]))
    query, users, compact, s, exact = prepare(data, 0)
    assert (compact.items.dtype, compact.mass.dtype) == (np.uint16, kind)
    cascade.bound_all(query, users, compact, s)
    narrow = s.bound.copy()
    cascade.bound_all(query, users, compact._replace(items=users.items, mass=users.mass), s)
    assert (s.bound == narrow).all()
    assert (narrow <= exact * (1 + TINY)).all()
