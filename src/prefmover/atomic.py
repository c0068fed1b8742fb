"""Files that are there whole or not at all."""

import os
from pathlib import Path

__all__ = ["write"]


def write(file: Path, content: bytes) -> None:
    """Write a file under a temporary name, wait for the disk, and rename: a kill leaves the old or the new.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(Path(folder, "part"), b"done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['part']
    """
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
