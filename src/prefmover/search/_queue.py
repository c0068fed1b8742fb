"""Users who wait, the one with the least bound first: a heap of positions."""

from prefmover.execution.jit import kernel


@kernel
def goes_first(v, u, bound):
    """Whether v comes before u: by bound, then in user order."""
    return bound[v] < bound[u] or (bound[v] == bound[u] and v < u)


@kernel
def sift(queue, n, bound):
    """Move the first of a heap of n to its place, after its bound has grown or another was put there."""
    v, at = queue[0], 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and goes_first(queue[child + 1], queue[child], bound):
            child += 1
        if not goes_first(queue[child], v, bound):
            break
        queue[at] = queue[child]
        at = child
    queue[at] = v
