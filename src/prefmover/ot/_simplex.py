"""The transportation simplex on exact integers.

A basis is a spanning tree of the n + m nodes (rows 0..n-1, columns n..n+m-1), stored as parents, sizes of
subtrees, and a *thread*: a circular list of the nodes in preorder, in which a subtree is a run whose last
node is known. Masses and costs are integers. Nothing is rounded, there is no tolerance, and an optimal basis
proves itself: primal = dual, exactly.

No cycling: the tree is *strongly feasible* (every column that hangs below a row carries positive flow)
at the start, and the leaving arc is the last blocking one on the cycle, which keeps it so
(Cunningham, "A network simplex method", Mathematical Programming 11, 1976).

The steps: ``start_greedily`` → ``hang_tree`` → ``improve`` (``pivot`` until no arc prices out).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.execution.jit import kernel
from prefmover.ot._dual import ascend, copy, row_argminimum, row_minimum

NO_PARENT = np.uint32(2**32 - 1)
UNBOUNDED = np.int64(2**63 - 1)

LISTED = 24  # arcs priced out before one enters
ENTERED = 12  # pivots from one list
DUAL_STEPS = 12  # fewer for fewer than 48 rows and columns
DUAL_RATE = 0.3

OPTIMAL, OVERFLOW, STALLED = 0, 1, 2

STEPS = 100  # of innermost loops, for each cost of a problem; see execution.jit.compiled_or_interpreted

# Masses are split into two limbs where they are multiplied by costs: the product can exceed 63 bits.
LIMB_BITS = 28
LIMB = np.int64(2**LIMB_BITS - 1)


class Workspace(NamedTuple):
    """Arrays for one thread, allocated once and used for problem after problem.

    The tree's arrays are unsigned: Numba then leaves out the test for negative indices.
    """

    parent: npt.NDArray[np.uint32]
    size: npt.NDArray[np.uint32]  # of the subtree below and including a node
    after: npt.NDArray[np.uint32]  # the thread, forwards
    before: npt.NDArray[np.uint32]  # and backwards
    last: npt.NDArray[np.uint32]  # of the subtree, in the thread
    path: npt.NDArray[np.uint32]  # nodes in the order in which the start closed them
    open_rows: npt.NDArray[np.uint32]
    order: npt.NDArray[np.uint32]
    flow: npt.NDArray[np.int64]  # on the arc from a node to its parent
    price: npt.NDArray[np.signedinteger[Any]]  # f of the rows, then g of the columns
    f: npt.NDArray[np.signedinteger[Any]]
    g: npt.NDArray[np.signedinteger[Any]]
    best_f: npt.NDArray[np.signedinteger[Any]]
    regret: npt.NDArray[np.signedinteger[Any]]
    nearest: npt.NDArray[np.int32]
    listed_row: npt.NDArray[np.int32]
    listed_column: npt.NDArray[np.int32]
    p_left: npt.NDArray[np.int64]


def workspace(n: int, m: int, cost_type: Any = np.int32) -> Workspace:
    """Return a workspace for problems of up to n rows and m columns. It can be compiled, too."""
    nodes, side = n + m, max(n, m)
    # Few arrays, which take long to make; of an odd length, so that they do not share lines of the cache.
    tree, prices = np.empty((8, nodes | 1), np.uint32), np.empty((4, side | 1), cost_type)
    return Workspace(
        tree[0], tree[1], tree[2], tree[3], tree[4], tree[5], tree[6], tree[7],
        np.empty(nodes, np.int64),
        np.empty(nodes, cost_type),
        prices[0], prices[1], prices[2], prices[3],
        np.empty(side, np.int32),
        np.empty(LISTED, np.int32),
        np.empty(LISTED, np.int32),
        np.empty(side, np.int64),
    )  # fmt: skip


@kernel
def start_greedily(c, p, q, n, m, w):
    """Ship greedily along the prices f; return the root and fill parent, flow and the closing order.

    Columns are served by regret (second-best minus best row), largest first, each by its cheapest open row.
    Every shipment closes a column or a row, which becomes a child of the other end. If both are used up, only
    the column closes. The row stays open without mass, and hangs by an arc without flow below the next column
    that it serves, or below the last. So the resulting tree is strongly feasible.
    """
    open_rows, order = w.open_rows, w.order
    regret_of_columns(c, n, m, w.f, w.g, w.regret, w.nearest)
    sort_by(w.regret, m, order)
    copy(p, n, w.p_left)
    for i in range(n):
        open_rows[i] = i
    k, n_open, last = 0, n, n
    for t in range(m):
        j = np.int64(order[t])
        demand, i = q[j], np.int64(w.nearest[j])
        if w.p_left[i] < 0:
            i = cheapest_row(c, j, w.f, open_rows, n_open)
        while demand > w.p_left[i]:
            w.parent[i] = n + j
            w.flow[i] = w.p_left[i]
            demand -= w.p_left[i]
            w.p_left[i] = -1  # closed
            w.path[k] = i
            k += 1
            n_open = strike_out(i, open_rows, n_open)
            i = cheapest_row(c, j, w.f, open_rows, n_open)
        last = n + j
        w.parent[last] = i
        w.flow[last] = demand
        w.p_left[i] -= demand
        w.path[k] = last
        k += 1
    root = np.int64(w.parent[last])
    k -= 1
    for x in range(n_open):  # the last column closes after them
        i = np.int64(open_rows[x])
        if i != root:
            w.parent[i] = last
            w.flow[i] = 0
            w.path[k] = i
            k += 1
    w.path[k] = last
    w.parent[root] = NO_PARENT
    return root


@kernel
def regret_of_columns(c, n, m, f, least, regret, nearest):
    """Set nearest_j to the first row with the least c_ij - f_i, and regret_j to least minus second-least."""
    narrow = c.dtype.type
    for j in range(m):
        least[j] = narrow(c[0, j] - f[0])
        regret[j] = narrow(2 ** (8 * c.itemsize - 2))
        nearest[j] = 0
    for i in range(1, n):
        f_i = f[i]
        for j in range(m):
            reduced = narrow(c[i, j] - f_i)
            nearest[j] = np.int32(i) if reduced < least[j] else nearest[j]
            regret[j] = min(regret[j], max(least[j], reduced))
            least[j] = min(least[j], reduced)
    for j in range(m):
        regret[j] = least[j] - regret[j]


@kernel
def cheapest_row(c, j, f, rows, n):
    """Return the one of n rows with the least c_ij - f_i."""
    narrow = c.dtype.type
    cheapest = np.int64(rows[0])
    least = narrow(c[cheapest, j] - f[cheapest])
    for x in range(1, n):
        i = np.int64(rows[x])
        reduced = narrow(c[i, j] - f[i])
        if reduced < least:
            least, cheapest = reduced, i
    return cheapest


@kernel
def strike_out(i, rows, n):
    """Remove row i from n rows; return the number of rows left."""
    for x in range(n):
        if rows[x] == i:
            rows[x] = rows[n - 1]
            break
    return n - 1


@kernel
def sort_by(key, n, order):
    """Set order to 0..n-1 sorted by key, ties in order (Shell's method; NumPy's is slow to compile)."""
    for k in range(n):
        order[k] = k
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            moving = order[k]
            at = k
            while at >= gap:
                other = order[at - gap]
                if key[other] < key[moving] or (key[other] == key[moving] and other < moving):
                    break
                order[at] = other
                at -= gap
            order[at] = moving
        gap //= 3


@kernel
def hang_tree(c, n, m, root, w):
    """From parents and the order in which nodes closed: sizes, the thread, and prices along the arcs."""
    for x in range(n + m):
        w.size[x] = 1
        w.last[x] = x
    w.after[root] = w.before[root] = root
    w.price[root] = w.f[root]
    for k in range(n + m - 2, -1, -1):  # parents close after their children
        x = w.path[k]
        y = w.parent[x]
        link(y, x, x, w)
        if w.last[y] == y:
            w.last[y] = x  # its last child for now: others come in front
        w.price[x] = (c[x, y - n] if x < n else c[y, x - n]) - w.price[y]
    for k in range(n + m - 1):
        x = w.path[k]
        w.last[x] = w.last[w.last[x]]
        w.size[w.parent[x]] += w.size[x]
    w.last[root] = w.last[w.last[root]]


@kernel
def link(y, first, last, w):
    """Put the run from first to last behind y in the thread."""
    z = w.after[y]
    w.after[y], w.before[first] = first, y
    w.after[last], w.before[z] = z, last


@kernel
def pivot(n, m, i, j, reduced, w):
    """Enter the arc from row i to column node j, whose reduced cost is negative."""
    parent, size, flow = w.parent, w.size, w.flow
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
    reprice(n, m, leaving, reduced if inner < n else -reduced, w)
    # The subtree below the leaving arc moves from the one path to the other.
    moving = size[leaving]
    x = outer
    while x != meeting:
        flow[x] += -delta if (x < n) == (outer < n) else delta
        size[x] += moving
        x = parent[x]
    x = parent[leaving]
    while x != meeting:
        flow[x] += -delta if (x < n) == (inner < n) else delta
        size[x] -= moving
        x = parent[x]
    take_out(leaving, w)
    turn_over(n, inner, outer, leaving, delta, w)


@kernel
def reprice(n, m, top, change, w):
    """Add ``change`` to the prices of rows in the subtree of ``top``, and subtract it from those of columns.

    If the rest of the tree is smaller, it is repriced the other way round instead: prices are unique up to a
    constant. The run is walked from both of its ends at once, since each step waits for the one before.
    """
    after, before, price = w.after, w.before, w.price
    x, y, count = top, w.last[top], np.int64(w.size[top])
    if 2 * count > n + m:
        x, y, count, change = after[y], before[x], n + m - count, -change
    of_row, of_column = price.dtype.type(change), price.dtype.type(-change)
    for _ in range(count >> 1):
        price[x] += of_row if x < n else of_column
        price[y] += of_row if y < n else of_column
        x, y = after[x], before[y]
    if count & 1:
        price[x] += of_row if x < n else of_column


@kernel
def take_out(top, w):
    """Shorten the subtrees above ``top`` that end with its subtree: they now end before it."""
    end, x = w.last[top], w.parent[top]
    while x != NO_PARENT and w.last[x] == end:
        w.last[x] = w.before[top]
        x = w.parent[x]


@kernel
def turn_over(n, inner, outer, leaving, delta, w):
    """Root the subtree of ``leaving`` at its node ``inner`` and hang it below ``outer``.

    Each node of the stem, the path from inner up to leaving, becomes the last child of the one before. In
    the thread, the subtree then consists of the inner node's subtree, followed by the rest of the subtree of
    each further node of the stem.
    """
    parent, size, flow, after, before, last = w.parent, w.size, w.flow, w.after, w.before, w.last
    whole = size[leaving]
    above, carried, taken = outer, delta, np.uint32(0)
    tail = end = last[inner]
    in_front, follow = before[inner], after[end]
    x = inner
    while True:
        if x != inner:
            ahead = before[x]
            after[tail], before[x] = x, tail
            tail, in_front = in_front, ahead
            if last[x] != end:
                after[tail], before[follow] = follow, tail
                tail = end = last[x]
                follow = after[end]
        up = parent[x]
        parent[x] = above
        carried, flow[x] = flow[x] + (-delta if (x < n) == (inner < n) else delta), carried
        taken, size[x] = size[x], whole - taken
        above = x
        if x == leaving:
            break
        x = up
    after[in_front], before[follow] = follow, in_front
    link(outer, inner, tail, w)
    while x != outer:
        last[x] = tail
        x = parent[x]
    while x != NO_PARENT and last[x] == outer:
        last[x] = tail
        x = parent[x]


@kernel
def improve(c, n, m, root, w):
    """Pivot until no arc has negative reduced cost; return (status, pivots).

    Arcs are priced row by row, in rounds. The best arc of each row with a negative reduced cost goes on a
    list. When the list is full, its best arc enters, then the best of the others, priced again, and so on, up
    to a limit. (Mulvey, "Pivot strategies for primal-simplex network codes", J. ACM 25, 1978.)
    """
    room = np.int64(2 ** (8 * c.itemsize - 3))
    # A price that has wrapped around leaves one beyond the room on its way to the root: steps are small.
    drift = largest_price(n, m, w)  # an upper bound; computed again when it reaches the room
    if drift >= room:
        return OVERFLOW, np.int64(0)
    # Far more than any problem has needed; a guard against defects.
    most = 1000 * np.int64(n + m) + 1000 * np.int64(min(n, m))
    pivots = np.int64(0)
    i, clean = np.int64(0), np.int64(0)  # not literals, for which list_arcs would be compiled twice
    while clean < n:
        listed, i, clean = list_arcs(c, n, m, i, clean, w)
        for _ in range(ENTERED):
            best, entering, listed = best_listed(c, n, m, listed, w)
            if best == 0:
                break
            drift -= best
            if drift >= room:
                settle(n, m, root, w)
                drift = largest_price(n, m, w) - best
                if drift >= room:
                    return OVERFLOW, pivots
            pivot(n, m, w.listed_row[entering], n + w.listed_column[entering], best, w)
            pivots += 1
            clean = 0
        if pivots > most:
            return STALLED, pivots
    settle(n, m, root, w)
    return OPTIMAL, pivots


@kernel
def list_arcs(c, n, m, i, clean, w):
    """List the best arc of each row that has one, from row i on; return (arcs listed, next row, clean).

    ``clean`` counts the rows priced since the last pivot. After n of them, the basis is optimal.
    """
    g = w.price[n : n + m]
    listed = 0
    while clean < n and listed < LISTED:
        least = row_minimum(c, g, i, m)
        if least < w.price[i]:
            w.listed_row[listed] = i
            w.listed_column[listed] = row_argminimum(c, g, i, m, least)
            listed += 1
        clean += 1
        i = i + 1 if i + 1 < n else 0
    return listed, i, clean


@kernel
def best_listed(c, n, m, listed, w):
    """Price the listed arcs again; return the least reduced cost, its arc, and the number of arcs left."""
    g = w.price[n : n + m]
    narrow = c.dtype.type
    rows, columns = w.listed_row, w.listed_column
    best, entering, k = narrow(0), 0, 0
    while k < listed:
        row, column = rows[k], columns[k]
        reduced = narrow(c[row, column] - w.price[row] - g[column])
        if reduced < best:
            best, entering = reduced, k
        if reduced >= 0:
            listed -= 1
            rows[k], columns[k] = rows[listed], columns[listed]
        else:
            k += 1
    return best, entering, listed


@kernel
def settle(n, m, root, w):
    """Reset the price of the root to its first value, and shift all other prices."""
    price = w.price
    change = price.dtype.type(w.f[root] - price[root])
    for i in range(n):
        price[i] += change
    for j in range(n, n + m):
        price[j] -= change


@kernel
def largest_price(n, m, w):
    """Return the largest |f_i| or |g_j|."""
    largest = np.int64(0)
    for x in range(n + m):
        largest = max(largest, abs(np.int64(w.price[x])))
    return largest


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

    c (≥ n, ≥ m) integer costs; p (n), q (m) positive integer masses with equal sums. The tree, flows and
    prices stay in the workspace. The total is Σ W_ij c_ij in two limbs.
    """
    steps = min(DUAL_STEPS, (n + m) // 4)
    ascend(c, p, q, n, m, steps, DUAL_RATE, np.inf, w.f, w.g, w.best_f, w.nearest, w.p_left)
    return finish(c, p, q, n, m, w)


@kernel
def finish(c, p, q, n, m, w):
    """Do the exact part of :func:`solve`, from the prices w.f and w.g that dual ascent has left."""
    root = start_greedily(c, p, q, n, m, w)
    hang_tree(c, n, m, root, w)
    status, pivots = improve(c, n, m, root, w)
    if status == OPTIMAL and duality_gap(c, p, q, n, m, w) != 0:
        status = STALLED
    high, low = plan_total(c, n, m, w)
    return status, pivots, high, low
