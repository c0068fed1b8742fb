"""Errors as problem details (RFC 9457).

``detail`` says what is wrong and what to do about it. Internal errors are logged, and their text is not sent.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from prefmover.errors import InputError, UnknownIdError

__all__ = ["MEDIA_TYPE", "ProblemError", "as_problem", "install", "problem_bytes"]

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 20  # errors of one request that are listed
logger = logging.getLogger("prefmover.server")


class ProblemError(Exception):
    """An error response: its status, a sentence for the client, and headers."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors, self.headers = status, detail, errors, headers or {}


def problem_bytes(
    status: int, detail: str, instance: str = "", errors: list[dict[str, str]] | None = None
) -> bytes:
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
    if errors is not None:
        body["errors"] = errors
    return json.dumps(body).encode()  # ASCII: lone surrogates stay escaped


def install(app: FastAPI) -> None:
    """Turn every error of an application into a problem."""
    for kind in (Exception, ProblemError, HTTPException, RequestValidationError, InputError):
        app.add_exception_handler(kind, _respond)


async def _respond(request: Request, error: Exception) -> Response:
    problem = as_problem(error)
    body = problem_bytes(problem.status, problem.detail, request.url.path, problem.errors)
    return Response(body, problem.status, dict(problem.headers), MEDIA_TYPE)


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
            return ProblemError(422, _sentence(str(error)))
        case HTTPException():
            return _http(error)
    logger.error("internal error", exc_info=error)
    return ProblemError(500, "An internal error occurred. The log of the service has the details.")


def _http(error: HTTPException) -> ProblemError:
    details = {
        404: "There is nothing at this address. /docs lists the addresses.",
        405: f"This address takes only {(error.headers or {}).get('Allow', 'other methods')}.",
    }
    detail = details.get(error.status_code, _sentence(str(error.detail)))
    return ProblemError(error.status_code, detail, headers=error.headers)


def _invalid(error: RequestValidationError) -> ProblemError:
    errors = error.errors()
    listed = [
        {"where": ".".join(map(str, one["loc"])), "message": str(one["msg"]).removeprefix("Value error, ")}
        for one in errors[:MOST_ERRORS]
    ]
    # Errors of the validators in schemas.py are sentences that name what is wrong.
    path = _path(errors[0]["loc"]) or ("" if errors[0]["type"] == "value_error" else "body")
    notes = "; ".join([path] * bool(path) + [f"{len(errors) - 1} more"] * (len(errors) > 1))
    return ProblemError(422, _sentence(listed[0]["message"] + f" ({notes})" * bool(notes)), errors=listed)


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
