"""Problems of every kind, for Hypothesis: ties, zeros, duplicates, extremes."""

import numpy as np
from hypothesis import strategies as st

MASSES = {
    "equal": st.just(1),
    "stars": st.integers(1, 5),
    "half stars": st.integers(1, 10).map(lambda k: k / 2),
    "some zero": st.integers(0, 3),
    "floats": st.floats(0.001, 1.0),
    "skewed": st.integers(0, 30).map(lambda k: 2**k),
    "large": st.integers(2**30, 2**31),
    "tiny": st.floats(1e-320, 1e-300),
}
COSTS = {
    "zero": st.just(0.0),
    "zero or one": st.sampled_from([0.0, 1.0]),
    "few": st.integers(0, 4).map(float),
    "fixed point": st.integers(0, 2**26 - 1).map(lambda k: k * 2.0**-25),
    "floats": st.just(0.0) | st.floats(0.001, 2),
    "nearly equal": st.integers(0, 3).map(lambda k: 1 + k * 2.0**-52),
    "lopsided": st.integers(0, 48).map(lambda k: 2.0**-k),
    "huge": st.just(0.0) | st.floats(1e297, 1e300),
    "tiny": st.just(0.0) | st.floats(1e-303, 1e-300),
    "denormal": st.floats(0, 1e-315),
}


@st.composite
def problems(draw, largest=7):
    n, m = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    mass = MASSES[draw(st.sampled_from(list(MASSES)))]
    entry = COSTS[draw(st.sampled_from(list(COSTS)))]
    p, q = (
        draw(st.lists(mass, min_size=k, max_size=k).filter(lambda values: max(values) > 0)) for k in (n, m)
    )
    rows = [draw(st.lists(entry, min_size=m, max_size=m)) for _ in range(n)]
    if draw(st.booleans()):  # duplicate points
        rows = [rows[draw(st.integers(0, i))] for i in range(n)]
    return p, q, np.array(rows)


def chain(n):
    """A greedy start from zero prices gives a path through all nodes here, and prices that grow along it."""
    most = 2**26 - 1
    cost = np.full((n, n), most, np.int32)
    i = np.arange(n)
    cost[i, i] = 0
    cost[i[1:], i[:-1]] = most - 1
    p, q = np.full(n, 2), np.full(n, 2)
    p[0], p[-1] = 1, 3
    return p, q, cost
