"""Fitted models to folders and back: parameters, settings, data and arrays.

``ARRAYS`` and ``SPARSE`` declare the arrays of a fitted Recommender, by name. :func:`fitted_arrays` takes
them out of a model, :func:`restored` checks them and puts them in again. Compiled code does not check bounds,
so everything that it relies on is checked here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import ABOUT, Dataset, geometry_if
from prefmover.errors import InputError
from prefmover.execution.threads import Stages
from prefmover.items.geometry import BlockWeight, ItemGeometry
from prefmover.measures import Weight, find_measure, weight
from prefmover.measures.estimates import N_FEATURES, Calibration
from prefmover.model.base_recommender import BaseRecommender
from prefmover.model.estimator import Estimator, Fitted
from prefmover.model.folder import QUICK, Arrays, StoredModel, read, write
from prefmover.model.knn_recommender import KNNRecommender
from prefmover.model.recommender import Recommender
from prefmover.predict.gaussian_process import KernelPredictor, RatingSettings
from prefmover.predict.low_rank import MIN_EIGENVALUE, LowRankKernel
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.solver import Coefficients
from prefmover.rank.factors import TasteFactors
from prefmover.rank.item_side import ItemSide, SimilarItems
from prefmover.rank.two_sided import RankingSettings, TwoSidedRanker, UserSide

__all__ = [
    "check_arrays", "fitted_arrays", "fitted_facts", "load", "parameters_to_json", "restored", "save",
]  # fmt: skip

GEOMETRY = ("name", "is_metric", "metric_by", "to_distance", "unit", "blocks")
GEOMETRY_ARRAYS = ("grid", "vectors")
PARTS = ("data", "indices", "indptr")  # of a sparse matrix
KERNEL = ("whitening", "features", "unexplained")

LARGE_ARRAY = 2**24
"""Bytes of an array from a file whose numbers are read only if they are to be verified."""


class Array(NamedTuple):
    """What an array must be."""

    dtype: npt.DTypeLike
    shape: tuple[str, ...]  # names of its sizes, about which arrays and the data agree
    largest: float | None = None  # the largest size of a number; None for any that is finite
    below: str | None = None  # for positions, which ascend: the name of the size that they are below
    finite: bool = True  # whether all numbers are


def _kernel(prefix: str, rows: str, landmarks: str, rank: str) -> dict[str, Array]:
    # As large as LowRankKernel makes them, with some slack for rounding: products cannot overflow.
    return {
        f"{prefix}.whitening": Array(np.float32, (landmarks, rank), largest=1.01 / MIN_EIGENVALUE**0.5),
        f"{prefix}.features": Array(np.float32, (rows, rank), largest=1.01),
        f"{prefix}.unexplained": Array(np.float64, (rows,), largest=1.01),
    }


ARRAYS: dict[str, Array] = {
    "landmarks": Array(np.int64, ("landmarks",), below="users"),
    "landmark_self_values": Array(np.float64, ("landmarks",), finite=False),  # NaN where undefined
    "landmarks.nearest": Array(np.float32, ("items", "landmarks")),
    **_kernel("ranking.kernel", "users", "landmarks", "rank of the ranking"),
    "ranking.inverse": Array(np.float32, ("rank of the ranking", "rank of the ranking")),
    "ranking.user_weights": Array(np.float32, ("rank of the ranking", "items")),
    # x · v is about 1 for an item that a user has rated. A product of such numbers is finite.
    "ranking.factors": Array(np.float32, ("items", "factors"), largest=1e6),
    **_kernel("rating.kernel", "users", "landmarks", "rank of the users"),
    "rating.items.landmarks": Array(np.int64, ("landmarks of the items",), below="items"),
    **_kernel("rating.items", "items", "landmarks of the items", "rank of the items"),
    "rating.alpha": Array(np.float64, ("ratings",)),
    "rating.user": Array(np.float64, ("users",)),
    "rating.item": Array(np.float64, ("items",)),
    "rating.similar_items": Array(np.float64, ("items",)),
    "rating.item_factors": Array(np.float32, ("items", "rank of the users")),
}

SPARSE: dict[str, Array] = {
    "fitted": Array(np.float64, ("users as fitted", "items")),
    "ranking.similar": Array(np.float64, ("items", "items")),
    "ranking.items": Array(np.float32, ("items", "items")),
}


def save(model: Estimator, folder: str | PathLike[str]) -> None:
    """Write a fitted model with its data. The parameters are those at the time of the fit."""
    data = model.data_
    row, ratings, scale = find_measure(model.params_["measure"]), data.ratings, data.ratings.scale
    geometry = geometry_if(data, row.needs_geometry or model.uses_geometry)
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
    about = {"kind": model.kind, "parameters": parameters_to_json(model.params_), "facts": facts}
    write(folder, about, arrays | fitted_arrays(model), ratings.users, data.catalog)


def load(
    folder: str | PathLike[str], *, n_threads: int | None = None, verify: bool | None = None
) -> BaseRecommender:
    """Return the saved model, of whichever kind it is; errors name the folder.

    Parameters are those of :meth:`prefmover.model.Recommender.load`.
    """
    stored = read(folder, verify=verify)
    try:
        return _restored(stored, n_threads, quick=not verify and stored.header.files.arrays.size > QUICK)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    except KeyError as error:
        raise InputError(f"{folder} lacks {error.args[0]!r}; save the model again") from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"{folder} is incomplete or damaged ({error!r}); save the model again") from None


def _restored(stored: StoredModel, n_threads: int | None, *, quick: bool) -> BaseRecommender:
    header, facts = stored.header, stored.header.facts
    cls = Recommender if header.kind == Recommender.kind else KNNRecommender
    model: BaseRecommender = cls(**_from_json({**header.parameters, "n_threads": n_threads}))
    try:
        row = model._checked()
    except InputError as error:
        raise InputError(f"{error}. Register a measure of your own before loading") from None
    data = _restored_data(stored)
    similarity = model._similarity(data, row)
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


def parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model, ready for JSON. Threads are no property of a model."""
    ready = {name: _to_json(value) for name, value in parameters.items()}
    return ready | {"n_threads": None, "measure": find_measure(parameters["measure"]).name}


def fitted_arrays(model: Estimator) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a fitted model by name."""
    similarity, found = model.similarity_, dict[str, Any]()
    sparse: dict[str, Any] = {}
    if similarity.fitted is not None:
        sparse["fitted"] = similarity.fitted.ratings.matrix
    if similarity.calibration is not None and similarity.data.require_geometry("a model").grid is None:
        found["landmarks.nearest"] = similarity.prepared_landmarks.nearest
    found["landmarks"] = similarity.landmarks
    if isinstance(ranker := model._ranker, TwoSidedRanker):
        users = ranker.user_side
        found |= _named("ranking.kernel", users.kernel, *KERNEL)
        found |= {"ranking.inverse": users.inverse, "ranking.user_weights": users.weights}
        sparse["ranking.items"] = ranker.item_side.matrix
        sparse["ranking.similar"] = None if ranker.similar is None else ranker.similar.weights
        found["landmark_self_values"] = ranker.landmark_self_values
        if ranker.factors is not None:
            found["ranking.factors"] = ranker.factors.vectors
    if isinstance(predictor := model._predictor, KernelPredictor):
        found |= _named("rating.kernel", predictor.kernel, *KERNEL)
        found |= _named("rating.items", predictor.items, "landmarks", *KERNEL)
        found |= _named("rating", predictor.solved, *Coefficients._fields[1:])
        found["landmark_self_values"] = predictor.landmark_self_values
    for name, matrix in sparse.items():
        if matrix is not None:
            found |= _named(name, matrix, *PARTS)
    return found


def fitted_facts(model: Estimator) -> dict[str, Any]:
    """Return the numbers of a fitted model that are not arrays, ready for JSON."""
    calibration, predictor = model.similarity_.calibration, model._predictor
    facts: dict[str, Any] = {"calibration": None, "heads": model.heads_}
    if isinstance(predictor, KernelPredictor):
        facts["mean"] = predictor.solved.mean
    if isinstance(ranker := model._ranker, TwoSidedRanker):
        facts["adds"] = ranker.adds
        if ranker.factors is not None:
            facts["factors"] = {name: getattr(ranker.factors, name) for name in ("unit", "penalty", "scale")}
    if calibration is not None:
        facts["calibration"] = {**asdict(calibration), "coefficients": calibration.coefficients.tolist()}
    return facts


def restored(
    similarity: UserSimilarity,
    settings: Mapping[str, Any],
    facts: Mapping[str, Any],
    arrays: Arrays,
    *,
    quick: bool = False,
) -> tuple[UserSimilarity, KernelPredictor | None, TwoSidedRanker | None]:
    """Return the measure, the predictor and the ranker of a saved model, checked.

    With ``quick``, the numbers in large arrays are not checked, so that a file is not read. Types, shapes and
    positions always are.
    """
    data, heads = similarity.data, facts["heads"]
    sizes = {"users": data.n_users, "items": data.n_items, "ratings": data.ratings.n_ratings}
    check_arrays(arrays, sizes, quick=quick)
    matrices = {name: _sparse(arrays, name, sizes) for name in SPARSE}
    similarity = replace(
        similarity,
        calibration=_calibration(facts["calibration"]),
        landmarks=arrays["landmarks"],
        fitted=_as_fitted(data, matrices["fitted"]),
        stored_nearest=arrays.get("landmarks.nearest"),
    )
    ranker, predictor = None, None
    if "ranking" in heads:
        ranker = _ranker(similarity, settings["ranking"], facts, arrays, matrices)
    if "rating" in heads:
        predictor = _predictor(similarity, settings["rating"], facts["mean"], arrays)
    return similarity, predictor, ranker


def check_arrays(arrays: Arrays, sizes: dict[str, int], *, quick: bool = False) -> None:
    """Raise an error unless all arrays are as declared; sizes that they agree about are added to ``sizes``.

    >>> check_arrays({"landmarks": np.array([0, 7])}, {"users": 5})
    Traceback (most recent call last):
    prefmover.errors.InputError: landmarks is damaged: positions beyond the 5 users
    """
    for name, declared in ARRAYS.items():
        if name not in arrays:
            continue
        array = arrays[name]
        if array.ndim == len(declared.shape):
            for size, n in zip(declared.shape, array.shape, strict=True):
                sizes.setdefault(size, n)
        expected = tuple(sizes.get(size, -1) for size in declared.shape)
        if array.dtype != declared.dtype or array.shape != expected:
            raise InputError(
                f"{name} is damaged: {array.dtype} of shape {array.shape}; expected "
                f"{np.dtype(declared.dtype)} of {expected}"
            )
        if declared.below is not None and len(array):
            n = sizes[declared.below]
            if array[0] < 0 or array[-1] >= n or (np.diff(array) <= 0).any():
                raise InputError(f"{name} is damaged: positions beyond the {n:,} {declared.below}")
        if array.dtype.kind != "f" or (quick and array.nbytes > LARGE_ARRAY):
            continue
        if declared.finite and not np.isfinite(array).all():
            raise InputError(f"{name} is damaged: a number is missing or infinite")
        if declared.largest is not None and np.abs(array).max(initial=0.0) > declared.largest:
            raise InputError(f"{name} is damaged: a number is not within {declared.largest:g} of 0")


def _sparse(arrays: Arrays, name: str, sizes: dict[str, int]) -> Any:
    """Return a sparse matrix from its stored arrays, checked; None if it was not stored."""
    from scipy.sparse import csr_array

    if not any(f"{name}.{part}" in arrays for part in PARTS):
        return None
    declared = SPARSE[name]
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in PARTS)
    sizes.setdefault(declared.shape[0], len(indptr) - 1)
    try:
        rows, columns = (sizes[size] for size in declared.shape)
        matrix = csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is damaged: {error}") from None
    if data.dtype != declared.dtype or not np.isfinite(data).all():
        raise InputError(f"{name} is damaged: its numbers are {data.dtype}, or not all are finite")
    matrix.data = data  # SciPy copies arrays that are a small part of a mapped file
    if indices.dtype == matrix.indices.dtype:
        matrix.indices = indices
    return matrix


def _ranker(
    similarity: UserSimilarity,
    settings: RankingSettings,
    facts: Mapping[str, Any],
    arrays: Arrays,
    matrices: Mapping[str, Any],
) -> TwoSidedRanker:
    numbers: dict[str, Any] = {"adds": facts.get("adds")}
    if settings.factors:
        numbers |= {name: (facts.get("factors") or {}).get(name) for name in ("unit", "penalty", "scale")}
    for name, number in numbers.items():
        if not isinstance(number, float) or not np.isfinite(number):
            raise InputError(f"{name} is damaged: {number!r} is not a finite number")
    adds, *of_factors = numbers.values()
    factors = TasteFactors(arrays["ranking.factors"], *of_factors) if of_factors else None
    kernel = _restored_kernel(arrays, "ranking.kernel", similarity.landmarks)
    penalty = np.inf if settings.user_penalty is None else float(settings.user_penalty)
    user_side = UserSide(kernel, penalty, arrays["ranking.inverse"], arrays["ranking.user_weights"])
    items, similar = matrices["ranking.items"], matrices["ranking.similar"]
    if items is None:
        raise InputError("the item side is damaged: its weights are missing")
    if similar is not None and (np.diff(similar.indptr) < 1).any():
        raise InputError("ranking.similar is damaged: an item is not similar to itself")
    mixtures = None if similar is None else SimilarItems(similar)
    self_values = arrays["landmark_self_values"]
    return TwoSidedRanker(
        similarity, mixtures, settings, self_values, ItemSide(items), user_side, adds, factors
    )


def _predictor(
    similarity: UserSimilarity, settings: RatingSettings, mean: Any, arrays: Arrays
) -> KernelPredictor:
    if not isinstance(mean, float) or not np.isfinite(mean):
        raise InputError(f"mean is damaged: {mean!r} is not a finite number")
    items = _restored_kernel(arrays, "rating.items", arrays["rating.items.landmarks"])
    kernel = _restored_kernel(arrays, "rating.kernel", similarity.landmarks)
    solved = Coefficients(mean, *(arrays[f"rating.{name}"] for name in Coefficients._fields[1:]))
    return KernelPredictor(similarity, settings, arrays["landmark_self_values"], items, kernel, solved)


def _restored_kernel(arrays: Arrays, prefix: str, landmarks: Any) -> LowRankKernel:
    return LowRankKernel(landmarks, *(arrays[f"{prefix}.{name}"] for name in KERNEL))


def _calibration(facts: Mapping[str, Any] | None) -> Calibration | None:
    if facts is None:
        return None
    coefficients = np.array(facts["coefficients"], float)
    calibration = Calibration(**{**facts, "coefficients": coefficients})
    if coefficients.shape != (N_FEATURES,) or not np.isfinite(coefficients).all():
        raise InputError("calibration is damaged: its coefficients are missing or not finite")
    return calibration


def _as_fitted(data: Dataset, matrix: Any) -> Dataset | None:
    """Return the data as fitted, before updates, from the stored ratings."""
    if matrix is None:
        return None
    ratings, n_users = data.ratings, matrix.shape[0]
    if not 0 < n_users <= ratings.n_users:
        raise InputError(f"fitted is damaged: {n_users:,} of {ratings.n_users:,} users")
    return data.with_ratings(Ratings(matrix, ratings.users[:n_users], ratings.items, ratings.scale))


def _named(prefix: str, owner: Any, *names: str) -> dict[str, Any]:
    return {f"{prefix}.{name}": getattr(owner, name) for name in names}


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
