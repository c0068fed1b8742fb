"""PMD as a row of the table."""

import numpy as np

from prefmover.errors import NotOptimalError
from prefmover.execution.threads import Progress
from prefmover.measures.pairs import Floats, Index, Pairs

__all__ = ["preference_mover"]

TABLE_1_EPSILON = 0.05


class preference_mover:  # noqa: N801 - a kernel like the others, with one more method
    """PMD: the least cost of moving u's preferences onto v's over the items' distances.

    Parameters
    ----------
    transport
        ``"exact"``: the paper's definition, d as the geometry gives it. ``"entropic"``: what its Table 1
        turns out to show, Sinkhorn's plan at ε = .05 priced at d = 1 - s.
    """

    def __init__(self, pairs: Pairs, *, transport: str = "exact") -> None:
        self.pairs = pairs
        self.transport = transport

    def __call__(self, users: Index) -> Floats:
        """Return a block of rows on the calling thread."""
        return self.block(users, n_threads=1)

    def block(self, users: Index, n_threads: int | None = None, progress: Progress | None = None) -> Floats:
        """Return a block of rows; PMD spreads its own work over threads, pair by pair."""
        pairs = self.pairs
        if self.transport == "entropic":
            return np.array([[self._entropic(u, v) for v in pairs.others] for u in users]).reshape(
                len(users), len(pairs.others)
            )

        from prefmover.measures.pmd import distances

        assert pairs.geometry is not None
        ids = pairs.ratings.users
        values: Floats = distances(
            pairs.ratings, pairs.geometry, ids[users], ids[pairs.others], n_threads=n_threads, progress=progress
        )
        return values

    def _entropic(self, u: int, v: int) -> float:
        from prefmover.ot import sinkhorn

        assert self.pairs.geometry is not None
        (i, p), (j, q) = self._preference(u), self._preference(v)
        if not len(i) or not len(j):
            return np.nan
        # Groups of items far apart in terms of ε exchange mass slowly: marginals
        # to the default 1e-9 would take for ever, and the cost does not move any more.
        cost = 1.0 - self.pairs.geometry.similarity(i, j)
        plan = sinkhorn(p, q, cost, TABLE_1_EPSILON, tolerance=1e-5)
        if not plan.converged:
            names = self.pairs.ratings.users[[u, v]].tolist()
            raise NotOptimalError(
                f"Sinkhorn did not converge for users {names[0]!r} and {names[1]!r} "
                f"(marginal error {plan.marginal_error:.2g} after {plan.iterations:,} rounds)"
            )
        return float(plan.cost)

    def _preference(self, user: int) -> tuple[Index, Floats]:
        """Return the items that a user gave more than 0, and the ratings: masses, not yet normalized."""
        matrix = self.pairs.matrix
        own = slice(matrix.indptr[user], matrix.indptr[user + 1])
        liked = matrix.data[own] > 0
        return matrix.indices[own][liked].astype(np.int64), matrix.data[own][liked]
