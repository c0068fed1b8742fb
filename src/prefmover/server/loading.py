"""Which model to serve: a folder that was saved, or a data set fitted once and kept."""

from __future__ import annotations

import hashlib
import logging
from importlib.metadata import version
from os import PathLike
from pathlib import Path

import numpy as np

from prefmover.errors import InputError
from prefmover.execution.threads import Progress
from prefmover.items.catalog import Dataset
from prefmover.model import UserKNN
from prefmover.server.handlers import Answers

__all__ = ["kept_folder", "of_dataset", "of_folder"]

logger = logging.getLogger("prefmover.server")


def of_folder(folder: str | PathLike[str], name: str | None = None) -> Answers:
    """Return a saved model, mapped into memory, with the titles that were saved beside it."""
    from prefmover.model.catalog_file import read_catalog

    model = UserKNN.load(folder, n_threads=1)  # requests run side by side, each on one thread
    catalog = read_catalog(folder)
    labels = {} if catalog is None else {item: catalog.label(item) for item in catalog.ids.tolist()}
    return Answers(model, name or Path(folder).resolve().name, labels)


def of_dataset(name: str, *, refit: bool = False, progress: Progress | None = None) -> Answers:
    """Return the default model of a data set, fitted the first time and loaded from then on."""
    from prefmover import datasets
    from prefmover.model.catalog_file import write_catalog

    data = datasets.load(name)
    folder = kept_folder(data)
    if not refit:
        try:
            return of_folder(folder, data.name)
        except InputError:
            pass  # not there, or not whole: fitted again
    logger.info("fitting a model to %s; the next start will be quicker", data.name)
    model = UserKNN(missing="drop").fit(data.ratings, data.geometry, progress=progress)
    try:
        model.save(folder)
        write_catalog(folder, data.items)
        return of_folder(folder, data.name)
    except (InputError, OSError) as error:
        logger.warning("the model is not kept: %s", error)
        model.set_params(n_threads=1)
        return Answers(model, data.name, {item: data.items.label(item) for item in data.items.ids.tolist()})


def kept_folder(data: Dataset) -> Path:
    """Return where the model of a data set is kept: by version, ratings and geometry."""
    from platformdirs import user_cache_path

    matrix, geometry = data.ratings.matrix, data.geometry
    digest = hashlib.sha256(f"{version('prefmover')}|{geometry.name}".encode())
    for array in (matrix.indptr, matrix.indices, matrix.data, geometry.grid, geometry.vectors):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return user_cache_path("prefmover") / "models" / f"{data.name}-{digest.hexdigest()[:16]}"
