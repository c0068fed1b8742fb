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
from typing import TypeAlias

import numpy as np

from prefmover._greedy import greedy
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.geometry import ItemGeometry
from prefmover.items.held_out import HeldOutRatings
from prefmover.items.tag_profiles import ProfileInputs
from prefmover.items.vectors import BlockWeight, ItemVectors

__all__ = ["FeatureBlocks", "choose_weights"]

LOG = logging.getLogger(__name__)

GRID = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
PASSES = 2
GAIN = 2e-4  # relative decrease of the error; smaller ones are noise

Weights: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """Feature blocks with weights, and the geometry that they give.

    It is a ``geometry`` for :class:`~prefmover.Dataset`: a function of the ratings, which may choose the
    weights. Experiments call it with the training ratings of each split.

    If there are tag profiles, they come first, and blocks of dense vectors are features of them
    (:func:`~prefmover.items.tag_profiles.tag_profiles`). Other blocks are side by side
    (:func:`~prefmover.items.features.combine`).

    Parameters
    ----------
    blocks
        Blocks side by side.
    profiles, inner
        Inputs of tag profiles, and further features of them.
    weights
        Weights to begin with: the profiles', those of ``inner``, and those of ``blocks``; all 1 by default.
    given
        Which of these weights were given, and stay as they are.
    origin
        What the blocks come from, for the name of the geometry.
    choose
        Whether ratings choose weights; otherwise these are used.
    """

    blocks: tuple[ItemVectors, ...]
    profiles: ProfileInputs | None = None
    inner: tuple[ItemVectors, ...] = ()
    weights: Weights = ()
    given: tuple[bool, ...] = ()
    origin: str = ""
    choose: bool = True

    def __post_init__(self) -> None:
        if self.inner and self.profiles is None:
            raise InputError("inner blocks are features of tag profiles, and there are none")
        n = (self.profiles is not None) + len(self.inner) + len(self.blocks)
        object.__setattr__(self, "weights", self.weights or (1.0,) * n)
        object.__setattr__(self, "given", self.given or (False,) * n)
        if not n or len(self.weights) != n or len(self.given) != n:
            raise InputError(f"{len(self.weights)} weights for {n} feature blocks; expected one for each")

    @property
    def free(self) -> list[int]:
        """The blocks whose weights can be chosen: a weight without another one to compare it with cannot."""
        lone = self.profiles is not None and not self.blocks
        free = [k for k, given in enumerate(self.given) if not given and not (lone and k == 0)]
        return free if len(self.weights) > 1 else []

    @property
    def follows_ratings(self) -> bool:
        """Whether other ratings may give other distances."""
        return self.choose and bool(self.free)

    def compares(self, weights: Weights) -> bool:
        """Return whether a block side by side with others has a weight; inner ones are not side by side."""
        return any(weights[k] for k in self._side_by_side)

    @property
    def _side_by_side(self) -> list[int]:
        return [k for k in range(len(self.weights)) if self.profiles is None or not 1 <= k <= len(self.inner)]

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

    def scaled(self, weights: Weights) -> Weights:
        """Return weights that mean the same, in which the largest of blocks side by side is 1."""
        side = self._side_by_side
        if any(self.given[k] for k in side):
            return weights
        largest = max(weights[k] for k in side)
        return tuple(x / largest if k in side else x for k, x in enumerate(weights))

    def block_weights(self) -> list[BlockWeight]:
        """Return name, weight and number of items of each block."""
        blocks = (*self.inner, *self.blocks)
        names, known = [block.name for block in blocks], [block.vectors.any(axis=1) for block in blocks]
        if self.profiles is not None:
            names.insert(0, "tag profiles")
            known.insert(0, self.profiles.genres.any(axis=1) | self.profiles.latent.any(axis=1))
        rows = zip(names, self.weights, map(int, map(np.count_nonzero, known)), strict=True)
        return [BlockWeight(*row) for row in rows]

    def __call__(self, ratings: Ratings | None) -> ItemGeometry:
        """Return the geometry; ratings choose the weights, if there are any."""
        blocks, weights = self, self.block_weights()
        if self.follows_ratings and ratings is not None:
            blocks, weights = choose_weights(self, ratings)
            for one in weights:
                LOG.info("weight of %s: %s", one.name, one)
        found = blocks.vectors()
        name = f"{found.name} of {self.origin}" if self.origin else found.name
        if any(one.error is not None for one in weights):
            name += ", weights chosen on held-out ratings"
        several = tuple(weights) if len(weights) > 1 else ()
        return ItemGeometry.from_features(found._replace(name=name), blocks=several)


def choose_weights(
    blocks: FeatureBlocks, ratings: Ratings, *, seed: int = 0
) -> tuple[FeatureBlocks, list[BlockWeight]]:
    """Return the blocks with chosen weights, and what each is worth.

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
    held_out = HeldOutRatings.sample(ratings, seed) if blocks.free else None
    if held_out is None:
        if blocks.free:
            LOG.info("too few ratings to choose the weights of feature blocks; they are %s", blocks.weights)
        return blocks, blocks.block_weights()

    @cache
    def value(weights: Weights) -> float:
        return -held_out.error(features.aligned(blocks.vectors(weights), ratings.items))

    def step(k: int, grid: Sequence[float], weights: Weights) -> list[Weights]:
        return [trial for x in grid if blocks.compares(trial := _with(weights, k, x))]

    steps = [partial(step, k, GRID) for k in blocks.free] * PASSES
    best, _ = greedy(blocks.weights, steps, value, lambda new, old: new > old * (1 - GAIN))
    # A block that gains nothing is left out: the simplest geometry that is as good.
    steps = [partial(step, k, (0.0,)) for k in blocks.free]
    best, _ = greedy(best, steps, value, lambda new, old: new >= old * (1 + GAIN))
    chosen = replace(blocks, weights=blocks.scaled(best))
    weights = []
    for k, one in enumerate(chosen.block_weights()):
        other = _with(best, k, 0.0 if best[k] else blocks.weights[k] or 1.0)
        rival = -value(other) if blocks.compares(other) else None
        errors = (-value(best), rival) if best[k] else (rival, -value(best))
        weights.append(one._replace(error=errors[0], error_without=errors[1]))
    return chosen, weights


def _with(weights: Weights, k: int, weight: float) -> Weights:
    return (*weights[:k], weight, *weights[k + 1 :])
