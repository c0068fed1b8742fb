r"""Cells with several words: lists as JSON or Python write them, and text with ``|``, ``;`` or commas.

>>> words_in_cells(["Drama|War", "Comedy"])
[['Drama', 'War'], ['Comedy']]
>>> words_in_cells(["[{'id': 18, 'name': 'Drama'}, {'id': 35, 'name': 'Comedy'}]", "[]", '["War"]'])
[['Drama', 'Comedy'], [], ['War']]
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any

__all__ = ["words_in_cells"]

MARKS = "|;,"  # between words, in the order of preference
NAME_KEYS = ("name", "title", "label", "tag", "keyword", "value")
BRACKETS = {"[": "]", "{": "}", "(": ")"}


def words_in_cells(cells: Sequence[Any], *, split: bool = True) -> list[list[str] | None]:
    """Return the words in each cell of a column; None for a list that cannot be parsed.

    Cells are text, or lists (from Parquet). They are lists if most of those that are not empty look like one.
    Otherwise, and if ``split``, they are divided at the first of ``|``, ``;`` and the comma that occurs.
    """
    filled = [cell for cell in cells if not isinstance(cell, str) or cell.strip()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of backslashes in texts
        if filled and 2 * sum(map(_is_list, filled)) >= len(filled):
            return [_listed(cell) if _is_list(cell) else _split(cell, None) for cell in cells]
    mark = next((m for m in MARKS if any(m in cell for cell in filled)), None) if split else None
    return [_split(cell, mark) for cell in cells]


def _is_list(cell: Any) -> bool:
    if not isinstance(cell, str):
        return True
    text = cell.strip()
    return len(text) > 1 and BRACKETS.get(text[0]) == text[-1]


def _split(cell: Any, mark: str | None) -> list[str]:
    if not isinstance(cell, str):
        return _listed(cell) or []
    words = cell.split(mark) if mark else [cell]
    return [word.strip() for word in words if word.strip()]


def _listed(cell: Any) -> list[str] | None:
    """Return the names in a list, or in the text of one."""
    if isinstance(cell, str):
        cell = _parsed(cell.strip())
    if isinstance(cell, dict):
        are_counts = cell and all(isinstance(value, int | float) for value in cell.values())
        cell = list(cell) if are_counts else [cell]
    if not isinstance(cell, list | tuple | set):
        return None
    return [name for one in cell if (name := _name(one))]


def _name(one: Any) -> str:
    """Return the name of an entry: itself, or the name in a dictionary."""
    if isinstance(one, dict):
        texts = [one[key] for key in NAME_KEYS if isinstance(one.get(key), str)]
        texts += [value for value in one.values() if isinstance(value, str)]
        return str(texts[0]).strip() if texts else ""
    return "" if one is None or isinstance(one, list | tuple | set) else str(one).strip()


def _parsed(text: str) -> Any:
    """Return the value of a text in JSON, or in the notation of Python or NumPy; None if it is neither.

    >>> _parsed("['a' 'b']")  # as NumPy prints it; in Python, 'a' 'b' would be 'ab'
    ['a', 'b']
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if re.search(r"'\s+'|\"\s+\"", text) and "," not in text:
        return [single or double for single, double in re.findall(r"'([^']*)'|\"([^\"]*)\"", text)]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
