"""The parts of scikit-learn's estimator interface that a recommender has.

The other checks of ``check_estimator`` fit an array X, one row per sample, with a target y. A recommender is
fitted to a Dataset, whose rows are not samples, so the tags say that arrays are not taken; scikit-learn then
leaves those checks out by itself.
"""

import pickle
import sys

import numpy as np
import pytest

import prefmover as pm
from prefmover.errors import InputError, NotFittedError
from prefmover.model.estimator import not_fitted_error
from tests.messages import names

sklearn = pytest.importorskip("sklearn", "1.6")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError as SklearnNotFittedError  # noqa: E402
from sklearn.utils import estimator_checks as checks  # noqa: E402
from sklearn.utils import get_tags  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

MODELS = [pm.Recommender, pm.KNNRecommender]
WITHOUT_DATA = [  # those that take an estimator and fit nothing
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
    "check_estimator_tags_renamed",
    "check_mixin_order",
]
CALLS = {
    "predict": lambda m: m.predict([(1, "a")]),
    "recommend": lambda m: m.recommend(1),
    "neighbors": lambda m: m.neighbors(1),
    "guest": lambda m: m.guest({"a": 5}),
    "explain": lambda m: m.explain(1, 2),
    "save": lambda m: m.save("nowhere"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("check", WITHOUT_DATA)
def test_checks_that_need_no_data(model, check):
    getattr(checks, check)(model.__name__, model())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_check_estimator_takes_the_tags_into_account(model):
    results = checks.check_estimator(model(), on_fail=None, on_skip=None)
    assert results
    assert {one["status"] for one in results} == {"passed"}
    assert not get_tags(model()).input_tags.two_d_array


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("call", CALLS)
def test_not_fitted(model, call):
    for kind in (NotFittedError, InputError, SklearnNotFittedError):
        with pytest.raises(kind, match=names("fit")):
            CALLS[call](model())
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(model())


def test_fitted():
    data = pm.Dataset(pm.Ratings.from_arrays([1, 1, 2, 2], list("abab"), [5, 3, 4, 1]))
    model = pm.KNNRecommender(measure="cos").fit(data)
    check_is_fitted(model)
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(clone(model))


def test_without_scikit_learn(monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn.exceptions")
    error = not_fitted_error("KNNRecommender")
    assert type(error) is NotFittedError
    assert isinstance(pickle.loads(pickle.dumps(error)), NotFittedError)


@pytest.mark.parametrize("model", MODELS)
def test_parameters_of_any_kind_are_shown_and_refused(model):
    settings = "ranking" if model is pm.Recommender else "weight"
    for name, value in ((settings, np.array([1, 2])), ("measure", np.array([1, 2])), ("n_threads", True)):
        strange = model(**{name: value})
        assert name in repr(strange)
        data = pm.Dataset(pm.Ratings.from_arrays([1, 1, 2, 2], list("abab"), [5, 3, 4, 1]))
        with pytest.raises(InputError, match=names(name)):
            strange.set_params(**({} if name == "measure" else {"measure": "cos"})).fit(data)
