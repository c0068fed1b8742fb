"""Nearest users by any measure: by the cascade if the measure has bounds, else from every pair."""

from collections.abc import Iterable, Sequence
from functools import reduce
from numbers import Real
from os import PathLike
from typing import Any, Literal

import numpy as np

from prefmover._typing import Progress
from prefmover.data.file_options import check_whole_number
from prefmover.data.ids import show
from prefmover.data.preferences import mixture
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError
from prefmover.execution import Executor, open_executor
from prefmover.measures import Measure, find_measure, value_blocks
from prefmover.search.candidates import CandidateSearch
from prefmover.search.index import NeighborIndex, Request
from prefmover.search.result import NeighborList, NeighborPositions, Neighbors, SearchStats

FEW_PAIRS = 200
"""Up to this number of pairs of users, each is solved. Bounds would save little, and on a machine that has
not compiled their kernels yet, the answer would take twice as long."""


def nearest(
    data: Dataset,
    k: int = 10,
    users: Iterable[Any] | None = None,
    measure: str | Measure = "pmd",
    *,
    new: Ratings | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | PathLike[str] | None = None,
    executor: str | Executor | None = None,
    method: Literal["exact", "candidates"] = "exact",
    recall: float | None = None,
    seed: int | None = None,
) -> Neighbors:
    """Return the k nearest users of each query: exactly, or nearly all of them in a fraction of the time.

    Parameters
    ----------
    data
        The users to search.
    k
        Number of neighbors.
    users
        Ids of the queries; None means all users.
    measure, convention
        A row of the table of measures; see :func:`~prefmover.measures.similarities`.
    new
        Ratings of new users over the data's items: the queries, in place of users of the data.
    n_threads
        Number of threads; None means all cores. The result does not depend on it.
    progress
        Called with (queries done, all queries).
    checkpoint
        A folder for finished parts, as Parquet. A run that was killed resumes from there, with the same
        result.
    executor
        ``"threads"`` of this process, ``"ray"``, or a :class:`~prefmover.execution.RayExecutor` with the
        address of a cluster. The result does not depend on it.
    method
        ``"exact"``, or ``"candidates"`` for all users of large data, by PMD: each user is compared with
        candidates only, as many as it takes for the recall asked for. All distances are exact, but some
        neighbors may be missing. The recall is measured against the exact search of 200 random queries, and
        is the ``recall`` of the result.
    recall
        For ``method="candidates"``: the share of the k nearest users to find, .95 by default. A
        :class:`~prefmover.errors.RecallWarning` says if it is not reached.
    seed
        For ``method="candidates"``: seed of the samples, 0 by default. The same seed gives the same result.

    Examples
    --------
    >>> from prefmover import ItemGeometry
    >>> data = Dataset(
    ...     Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3]),
    ...     ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]]),
    ... )
    >>> nearest(data, k=1).ids.tolist()  # no two users have an item in common
    [['bob'], ['ann'], ['bob']]
    """
    request = Request.from_ids(
        data, users, measure, convention, new=new, k=k,
        n_threads=n_threads, progress=progress, executor=executor, checkpoint=checkpoint,
    )  # fmt: skip
    if not _by_candidates(request, method, recall, seed):
        return request.result(search_positions(request))
    asked, seed = 0.95 if recall is None else float(recall), 0 if seed is None else int(seed)
    with open_executor(executor, n_threads) as runs:
        index = NeighborIndex(request.data)
        return request.result(*CandidateSearch(index, request, request.users, asked, seed, runs).run())


def nearest_to_group(
    data: Dataset, group: Iterable[Any], k: int = 10, *, n_threads: int | None = None
) -> NeighborList:
    """Return the k users nearest to several users together, by PMD, exactly; the members are left out.

    The group is the mixture of its members' preferences, in which all count equally
    (:mod:`prefmover.data.preferences`).

    Parameters
    ----------
    data, k, n_threads
        As in :func:`nearest`.
    group
        Ids of two or more users.

    Examples
    --------
    >>> from prefmover import datasets
    >>> nearest_to_group(datasets.load("cinema"), ["ada-b", "olga-r"], k=2)
    [Neighbor('gabriel-l', distance 0.556082), Neighbor('lina-r', distance 0.587121)]
    """
    check_dataset(data)
    positions = data.ratings.user_positions(group_ids(group))
    return nearest_to_members(data, [data.ratings.take(users=[u]) for u in positions.tolist()], k, n_threads)


def nearest_to_members(
    data: Dataset, members: Sequence[Ratings], k: int = 10, n_threads: int | None = None
) -> NeighborList:
    """Return :func:`nearest_to_group` of members, users of the data or guests, by their ratings."""
    check_whole_number("k", k)
    table = reduce(Ratings.stack, members)
    known = data.ratings.user_index.get(table.users)
    mixed = mixture(table, " and ".join(map(str, table.users.tolist())))
    request = Request(
        data, find_measure("pmd"), None, np.zeros(1, np.int64), new=mixed, k=k + len(members),
        n_threads=n_threads,
    )  # fmt: skip
    positions, values = search_positions(request).row(0)
    others = ~np.isin(positions, known)
    users = data.ratings.users[positions[others][:k]]
    return NeighborList(mixed.users.tolist()[0], users, values[others][:k], "distance")


def group_ids(group: Any) -> list[Any]:
    """Return the members of a group, checked: two or more, all different."""
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise InputError(f"the group is {group!r}; give a list of two or more users")
    members = list(group)
    if len(members) < 2:
        raise InputError(f"a group of {len(members)}; give two or more users", argument="group")
    names = [getattr(one, "name", one) for one in members]  # guests have names
    for k, name in enumerate(names):
        if name in names[:k]:
            raise InputError(f"{show(name)} is in the group twice; name each member once", argument="group")
    return members


def within(
    data: Dataset,
    radius: float,
    users: Iterable[Any] | None = None,
    measure: str | Measure = "pmd",
    *,
    new: Ratings | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """Return all users within a distance of each query (or with at least a similarity), exactly.

    The other parameters are those of :func:`nearest`.

    Examples
    --------
    >>> from prefmover import datasets
    >>> within(datasets.load("cinema"), 0.7, ["ada-b", "olga-r"]).counts
    array([10,  8])
    """
    request = Request.from_ids(
        data, users, measure, convention, new=new, radius=radius, n_threads=n_threads, progress=progress
    )
    return request.result(search_positions(request))


def nearest_raters(
    data: Dataset,
    users: Iterable[Any],
    items: Iterable[Any],
    k: int = 10,
    measure: str | Measure = "pmd",
    *,
    new: Ratings | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """Return, for each pair (user, item), the k nearest users among the raters of the item.

    The first j of the k are the j nearest, for every j. The other parameters are those of :func:`nearest`.

    Examples
    --------
    >>> from prefmover import datasets
    >>> nearest_raters(datasets.load("cinema"), ["ada-b"], ["1917-2019"], k=1)["ada-b", "1917-2019"]
    [Neighbor('samir-b', distance 0.746182)]
    """
    request = Request.from_ids(
        data, users, measure, convention, items=items, new=new, k=k, n_threads=n_threads, progress=progress
    )
    return request.result(search_positions(request))


def _by_candidates(request: Request, method: str, recall: float | None, seed: int | None) -> bool:
    """Whether to search among candidates; an error if that is not possible, or not clear."""
    if method == "exact":
        for name, value in {"recall": recall, "seed": seed}.items():
            if value is not None:
                raise InputError(
                    f'{name} is {value!r}, and method is "exact", which finds all neighbors; pass '
                    f'method="candidates", or leave {name} out',
                    argument=name,
                )
        return False
    if method != "candidates":
        raise InputError(f'method is {method!r}; choose "exact" or "candidates"', argument="method")
    if request.measure.name != "pmd" or not request.measure.searches_by_bounds(request.convention):
        raise InputError(
            f'method="candidates" is for PMD, whose estimates it needs; search {request.measure.label} with '
            'method="exact"',
            argument="method",
        )
    if request.new is not None:
        raise InputError('method="candidates" is for users of the data; search new users with method="exact"')
    if recall is not None and (
        isinstance(recall, bool) or not isinstance(recall, Real) or not 0 < float(recall) < 1
    ):
        raise InputError(
            f'recall is {recall!r}; pass a number above 0 and below 1, or method="exact" for all neighbors',
            argument="recall",
        )
    if seed is not None:
        check_whole_number("seed", seed, 0)
    return True


def search_positions(request: Request, index: NeighborIndex | None = None) -> NeighborPositions:
    """Return lists by position: from the cascade if the measure has bounds and it pays, else from all pairs.

    An index of the data saves preparing the data again.
    """
    few = np.unique(request.users).size * request.data.n_users <= FEW_PAIRS
    if request.measure.searches_by_bounds(request.convention) and (request.in_blocks or not few):
        return (index or NeighborIndex(request.data, request.measure)).find(request)
    return exhaustive(request)


def exhaustive(request: Request) -> NeighborPositions:
    """Return the lists of a search, from the values of all pairs: ties in user order, none without a value.

    The tests compare the cascade with it, and it searches measures without bounds.

    >>> data = Dataset(Ratings.from_arrays([1, 1, 2, 2, 3], list("xyyzz"), [5, 3, 3, 1, 2]))
    >>> exhaustive(Request.from_ids(data, None, "jaccard", k=1)).neighbors
    array([1, 2, 1])
    """
    data, measure, new, items = request.data, request.measure, request.new, request.items
    sign = -1.0 if measure.larger_is_closer else 1.0
    limit = np.inf if request.radius is None else sign * float(request.radius)
    compared, queries = data, request.users
    if new is not None:  # behind all others
        compared = data.with_guests(new, with_geometry=measure.needs_geometry)
        queries = queries + data.n_users
    everyone, rows = np.arange(data.n_users), np.unique(queries)
    by_item = None if items is None else data.ratings.matrix.tocsc()
    lists, undefined = [(everyone[:0], np.empty(0))] * queries.size, 0
    blocks = value_blocks(
        compared, measure, request.convention, rows, everyone,
        n_threads=request.n_threads, progress=request.progress,
    )  # fmt: skip
    for positions, block in blocks:
        for u, line in zip(positions.tolist(), block, strict=True):
            undefined += int(np.isnan(line[everyone != u]).sum())
            for number in np.flatnonzero(queries == u).tolist():
                candidates = everyone
                if by_item is not None and items is not None:
                    i = items[number]
                    candidates = by_item.indices[by_item.indptr[i] : by_item.indptr[i + 1]].astype(np.int64)
                away = sign * line[candidates]
                near = (candidates != u) & (away <= limit)  # not those without a value
                candidates, away = candidates[near], away[near]
                closest = candidates[np.argsort(away, kind="stable")[: request.most]]
                lists[number] = closest, line[closest]
    solved = rows.size * (data.n_users - (new is None)) - undefined
    return NeighborPositions.from_lists(lists, SearchStats(solved=solved, undefined=undefined))
