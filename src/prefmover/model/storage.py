"""Fitted models to folders and back: parameters, settings and data become a header and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import ABOUT, Dataset, geometry_if
from prefmover.errors import InputError
from prefmover.execution.threads import Stages
from prefmover.items.geometry import ItemGeometry
from prefmover.items.vectors import BlockWeight
from prefmover.measures import Weight, find_measure, weight
from prefmover.model.arrays import fitted_arrays, fitted_facts, restored
from prefmover.model.base_recommender import BaseRecommender, Fitted
from prefmover.model.folder import StoredModel, read, write
from prefmover.predict.gaussian_process import RatingSettings
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.two_sided import RankingSettings

__all__ = ["load", "save"]

GEOMETRY = ("name", "is_metric", "metric_by", "to_distance", "unit", "blocks")
GEOMETRY_ARRAYS = ("grid", "vectors")


def save(model: BaseRecommender, folder: str | PathLike[str]) -> None:
    """Write a fitted model with its data. The parameters are those at the time of the fit."""
    data = model.data_
    row, ratings, scale = find_measure(model.params_["measure"]), data.ratings, data.ratings.scale
    geometry = geometry_if(data, row.needs_geometry or model.uses_geometry)
    parameters = {name: _to_json(value) for name, value in model.params_.items()}
    parameters |= {"n_threads": None, "measure": row.name}
    matrix = ratings.matrix
    arrays: dict[str, Any] = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    facts: dict[str, Any] = {
        "settings": {name: _to_json(value) for name, value in model.settings_.items()},
        "tuning": model.tuning_,
        "scale": scale.facts(),
        "dataset": {name: getattr(data, name) for name in ABOUT},
        "geometry": None,
    }
    if geometry is not None:
        facts["geometry"] = {name: getattr(geometry, name) for name in GEOMETRY}
        stored = {f"geometry.{name}": getattr(geometry, name) for name in GEOMETRY_ARRAYS}
        arrays |= {name: array for name, array in stored.items() if array is not None}
    facts |= fitted_facts(model)
    about = {"kind": model.kind, "parameters": parameters, "facts": facts}
    write(folder, about, arrays | fitted_arrays(model), ratings.users, data.catalog)


def load(
    folder: str | PathLike[str], *, n_threads: int | None = None, verify: bool | None = None
) -> BaseRecommender:
    """Return the saved model, of whichever kind it is; errors name the folder.

    Parameters are those of :meth:`prefmover.model.Recommender.load`.
    """
    stored = read(folder, verify=verify)
    try:
        return _restored(stored, n_threads, quick=not verify and stored.is_large)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    except KeyError as error:
        raise InputError(f"{folder} lacks {error.args[0]!r}; save the model again") from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"{folder} is incomplete or damaged ({error!r}); save the model again") from None


def _restored(stored: StoredModel, n_threads: int | None, *, quick: bool) -> BaseRecommender:
    from prefmover.model.knn_recommender import KNNRecommender
    from prefmover.model.recommender import Recommender

    header, facts = stored.header, stored.header.facts
    cls = Recommender if header.kind == Recommender.kind else KNNRecommender
    model: BaseRecommender = cls(**_from_json({**header.parameters, "n_threads": n_threads}))
    try:
        row = model._checked()
    except InputError as error:
        raise InputError(f"{error}. Register a measure of your own before loading") from None
    data = _restored_data(stored)
    if row.needs_geometry:
        data.require_geometry(f"measure {row.name!r}")
    similarity = UserSimilarity(data, row, model.convention, n_threads)
    heads, settings = model._heads(facts["heads"], data), _from_json(facts["settings"])
    if isinstance(model, Recommender):
        parts = restored(similarity, settings, facts, stored.arrays, quick=quick)
        model._take(Fitted(*parts, settings, facts["tuning"]), heads)
    else:
        model._take(model._fit(similarity, heads, Stages(None, {})), heads)
    return model


def _restored_data(stored: StoredModel) -> Dataset:
    from scipy.sparse import csr_array

    facts, arrays, items = stored.header.facts, stored.arrays, stored.items.ids
    shape = (len(stored.users), len(items))
    matrix = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    ratings = Ratings(matrix, stored.users, items, Scale(*facts["scale"]))
    geometry = None
    if facts["geometry"] is not None:
        grid, vectors = (arrays.get(f"geometry.{name}") for name in GEOMETRY_ARRAYS)
        blocks = tuple(BlockWeight(*one) for one in facts["geometry"].get("blocks", ()))
        geometry = ItemGeometry(items, **{**facts["geometry"], "blocks": blocks}, grid=grid, vectors=vectors)
    about = {key: str(value) for key, value in facts["dataset"].items() if key in ABOUT}
    return Dataset(ratings, geometry, stored.items, **about)  # type: ignore[arg-type]


def _to_json(value: Any) -> Any:
    if isinstance(value, RatingSettings | RankingSettings):
        return {one.name: _to_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Weight):
        try:
            weight(value.name)
        except InputError:
            raise InputError(
                f"the weight {value.name!r} is a function of your own and cannot be saved; use one by name"
            ) from None
        return value.name
    return value


def _from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters or settings with ranking and rating as objects again."""
    out = dict(values)
    for name, cls in (("rating", RatingSettings), ("ranking", RankingSettings)):
        if isinstance(out.get(name), Mapping):
            out[name] = cls(**out[name])
    return out
