"""Sorted lists of the k nearest users so far, and the queue of users that are still candidates.

Lists are ordered by distance, then by user. A list is two rows of an array, so that one query can fill many
(one for each item whose raters are ranked). The queue is a heap of users, ordered by bound, then by user.
"""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def offer(users, distances, count, k, user, distance):
    """Insert a user into a sorted list of at most k; return the new count."""
    if count == k and not comes_before(distance, user, distances[k - 1], users[k - 1]):
        return count
    at = count if count < k else k - 1
    while at > 0 and comes_before(distance, user, distances[at - 1], users[at - 1]):
        users[at] = users[at - 1]
        distances[at] = distances[at - 1]
        at -= 1
    users[at] = user
    distances[at] = distance
    return min(count + 1, k)


@kernel
def comes_before(distance, user, other_distance, other_user):
    """Whether (distance, user) sorts before the other."""
    return distance < other_distance or (distance == other_distance and user < other_user)


@kernel
def reach(distances, count, k, radius):
    """Return the largest distance that can still enter a list."""
    return min(radius, distances[k - 1]) if count == k else radius


@kernel
def reach_of(user, lists, radius):
    """Return the largest distance at which a user can still enter one of the lists they belong to.

    If ``lists.first`` is empty, there is one list, and all users belong to it.
    """
    if lists.first.size == 0:
        return reach(lists.distances[0], lists.counts[0], lists.distances.shape[1], radius)
    most = -np.inf
    for t in range(lists.first[user], lists.first[user + 1]):
        a = lists.member[t]
        most = max(most, reach(lists.distances[a], lists.counts[a], lists.distances.shape[1], radius))
    return most


@kernel
def expected_of(user, lists):
    """Return the largest distance at which a user is expected to enter one of the lists they belong to."""
    if lists.first.size == 0:
        return lists.expected[0]
    most = -np.inf
    for t in range(lists.first[user], lists.first[user + 1]):
        most = max(most, lists.expected[lists.member[t]])
    return most


@kernel
def offer_to(user, distance, lists, radius):
    """Offer a user to every list they belong to."""
    if distance > radius:
        return
    k = lists.distances.shape[1]
    if lists.first.size == 0:
        lists.counts[0] = offer(lists.users[0], lists.distances[0], lists.counts[0], k, user, distance)
        return
    for t in range(lists.first[user], lists.first[user + 1]):
        a = lists.member[t]
        lists.counts[a] = offer(lists.users[a], lists.distances[a], lists.counts[a], k, user, distance)


@kernel
def goes_first(v, u, bound):
    """Whether v comes before u: by bound, then in user order."""
    return bound[v] < bound[u] or (bound[v] == bound[u] and v < u)


@kernel
def sift(queue, n, bound):
    """Restore a heap of n after the bound of its first user has grown, or another user was put first."""
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
