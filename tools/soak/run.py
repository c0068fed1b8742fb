"""Batches of random problems, each from a seed of its own: any one can be run again alone."""

import numpy as np
from prefmover.measures.preferences import preferences

from prefmover.errors import PrefmoverError
from prefmover.measures.pmd import distances, pmd
from prefmover.ot import transport
from prefmover.search import nearest, nearest_raters, within
from prefmover.search.exhaustive import exhaustive, exhaustive_raters
from tools.soak.people import random_people
from tools.soak.problems import random_problem
from tools.soak.second import by_pot, flaw, gap, normalized
from tools.soak.tally import Tally

AGREE = 1e-9  # of the largest cost
KINDS = ("costs", "people", "search")


def batch(kind, seed, number, largest=300):
    """Run one batch and return its Tally; ``kind`` is one of KINDS."""
    rng = np.random.default_rng([seed, KINDS.index(kind), number])
    tally = Tally()
    {"costs": _costs, "people": _people, "search": _search}[kind](rng, tally, largest)
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
            tally.fail(f"{size}: {error}")
            continue
        _read_proof(result, tally, size)
        top = float(cost.max()) or 1.0
        _compare(result.cost / top, normalized(p), normalized(q), cost / top, 1.0, tally, size)


def _people(rng, tally, largest):
    """Compute all distances in a small data set: POT's on each, the proof on a few."""
    wide = rng.random() < 0.01
    ratings, geometry = random_people(rng, 8 if wide else 40, largest if wide else int(rng.integers(1, 30)))
    found = distances(ratings, geometry, n_jobs=1)
    everyone, D = preferences(ratings), geometry.block()
    top = float(D.max()) or 1.0
    rows = [slice(a, b) for a, b in zip(everyone.indptr[:-1], everyone.indptr[1:], strict=True)]
    share = [everyone.mass[s] / t if t else None for s, t in zip(rows, everyone.total.tolist(), strict=True)]
    if not np.array_equal(found, found.T, equal_nan=True):
        tally.fail("distances are not symmetric")
    for u in range(ratings.n_users):
        near = D[everyone.indices[rows[u]]] / top
        for v in range(u, ratings.n_users):
            if share[u] is None or share[v] is None:
                if not np.isnan(found[u, v]):
                    tally.fail(f"users {u}, {v}: a distance where there is none")
                continue
            tally.problems += 1
            tally.largest = max(tally.largest, share[u].size, share[v].size)
            cost = np.ascontiguousarray(near[:, everyone.indices[rows[v]]])
            _compare(found[u, v], share[u], share[v], cost, top, tally, f"users {u}, {v}")
    able = np.flatnonzero(everyone.total > 0)
    for u, v in rng.choice(able, (3, 2)).tolist() if able.size else []:
        result = pmd(ratings, geometry, u, v)
        if result.distance != found[u, v]:
            tally.fail(f"users {u}, {v}: {result.distance!r} alone, {found[u, v]!r} among all")
        _read_proof(result.transport, tally, f"users {u}, {v}")


def _search(rng, tally, largest):
    """Compare every search that prunes with the one that does not: the same bits on 1 thread and on 2."""
    ratings, geometry = random_people(rng, 25, 30)
    k = int(rng.choice([1, 2, 5, 10, 100]))
    asking = None if rng.random() < 0.7 else rng.permutation(ratings.users)[: rng.integers(1, 6)]
    whole = exhaustive(ratings, "pmd", geometry=geometry, users=asking, n_jobs=1)
    true = exhaustive(ratings, "pmd", geometry=geometry, k=k, users=asking, n_jobs=1)
    # A radius that is one of the distances: what lies on the edge is within.
    radius = float(rng.choice(whole.values)) if whole.values.size and rng.random() < 0.7 else rng.random()
    near = exhaustive(ratings, "pmd", geometry=geometry, radius=radius, users=asking, n_jobs=1)
    who = rng.choice(ratings.users, 12)
    what = rng.choice(np.append(ratings.items, 999), 12)
    raters = exhaustive_raters(ratings, who, what, k, geometry=geometry, n_jobs=1)
    for n_jobs in (1, 2):
        for name, found, expected in (
            ("nearest", nearest(ratings, geometry, k, users=asking, n_jobs=n_jobs), true),
            ("within", within(ratings, geometry, radius, users=asking, n_jobs=n_jobs), near),
            ("raters", nearest_raters(ratings, geometry, who, what, k, n_jobs=n_jobs), raters),
        ):
            tally.searches += 1
            same = all(
                np.array_equal(getattr(found, part), getattr(expected, part))
                for part in ("indptr", "neighbors", "values")
            )
            if not same:
                tally.fail(f"{name}, k {k}, radius {radius!r}, {n_jobs} threads, {geometry!r}: differs")


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
    distance = abs(gap(result))
    tally.worst_gap = max(tally.worst_gap, distance)
    if wrong or not distance <= AGREE:
        tally.fail(f"{where}: {wrong or f'a gap of {distance:g}'}")
