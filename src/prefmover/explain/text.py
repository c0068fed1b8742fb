"""The layout of explanations: lines for a terminal, and a table for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["html_table", "lines_of_parts"]


def lines_of_parts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the parts of a sum, one line each, from rows of name, value, ..., meaning."""
    width = max(len(name) for name, *_ in rows)
    return [f"  {value:>7}  {name:<{width}}  {meaning}".rstrip() for name, value, *_, meaning in rows]


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as an HTML table."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"
