"""Archives and folders that somebody gives to ``prefmover data add``."""

import gzip
import io
import struct
import tempfile
import zipfile
from pathlib import Path

import oracle

oracle.load()

from prefmover.datasets.folders import Files

NAMES = ("ratings.csv", "movies.csv", "tags.csv")
LIMIT = 1 << 20


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    kind = choices.below(2)
    with tempfile.TemporaryDirectory() as folder:
        home, out = Path(folder, "in"), Path(folder, "out", "inner")
        home.mkdir()
        out.mkdir(parents=True)
        path = home / "archive.zip"
        if kind:
            path = home
            (home / "ratings.csv.gz").write_bytes(choices.rest())
        else:
            path.write_bytes(choices.rest())
        try:
            files = Files.open(path, NAMES).require(NAMES[:1]).within(LIMIT)
            files.copy_to(out, LIMIT)
            files.read(NAMES[0])
        finally:
            written = [p for p in Path(folder).rglob("*") if p.is_file() and p.parent != home]
            assert all(p.parent == out and p.name in NAMES for p in written), written
            assert sum(p.stat().st_size for p in written) <= LIMIT + (1 << 20)


def seeds() -> list[bytes]:
    inputs = [b"\x01" + gzip.compress(b"userId,movieId,rating,timestamp\n1,1,1,1\n")]
    for names in (
        ("ml/ratings.csv", "ml/movies.csv"),
        ("ratings.csv",),
        ("../ratings.csv",),
        ("/ratings.csv",),
    ):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                for name in names:
                    archive.writestr(name, b"userId,movieId,rating,timestamp\n" * 3)
            inputs.append(b"\x00" + out.getvalue())
    empty = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0, 0, 0, 0, 0)
    return [*inputs, b"\x00" + empty]


if __name__ == "__main__":
    oracle.main("archive", target, seeds())
