"""The arrays of a fitted model: taken out, put in again, and checked."""

import numpy as np
import pytest

from prefmover.errors import InputError
from prefmover.model import Recommender
from prefmover.model.storage import ARRAYS, SPARSE, fitted_arrays, fitted_facts, restored
from prefmover.rank import RankingSettings

PARTS = [f"{name}.{part}" for name in SPARSE for part in ("data", "indices", "indptr")]


@pytest.fixture(scope="module")
def few(data):
    """So few users that some items have no ratings, and the model has sparse arrays."""
    return data.with_ratings(data.ratings.take(users=range(12)))


@pytest.fixture(scope="module")
def model(few):
    return Recommender(ranking=RankingSettings(item_penalty=3.0)).fit(few)


def parts(model):
    arrays = {name: np.array(array) for name, array in fitted_arrays(model).items()}
    return model.similarity_, model.settings_, fitted_facts(model), arrays


def test_a_restored_model_has_the_same_scores(model, few):
    _, predictor, ranker = restored(*parts(model))
    everyone, items = np.arange(few.n_users), np.arange(few.n_users) % few.n_items
    assert np.array_equal(ranker.block(everyone).total, model.ranker_.block(everyone).total)
    assert np.array_equal(
        predictor.predict(everyone, items).values, model.predictor_.predict(everyone, items).values
    )


def test_every_array_is_declared(model):
    assert set(fitted_arrays(model)) <= {*ARRAYS, *PARTS}


@pytest.mark.parametrize("name", [*ARRAYS, *PARTS])
def test_another_type_or_shape_is_refused(model, name):
    *given, arrays = parts(model)
    if name not in arrays:
        pytest.skip("this model has no such array")
    one = arrays[name]
    for damaged in (one[:-1],) if name in PARTS else (one[:-1], one.astype(np.float16), one[..., None]):
        with pytest.raises(InputError, match="damaged"):
            restored(*given, {**arrays, name: damaged})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("landmarks", -1),
        ("landmarks", 10**6),
        ("ranking.kernel.features", 1e30),
        ("rating.kernel.whitening", np.nan),
        ("rating.items.unexplained", -2),
        ("ranking.items.data", np.inf),
        ("ranking.user_weights", np.nan),
        ("rating.alpha", np.nan),
        ("ranking.items.indices", 10**6),
        ("ranking.similar.indices", 10**6),
    ],
)
def test_damaged_numbers_are_refused(model, name, value):
    *given, arrays = parts(model)
    arrays[name].flat[1] = value
    with pytest.raises(InputError, match=name.removesuffix(".data").removesuffix(".indices")):
        restored(*given, arrays)


def test_a_mean_that_is_not_a_number_is_refused(model):
    similarity, settings, facts, arrays = parts(model)
    with pytest.raises(InputError, match="mean"):
        restored(similarity, settings, {**facts, "mean": float("nan")}, arrays)


@pytest.mark.parametrize("name", SPARSE)
def test_a_part_of_a_matrix_is_not_enough(model, name):
    *given, arrays = parts(model)
    if f"{name}.data" not in arrays:
        pytest.skip("this model has no such matrix")
    for part in ("data", "indices", "indptr"):
        with pytest.raises((InputError, KeyError), match=name.partition(".")[0]):
            restored(*given, {key: one for key, one in arrays.items() if key != f"{name}.{part}"})
