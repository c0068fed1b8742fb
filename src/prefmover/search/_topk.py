"""Short sorted lists of the nearest users found so far.

Order: by distance, then by user. A list is two rows of an array, so that one query can keep many (one for
each item whose raters are ranked).
"""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def offer(users, distances, count, k, user, distance):
    """Insert a user into a sorted list of at most k; return the new count."""
    if count == k and not comes_before(distance, user, distances[k - 1], users[k - 1]):
        return count
    place = count if count < k else k - 1
    while place > 0 and comes_before(distance, user, distances[place - 1], users[place - 1]):
        users[place] = users[place - 1]
        distances[place] = distances[place - 1]
        place -= 1
    users[place] = user
    distances[place] = distance
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

    ``lists.first`` empty means that there is one list and everybody belongs to it.
    """
    if lists.first.size == 0:
        return reach(lists.distances[0], lists.found[0], lists.distances.shape[1], radius)
    most = -np.inf
    for t in range(lists.first[user], lists.first[user + 1]):
        a = lists.member[t]
        most = max(most, reach(lists.distances[a], lists.found[a], lists.distances.shape[1], radius))
    return most


@kernel
def offer_to(user, distance, lists, radius):
    """Offer a user to every list they belong to."""
    if distance > radius:
        return
    k = lists.distances.shape[1]
    if lists.first.size == 0:
        lists.found[0] = offer(lists.users[0], lists.distances[0], lists.found[0], k, user, distance)
        return
    for t in range(lists.first[user], lists.first[user + 1]):
        a = lists.member[t]
        lists.found[a] = offer(lists.users[a], lists.distances[a], lists.found[a], k, user, distance)
