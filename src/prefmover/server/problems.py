"""Every error in one shape: problem details, RFC 9457.

A problem says in ``detail`` what was wrong and what to do, in a sentence. What went wrong inside is logged
and not told.
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

from prefmover.errors import InputError, UndefinedDistanceError, UnknownIdError

__all__ = ["MEDIA_TYPE", "ProblemError", "as_problem", "install", "problem_bytes"]

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 20  # of a body that are listed; the first tells what to mend
logger = logging.getLogger("prefmover.server")


class ProblemError(Exception):
    """An answer that is an error, with its status and a sentence that the user can act on."""

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
    app.add_exception_handler(Exception, _answer)
    for kind in (ProblemError, HTTPException, RequestValidationError, InputError):
        app.add_exception_handler(kind, _answer)


async def _answer(request: Request, error: Exception) -> Response:
    told = as_problem(error)
    content = problem_bytes(told.status, told.detail, request.url.path, told.errors)
    return Response(content, told.status, dict(told.headers), MEDIA_TYPE)


def as_problem(error: Exception) -> ProblemError:
    """Return what a client is told about an error."""
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _invalid(error)
        case UnknownIdError():
            return ProblemError(404, _sentence(str(error)))
        case UndefinedDistanceError():
            return ProblemError(422, _sentence(str(error)))
        case InputError():
            return ProblemError(422, _sentence(str(error)))
        case HTTPException():
            return _http(error)
    logger.error("an error of ours", exc_info=error)
    return ProblemError(500, "Something went wrong in the service; its log says what.")


def _http(error: HTTPException) -> ProblemError:
    details = {
        404: "There is nothing at this address; /docs lists what there is.",
        405: f"This address takes {(error.headers or {}).get('Allow', 'other methods')} only.",
    }
    detail = details.get(error.status_code, _sentence(str(error.detail)))
    return ProblemError(error.status_code, detail, headers=error.headers)


def _invalid(error: RequestValidationError) -> ProblemError:
    found = [
        {"where": ".".join(map(str, one["loc"])), "message": str(one["msg"]).removeprefix("Value error, ")}
        for one in error.errors()[:MOST_ERRORS]
    ]
    if not found:
        return ProblemError(422, "The request is not valid.", errors=found)
    first, others = error.errors()[0], len(error.errors()) - 1
    # Of our own rules for a whole body, which are sentences, the place says nothing more.
    place = _place(first["loc"]) or ("" if first["type"] == "value_error" else "body")
    aside = "; ".join([place] * bool(place) + [f"{others} more"] * bool(others))
    return ProblemError(422, _sentence(found[0]["message"] + f" ({aside})" * bool(aside)), errors=found)


def _place(where: Sequence[str | int]) -> str:
    """Return where in a request something is, as its sender would write it.

    >>> _place(("body", "ratings", 0, "rating")), _place(("query", "k")), _place(("body",))
    ('ratings[0].rating', 'k', '')
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where[1:]).lstrip(".")


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
