"""What stands around every page that is written: head, style, body."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

__all__ = ["page"]


def page(title: str, parts: Iterable[str]) -> str:
    """Return parts of a page as a page."""
    style = files("prefmover.report").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{style}</style>\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
