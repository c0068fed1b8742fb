"""Frozen objects whose pickles hold their fields alone, not what was computed from them since."""

from dataclasses import fields
from typing import Any

__all__ = ["PickledFields"]


class PickledFields:
    """A dataclass with cached properties, which a copy computes again where it needs them."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
