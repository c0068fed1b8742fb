"""The measures, pair by pair and term by term, straight from their formulas.

A user is a dictionary from item position to rating. No NumPy, no shared code with the package.
"""

from fractions import Fraction
from math import exp, isnan, nan, sqrt


def sig(x):
    return 1 / (1 + exp(-x))


def mean(values):
    values = list(values)
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)


def deviation(values):
    values = list(values)
    m = mean(values)
    return sqrt(sum((x - m) ** 2 for x in values) / len(values))


def all_at(values, mean_of):
    """Whether all values equal the mean of ``mean_of``, in exact arithmetic on what was meant."""
    exact = [Fraction(x).limit_denominator(2**21) for x in mean_of]
    m = sum(exact) / len(exact)
    return all(Fraction(x).limit_denominator(2**21) == m for x in values)


class Twin:
    """All measures on one small set of ratings; ``s[i][j]`` are item similarities."""

    def __init__(self, rows, lowest, highest, s=None, n_items=None):
        self.rows, self.lowest, self.highest, self.s, self.n_items = rows, lowest, highest, s, n_items
        self.middle = (lowest + highest) / 2
        self.item_mean = {
            i: mean(row[i] for row in rows if i in row) for i in sorted({i for row in rows for i in row})
        }

    def value(self, measure, convention, u, v):
        a, b = self.rows[u], self.rows[v]
        if not a or not b:
            return nan
        name = measure.replace("-", "_")
        options = {
            ("pcc", "co-rated-means"): {"co_rated_means": True},
            ("nhsm", "table-1"): {"plain_jaccard": True},
            ("bcf", "median"): {"loc": self.loc_median},
            ("bcf", "table-1"): {"loc": self.loc_zero_filled},
            ("n-bcf", "median"): {"loc": self.loc_median},
            ("n-bcf", "table-1"): {"loc": self.loc_zero_filled},
        }.get((measure, convention), {})
        return getattr(self, name)(a, b, **options)

    def shared(self, a, b):
        return [i for i in a if i in b]

    def cos(self, a, b):
        c = self.shared(a, b)
        norm = sqrt(sum(a[i] ** 2 for i in c)) * sqrt(sum(b[i] ** 2 for i in c))
        return nan if norm == 0 else sum(a[i] * b[i] for i in c) / norm

    def pcc(self, a, b, co_rated_means=False):
        c = self.shared(a, b)
        if not c:
            return nan
        x = mean(a[i] for i in c) if co_rated_means else mean(a.values())
        y = mean(b[i] for i in c) if co_rated_means else mean(b.values())
        for row in (a, b):
            rated = [row[i] for i in c]
            if all_at(rated, rated if co_rated_means else row.values()):
                return nan
        xx, yy = sum((a[i] - x) ** 2 for i in c), sum((b[i] - y) ** 2 for i in c)
        return sum((a[i] - x) * (b[i] - y) for i in c) / sqrt(xx * yy)

    def msd(self, a, b):
        c = self.shared(a, b)
        width = self.highest - self.lowest
        if not c:
            return nan
        return 0.0 if width == 0 else mean(((a[i] - b[i]) / width) ** 2 for i in c)

    def jaccard(self, a, b):
        return len(self.shared(a, b)) / len(set(a) | set(b))

    def urp(self, a, b):
        gap = abs(mean(a.values()) - mean(b.values()))
        return 1 - sig(gap * abs(deviation(a.values()) - deviation(b.values())))

    def jmsd(self, a, b):
        return self.jaccard(a, b) * (1 - self.msd(a, b))

    def pss(self, x, y, m):
        proximity = 1 - sig(abs(x - y))
        significance = sig(abs(x - self.middle) * abs(y - self.middle))
        singularity = 1 - sig(abs((x + y) / 2 - m))
        return proximity * significance * singularity

    def nhsm(self, a, b, plain_jaccard=False):
        c = self.shared(a, b)
        if not c:
            return nan
        overlap = self.jaccard(a, b) if plain_jaccard else len(c) / (len(a) * len(b))
        return sum(self.pss(a[i], b[i], self.item_mean[i]) for i in c) * overlap * self.urp(a, b)

    def loc_correlation(self, a, b):
        sa, sb = deviation(a.values()), deviation(b.values())
        if sa == 0 or sb == 0:
            return lambda x, y: 0.0
        return lambda x, y: (x - mean(a.values())) * (y - mean(b.values())) / (sa * sb)

    def loc_median(self, a, b):
        na = sqrt(sum((x - self.middle) ** 2 for x in a.values()))
        nb = sqrt(sum((y - self.middle) ** 2 for y in b.values()))
        if na == 0 or nb == 0:
            return lambda x, y: 0.0
        return lambda x, y: (x - self.middle) * (y - self.middle) / (na * nb)

    def loc_zero_filled(self, a, b):
        if deviation(a.values()) == 0 or deviation(b.values()) == 0:
            return lambda x, y: 1.0
        fa = [a.get(i, 0.0) for i in range(self.n_items)]
        fb = [b.get(i, 0.0) for i in range(self.n_items)]
        return lambda x, y: (x - mean(fa)) * (y - mean(fb)) / (deviation(fa) * deviation(fb))

    def local_sum(self, a, b, loc):
        f = (loc or self.loc_correlation)(a, b)
        return sum(self.s[i][j] * f(x, y) for i, x in a.items() for j, y in b.items())

    def bcf(self, a, b, loc=None):
        return self.jaccard(a, b) + self.local_sum(a, b, loc)

    def n_bcf(self, a, b, loc=None):
        return self.jaccard(a, b) + self.local_sum(a, b, loc) / (len(a) * len(b))

    def husm(self, a, b):
        total = 0.0
        for i, x in a.items():
            for j, y in b.items():
                total += self.s[i][j] * self.pss(x, y, (self.item_mean[i] + self.item_mean[j]) / 2)
        return total * sig(len(self.shared(a, b)) / len(a)) * self.urp(a, b)

    def n_husm(self, a, b):
        return self.husm(a, b) / (len(a) * len(b))


def all_values(twin, measure, convention):
    n = len(twin.rows)
    return [[twin.value(measure, convention, u, v) for v in range(n)] for u in range(n)]


def same(x, y, tolerance=1e-10):
    return (isnan(x) and isnan(y)) or abs(x - y) <= tolerance * max(1.0, abs(x), abs(y))
