"""The layout of explanations in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["lines_of_parts"]


def lines_of_parts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the parts of a sum, one line each, from rows of name, value, ..., meaning."""
    width = max(len(name) for name, *_ in rows)
    return [f"  {value:>7}  {name:<{width}}  {meaning}".rstrip() for name, value, *_, meaning in rows]
