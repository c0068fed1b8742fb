"""A table of items of one's own: ids, titles, and whatever describes them."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from prefmover import features
from prefmover.datasets.catalogue import Catalogue, split_year
from prefmover.datasets.files import reading
from prefmover.errors import InputError
from prefmover.ids import close_names
from prefmover.items import ItemGeometry

__all__ = ["read_item_table"]

NAMES = ("item", "title", "year", "genres", "tags", "text")
ALSO = {"id": "item", "itemid": "item", "movieid": "item", "name": "title", "genre": "genres", "tag": "tags"}


def read_item_table(path: str | os.PathLike[str]) -> tuple[Catalogue, ItemGeometry]:
    """Return catalogue and geometry from a CSV file (UTF-8) with a header.

    Columns: ``item`` (the id), and any of ``title``, ``year``, ``genres`` and ``tags`` (with ``|``
    between them) and ``text``. The geometry is made from genres, tags and text, with equal weights.
    """
    path = Path(path)
    rows = _rows(path)
    if not rows:
        raise InputError(f"{path} has a header but no items below it")
    if not {"genres", "tags", "text"} & rows[0].keys():
        raise InputError(
            f"{path} needs a column genres, tags or text to tell items apart; it has {list(rows[0])}"
        )
    whole = all(row["item"].lstrip("-").isdigit() and str(int(row["item"])) == row["item"] for row in rows)
    ids = [int(row["item"]) if whole else row["item"] for row in rows]
    split = [split_year(row.get("title") or row["item"]) for row in rows]
    years = [
        _year(row, year, path, line) for line, (row, (_, year)) in enumerate(zip(rows, split, strict=True), 2)
    ]
    genres = [[g.strip() for g in row.get("genres", "").split("|") if g.strip()] for row in rows]
    catalogue = Catalogue(ids, [title for title, _ in split], years, genres)
    parts = []
    if any(genres):
        parts.append(features.from_genres(ids, genres))
    pairs = [
        (i, t) for i, row in zip(ids, rows, strict=True) for t in row.get("tags", "").split("|") if t.strip()
    ]
    if pairs:
        items, tags = [i for i, _ in pairs], [t for _, t in pairs]
        parts.append(features.from_tags(items, tags, of=ids, min_items=1, dimensions=None))
    if any(row.get("text", "").strip() for row in rows):
        parts.append(features.from_text(ids, [row.get("text", "") for row in rows], min_items=1))
    if not parts:
        raise InputError(f"{path}: genres, tags and text are empty for every item")
    made = parts[0] if len(parts) == 1 else features.combine(*parts)
    name = f"{made.name} of {path.name}"
    return catalogue, ItemGeometry.from_vectors(made.items, made.vectors, name=name, zero="far")


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with reading(path):
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line:,}: not UTF-8; save the file as UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    plain = [h.strip().casefold().replace("_", "") for h in header]
    names = [ALSO.get(h, h) for h in plain]
    if "item" not in names:
        close = close_names("item", header, n=1)
        hint = f"; is it {close[0]!r}?" if close else ""
        raise InputError(
            f"{path}, line 1: no column 'item' among {header}{hint}; expected some of {', '.join(NAMES)}"
        )
    rows = []
    for fields in reader:
        if not any(f.strip() for f in fields):
            continue
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {reader.line_num:,}: {len(fields)} columns where the header has {len(header)}"
            )
        rows.append({n: f.strip() for n, f in zip(names, fields, strict=True) if n in NAMES})
    return rows


def _year(row: dict[str, str], in_title: int, path: Path, line: int) -> int:
    year = row.get("year", "")
    if year and not year.isdigit():
        raise InputError(f"{path}, row {line:,}, column 'year': {year!r} is not a year")
    return int(year) if year else in_title
