"""Contribution: what a feature block adds to a geometry."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Contribution"]


class Contribution(NamedTuple):
    """A feature block in a geometry.

    Attributes
    ----------
    n_items
        The number of items that have the block.
    error, error_without
        Error of the held-out ratings with all blocks and without this one; None if the weights were given,
        or if there is no other block.
    """

    name: str
    weight: float
    n_items: int
    error: float | None = None
    error_without: float | None = None

    def __str__(self) -> str:
        text = f"{self.weight:g} ({self.n_items:,} items"
        if self.error is not None and self.error_without is not None:
            text += f"; held-out error {self.error:.4f}, without it {self.error_without:.4f}"
        return text + ")"
