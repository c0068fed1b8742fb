"""Models that are fitted once: the next fit with the same data and parameters loads what the first saved.

A model is kept in the cache folder under the digest of everything that decides what it is: its parameters,
the data, and the code. The models that were not used for longest are removed when all of them together are
too large.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from prefmover._typing import Progress
from prefmover.dataset import ABOUT, Dataset, geometry_from_ratings
from prefmover.errors import InputError
from prefmover.execution.atomic import cache_folder
from prefmover.items.table import ItemFiles
from prefmover.measures import find_measure
from prefmover.model import storage
from prefmover.model.base_recommender import BaseRecommender

__all__ = ["find", "fit_once", "folder_of"]

MOST_BYTES = 8 * 2**30
"""Size of all models in the cache; the one that was saved last stays in any case."""

NAME = re.compile(r".+-[0-9a-f]{16}")

logger = logging.getLogger("prefmover.model")


def fit_once(
    model: BaseRecommender,
    data: Dataset,
    *,
    refit: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> BaseRecommender:
    """Return a model fitted to a data set: loaded if it was fitted before, else fitted and saved.

    A cache folder that cannot be written costs a warning in the log, and the next call fits again.

    Parameters
    ----------
    model
        What to fit. It stays unfitted if another one is loaded.
    refit
        Fit in any case, and replace the model that was saved.
    n_threads
        Threads of the model that is returned; a fit takes those of ``model``.
    progress
        That of :meth:`~prefmover.Recommender.fit`; not called if nothing is fitted.
    """
    kept = None if refit else find(model, data, n_threads)
    if kept is not None:
        return kept
    model.fit(data, progress=progress)
    folder = folder_of(model, data)
    try:
        model.save(folder)
        _remove_oldest(folder)
    except (InputError, OSError) as error:
        logger.warning("the model is not kept: %s", error)
        return model
    return find(model, data, n_threads) or model  # the same as the next time, and mapped into memory


def find(model: BaseRecommender, data: Dataset, n_threads: int | None = None) -> BaseRecommender | None:
    """Return the fitted model if it is in the cache."""
    folder = folder_of(model, data)
    try:
        kept = storage.load(folder, n_threads=n_threads)
    except InputError:
        return None  # not saved, not complete, or damaged
    with suppress(OSError):
        os.utime(folder)  # used now
    return kept


def folder_of(model: BaseRecommender, data: Dataset) -> Path:
    """Return the folder of a model in the cache, by its parameters, its data and the code.

    Distances between items that are made from the ratings, or from files, are not made for that.
    """
    distances = ""
    if model.uses_geometry or find_measure(model.measure).needs_geometry:
        distances = "from ratings"
        if isinstance(data._geometry, ItemFiles):  # what the files say; distances are made for a fit alone
            distances = data._geometry.digest()
        elif data._geometry is not geometry_from_ratings:
            geometry = data.require_geometry("the model")
            distances = repr((geometry.digest(), geometry.name, geometry.blocks))
    parts = [
        _code(),
        json.dumps([model.kind, storage.parameters_to_json(model.get_params())], sort_keys=True),
        data.digest(),
        distances,
        repr([getattr(data, name) for name in ABOUT]),
        *data.catalog.labels,
        repr(data.catalog.genres),
    ]
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
    name = re.sub(r"[^\w.-]", "_", data.name) or "data"
    return cache_folder() / "models" / f"{name}-{digest[:16]}"


@cache
def _code() -> str:
    """Return a digest of the version and of the package's code, which changes between versions, too."""
    digest = hashlib.sha256(version("prefmover").encode())
    for file in sorted(Path(__file__).parent.parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _remove_oldest(newest: Path) -> None:
    """Remove the models that were not used for longest, until the others take up to :data:`MOST_BYTES`."""
    homes = [one for one in newest.parent.iterdir() if one.is_dir() and NAME.fullmatch(one.name)]
    total = 0
    for home in sorted(homes, key=lambda one: (one == newest, one.stat().st_mtime), reverse=True):
        total += sum(file.stat().st_size for file in home.rglob("*"))
        if total > MOST_BYTES and home != newest:
            logger.info("%s is removed from the cache: it was not used for longest", home.name)
            shutil.rmtree(home, ignore_errors=True)
