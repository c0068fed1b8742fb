"""Pages, styles and scripts: read from the package when the service starts, then a table in memory.

A request is looked up in the table; no part of it ever becomes the path of a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

__all__ = ["Asset", "read_assets"]

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}


class Asset(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str
    etag: str


def read_assets() -> dict[str, Asset]:
    """Return what is served at which path: the explorer at / and /assets/, the reference at /docs."""
    home = files("prefmover.server")
    table = {f"/assets/{name}": asset for name, asset in _walk(home / "explorer", "")}
    if "/assets/index.html" in table:
        table["/"] = table.pop("/assets/index.html")
    reference = dict(_walk(home / "reference", ""))
    table["/docs"] = reference.pop("index.html")
    table |= {f"/docs/{name}": asset for name, asset in reference.items()}
    return table


def _walk(folder: Traversable, before: str) -> Iterator[tuple[str, Asset]]:
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            yield from _walk(entry, f"{before}{entry.name}/")
            continue
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in TYPES:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
            yield f"{before}{entry.name}", Asset(content, TYPES[suffix], etag)
