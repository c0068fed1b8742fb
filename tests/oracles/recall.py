"""The interval of a proportion, from its definition."""

from math import sqrt

Z = 1.959963984540054


def interval(p, n):
    """Return the proportions q at which p is Z standard errors away, found by bisection from p outward."""

    def end(inside, outside):
        for _ in range(200):
            middle = (inside + outside) / 2
            rejected = abs(p - middle) > Z * sqrt(middle * (1 - middle) / n)
            inside, outside = (inside, middle) if rejected else (middle, outside)
        return inside

    return end(p, 0.0), end(p, 1.0)
