"""The transportation simplex on exact integers.

A basis is a spanning tree of the n + m nodes (rows 0..n-1, columns n..n+m-1). The tree is kept in
preorder, so that a subtree is an interval of positions: changing its prices is one pass without
branches, and moving it is a copy. Masses and costs are whole numbers; nothing is rounded, no tolerance
decides anything, and an optimal basis proves itself: primal = dual, to the last digit.

No cycling: the tree is *strongly feasible* (every column that hangs below a row carries positive flow)
at the start, and the leaving arc is the last blocking one on the cycle, which keeps it so
(Cunningham, "A network simplex method", Mathematical Programming 11, 1976).

The steps: ``start_greedily`` → ``hang_tree`` → ``improve`` (``pivot`` until no arc prices out).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._jit import kernel
from prefmover.transport._dual import ascend, row_argminimum, row_minimum

NO_PARENT = np.uint32(2**32 - 1)
UNBOUNDED = np.int64(2**63 - 1)

ROWS_PRICED = 16  # a pivot enters the best arc of at least so many rows
DUAL_STEPS = 16

OPTIMAL, OVERFLOW, STALLED = 0, 1, 2

# Masses are split into two limbs where they are multiplied by costs: the product can exceed 63 bits.
LIMB_BITS = 28
LIMB = np.int64(2**LIMB_BITS - 1)


class Workspace(NamedTuple):
    """Arrays for one thread, allocated once and used for problem after problem.

    The tree's arrays are unsigned: Numba then leaves out the test for negative indices.
    """

    parent: npt.NDArray[np.uint32]
    size: npt.NDArray[np.uint32]  # of the subtree below and including a node
    order: npt.NDArray[np.uint32]  # node at each preorder position
    position: npt.NDArray[np.uint32]  # preorder position of each node
    moved: npt.NDArray[np.uint32]
    flow: npt.NDArray[np.int64]  # on the arc from a node to its parent
    price: npt.NDArray[np.signedinteger]  # f of the rows, then g of the columns
    f: npt.NDArray[np.signedinteger]
    g: npt.NDArray[np.signedinteger]
    best_f: npt.NDArray[np.signedinteger]
    open_g: npt.NDArray[np.signedinteger]
    nearest: npt.NDArray[np.int32]
    p_left: npt.NDArray[np.int64]
    q_left: npt.NDArray[np.int64]


def workspace(n: int, m: int, cost_type: npt.DTypeLike = np.int32) -> Workspace:
    """Return a workspace for problems of up to n rows and m columns."""
    nodes, side = n + m, max(n, m)
    tree = [np.empty(nodes, np.uint32) for _ in range(5)]
    prices = [np.empty(side, cost_type) for _ in range(4)]
    masses = [np.empty(side, np.int64) for _ in range(2)]
    return Workspace(
        *tree, np.empty(nodes, np.int64), np.empty(nodes, cost_type), *prices, np.empty(side, np.int32), *masses
    )


@kernel
def start_greedily(c, p, q, n, m, w):
    """Ship greedily along the prices g; return the root and fill parent, flow and the closing order.

    Rows go by regret (second-best minus best column), largest first; each ships to its cheapest open
    column. Every shipment closes a row or a column, which becomes a child of the other end. Where both
    are used up, only the column closes and the row goes on with nothing left, to hang by an arc without
    flow below its next column: the resulting tree is strongly feasible.
    """
    narrow = c.dtype.type
    closed = narrow(-(2 ** (8 * c.itemsize - 2)))
    regret = w.best_f
    for i in range(n):
        least = narrow(c[i, 0] - w.g[0])
        second = narrow(-closed)
        for j in range(1, m):
            reduced = narrow(c[i, j] - w.g[j])
            second = min(second, max(least, reduced))
            least = min(least, reduced)
        regret[i] = least - second
    w.p_left[:n] = p[:n]
    w.q_left[:m] = q[:m]
    w.open_g[:m] = w.g[:m]
    k, columns_left, root = 0, m, 0
    for i in np.argsort(regret[:n], kind="mergesort"):
        while True:
            if columns_left == 0:
                root = i
                break
            j = row_argminimum(c, w.open_g, i, m, row_minimum(c, w.open_g, i, m))
            if w.q_left[j] <= w.p_left[i]:
                w.parent[n + j] = i
                w.flow[n + j] = w.q_left[j]
                w.p_left[i] -= w.q_left[j]
                w.open_g[j] = closed
                columns_left -= 1
                w.order[k] = n + j
                k += 1
            else:
                w.parent[i] = n + j
                w.flow[i] = w.p_left[i]
                w.q_left[j] -= w.p_left[i]
                w.order[k] = i
                k += 1
                break
    w.parent[root] = NO_PARENT
    return root


@kernel
def hang_tree(c, n, m, root, w):
    """From parents and the order in which nodes closed: sizes, preorder, and prices along the arcs."""
    last = n + m - 2
    w.size[: n + m] = 1
    w.moved[: last + 1] = w.order[: last + 1]
    for k in range(last + 1):  # children close before their parents
        x = w.moved[k]
        w.size[w.parent[x]] += w.size[x]
    place = w.position  # until its children are placed: the next free position below a node
    w.order[0] = root
    place[root] = 1
    w.price[root] = w.f[root]
    for k in range(last, -1, -1):
        x = w.moved[k]
        y = w.parent[x]
        w.order[place[y]] = x
        place[x] = place[y] + 1
        place[y] += w.size[x]
        w.price[x] = (c[x, y - n] if x < n else c[y, x - n]) - w.price[y]
    for k in range(n + m):
        w.position[w.order[k]] = k


@kernel
def pivot(n, m, i, j, reduced, w):
    """Enter the arc from row i to column node j, whose reduced cost is negative."""
    parent, size, order, position, flow = w.parent, w.size, w.order, w.position, w.flow
    # Climb from both ends to where the paths meet, noting the arc that limits the flow on each: flow
    # falls on arcs from a row up on i's side, from a column up on j's. Ties go to the last arc of the
    # cycle, which runs from the meeting point down to i, over to j, and up again.
    x, y = np.uint32(i), np.uint32(j)
    limit_i, limit_j = UNBOUNDED, UNBOUNDED
    leaving_i, leaving_j = x, y
    while x != y:
        if size[x] <= size[y]:
            if x < n and flow[x] < limit_i:
                limit_i, leaving_i = flow[x], x
            x = parent[x]
        else:
            if y >= n and flow[y] <= limit_j:
                limit_j, leaving_j = flow[y], y
            y = parent[y]
    meeting = x
    if limit_j <= limit_i:
        delta, leaving, inner, outer = limit_j, leaving_j, np.uint32(j), np.uint32(i)
    else:
        delta, leaving, inner, outer = limit_i, leaving_i, np.uint32(i), np.uint32(j)
    if delta > 0:
        x = np.uint32(i)
        while x != meeting:
            flow[x] += -delta if x < n else delta
            x = parent[x]
        x = np.uint32(j)
        while x != meeting:
            flow[x] += delta if x < n else -delta
            x = parent[x]
    # The subtree below the leaving arc moves from the one path to the other.
    moving = size[leaving]
    x = parent[leaving]
    while x != meeting:
        size[x] -= moving
        x = parent[x]
    x = outer
    while x != meeting:
        size[x] += moving
        x = parent[x]
    change_prices(n, m, position[leaving], moving, reduced if inner == i else -reduced, w)
    start = position[leaving]
    turn_over(inner, outer, leaving, delta, w)
    # Put it right behind its new parent, and close the gap.
    if position[outer] < start:
        first, stop = position[outer] + 1, start + moving
        for k in range(start - 1, first - 1, -1):
            order[k + moving] = order[k]
        place = first
    else:
        first, stop = start, position[outer] + 1
        for k in range(start + moving, stop):
            order[k - moving] = order[k]
        place = stop - moving
    order[place : place + moving] = w.moved[:moving]
    for k in range(first, stop):
        position[order[k]] = k


@kernel
def change_prices(n, m, start, count, change, w):
    """Add ``change`` to the rows and take it off the columns at ``count`` positions from ``start``."""
    narrow = w.price.dtype.type
    up, none, start, count = narrow(change), narrow(0), np.uint32(start), np.uint32(count)
    for x in range(n):
        w.price[x] += up if np.uint32(w.position[x] - start) < count else none
    for x in range(n, n + m):
        w.price[x] -= up if np.uint32(w.position[x] - start) < count else none


@kernel
def turn_over(inner, outer, leaving, delta, w):
    """Root the subtree below ``leaving`` at ``inner``, hang it below ``outer``; its preorder to moved.

    From inner upwards, each ancestor becomes the last child of the one before: the new preorder is the
    subtree of inner, then what each ancestor has besides.
    """
    order, position, size = w.order, w.position, w.size
    whole = size[leaving]
    x, above, carried, taken = inner, outer, delta, np.uint32(0)
    low = high = position[inner]  # positions copied so far
    k = 0
    while True:
        start, stop = position[x], position[x] + size[x]
        for t in range(start, low):
            w.moved[k + t - start] = order[t]
        k += low - start
        for t in range(high, stop):
            w.moved[k + t - high] = order[t]
        k += stop - high
        low, high = start, stop
        old_parent = w.parent[x]
        w.parent[x] = above
        carried, w.flow[x] = w.flow[x], carried
        taken, size[x] = size[x], whole - taken
        if x == leaving:
            break
        x, above = old_parent, x


@kernel
def improve(c, n, m, w):
    """Pivot until no arc has negative reduced cost; return (status, pivots)."""
    g = w.price[n : n + m]
    narrow = c.dtype.type
    room = np.int64(2 ** (8 * c.itemsize - 3))
    drift = room  # bounds how far prices can have moved; measured anew when it reaches the room
    # Far beyond what any basis sequence has been seen to need; a guard against our own mistakes.
    most = 1000 * (n + m) + 1000 * np.int64(min(n, m))
    pivots = np.int64(0)
    i, clean = 0, 0
    while clean < n:
        best, best_i, priced = narrow(0), -1, 0
        while clean < n and not (best_i >= 0 and priced >= ROWS_PRICED):
            reduced = narrow(row_minimum(c, g, i, m) - w.price[i])
            if reduced < best:
                best, best_i = reduced, i
            clean += 1
            priced += 1
            i = i + 1 if i + 1 < n else 0
        if best_i < 0:
            break
        drift -= best
        if drift >= room:
            drift = np.int64(0)
            for x in range(n + m):
                drift = max(drift, abs(np.int64(w.price[x])))
            if drift - best >= room:
                return OVERFLOW, pivots
            drift -= best
        j = row_argminimum(c, g, best_i, m, narrow(best + w.price[best_i]))
        pivot(n, m, best_i, n + j, best, w)
        pivots += 1
        if pivots > most:
            return STALLED, pivots
        clean = 0
    return OPTIMAL, pivots


@kernel
def plan_total(c, n, m, w):
    """Return Σ W_ij c_ij as two limbs (high, low), exact for costs of up to 28 bits."""
    high, low = np.int64(0), np.int64(0)
    for x in range(n + m):
        y = w.parent[x]
        if y != NO_PARENT:
            cost = np.int64(c[x, y - n] if x < n else c[y, x - n])
            low += (w.flow[x] & LIMB) * cost
            high += (w.flow[x] >> LIMB_BITS) * cost + (low >> LIMB_BITS)
            low &= LIMB
    return high, low


@kernel
def duality_gap(c, p, q, n, m, w):
    """Return Σ W_ij c_ij - Σ p_i f_i - Σ q_j g_j, modulo 2^64: zero if and (but for wraps) only if equal."""
    gap = np.int64(0)
    for x in range(n + m):
        y = w.parent[x]
        if y != NO_PARENT:
            gap += w.flow[x] * np.int64(c[x, y - n] if x < n else c[y, x - n])
        gap -= (p[x] if x < n else q[x - n]) * np.int64(w.price[x])
    return gap


@kernel
def solve(c, p, q, n, m, w):
    """Solve a balanced problem from the column prices w.g; return (status, pivots, high, low).

    c (≥ n, ≥ m) whole costs; p (n), q (m) positive whole masses with equal sums. The tree, flows and
    prices stay in the workspace. The total is Σ W_ij c_ij in two limbs.
    """
    ascend(c, p, q, n, m, DUAL_STEPS, np.inf, w.f, w.g, w.best_f, w.nearest, w.p_left)
    return finish(c, p, q, n, m, w)


@kernel
def finish(c, p, q, n, m, w):
    """The exact part of :func:`solve`, from the prices w.f and w.g that dual ascent has left."""
    root = start_greedily(c, p, q, n, m, w)
    hang_tree(c, n, m, root, w)
    status, pivots = improve(c, n, m, w)
    if status == OPTIMAL and duality_gap(c, p, q, n, m, w) != 0:
        status = STALLED
    high, low = plan_total(c, n, m, w)
    return status, pivots, high, low
