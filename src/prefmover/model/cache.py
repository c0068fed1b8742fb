"""The default model of a data set, fitted once and kept in the cache folder."""

from __future__ import annotations

import hashlib
import logging
from importlib.metadata import version
from pathlib import Path

from prefmover._typing import Progress
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution.atomic import cache_folder
from prefmover.model.recommender import Recommender

__all__ = ["fit_and_store", "stored", "stored_folder"]

logger = logging.getLogger("prefmover.model")


def stored(data: Dataset, n_threads: int | None = None) -> Recommender | None:
    """Return the default model of a data set if it was fitted before."""
    try:
        return Recommender.load(stored_folder(data), n_threads=n_threads)
    except InputError:
        return None  # not stored, or not complete


def fit_and_store(
    data: Dataset, n_threads: int | None = None, progress: Progress | None = None
) -> Recommender:
    """Fit the default model of a data set, and store it; ``n_threads`` are for what it is asked later."""
    logger.info("fitting a model to %s; the next start loads it", data.name or "the data")
    model = Recommender().fit(data, progress=progress)
    try:
        model.save(stored_folder(data))
    except (InputError, OSError) as error:
        logger.warning("the model is not stored: %s", error)
    return stored(data, n_threads) or model


def stored_folder(data: Dataset) -> Path:
    """Return the folder of a data set's model in the cache, by version and content."""
    geometry = data.require_geometry("the default model")
    digest = hashlib.sha256()
    for part in (version("prefmover"), data.digest(), geometry.digest(), *data.catalog.labels):
        digest.update(part.encode() + b"\0")
    return cache_folder() / "models" / f"{data.name or 'data'}-{digest.hexdigest()[:16]}"
