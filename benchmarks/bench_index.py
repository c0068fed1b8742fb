"""The index of histograms next to POT, RWMD and Sinkhorn: time against recall, on books over their shelves.

``python benchmarks/bench_index.py [--write]``: goodbooks from the folder that PREFMOVER_DATA names; nothing of it is
stored. A book is a histogram on its shelves. A shelf is a vector, from the books that are on it. All methods
run in this process on one thread and are timed in CPU time; slow ones answer fewer queries.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds

import ot
from bench import arguments, dataset, publish, table
from prefmover._typing import Floats, Ints
from prefmover.ot import NeighborIndex

POT_PIVOTS = 1_000_000
FIRST = 200  # candidates of a bound that are solved
REGULARIZATIONS = 0.2, 0.05  # of Sinkhorn, relative to the largest ground distance
ITERATIONS = 200
Order = Callable[[int], tuple[Ints, Floats]]
"""From a query to the nearest rows, in order, and their values."""


def shelves(dimensions: int) -> tuple[csr_array, Floats]:
    """Return the books (books x shelves, ones) and the vectors of the shelves."""
    catalog = dataset("goodbooks").catalog
    assert catalog is not None
    lists = [list(catalog.genres[k]) for k in range(len(catalog))]
    names, columns = np.unique([name for one in lists for name in one], return_inverse=True)
    rows = np.repeat(np.arange(len(lists)), list(map(len, lists)))
    books = csr_array((np.ones(rows.size), (rows, columns)), shape=(len(lists), len(names)))
    books = books[np.flatnonzero(books.sum(axis=1))]
    weight = np.log(books.shape[0] / books.sum(axis=0))
    _, scale, right = svds(books @ diags_array(weight), k=dimensions, v0=np.ones(len(names)))
    return csr_array(books), (right * scale[:, None]).T


class Books:
    """The books as POT takes them, and bounds in NumPy."""

    def __init__(self, books: csr_array, D: Floats, vectors: Floats) -> None:
        self.n, self.D, self.weights = (
            books.shape[0],
            D,
            books.multiply(1 / books.sum(axis=1)[:, None]).tocsr(),
        )
        self.starts = self.weights.indptr[:-1]
        self.centers = self.weights @ vectors
        self.dense = self.weights.toarray().T

    def row(self, u: int) -> tuple[Ints, Floats]:
        """Return the points and shares of a book."""
        part = slice(self.weights.indptr[u], self.weights.indptr[u + 1])
        return self.weights.indices[part], self.weights.data[part]

    def solve(self, u: int, v: int, **options: Any) -> Any:
        """Return the distance of two books by POT."""
        (i, p), (j, q) = self.row(u), self.row(v)
        return ot.emd2(p, q, self.D[np.ix_(i, j)], numItermax=POT_PIVOTS, check_marginals=False, **options)

    def loop(self, u: int) -> Floats:
        """Return all distances, one after the other."""
        return np.array([self.solve(u, v) for v in range(self.n)])

    def warm_loop(self, u: int) -> Floats:
        """Prices begin where those of the last book ended, for the query; those of the book follow."""
        i, p = self.row(u)
        out, f = np.empty(self.n), np.zeros(len(p))
        for v in range(self.n):
            j, q = self.row(v)
            M = self.D[np.ix_(i, j)]
            start = f, (M - f[:, None]).min(axis=0)
            out[v], log = ot.emd2(
                p, q, M, numItermax=POT_PIVOTS, check_marginals=False, log=True, potentials_init=start
            )
            f = log["u"]
        return out

    def centroids(self, u: int) -> Floats:
        """Return the distances between mean vectors."""
        return np.linalg.norm(self.centers - self.centers[u], axis=1)

    def rwmd(self, u: int) -> Floats:
        """Return the larger of the two one-sided bounds, for all books at once."""
        i, p = self.row(u)
        forward = self.weights @ self.D[i].min(axis=0)
        nearest = np.minimum.reduceat(self.D[i][:, self.weights.indices], self.starts, axis=1)
        return np.maximum(forward, p @ nearest)

    def sinkhorn(self, u: int, regularization: float) -> Floats:
        """Return the costs of blurred plans, for all books at once."""
        i, p = self.row(u)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ot.sinkhorn2(p, self.dense, self.D[i], regularization * self.D.max(), numItermax=ITERATIONS,
                                stopThr=1e-4)  # fmt: skip

    def pruned(self, u: int, k: int) -> tuple[Ints, Floats]:
        """Solve in the order of RWMD until the bound is beyond the k-th best (prefetch and prune)."""
        bounds = self.rwmd(u)
        found: list[tuple[float, int]] = []
        for v in np.argsort(bounds, kind="stable").tolist():
            if v == u:
                continue
            if len(found) == k and bounds[v] > found[-1][0] + 1e-9:
                break
            found = sorted([*found, (float(self.solve(u, v)), v)])[:k]
        return np.array([v for _, v in found]), np.array([d for d, _ in found])

    def first(self, u: int, bounds: Floats, k: int) -> tuple[Ints, Floats]:
        """Solve the first of an order."""
        some = np.argsort(bounds, kind="stable")[: FIRST + 1]
        some = some[some != u][:FIRST]
        values = np.array([self.solve(u, v) for v in some.tolist()])
        order = np.argsort(values, kind="stable")[:k]
        return some[order], values[order]


def nearest(u: int, values: Floats, k: int) -> tuple[Ints, Floats]:
    """Return the k rows with the least values, without the query."""
    order = np.argsort(values, kind="stable")[: k + 1]
    order = order[order != u][:k]
    return order, values[order]


def methods(books: Books, k: int) -> Iterator[tuple[str, int, Order]]:
    """Yield the name of each method, the share of the queries it answers (one of so many), and itself."""
    yield "POT: `ot.emd2` on every pair", 5, lambda u: nearest(u, books.loop(u), k)
    yield "POT with warm starts (`potentials_init`)", 5, lambda u: nearest(u, books.warm_loop(u), k)
    yield "RWMD in NumPy, then POT until the bound is beyond the last", 1, lambda u: books.pruned(u, k)
    yield f"RWMD in NumPy, then POT on the first {FIRST}", 1, lambda u: books.first(u, books.rwmd(u), k)
    yield f"centroids, then POT on the first {FIRST}", 1, lambda u: books.first(u, books.centroids(u), k)
    yield "RWMD alone", 1, lambda u: nearest(u, books.rwmd(u), k)
    yield "centroids alone", 1, lambda u: nearest(u, books.centroids(u), k)
    for one in REGULARIZATIONS:
        label = f"Sinkhorn (`ot.sinkhorn2`, all books at once), {one:g} of the largest distance"
        yield label, 20, lambda u, one=one: nearest(u, books.sinkhorn(u, one), k)


def recall(found: Floats, exact: Floats) -> float:
    """Return the share of the exact neighbors found, by their exact distances: ties are as good."""
    return min(int((found <= exact[-1] + 1e-6).sum()), len(exact)) / len(exact)


def main() -> None:
    options = arguments(__doc__, datasets=["goodbooks"] if os.environ.get("PREFMOVER_DATA") else [],
                        k=10, queries=100, dimensions=50)  # fmt: skip
    parts: list[Any] = []
    for _ in options.datasets:
        weights, vectors = shelves(options.dimensions)
        k, n = options.k, weights.shape[0]
        NeighborIndex(weights[:300], vectors, "angle").nearest(k)  # compiled, or loaded
        NeighborIndex(weights[:300], vectors, "angle").nearest(k, method="candidates", recall=0.5)
        start = time.process_time()
        index = NeighborIndex(weights, vectors, "angle", n_threads=1)
        prepared = time.process_time() - start
        books = Books(weights, index._engine.ground.block(), vectors)  # type: ignore[attr-defined]
        queries = np.sort(np.random.default_rng(5).choice(n, options.queries, replace=False))
        start = time.process_time()
        exact = index.nearest(k, rows=queries, n_threads=1)
        seconds = (time.process_time() - start) / queries.size
        start = time.process_time()
        everyone = index.nearest(k, n_threads=1)
        all_seconds = (time.process_time() - start) / n
        start = time.process_time()
        likely = index.nearest(k, method="candidates", n_threads=1)
        likely_seconds = (time.process_time() - start) / n
        true = exact.distances
        assert np.array_equal(everyone.distances[queries], true)
        ours = [
            (f"**prefmover**, exact, {queries.size} queries", seconds, 1.0),
            (f"**prefmover**, exact, all {n:,} books", all_seconds, 1.0),
            ("**prefmover**, candidates, all books", likely_seconds,
             float(np.mean([recall(likely.distances[u], d) for u, d in zip(queries, true, strict=True)]))),
        ]  # fmt: skip
        print(ours, flush=True)
        peers = []
        for label, one_of, order in methods(books, k):
            some = range(0, queries.size, one_of)
            order(int(queries[0]))
            start = time.process_time()
            found = [order(int(queries[a]))[0] for a in some]
            seconds = (time.process_time() - start) / len(some)
            by_exact = [
                np.array([books.solve(int(queries[a]), int(v)) for v in rows])
                for a, rows in zip(some, found, strict=True)
            ]
            peers.append(
                (
                    label,
                    seconds,
                    float(np.mean([recall(d, true[a]) for a, d in zip(some, by_exact, strict=True)])),
                )
            )
            print(peers[-1], flush=True)
        brute = peers[0][1]
        assert peers[0][2] == peers[2][2] == 1.0  # exact ones agree
        rows = [
            [
                label,
                f"{seconds * 1e3:,.1f}",
                f"{brute / seconds:,.0f}x" if seconds < brute / 2 else f"{brute / seconds:,.1f}x",
                f"{share:.3f}",
            ]
            for label, seconds, share in sorted(ours + peers, key=lambda row: row[1])
        ]
        work = everyone.stats
        about = (
            f"{n:,} books over {weights.shape[1]} shelves, {weights.nnz / n:.0f} each; angles between vectors of "
            f"{options.dimensions} dimensions. One thread, CPU time for the {k} nearest of one book among all. The "
            f"index is made in {prepared:.2f} s, and the exact search of all books solves "
            f"{work.solved / work.pairs:.2%} of the pairs. The recall is the share of the exact neighbors that a "
            "method finds."
        )
        parts += [about, table(["method", "ms a query", "vs `ot.emd2`", f"recall@{k}"], rows)]
    publish("index", "Exact nearest histograms", parts, options)


if __name__ == "__main__":
    main()
