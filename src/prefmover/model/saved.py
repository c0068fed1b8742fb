"""A fitted model to and from a folder: what of it is kept, and how it stands up again.

:mod:`prefmover.model.storage` knows files, checksums and versions; this knows what :class:`UserKNN` is.
Whatever a folder says is checked before it is used: a model from a stranger gives an error at worst.
"""

from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from prefmover.data.ratings import Ratings, Scale
from prefmover.errors import InputError
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Weight, find_measure, weight
from prefmover.model import storage
from prefmover.predict.kernel import Lending
from prefmover.predict.regression import Regression, Shared
from prefmover.predict.similarity import Likeness
from prefmover.predict.user_kernel import UserKernel, check_array

if TYPE_CHECKING:
    from prefmover.model.user_knn import UserKNN

__all__ = ["load", "save"]

Arrays = dict[str, npt.NDArray[Any]]
Model = TypeVar("Model", bound="UserKNN")

GEOMETRY = ("name", "is_metric", "metric_by", "to_distance", "unit")
GEOMETRY_ARRAYS = ("grid", "vectors")
KERNEL = ("landmarks", "whitening", "features", "rest")
REGRESSION = ("alpha", "user", "item", "similar_items", "lent")


def save(model: "UserKNN", folder: str | PathLike[str]) -> None:
    """Write a fitted model."""
    ratings, geometry, predictor = model.ratings_, model.geometry_, model.predictor_
    parameters = {name: _as_json(value) for name, value in model.get_params().items()}
    parameters |= {"n_threads": None, "measure": find_measure(model.measure).name}
    matrix, scale = ratings.matrix, ratings.scale
    arrays: Arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    facts: dict[str, Any] = {
        "settings": {name: _as_json(value) for name, value in model.settings_.items()},
        "tuning": model.tuning_,
        "scale": [scale.lowest, scale.highest, scale.step],
        "geometry": None,
    }
    if geometry is not None:
        facts["geometry"] = {name: getattr(geometry, name) for name in GEOMETRY}
        held = {f"geometry.{name}": getattr(geometry, name) for name in GEOMETRY_ARRAYS}
        arrays |= {name: array for name, array in held.items() if array is not None}
    if isinstance(predictor, Lending):
        facts["mean"] = predictor.regression.mean
        arrays["landmark_own"] = predictor.landmark_own
        arrays |= {f"kernel.{name}": getattr(predictor.regression.kernel, name) for name in KERNEL}
        arrays |= {f"regression.{name}": getattr(predictor.regression, name) for name in REGRESSION}
    storage.write(
        folder, parameters=parameters, facts=facts, arrays=arrays, users=ratings.users, items=ratings.items
    )


def load(kind: type[Model], folder: str | PathLike[str], *, n_threads: int | None, verify: bool) -> Model:
    """Read a model; errors name the folder."""
    stored = storage.read(folder, verify=verify)
    try:
        return _restored(kind, stored, n_threads)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    except KeyError as error:
        raise InputError(f"{folder} lacks {error.args[0]!r}; save the model again") from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"{folder} is incomplete or damaged ({error!r}); save the model again") from None


def _restored(kind: type[Model], stored: storage.StoredModel, n_threads: int | None) -> Model:
    facts, arrays = stored.header.facts, stored.arrays
    parameters = {**stored.header.parameters, "n_threads": n_threads}
    if parameters["shared"] is not None:
        parameters["shared"] = Shared(**parameters["shared"])
    model = kind(**parameters)
    try:
        row = model._checked()
    except InputError as error:
        raise InputError(f"{error}. A measure of your own must be registered before loading") from None
    settings = dict(facts["settings"])
    if "shared" in settings:
        settings["shared"] = Shared(**settings["shared"])
    shape = (len(stored.users), len(stored.items))
    matrix = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    ratings = Ratings(matrix, stored.users, stored.items, Scale(*facts["scale"]))
    geometry = None
    if facts["geometry"] is not None:
        grid, vectors = (arrays.get(f"geometry.{name}") for name in GEOMETRY_ARRAYS)
        geometry = ItemGeometry(stored.items, **facts["geometry"], grid=grid, vectors=vectors)
    elif row.needs_geometry:
        raise InputError(f"measure {row.name!r} needs the distance between items, and there is none")
    model.ratings_, model.geometry_ = ratings, geometry
    model.settings_, model.tuning_ = settings, facts["tuning"]
    likeness = Likeness(ratings, geometry, row, model.convention, n_threads)
    if model.predictor == "kernel":
        model.predictor_ = _lending(likeness, settings, facts["mean"], arrays)
    else:
        kind(row, settings["k"], shrinkage=settings["shrinkage"])._checked()
        model.predictor_ = model._build(likeness, settings, None)
    return model._index()


def _lending(likeness: Likeness, settings: dict[str, Any], mean: float, arrays: Arrays) -> Lending:
    kernel = UserKernel(**{name: arrays[f"kernel.{name}"] for name in KERNEL})
    solved = {name: arrays[f"regression.{name}"] for name in REGRESSION}
    regression = Regression(likeness.ratings, likeness.geometry, kernel, settings["shared"], mean, **solved)
    regression.check()
    own = arrays["landmark_own"]  # NaN where a measure is undefined
    check_array("landmark_own", own, np.float64, kernel.landmarks.shape, finite=False)
    return Lending(likeness, weight(settings["weight"]), own, regression)


def _as_json(value: Any) -> Any:
    if isinstance(value, Shared):
        return value.to_dict()
    if isinstance(value, Weight):
        try:
            weight(value.name)
        except InputError:
            raise InputError(
                f"the weight {value.name!r} is a function of your own and cannot be saved; use one by name"
            ) from None
        return value.name
    return value
