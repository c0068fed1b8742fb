"""Parameters in the path or the query of an address."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import BeforeValidator

from prefmover.server.schemas.requests import MOST_NEIGHBORS

Decoded = BeforeValidator(lambda value: unquote(value) if isinstance(value, str) else value)


def _id(example: str) -> Any:
    return Path(description="Id, percent-encoded.", examples=[example], min_length=1)


UserPath = Annotated[str, Decoded, _id("ada-b")]
ItemPath = Annotated[str, Decoded, _id("alien-1979")]
Text = Annotated[str, Query(max_length=200, description="Part of a title or id.", examples=["alien"])]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of entries to skip.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Number of entries.")]
K = Annotated[int, Query(ge=1, le=MOST_NEIGHBORS, description="Number of items.")]
