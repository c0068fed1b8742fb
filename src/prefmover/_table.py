"""Results as tables: data frames by the name of their library, and HTML for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

from prefmover.errors import MissingExtraError

__all__ = ["SHOWN", "Tabular", "html_table"]

SHOWN = 10
"""Rows of a long table that a notebook shows."""


class Tabular:
    """A result that is a table: Arrow's, or a data frame of pandas or polars."""

    __slots__ = ()

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the columns of :meth:`to_arrow`."""
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame` with the columns of :meth:`to_arrow`."""
        return _require("polars").from_arrow(self.to_arrow())


def _require(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        problem = f"to_{library}() needs {library}, which is not installed"
        raise MissingExtraError(f"{problem}: pip install {library}, or use to_arrow()") from None


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows of values as an HTML table, in which all text is escaped.

    >>> html_table("A & B", ("name", "n"), [("<b>", 2)])  # doctest: +ELLIPSIS
    '<table><caption>A &amp; B</caption>...<tbody><tr><td>&lt;b&gt;</td><td>2</td></tr></tbody></table>'
    """

    def cells(tag: str, values: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"
