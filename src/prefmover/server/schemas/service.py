"""Responses about the service: its state, a result that is being computed, an error."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from prefmover.server.schemas.base import Count, Response


class Problem(BaseModel):
    """An error, as in RFC 9457."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "There is no user 'ada-x'; close: 'ada-b'.",
                    "instance": "/api/v1/users/ada-x",
                }
            ]
        }
    )

    type: str = Field(description="Always about:blank.")
    title: str = Field(description="The meaning of the status.")
    status: int
    detail: str = Field(description="What is wrong and what to do about it.")
    instance: str = Field(description="Path of the request.")
    errors: list[FieldError] | None = Field(default=None, description="The fields that are wrong.")
    state: Literal["starting", "failed"] | None = Field(
        default=None, description="Why the service is not ready, if that is the problem."
    )
    progress: StartProgress | None = Field(default=None, description="How far the start is.")


class FieldError(BaseModel):
    """A field of a request that is wrong."""

    where: str
    message: str


class StartProgress(BaseModel):
    """How far a starting service has come."""

    doing: str = Field(examples=["fitting the model"])
    done: int = Field(description="Steps done.")
    total: int = Field(description="Steps in all; 0 if that is not known.")


class StatusOut(Response):
    """State of the service."""

    status: Literal["ok", "ready"]


class JobOut(Response):
    """A result that is still being computed; ask again in a second."""

    done: Count
    total: Count = Field(description="Steps in all; 0 if that is not known yet.")
