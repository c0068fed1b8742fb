"""Recommenders by name, and the interface of a recommender.

==========================  =====================================================================
name                        recommender
==========================  =====================================================================
default                     :class:`~prefmover.Recommender`, the kernel model
knn:MEASURE[:CONVENTION]    :class:`~prefmover.KNNRecommender`, the paper's neighbor average, for every K;
                            ``all`` stands for every measure, or for every convention that differs
user-mean, bias, uniform,   controls, see :mod:`prefmover.evaluation.controls`; ``controls`` for all
mean-vector
surprise:MODEL              a model of scikit-surprise, see :mod:`prefmover.evaluation.peers`;
                            ``surprise`` for all
==========================  =====================================================================

A recommender may also be any object with ``fit(data)`` and ``predict(pairs)``: it is fitted to a
:class:`~prefmover.Dataset` that holds the training ratings, and then predicts a list of (user, item) pairs
of ids. Experiments write its name as ``object:LABEL``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from prefmover.data.ids import close_names
from prefmover.errors import InputError
from prefmover.evaluation.record import Kind
from prefmover.measures import MEASURES, find_measure

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.evaluation.experiment import Experiment

__all__ = ["CONTROLS", "PEERS", "FitPredict", "Method", "create", "expand", "name_objects"]

CONTROLS = ("uniform", "mean-vector", "user-mean", "bias")
PEERS = ("SVD", "SVDpp", "KNNBaseline", "KNNWithMeans", "BaselineOnly")
GROUPS = {"controls": CONTROLS, "surprise": tuple(f"surprise:{name}" for name in PEERS)}
OBJECT = "object:"


class FitPredict(Protocol):
    """A recommender that can be evaluated."""

    def fit(self, data: Dataset) -> Any:
        """Learn from the training ratings."""

    def predict(self, pairs: list[tuple[Any, Any]]) -> Any:
        """Return one rating for each (user, item), as an array or as `Predictions`."""


class Method(NamedTuple):
    """A recommender's name, taken apart."""

    recommender: str
    method: str
    label: str
    kind: Kind
    convention: str = ""

    @classmethod
    def parse(cls, name: str) -> Method:
        """Return the parts of a full name.

        >>> Method.parse("knn:BCF:median")
        Method(recommender='knn:bcf:median', method='bcf', label='BCF', kind='measure', convention='median')
        >>> Method.parse("knn:pmd:published").recommender
        'knn:pmd'
        """
        head, _, rest = name.partition(":")
        if name.startswith(OBJECT) and rest:
            return cls(name, rest, rest, "model")
        if name == "default":
            return cls(name, name, name, "model")
        if name in CONTROLS:
            return cls(name, name, name, "control")
        if head == "knn" and rest:
            measure, _, convention = rest.partition(":")
            row = find_measure(measure)
            convention = row.convention(convention or None)
            full = f"knn:{row.name}" + ("" if convention == row.default else f":{convention}")
            return cls(full, row.name, row.label, "measure", convention)
        if head == "surprise" and rest in PEERS:
            return cls(name, rest, rest, "peer")
        measures = (f"knn:{measure}" for measure in (*MEASURES, "all"))
        close = close_names(name, ["default", *measures, *GROUPS, *CONTROLS, *GROUPS["surprise"]], n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InputError(
            f"recommender {name!r} is not known; {hint}choose default, knn:MEASURE, {', '.join(CONTROLS)}, "
            f"or surprise:MODEL with {', '.join(PEERS)}"
        )


def expand(names: Iterable[Any]) -> tuple[str, ...]:
    """Return full names without duplicates; groups are replaced by their members.

    >>> expand(["knn:COS", "knn:cos", "knn:nhsm:all", "controls"])
    ('knn:cos', 'knn:nhsm', 'knn:nhsm:table-1', 'uniform', 'mean-vector', 'user-mean', 'bias')
    """
    full: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"recommender {name!r} is not a name; pass objects to evaluate()")
        head, _, rest = name.partition(":")
        measure, _, convention = rest.partition(":")
        if name in GROUPS:
            full += GROUPS[name]
        elif head == "knn" and "all" in (measure, convention):
            for row in MEASURES if measure == "all" else (measure,):
                full += _conventions(row) if convention == "all" else [f"knn:{row}:{convention}".rstrip(":")]
        else:
            full.append(name)
    return tuple(dict.fromkeys(Method.parse(name).recommender for name in full))


def _conventions(measure: str) -> list[str]:
    """Return a measure under each practical convention that differs, the published one first."""
    row = find_measure(measure)
    return [
        f"knn:{row.name}:{name}" for name in row.distinct_conventions() if row.conventions[name].practical
    ]


def name_objects(
    recommenders: str | FitPredict | Iterable[str | FitPredict] | Mapping[str, str | FitPredict],
) -> tuple[tuple[str, ...], dict[str, FitPredict]]:
    """Return the names of recommenders, and the objects among them by full name.

    A mapping gives objects their labels; otherwise a label is the object's ``repr``, or the name of its class
    where that is only an address. Recommenders by name keep the labels of their names.

    >>> class Constant:
    ...     def fit(self, data): ...
    ...     def predict(self, pairs): ...
    >>> name_objects(["bias", Constant()])[0]
    ('bias', 'object:Constant')
    """
    if isinstance(recommenders, str):
        return expand(part.strip() for part in recommenders.split(",")), {}
    if isinstance(recommenders, Mapping):
        entries = list(recommenders.items())
    else:
        each = recommenders if isinstance(recommenders, Iterable) else [recommenders]
        entries = [(_label(one), one) for one in each]
    names: list[str] = []
    objects: dict[str, FitPredict] = {}
    for label, one in entries:
        if isinstance(one, str):
            names.append(one)
            continue
        missing = [method for method in ("fit", "predict") if not callable(getattr(one, method, None))]
        if missing or isinstance(one, type):
            lacks = f"has no {missing[0]}()" if missing else "is a class; pass an instance"
            raise InputError(f"recommender {label} {lacks}; give a name, or an object with fit and predict")
        names.append(OBJECT + label)
        if names[-1] in objects:
            raise InputError(
                f"two recommenders are called {label}; name them: {{'first': ..., 'second': ...}}"
            )
        objects[names[-1]] = one
    return expand(names), objects


def _label(recommender: Any) -> str:
    if isinstance(recommender, type):
        return recommender.__name__
    text = " ".join(repr(recommender).split())
    return type(recommender).__name__ if " at 0x" in text else text


def create(method: Method, experiment: Experiment, seed: int, n_threads: int | None) -> FitPredict:
    """Return a new, unfitted recommender by its name."""
    from prefmover.evaluation import controls, peers
    from prefmover.model import KNNRecommender, Recommender

    e, name = experiment, method.method
    average: dict[str, Any] = {"centering": e.centering, "shrinkage": e.shrinkage, "n_threads": n_threads}
    if method.kind == "measure":
        return KNNRecommender(name, e.ks[-1], convention=method.convention, **average)
    if method.kind == "peer":
        return peers.SurpriseRecommender(name, seed=seed)
    if method.kind == "control":
        if name == "uniform":
            return controls.uniform(seed, k=e.ks[-1], **average)
        if name == "mean-vector":
            return controls.mean_vector(k=e.ks[-1], **average)
        return controls.ControlRecommender(name)
    if method.recommender == "default":
        return Recommender(n_threads=n_threads)
    raise InputError(
        f"{method.recommender} is an object of an earlier program; pass it to evaluate() under the label "
        f"{method.label!r}"
    )
