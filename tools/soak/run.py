"""Batches of random problems. Each has its own seed, so any one can be run again alone."""

import numpy as np
from scipy.spatial.distance import cdist

from prefmover.errors import InputError, PrefmoverError
from prefmover.measures import pairwise
from prefmover.measures.pmd import pmd
from prefmover.ot import NeighborIndex as NeighborIndexOfHistograms
from prefmover.ot import transport
from prefmover.search import NeighborIndex
from prefmover.search.index import Request
from prefmover.search.nearest import exhaustive
from tools.soak.data import random_data
from tools.soak.problems import random_problem
from tools.soak.second import by_pot, flaw, normalized
from tools.soak.tally import Tally

AGREE = 1e-9  # of the largest cost
KINDS = ("costs", "users", "search")


def batch(kind, seed, number, largest=300):
    """Run one batch and return its Tally; ``kind`` is one of KINDS."""
    rng = np.random.default_rng([seed, KINDS.index(kind), number])
    tally = Tally()
    {"costs": _costs, "users": _users, "search": _search}[kind](rng, tally, largest)
    tally.failures = [f"{kind} {number}: {what}" for what in tally.failures]
    return tally


def _costs(rng, tally, largest):
    """Solve 250 problems of masses and costs: POT's cost, and the proof."""
    for _ in range(250):
        p, q, cost = random_problem(rng, largest)
        size = f"{len(p)} x {len(q)}"
        tally.problems += 1
        tally.largest = max(tally.largest, *cost.shape)
        try:
            result = transport(p, q, cost)
        except PrefmoverError as error:
            least = by_pot(normalized(p), normalized(q), cost / cost.max())
            if not (isinstance(error, InputError) and least is not None and least < 1e-5):
                tally.fail(f"{size}: {error}")  # else refused: costs far below the largest
            continue
        _read_proof(result, tally, size)
        top = float(cost.max()) or 1.0
        _compare(result.cost / top, normalized(p), normalized(q), cost / top, 1.0, tally, size)


def _users(rng, tally, largest):
    """Compute all distances of a small data set: POT's value for each, the proof for a few."""
    wide = rng.random() < 0.01
    data = random_data(rng, 8 if wide else 40, largest if wide else int(rng.integers(1, 30)))
    computed = pairwise(data, n_threads=1)
    users, D = data.preferences, data.geometry.block()
    top = float(D.max()) or 1.0
    rows = [slice(a, b) for a, b in zip(users.indptr[:-1], users.indptr[1:], strict=True)]
    share = [users.mass[s] / t if t else None for s, t in zip(rows, users.total.tolist(), strict=True)]
    if not np.array_equal(computed, computed.T, equal_nan=True):
        tally.fail("distances are not symmetric")
    for u in range(data.n_users):
        near = D[users.indices[rows[u]]] / top
        for v in range(u, data.n_users):
            if share[u] is None or share[v] is None:
                if not np.isnan(computed[u, v]):
                    tally.fail(f"users {u}, {v}: a distance where there is none")
                continue
            tally.problems += 1
            tally.largest = max(tally.largest, share[u].size, share[v].size)
            cost = np.ascontiguousarray(near[:, users.indices[rows[v]]])
            _compare(computed[u, v], share[u], share[v], cost, top, tally, f"users {u}, {v}")
    able = np.flatnonzero(users.total > 0)
    for u, v in rng.choice(able, (3, 2)).tolist() if able.size else []:
        result = pmd(data, u, v)
        if result.distance != computed[u, v]:
            tally.fail(f"users {u}, {v}: {result.distance!r} alone, {computed[u, v]!r} among all")
        _read_proof(result.transport, tally, f"users {u}, {v}")


def _search(rng, tally, largest):
    """Compare each pruned search with the exhaustive one: the same bits on one thread and on two."""
    data = random_data(rng, 25, 30)
    k = int(rng.choice([1, 2, 5, 10, 100]))
    queries = None if rng.random() < 0.7 else rng.permutation(data.ratings.users)[: rng.integers(1, 6)]

    def reference(users=queries, **options):
        return exhaustive(Request.from_ids(data, users, n_threads=1, **options))

    everything = reference(k=data.n_users).values
    # A radius that is one of the distances: a user at the edge is within.
    radius = float(rng.choice(everything)) if everything.size and rng.random() < 0.7 else rng.random()
    users, items = rng.choice(data.ratings.users, 12), rng.choice(data.ratings.items, 12)
    expected = {
        "nearest": reference(k=k),
        "within": reference(radius=radius),
        "raters": reference(users, items=items, k=k),
    }
    index = NeighborIndex(data)  # the functions solve few pairs one by one
    for n_threads in (1, 2):
        pruned = {
            "nearest": index.nearest(queries, k, n_threads=n_threads),
            "within": index.within(radius, queries, n_threads=n_threads),
            "raters": index.raters(users, items, k, n_threads=n_threads),
        }
        for name, lists in pruned.items():
            tally.searches += 1
            same = all(
                np.array_equal(getattr(lists, part), getattr(expected[name], part))
                for part in ("indptr", "neighbors", "values")
            )
            if not same:
                tally.fail(
                    f"{name}, k {k}, radius {radius!r}, {n_threads} threads, {data.geometry!r}: differs"
                )
    _histograms(rng, tally, k)


def _histograms(rng, tally, k):
    """Compare searches of histograms, by each kind of ground metric, with all distances."""
    n, m = rng.integers(2, 40, 2).tolist()
    weights = rng.integers(0, 4, (n, m)) * (rng.random((n, m)) < rng.random())
    weights[np.arange(n), rng.integers(0, m, n)] += 1
    X = rng.normal(size=(m, 3)) if rng.random() < 0.5 else rng.integers(1, 4, (m, 3)).astype(float)
    for metric in ("euclidean", "angle", lambda a, b: cdist(a, b, "cityblock"), cdist(X, X, "sqeuclidean")):
        index = NeighborIndexOfHistograms(weights, None if isinstance(metric, np.ndarray) else X, metric)
        away = index.pairwise(n_threads=1)
        radius = float(rng.choice(away.ravel()))
        np.fill_diagonal(away, np.inf)
        order = np.argsort(away, axis=1, kind="stable")[:, : min(k, n - 1)]
        for n_threads in (1, 2):
            near, inside = index.nearest(k, n_threads=n_threads), index.within(radius, n_threads=n_threads)
            tally.searches += 2
            same = np.array_equal(near.indices, order)
            same &= np.array_equal(near.distances, np.take_along_axis(away, order, axis=1))
            same &= np.array_equal(inside.counts, (away <= radius).sum(axis=1))
            if not same:
                tally.fail(f"{index!r}, k {k}, radius {radius!r}, {n_threads} threads: differs")


def _compare(value, p, q, cost, top, tally, where):
    second = by_pot(p, q, cost)
    if second is None:
        tally.gave_up += 1
        return
    tally.by_pot += 1
    error = abs(value / top - second)
    tally.worst_error = max(tally.worst_error, error)
    if not error <= AGREE:
        tally.fail(f"{where}: {value / top!r}, POT says {second!r}")


def _read_proof(result, tally, where):
    tally.proofs += 1
    wrong = flaw(result)
    if wrong:
        tally.fail(f"{where}: {wrong}")
