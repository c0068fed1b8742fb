"""Maps of users and items."""

from __future__ import annotations

from pydantic import Field

from prefmover.server.schemas.base import Response


class PointOut(Response):
    """A user or an item on a map."""

    id: str
    name: str
    x: float
    y: float
    group: int | None = Field(description="Number of the group; null if it has none.")


class MapOut(Response):
    """A map in the unit square: near points are near users or items."""

    groups: list[str] = Field(description="Names of the groups, the largest first.")
    points: list[PointOut]
