"""The folders in which data sets are searched and installed.

1. ``PREFMOVER_DATA``, if it is set: a folder that is only read, with one folder or zip archive per data set,
   such as ``ml-1m/ratings.dat``, ``ml-1m/ml-1m.zip`` or ``ml-1m.zip``.
2. The user's data folder (``prefmover data path`` prints it), where ``get`` and ``add`` install.
"""

from __future__ import annotations

import os
from pathlib import Path

from prefmover.datasets.archive import Files
from prefmover.datasets.registry import Source
from prefmover.errors import InputError

__all__ = ["data_folder", "data_folders", "find", "locate", "open_files", "replaced"]


def data_folder() -> Path:
    """Return the folder in which data sets are installed."""
    import platformdirs

    return Path(platformdirs.user_data_path("prefmover", appauthor=False))


def data_folders() -> list[Path]:
    """Return the folders in which data sets are searched, first to last."""
    name = os.environ.get("PREFMOVER_DATA")
    if name and not Path(name).is_dir():
        raise InputError(f"PREFMOVER_DATA is {name}, which is not a folder; correct or unset it")
    return [Path(name), data_folder()] if name else [data_folder()]


def find(source: Source) -> Files | None:
    """Return the files of a data set if it is in one of the folders, else None."""
    for folder in data_folders():
        for name in (source.name, *source.folders):
            home = folder / name
            archives = home / f"{name}.zip", folder / f"{name}.zip"
            for path in (home, *archives, *replaced(home)):
                if path.is_dir() or path.is_file():
                    files = open_files(source, path)
                    if all(file in files for file in source.needs):
                        return files.within(source.limit)
    return None


def open_files(source: Source, path: Path) -> Files:
    """Return the files of a data set that are in a folder or an archive."""
    return Files.open(path, (*source.needs, *source.takes), inside=source.inside)


def locate(source: Source) -> Files:
    """Return the files of a data set; an error says how to get them."""
    files = find(source)
    if files is None:
        searched = ", ".join(str(folder / source.name) for folder in data_folders())
        get = f"`prefmover data get {source.name}` downloads it; " if source.url else ""
        raise InputError(
            f"{source.name} is not installed (searched {searched}); {get}`prefmover data add {source.name} "
            "--from PATH` installs a copy that you have"
        )
    return files


def replaced(home: Path) -> list[Path]:
    """Return the data set that a killed installation was about to replace: at most one, as a list.

    Two renames replace a folder. A kill between them leaves the old data set under a hidden name.
    """
    return [] if home.exists() else sorted(home.parent.glob(f".{home.name}-????????/before"))[:1]
