"""Who is near: a person's nearest users, by several measures, those of a group, and what they have in common.

How well a list of neighbors predicts is measured with hidden ratings. The items that the user liked are
hidden in turns, a fifth at a time. The neighbors are searched again with the rest of the ratings. The items
that most of them liked are the suggestions of the list, and the hidden items among them are its hits.
"""

from __future__ import annotations

import numpy as np

from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings, one_user
from prefmover.measures import MEASURES
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.server.schemas import requests, responses
from prefmover.server.served import ServedModel
from prefmover.server.workers import check_cancelled

CONTRASTS = ("cos", "jmsd")  # measures of co-rated items, to compare the model's measure with
STEPS = ("rwmd", "prices", "abandoned", "solved", "known", "undefined")  # search steps that /metrics counts
LISTED = 10  # neighbors in each of several lists, and of each sampled user
FOLDS = 5
SUGGESTED = 20
SAMPLED = 100
LEAST_RATINGS = 3  # of a sampled user; with fewer there is no taste yet
EXAMPLES = 10
ALIKE = 0.75  # near enough to be an example: nearer than such a share of random pairs


def get_neighbors(served: ServedModel, body: requests.NeighborsOf) -> responses.NeighborsOut:
    """Return the users nearest to a person, with the number of items that both rated."""
    state, similarity = served.person(body), served.similarity
    search = similarity.nearest_without_common_items if body.without_common_items else similarity.nearest
    near = search(state.who, body.k, check_cancelled)
    served.count({step: getattr(near.stats, step) for step in STEPS})
    return responses.NeighborsOut(
        user=state.name,
        measure=served.measure.name,
        neighbors=served.near_users(state.rated, near.neighbors, near.values),
    )


def get_group_neighbors(served: ServedModel, body: requests.GroupNeighbors) -> responses.GroupNeighborsOut:
    """Return the users nearest to the mixture of several users' preferences, for a model of PMD."""
    states = [served.user(user) for user in body.users]
    near = served.model.group_neighbors(states, body.k)
    rated = np.unique(np.concatenate([state.rated for state in states]))
    positions = served.data.ratings.user_index.get(near.users)
    return responses.GroupNeighborsOut(
        group=body.users,
        measure=served.measure.name,
        neighbors=served.near_users(rated, positions, near.values, of_group=True),
    )


def get_neighbor_lists(served: ServedModel, body: requests.Person) -> responses.NeighborListsOut:
    """Return the nearest users by the model's measure and by measures of common items, each list tested."""
    state, own = served.person(body), served.similarity
    others = [UserSimilarity(served.data, MEASURES[name], None, 1) for name in CONTRASTS]
    rows = [own, *(one for one in others if one.measure.name != own.measure.name)]
    lists = [_tested_list(served, similarity, state) for similarity in rows]
    return responses.NeighborListsOut(user=state.name, lists=lists)


def _tested_list(
    served: ServedModel, similarity: UserSimilarity, state: UserState
) -> responses.NeighborListOut:
    data, items, ratings = served.data.ratings, state.rated, state.given
    liked = items[_favored(ratings, data)] if len(items) else items
    folds: list[Ints] = []
    if len(liked) >= 2:
        folds = np.array_split(np.random.default_rng(0).permutation(liked), min(FOLDS, len(liked)))
    hits = 0
    for hidden in folds:
        check_cancelled()
        seen = ~np.isin(items, hidden)
        near, _ = _nearest(similarity, state.position, items[seen], ratings[seen])
        hits += int(np.isin(hidden, _suggestions(data, near, items[seen])).sum())
    users, values = _nearest(similarity, state.position, items, ratings)
    columns = zip(users.tolist(), values.tolist(), data.n_common(items)[users].tolist(), strict=True)
    test = responses.NeighborTestOut(hits=hits, n_hidden=len(liked), n_suggested=SUGGESTED)
    return responses.NeighborListOut.of(
        similarity.measure,
        neighbors=[
            responses.ListedNeighborOut(user=served.users.texts[user], value=value, n_common=n_common)
            for user, value, n_common in columns
        ],
        test=test if folds else None,
    )


def _nearest(similarity: UserSimilarity, user: int, items: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return the nearest users to some ratings, the user who gave them left out."""
    ratings = similarity.data.ratings
    guest = one_user(ratings, ratings.user_index.free_name("guest"), items, values)
    near, found = similarity.nearest(guest, LISTED + 1).row(0)
    others = near != user
    return near[others][:LISTED], found[others][:LISTED]


def _favored(values: Floats, ratings: Ratings) -> Bools:
    """Return which of a user's ratings are above the mean; all of them if they are implicit feedback."""
    return np.asarray(ratings.implicit | (values > values.mean()))


def _suggestions(ratings: Ratings, near: Ints, seen: Ints) -> Ints:
    """Return the items that most of some users liked, then those with the higher ratings by them."""
    votes, sums = np.zeros(ratings.n_items), np.zeros(ratings.n_items)
    for user in near.tolist():
        items, values = ratings.row(user)
        votes[items[_favored(values, ratings)]] += 1
        sums[items] += values
    votes[seen] = 0
    order = np.lexsort((-sums, -votes))[:SUGGESTED]
    chosen: Ints = order[votes[order] > 0]
    return chosen


def get_common_ground(served: ServedModel, progress: Progress) -> responses.CommonGroundOut:
    """Return figures about a sample of users, and users for whom it holds most."""
    ratings, lengths = served.data.ratings, served.users.n_ratings
    eligible = np.flatnonzero(lengths >= LEAST_RATINGS)
    if not len(eligible):
        eligible = np.flatnonzero(lengths > 0)
    some = np.sort(np.random.default_rng(0).permutation(eligible)[:SAMPLED])
    light = eligible[np.argsort(lengths[eligible], kind="stable")][:SAMPLED]
    users = np.union1d(some, light)
    without, alike, pairs, found, shared = np.zeros((5, len(users)))
    for row, user in enumerate(users.tolist()):
        progress(row, len(users))
        common = ratings.n_common(ratings.row(user)[0])
        near, values = served.similarity.nearest(np.array([user]), LISTED).row(0)
        without[row], found[row] = (common[near] == 0).sum(), len(near)
        nearer = [served.spread.nearer_than(value) or 0.0 for value in values[common[near] == 0].tolist()]
        alike[row] = sum(share >= ALIKE for share in nearer)
        shared[row] = common[near].mean() / lengths[user] if len(near) else 0.0
        pairs[row] = (common == 0).sum() / max(ratings.n_users - 1, 1)
    sampled, lightest = np.searchsorted(users, some), np.searchsorted(users, light)
    # Those who are like most with nothing in common first, the longer before; then those who share least.
    best = np.lexsort((users, shared, -lengths[users] * (alike > 0), -alike))[:EXAMPLES]
    share = lambda rows: float(without[rows].sum() / max(found[rows].sum(), 1))  # noqa: E731
    return responses.CommonGroundOut(
        k=LISTED,
        n_sampled=len(some),
        pairs_without=float(pairs[sampled].mean()),
        neighbors_without=share(sampled),
        users_with=float((without[sampled] > 0).mean()),
        common_share=float(shared[sampled].mean()),
        n_light=len(light),
        light_ratings=int(lengths[light].max()),
        light_neighbors_without=share(lightest),
        examples=[
            responses.ExampleOut(
                **served.users.facts(int(users[row])),
                n_without=int(alike[row]),
                common_share=float(shared[row]),
            )
            for row in best.tolist()
        ],
    )
