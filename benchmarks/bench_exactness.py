"""Pruned search against POT on every pair: 100 random queries of MovieLens-100K and 20 of MovieLens-1M.

``python benchmarks/bench_exactness.py [--write]``: takes a quarter of an hour; POT does all the work. Distances must agree within
1e-9 at each rank, and so must the neighbors wherever their distances differ by more.
"""

import time

import numpy as np
from ot.lp.emd_wrap import emd_c

from bench import arguments, dataset, publish, table
from prefmover import nearest

QUERIES = {"ml-100k": 100, "ml-1m": 20}
K = 10
AGREE = 1e-9


def main() -> None:
    options = arguments(__doc__)
    rows = []
    for name in options.datasets:
        data = dataset(name)
        ratings, geometry, everyone = data.ratings, data.require_geometry("PMD"), data.preferences
        rng = np.random.default_rng(20)
        queries = np.sort(rng.choice(ratings.n_users, QUERIES[name], replace=False))
        neighbors = nearest(data, K, users=ratings.users[queries])
        worst, wrong, start = 0.0, 0, time.perf_counter()
        for k, u in enumerate(queries.tolist()):
            true = np.full(ratings.n_users, np.inf)
            for v in range(ratings.n_users):
                if v == u:
                    continue
                (i, p), (j, q) = (
                    (everyone.indices[s], everyone.mass[s] / everyone.total[x])
                    for x in (u, v)
                    for s in [slice(everyone.indptr[x], everyone.indptr[x + 1])]
                )
                true[v] = emd_c(p, q, geometry.block(i, j), 10_000_000, 1)[1]
            part = slice(neighbors.indptr[k], neighbors.indptr[k + 1])
            best = np.sort(true)[:K]
            worst = max(worst, float(np.abs(neighbors.values[part] - best).max()))
            wrong += int((true[neighbors.neighbors[part]] > best + AGREE).sum())
            print(
                f"{name}: {k + 1} of {queries.size}, largest difference {worst:.1e}, wrong {wrong}",
                flush=True,
            )
        seconds = time.perf_counter() - start
        n_pairs = queries.size * (ratings.n_users - 1)
        rows.append(
            [
                name,
                f"{queries.size}",
                f"{n_pairs:,}",
                f"{seconds:,.0f} s",
                f"{worst:.0e}",
                f"{wrong} of {queries.size * K:,}",
            ]
        )
        if worst > AGREE or wrong:
            raise SystemExit(f"{name}: the search is not exact")
    head = [
        "data",
        "queries",
        "pairs solved by POT",
        "POT took",
        "largest difference of distances",
        "wrong neighbors",
    ]
    publish(
        "exactness",
        "Pruned search against POT on every pair",
        [f"The {K} nearest users of random users.", table(head, rows)],
        options,
    )


if __name__ == "__main__":
    main()
