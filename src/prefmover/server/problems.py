"""Errors as problem details (RFC 9457).

``detail`` says what is wrong and what to do about it. Internal errors are logged, and their text is not sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from prefmover.errors import InputError, Reason, UnknownIdError
from prefmover.server.logs import REQUEST_ID, SERVICE

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 20  # errors of one request that are listed


class Problem(BaseModel):
    """An error, as in RFC 9457."""

    type: str = Field(description="Always about:blank.", examples=["about:blank"])
    title: str = Field(description="The meaning of the status.", examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(
        description="What is wrong and what to do about it.",
        examples=["There is no user 'ada-x'; close: 'ada-b'."],
    )
    instance: str = Field(description="Path of the request.", examples=["/api/v1/users/ada-x"])
    errors: list[FieldError] | None = Field(default=None, description="The fields that are wrong.")
    reason: Reason | None = Field(
        default=None,
        description="Why a request of the right form has no answer: nothing is left to answer with; an item "
        "is not in the list that is meant; a condition or an export cannot be read.",
    )
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


class ProblemError(Exception):
    """An error response: its status, a sentence for the client, headers, and further members of the body."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.members = status, detail, headers or {}, members


@contextmanager
def reading() -> Iterator[None]:
    """Mark the errors about a text in a request that the schema cannot describe."""
    try:
        yield
    except InputError as error:
        error.reason = "unreadable"
        raise


def problem_bytes(status: int, detail: str, instance: str = "", **members: Any) -> bytes:
    """Return a problem as JSON.

    >>> problem_bytes(404, "there is no user 'x'", "/api/v1/users/x").decode()[:47]
    '{"type": "about:blank", "title": "Not Found", "'
    """
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
    }
    body |= members
    return json.dumps(body).encode()  # ASCII: lone surrogates stay escaped


def as_problem(error: Exception) -> ProblemError:
    """Return the problem that tells a client about an error."""
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _invalid(error)
        case UnknownIdError():
            return ProblemError(404, _sentence(str(error)))
        case InputError():
            members: dict[str, Any] = {"reason": error.reason} if error.reason else {}
            return ProblemError(422, _sentence(str(error)), **members)
        case HTTPException():
            return _http(error)
    SERVICE.error("internal error", exc_info=error)
    request = f" under {REQUEST_ID.get()}" if REQUEST_ID.get() else ""
    return ProblemError(500, f"An internal error occurred. The log of the service has the details{request}.")


def _http(error: HTTPException) -> ProblemError:
    headers = dict(error.headers or {})
    if headers.get("Allow") == "GET":
        headers["Allow"] = "GET, HEAD"
    details = {
        404: "There is nothing at this address. /docs lists the addresses.",
        405: f"This address takes only {headers.get('Allow', 'other methods')}.",
    }
    detail = details.get(error.status_code, _sentence(str(error.detail)))
    return ProblemError(error.status_code, detail, headers=headers)


def _invalid(error: RequestValidationError) -> ProblemError:
    errors = error.errors()
    listed = [
        {"where": ".".join(map(str, one["loc"])), "message": _message(one)} for one in errors[:MOST_ERRORS]
    ]
    # Errors of the validators in schemas/ are sentences that name what is wrong.
    path = _path(errors[0]["loc"]) or ("" if errors[0]["type"] == "value_error" else "body")
    notes = "; ".join([path] * bool(path) + [f"{len(errors) - 1} more"] * (len(errors) > 1))
    return ProblemError(422, _sentence(listed[0]["message"] + f" ({notes})" * bool(notes)), errors=listed)


def _message(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a field, in our words where the library's are about its own work.

    >>> _message({"type": "too_short", "ctx": {"min_length": 1, "actual_length": 0}, "msg": "List ..."})
    'give at least 1, not 0'
    """
    words = {
        "too_short": "give at least {min_length}, not {actual_length}",
        "too_long": "give at most {max_length}, not {actual_length}",
        "missing": "this field is missing",
        "extra_forbidden": "there is no such field",
    }
    template = words.get(str(error["type"]))
    if template is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return template.format_map(error.get("ctx", {}))


def _path(location: Sequence[str | int]) -> str:
    """Return the path of a field as a client would write it.

    >>> _path(("body", "ratings", 0, "rating")), _path(("query", "k")), _path(("body",))
    ('ratings[0].rating', 'k', '')
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location[1:]).lstrip(".")


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
