"""Tag profiles: the tags that an item has or could have, predicted from tags, genres and other features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import as_ids
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.features import ItemVectors

__all__ = ["tag_profiles"]


def tag_profiles(
    items: Any,
    tags: Sequence[str],
    counts: npt.ArrayLike | None = None,
    *,
    ids: Any,
    genres: Sequence[str | Sequence[str]],
    dimensions: int = 50,
    min_items: int = 20,
    tag_weight: float = 1.5,
    ridge: float = features.RIDGE,
    common: float = 0.4,
    blocks: Sequence[ItemVectors] = (),
    weights: Sequence[float] | None = None,
) -> ItemVectors:
    """Return vectors of predicted tags: a small, self-made tag genome.

    People give few tags, and most pairs of items have none in common, although genres and other tags
    suggest which ones they could have. So predict them:

    1. Each item gets features f: its genres, ``tag_weight`` times its latent tag vector
       (:func:`~prefmover.items.features.from_tags`), and its rows of further ``blocks``, if there are any,
       times their weights. They are centered; an item that lacks a block has its mean there, which predicts
       nothing.
    2. A ridge regression B from f to the (unit) tf-idf rows of the frequent tags is fitted over the
       items that have tags. The predicted profile of an item is fB; only its inner products matter,
       so the profile is stored as f(BBᵀ)^½, no longer than f.
    3. One more coordinate, the same for all items, represents what any two items have in common.
       Items with a weak profile are close to it, and so to each other.

    Only tags, genres and blocks are used: no ratings, and nothing from the Tag Genome.

    Parameters
    ----------
    items, tags, counts
        As in :func:`~prefmover.items.features.from_tags`.
    ids, genres : sequence
        The items of the result, and the genres of each (:func:`~prefmover.items.features.from_genres`).
    dimensions : int
        Length of the latent tag vectors.
    min_items : int
        Tags of fewer items are not predicted; they still shape the latent vectors.
    tag_weight, ridge, common : float
        Weight of tags against genres in the features; penalty of the regression, per item; size of the
        common coordinate, in units of the root mean square length of a profile.
    blocks, weights
        Further features of the items, such as :func:`~prefmover.items.features.from_vectors`, and the
        weight of each: 1 by default, and 0 leaves it out. The regression decides which of their dimensions
        matter, and how much.

    Examples
    --------
    >>> v = tag_profiles([1, 1, 2, 2, 3], ["space", "robot", "space", "robot", "love"], ids=[1, 2, 3, 4, 5],
    ...     genres=["Sci-Fi", "Sci-Fi", "Drama", "Drama", ""], dimensions=2, min_items=1)
    >>> cosines = v.vectors @ v.vectors.T
    >>> bool(cosines[3, 2] > cosines[3, 1]), v.vectors.any(axis=1)
    (True, array([ True,  True,  True,  True, False]))
    """
    ids = as_ids(ids, "item")
    names, G = features.genre_matrix(len(ids), genres)
    _, matrix, _ = features.term_counts(items, tags, counts, ids=ids)
    latent = features.truncated_svd(features.tf_idf(matrix, min_items=2), dimensions)[: len(ids)]
    targets = features.tf_idf(matrix[: len(ids)], min_items=min_items)
    if not targets.nnz:
        remedy = "lower min_items, or use from_genres"
        raise InputError(f"no tag is shared by {min_items} of the {len(ids):,} items; {remedy}")
    tagged = np.diff(targets.indptr) > 0
    known = G.any(axis=1) | latent.any(axis=1)
    parts, used = [G, tag_weight * latent], ""
    for block, weight in zip(blocks, features.block_weights(weights, len(blocks), zero=True), strict=True):
        X = features.aligned(block, ids)
        has = X.any(axis=1)
        if weight and (has & tagged).any():
            X[~has] = X[has & tagged].mean(axis=0)
            parts.append(weight * X)
            used += f" + {weight:g} x {block.name}"
            known |= has
    inputs = np.hstack(parts)
    inputs -= inputs[tagged].mean(axis=0)
    F = inputs[tagged]
    penalty = ridge * len(F) * np.eye(F.shape[1])
    B = np.linalg.solve(F.T @ F + penalty, (targets[tagged].T @ F).T)
    strengths, axes = np.linalg.eigh(B @ B.T)
    keep = strengths > strengths[-1] * 1e-12
    profiles = inputs @ features.fixed_signs(axes[:, keep] * np.sqrt(strengths[keep]))[:, ::-1]
    size = np.sqrt((profiles[known] ** 2).sum(axis=1).mean())
    X = np.hstack([np.full((len(ids), 1), common * size), profiles])
    X[~known] = 0.0
    sizes = f"{len(names)} genres, {targets.shape[1]:,} tags, SVD to {latent.shape[1]}"
    return features.normalized(ids, X, f"tag profiles ({sizes}{used})")
