"""Slow and obvious twins of the measures: the published formulas for one user against all, in plain NumPy.

They share no code with ``prefmover.measures``: ratings are dense rows with NaN for no rating, and each
formula is written down as in its publication. Values are rounded to eleven digits, so that equal ones tie.
"""

import warnings

import numpy as np


class Twin:
    """Dense ratings (users x items, NaN for none), item similarities S and distances D, and the scale."""

    def __init__(self, R, lowest, highest, S=None, D=None):
        self.R, self.S, self.D = R, S, D
        self.lowest, self.highest, self.middle = lowest, highest, (lowest + highest) / 2
        self.rated = ~np.isnan(R)
        self.n = self.rated.sum(axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            self.mean, self.std = np.nanmean(R, axis=1), np.nanstd(R, axis=1)
            self.item_mean = np.nanmean(R, axis=0)
        flat = np.nanmax(np.where(self.rated, R, -np.inf), axis=1) == np.nanmin(
            np.where(self.rated, R, np.inf), axis=1
        )
        self.std[flat] = 0.0

    def values(self, measure, u):
        """Return the measure of user u with every user, NaN where undefined."""
        with np.errstate(all="ignore"):
            row = np.array([self._value(measure, u, v) for v in range(len(self.R))], float)
        return np.array([x if not np.isfinite(x) else float(f"{x:.11g}") for x in row])

    def _value(self, measure, u, v):
        if not self.n[u] or not self.n[v]:
            return np.nan
        common = self.rated[u] & self.rated[v]
        return getattr(self, "_" + measure.replace("-", "_").replace(":", "__"))(u, v, common)

    def _jaccard(self, u, v, common):
        return common.sum() / (self.rated[u] | self.rated[v]).sum()

    def _cos(self, u, v, common):
        return _cosine(self.R[u, common], self.R[v, common])

    def _pcc(self, u, v, common):
        return _cosine(
            _near_zero(self.R[u, common] - self.mean[u]), _near_zero(self.R[v, common] - self.mean[v])
        )

    def _pcc__co_rated_means(self, u, v, common):
        if not common.any():
            return np.nan
        x, y = self.R[u, common], self.R[v, common]
        return _cosine(_near_zero(x - x.mean()), _near_zero(y - y.mean()))

    def _msd(self, u, v, common):
        if not common.any():
            return np.nan
        return np.mean(((self.R[u, common] - self.R[v, common]) / (self.highest - self.lowest)) ** 2)

    def _jmsd(self, u, v, common):
        return self._jaccard(u, v, common) * (1 - self._msd(u, v, common))

    def _urp(self, u, v, common):
        return 1 - _sig(abs(self.mean[u] - self.mean[v]) * abs(self.std[u] - self.std[v]))

    def _pss(self, a, b, mean):
        proximity = 1 - _sig(np.abs(a - b))
        significance = _sig(np.abs(a - self.middle) * np.abs(b - self.middle))
        return proximity * significance * (1 - _sig(np.abs((a + b) / 2 - mean)))

    def _nhsm(self, u, v, common, overlap=None):
        if not common.any():
            return np.nan
        pss = self._pss(self.R[u, common], self.R[v, common], self.item_mean[common]).sum()
        overlap = common.sum() / (self.n[u] * self.n[v]) if overlap is None else overlap
        return pss * overlap * self._urp(u, v, common)

    def _nhsm__table_1(self, u, v, common):
        return self._nhsm(u, v, common, self._jaccard(u, v, common))

    def _double_sum(self, u, v, loc_u, loc_v):
        return loc_u @ self.S[np.ix_(self.rated[u], self.rated[v])] @ loc_v

    def _loc(self, u, kind):
        r = self.R[u, self.rated[u]]
        if kind == "median":
            size = np.sqrt(((r - self.middle) ** 2).sum())
            return (r - self.middle) / size if size else np.zeros_like(r)
        if not self.std[u]:
            return np.zeros_like(r)
        if kind == "correlation":
            return (r - self.mean[u]) / self.std[u]
        filled = np.where(self.rated[u], self.R[u], 0.0)
        return (r - filled.mean()) / filled.std()

    def _bcf(self, u, v, common, kind="correlation", share=False):
        loc_u, loc_v = self._loc(u, kind), self._loc(v, kind)
        if kind == "zero-filled" and not (self.std[u] and self.std[v]):
            loc_u, loc_v = np.ones_like(loc_u), np.ones_like(loc_v)
        total = self._double_sum(u, v, loc_u, loc_v)
        return self._jaccard(u, v, common) + (total / (self.n[u] * self.n[v]) if share else total)

    def _bcf__median(self, u, v, common):
        return self._bcf(u, v, common, "median")

    def _bcf__table_1(self, u, v, common):
        return self._bcf(u, v, common, "zero-filled")

    def _n_bcf(self, u, v, common):
        return self._bcf(u, v, common, share=True)

    def _n_bcf__median(self, u, v, common):
        return self._bcf(u, v, common, "median", share=True)

    def _n_bcf__table_1(self, u, v, common):
        return self._bcf(u, v, common, "zero-filled", share=True)

    def _husm(self, u, v, common):
        i, j = self.rated[u], self.rated[v]
        means = (self.item_mean[i][:, None] + self.item_mean[j]) / 2
        pss = self._pss(self.R[u, i][:, None], self.R[v, j], means)
        total = (self.S[np.ix_(i, j)] * pss).sum()
        return total * _sig(common.sum() / self.n[u]) * self._urp(u, v, common)

    def _n_husm(self, u, v, common):
        return self._husm(u, v, common) / (self.n[u] * self.n[v])

    def _pmd(self, u, v, common):
        import ot

        i, j = self.rated[u] & (self.R[u] > 0), self.rated[v] & (self.R[v] > 0)
        p, q = self.R[u, i] / self.R[u, i].sum(), self.R[v, j] / self.R[v, j].sum()
        return float(ot.emd2(p, q / q.sum() * p.sum(), np.ascontiguousarray(self.D[np.ix_(i, j)])))


def _near_zero(x):
    return np.where(np.abs(x) < 1e-12, 0.0, x)


def _cosine(x, y):
    norm = np.sqrt((x @ x) * (y @ y))
    return x @ y / norm if norm > 0 else np.nan


def _sig(x):
    return 1 / (1 + np.exp(-x))
