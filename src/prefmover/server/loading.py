"""The model to serve: a fitted one, or the default model of a data set, fitted once and stored."""

from __future__ import annotations

import hashlib
import logging
from importlib.metadata import version
from pathlib import Path

from prefmover._typing import Progress
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution.atomic import cache_folder
from prefmover.model import Recommender

__all__ = ["fit_and_store", "stored", "stored_folder"]

logger = logging.getLogger("prefmover.server")


def stored(data: Dataset) -> Recommender | None:
    """Return the default model of a data set if it was fitted before."""
    folder = stored_folder(data)
    try:
        return Recommender.load(folder, n_threads=1)  # requests run side by side, each on one thread
    except InputError:
        return None  # not stored, or not complete


def fit_and_store(data: Dataset, progress: Progress | None = None) -> Recommender:
    """Fit the default model of a data set, and store it for the next start."""
    folder = stored_folder(data)
    logger.info("fitting a model to %s; the next start loads it", data.name or "the data")
    model = Recommender().fit(data, progress=progress)
    try:
        model.save(folder)
        return Recommender.load(folder, n_threads=1)
    except (InputError, OSError) as error:
        logger.warning("the model is not stored: %s", error)
        return model


def stored_folder(data: Dataset) -> Path:
    """Return the folder of a data set's model in the cache, by version and content."""
    geometry = data.require_geometry("the default model")
    digest = hashlib.sha256()
    for part in (version("prefmover"), data.digest(), geometry.digest(), *data.items.labels):
        digest.update(part.encode() + b"\0")
    return cache_folder() / "models" / f"{data.name or 'data'}-{digest.hexdigest()[:16]}"
