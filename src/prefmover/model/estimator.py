"""What scikit-learn expects of an estimator, without importing it: parameters, tags, fitted or not."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from typing import Any, Self

from prefmover.errors import InputError, NotFittedError

__all__ = ["Estimator", "not_fitted_error"]


class Estimator:
    """Parameters by name. They are the arguments of ``__init__``, which only stores them."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's ``clone`` expects."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they take effect with the next ``fit``."""
        names = self._defaults()
        for name in parameters.keys() - names.keys():
            raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}")
        vars(self).update(parameters)
        return self

    def _changed(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults; they may be of any type, even arrays."""
        defaults = self._defaults()
        return {
            name: value
            for name, value in self.get_params().items()
            if type(value) is not type(defaults[name]) or value != defaults[name]
        }

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self._changed().items())
        return f"{type(self).__name__}({changed})"

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model is fitted, for scikit-learn's ``check_is_fitted``."""
        return "data_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about estimators: this one is fitted to a Dataset, not to X and y."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
        )


def not_fitted_error(name: str) -> NotFittedError:
    """Return the error about a model that is not fitted: one of scikit-learn's too, if that is imported."""
    exceptions = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if exceptions is None else _with_sklearn(exceptions.NotFittedError)
    return kind(f"this {name} is not fitted; call fit(data) first")


@cache
def _with_sklearn(other: type[Exception]) -> type[NotFittedError]:
    return type("NotFittedError", (NotFittedError, other), {"__module__": NotFittedError.__module__})
