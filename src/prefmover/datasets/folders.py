"""Where data sets are looked for, where they are installed, and where the cache is.

1. ``PREFMOVER_DATA``, if it is set: a folder that is only read, with one folder (or zip archive) for
   each data set, such as ``ml-1m/ratings.dat``, ``ml-1m/ml-1m.zip`` or ``ml-1m.zip``.
2. The data folder of the user (``prefmover data path`` names it), where ``get`` and ``add`` install.

The cache folder is the user's, or ``PREFMOVER_CACHE``.
"""

from __future__ import annotations

import os
from pathlib import Path

from prefmover.datasets.archive import Files
from prefmover.datasets.registry import Source
from prefmover.errors import InputError

__all__ = ["cache_folder", "data_folder", "data_folders", "find", "locate", "replaced"]


def data_folder() -> Path:
    """Return the folder that data sets are installed in."""
    import platformdirs

    return Path(platformdirs.user_data_path("prefmover", appauthor=False))


def data_folders() -> list[Path]:
    """Return the folders that data sets are looked for in, first to last."""
    named = os.environ.get("PREFMOVER_DATA")
    if named and not Path(named).is_dir():
        raise InputError(f"PREFMOVER_DATA names {named}, which is not a folder; correct or unset it")
    return [Path(named), data_folder()] if named else [data_folder()]


def cache_folder() -> Path:
    """Return the folder for what can be made again."""
    import platformdirs

    named = os.environ.get("PREFMOVER_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_path("prefmover", appauthor=False))


def find(source: Source) -> Files | None:
    """Return the files of a data set if it is in one of the folders, else None."""
    names = (*source.needs, *source.takes)
    for folder in data_folders():
        home = folder / source.name
        archives = home / f"{source.name}.zip", folder / f"{source.name}.zip"
        for place in (home, *archives, *replaced(home)):
            if place.is_dir() or place.is_file():
                files = Files.open(place, names)
                if all(name in files for name in source.needs):
                    return files.within(source.limit)
    return None


def replaced(home: Path) -> list[Path]:
    """Return the data set that an install was about to replace when it was killed: at most one, as a list.

    Two renames replace a folder. A kill between them leaves the old data set under a hidden name.
    """
    return [] if home.exists() else sorted(home.parent.glob(f".{home.name}-????????/before"))[:1]


def locate(source: Source) -> Files:
    """Return the files of a data set, or say how to get them."""
    files = find(source)
    if files is None:
        looked = ", ".join(str(folder / source.name) for folder in data_folders())
        get = f"`prefmover data get {source.name}` downloads it; " if source.url else ""
        raise InputError(
            f"{source.name} is not here (looked in {looked}); {get}`prefmover data add {source.name} "
            "--from PATH` takes a copy that you have"
        )
    return files
