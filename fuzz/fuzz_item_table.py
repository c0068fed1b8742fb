"""Files that describe items, one or two, with and without the ids of rated items."""

import tempfile
from pathlib import Path

import oracle

oracle.load()

import numpy as np

from prefmover.data.file_options import FileOptions
from prefmover.data.ids import as_ids
from prefmover.items.table import ItemFiles

CUT = b"\x00\x00"
RATED = (None, None, as_ids([1, 2, 77], "item"), as_ids(["a", "Alien", "x"], "item"))
COLUMNS = (
    {},
    {"tags": ["title"]},
    {"text": ["title"], "weights": {"title": 0.5, "tags": 0}},
    {"item_id": "tag", "title": "text", "item": "item"},
)


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    rated, columns = choices.pick(RATED), choices.pick(COLUMNS)
    on_bad_lines = choices.pick(("error", "skip", "warn"))
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, content in enumerate(choices.rest().split(CUT)[:2]):
            paths.append(Path(folder, f"items-{number}"))
            paths[-1].write_bytes(content)
        options = FileOptions(**columns, on_bad_lines=on_bad_lines)
        files = ItemFiles.read(*paths, options=options, rated=rated)
        catalog, geometry = files.catalog, files.geometry
    assert len(catalog.ids) == geometry.n_items
    assert np.isfinite(geometry.block()).all()
    catalog.label(0)


def seeds() -> list[bytes]:
    plain = bytes(3)
    tables = [
        b"item,title,genres\n1,Alien (1979),Horror|Sci-Fi\n2,Emma,Romance\n",
        b"film,tag,count\nAlien,space,3\nAlien,monster,1\nEmma,love,2\n",
        b"item,a,b\n1,.5,2\n2,1e0,-3\n",
        'item;title;year;text\nx;"A ""b""";1999;A robot learns\ny;É;;to love\n'.encode(),
        b"id,tags\n-5,a|b\n007,b\n",
    ]
    return [plain + table for table in tables] + [
        plain + tables[0] + CUT + tables[1],
        b"\x02\x01\x01" + tables[0],
    ]


if __name__ == "__main__":
    oracle.main("item_table", target, seeds())
