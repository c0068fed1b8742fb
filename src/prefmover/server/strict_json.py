"""JSON without its traps: no NaN, no huge numbers, no key twice, no thousand brackets."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["BadJsonError", "parse"]

DEEPEST = 32


class BadJsonError(ValueError):
    """A body that is not JSON, or more than JSON should be; the message says where."""


def parse(body: bytes) -> Any:
    """Return the content of a JSON text.

    >>> parse(b'{"ratings": [{"item": "17", "rating": 4.5}]}')
    {'ratings': [{'item': '17', 'rating': 4.5}]}
    >>> parse(b'{"rating": NaN}')
    Traceback (most recent call last):
    prefmover.server.strict_json.BadJsonError: NaN is not a number of JSON
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadJsonError(f"the body is not UTF-8 (byte {error.start:,})") from None
    _check_depth(text)
    try:
        return json.loads(
            text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        raise BadJsonError(
            f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None


def _check_depth(text: str) -> None:
    """Count brackets outside of strings: Python's parser recurses, and so would whoever reads the result."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth, quoted, k = 0, False, 0
    while k < len(text):
        c = text[k]
        if quoted:
            if c == "\\":
                k += 1
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "[{":
            depth += 1
            if depth > DEEPEST:
                raise BadJsonError(f"the body is nested more than {DEEPEST} deep")
        elif c in "]}":
            depth -= 1
        k += 1


def _refuse(name: str) -> Any:
    raise BadJsonError(f"{name} is not a number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadJsonError(f"the number {_short(text)} is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 20:
        raise BadJsonError(f"the number {_short(text)} is too large")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadJsonError(f"the field {_short(key)!r} is given twice")
            seen.add(key)
    return out


def _short(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:17]}..."
