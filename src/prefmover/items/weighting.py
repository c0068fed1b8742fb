"""Weights of feature blocks, chosen by what the blocks are worth on the user's own ratings.

One weight is changed at a time, from the defaults, and the change is kept if held-out ratings are predicted
better (:mod:`prefmover.items.held_out`). The search is the same every time and takes some seconds. It sees
only the ratings that it is given: in an experiment, the training part of each split.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from prefmover._greedy import greedy
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.geometry import ItemGeometry
from prefmover.items.held_out import HeldOutRatings
from prefmover.items.tag_profiles import ProfileInputs
from prefmover.items.vectors import BlockWeight, ItemVectors

__all__ = ["BlockSet", "WeightedBlocks", "choose_weights"]

LOG = logging.getLogger(__name__)

GRID = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
PASSES = 2
GAIN = 2e-4  # relative decrease of the error; smaller ones are noise


@dataclass(frozen=True, eq=False)
class BlockSet:
    """Feature blocks, and how they become one set of vectors.

    If there are tag profiles, they come first, and blocks of dense vectors are features of them
    (:func:`~prefmover.items.tag_profiles.tag_profiles`). Other blocks are side by side
    (:func:`~prefmover.items.features.combine`).

    Parameters
    ----------
    blocks
        Blocks that are side by side.
    profiles, inner
        Inputs of tag profiles, and further features of them.
    weights
        Weights to begin with: the profiles', those of ``inner``, and those of ``blocks``; all 1 by default.
    given
        Which of these weights were given, and stay as they are.
    """

    blocks: tuple[ItemVectors, ...]
    profiles: ProfileInputs | None = None
    inner: tuple[ItemVectors, ...] = ()
    weights: tuple[float, ...] = ()
    given: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if self.inner and self.profiles is None:
            raise InputError("inner blocks are features of tag profiles, and there are none")
        n = (self.profiles is not None) + len(self.inner) + len(self.blocks)
        object.__setattr__(self, "weights", self.weights or (1.0,) * n)
        object.__setattr__(self, "given", self.given or (False,) * n)
        if not n or len(self.weights) != n or len(self.given) != n:
            raise InputError(f"{len(self.weights)} weights for {n} feature blocks; expected one for each")

    @property
    def names(self) -> tuple[str, ...]:
        """A short name for each block."""
        first = () if self.profiles is None else ("tag profiles",)
        return (*first, *(block.name for block in (*self.inner, *self.blocks)))

    @property
    def free(self) -> list[int]:
        """The blocks whose weights can be chosen: a weight without another one to compare it with cannot."""
        lone = self.profiles is not None and not self.blocks
        return [k for k, given in enumerate(self.given) if not given and not (lone and k == 0)]

    @property
    def can_choose(self) -> bool:
        """Whether there is a choice."""
        return len(self.weights) > 1 and bool(self.free)

    def vectors(self, weights: Sequence[float] | None = None) -> ItemVectors:
        """Return the vectors for some weights; a block of weight 0 is left out."""
        w = list(self.weights if weights is None else weights)
        blocks = list(self.blocks)
        if self.profiles is not None:
            n = 1 + len(self.inner)
            blocks.insert(0, self.profiles.vectors(self.inner, w[1:n]))
            w[:n] = w[:1]
        used = [(block, x) for block, x in zip(blocks, w, strict=True) if x]
        if not used:
            raise InputError("every feature block has weight 0; give one of them a weight")
        if len(used) == 1:
            return used[0][0]
        return features.combine(*(block for block, _ in used), weights=[x for _, x in used])

    def scaled(self, weights: tuple[float, ...]) -> tuple[float, ...]:
        """Return weights that mean the same, in which the largest of blocks side by side is 1."""
        side = [
            k for k in range(len(weights)) if not (self.profiles is not None and 1 <= k <= len(self.inner))
        ]
        if any(self.given[k] for k in side):
            return weights
        largest = max(weights[k] for k in side)
        return tuple(x / largest if k in side else x for k, x in enumerate(weights))

    def compares(self, weights: tuple[float, ...]) -> bool:
        """Return whether a block side by side with others has a weight; inner ones are not side by side."""
        n_inner = len(self.inner) if self.profiles is not None else 0
        return any(x for k, x in enumerate(weights) if not 1 <= k <= n_inner)

    def n_items(self) -> list[int]:
        """Return the number of items that have each block."""
        first = []
        if self.profiles is not None:
            first = [self.profiles.genres.any(axis=1) | self.profiles.latent.any(axis=1)]
        known = [*first, *(block.vectors.any(axis=1) for block in (*self.inner, *self.blocks))]
        return [int(np.count_nonzero(some)) for some in known]


def choose_weights(
    blocks: BlockSet, ratings: Ratings, *, seed: int = 0
) -> tuple[BlockSet, list[BlockWeight]]:
    """Return the blocks with chosen weights, and what each contributes.

    Parameters
    ----------
    blocks
        The blocks. Weights that were given stay.
    ratings
        **Training** ratings: some of them are held out to judge the weights.
    seed
        Seed of the users and of the ratings that are held out.

    With too few ratings to hold some out, the weights stay as they are.
    """
    held_out = HeldOutRatings.sample(ratings, seed) if blocks.can_choose else None
    if held_out is None:
        if blocks.can_choose:
            LOG.info("too few ratings to choose the weights of feature blocks; they are %s", blocks.weights)
        rows = zip(blocks.names, blocks.weights, blocks.n_items(), strict=True)
        return blocks, [BlockWeight(*row) for row in rows]

    @cache
    def gain(weights: tuple[float, ...]) -> float:
        return -held_out.error(features.aligned(blocks.vectors(weights), ratings.items))

    def step(k: int, grid: Sequence[float], weights: tuple[float, ...]) -> list[tuple[float, ...]]:
        return [trial for x in grid if blocks.compares(trial := _with(weights, k, x))]

    best, _ = greedy(
        blocks.weights,
        [partial(step, k, GRID) for k in blocks.free] * PASSES,
        gain,
        lambda value, before: value > before * (1 - GAIN),
    )
    # A block that gains nothing is left out: the simplest geometry that is as good.
    best, _ = greedy(
        best,
        [partial(step, k, (0.0,)) for k in blocks.free],
        gain,
        lambda value, before: value >= before * (1 + GAIN),
    )
    chosen = replace(blocks, weights=blocks.scaled(best))
    contributions = []
    for k, (name, n) in enumerate(zip(blocks.names, blocks.n_items(), strict=True)):
        other = _with(best, k, 0.0) if best[k] else _with(best, k, blocks.weights[k] or 1.0)
        rival = -gain(other) if blocks.compares(other) else None
        errors = (-gain(best), rival) if best[k] else (rival, -gain(best))
        contributions.append(BlockWeight(name, chosen.weights[k], n, *errors))
    return chosen, contributions


def _with(weights: tuple[float, ...], k: int, weight: float) -> tuple[float, ...]:
    return (*weights[:k], weight, *weights[k + 1 :])


@dataclass(frozen=True, eq=False)
class WeightedBlocks:
    """The geometry of feature blocks as a function of ratings, which choose their weights.

    It is a ``geometry`` for :class:`~prefmover.Dataset`. Experiments call it with the training ratings of
    each split.

    Parameters
    ----------
    blocks
        The feature blocks.
    origin
        What the blocks come from, for the name of the geometry.
    choose
        Whether to choose weights; otherwise those of the blocks are used.
    """

    blocks: BlockSet
    origin: str = ""
    choose: bool = True

    @property
    def follows_ratings(self) -> bool:
        """Whether other ratings may give other distances."""
        return self.choose and self.blocks.can_choose

    def __call__(self, ratings: Ratings | None) -> ItemGeometry:
        """Return the geometry; ratings choose the weights, if there are any."""
        blocks, contributions = self.blocks, list[BlockWeight]()
        if self.choose and blocks.can_choose and ratings is not None:
            blocks, contributions = choose_weights(blocks, ratings)
            for one in contributions:
                LOG.info("weight of %s: %s", one.name, one)
        elif len(blocks.weights) > 1:
            rows = zip(blocks.names, blocks.weights, blocks.n_items(), strict=True)
            contributions = [BlockWeight(*row) for row in rows]
        found = blocks.vectors()
        name = f"{found.name} of {self.origin}" if self.origin else found.name
        if any(one.error is not None for one in contributions):
            name += ", weights chosen on held-out ratings"
        return replace(ItemGeometry.from_features(found._replace(name=name)), blocks=tuple(contributions))
