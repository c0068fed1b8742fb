"""Recommenders by name, and the interface of a recommender.

==========================  =====================================================================  =======
name                        recommender                                                            tasks
==========================  =====================================================================  =======
default                     :class:`~prefmover.Recommender`, the model of the package              both
knn:MEASURE[:CONVENTION]    :class:`~prefmover.KNNRecommender`, the paper's neighbor average;      both
                            ``all`` stands for every measure of the paper, or for every
                            convention that differs. Ratings are predicted for every K
kernel:DISTANCE             kernel ridge regression over users, the same for each distance         ranking
                            (:mod:`prefmover.evaluation.baselines.kernel_ridge`); ``kernels`` for all six
kernel:MEASURE              ``Recommender(MEASURE)``, for the measures that are not such a         both
                            distance
popularity, random,         controls; ``simple`` for   ranking
liked-popularity            these and bias
bias                        a control: the biases of users and items                               both
uniform, mean-vector,       controls; ``controls`` for   rating
user-mean                   these and bias
agreement                   a control: PMD-agreement without its transport; ``extensions`` for     rating
                            this and the measures that are extensions
estimated:MEASURE           a control: the neighbor average by estimated instead of exact          rating
                            distances, for ``pmd`` and ``pmd-agreement``
ease, item-knn, user-knn    peers                      ranking
implicit:als, implicit:bpr  peers of another package;        ranking
                            ``peers`` for these and the three above
surprise:MODEL              a model of scikit-surprise; ``surprise`` for all                       rating
==========================  =====================================================================  =======

A recommender may also be any object with ``fit(data)`` and ``predict(pairs)`` or ``recommend(users, n)``, or
both. It is fitted to a :class:`~prefmover.Dataset` that holds the training ratings. ``predict`` gets a list
of (user, item) pairs of ids and returns a rating for each; ``recommend`` gets a list of user ids, and returns
a list of n item ids for each (or of objects with an attribute ``item``), best first. Experiments write its
name as ``object:LABEL``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from prefmover.errors import InputError, close_names
from prefmover.evaluation.record import Kind, Task
from prefmover.measures import MEASURES, find_measure

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.evaluation.experiment import Experiment

__all__ = [
    "CONTROLS",
    "KERNELS",
    "LIST_CONTROLS",
    "LIST_PEERS",
    "PEERS",
    "RATING_CONTROLS",
    "FitPredict",
    "FitRecommend",
    "Method",
    "check_packages",
    "create",
    "expand",
    "name_objects",
    "tasks_of",
]

CONTROLS = ("uniform", "mean-vector", "user-mean", "bias")
AGREEMENT = "agreement"
ESTIMATED = ("estimated:pmd", "estimated:pmd-agreement")
RATING_CONTROLS = (*CONTROLS, AGREEMENT, *ESTIMATED)
PEERS = ("SVD", "SVDpp", "KNNBaseline", "KNNWithMeans", "BaselineOnly")
KERNELS = ("pmd", "rwmd", "mean-vector", "total-variation", "cosine", "jaccard")
LIST_CONTROLS = ("popularity", "liked-popularity", "random")
LIST_PEERS = ("ease", "item-knn", "user-knn", "implicit:als", "implicit:bpr")
GROUPS = {
    "controls": CONTROLS,
    "simple": (*LIST_CONTROLS, "bias"),
    "kernels": tuple(f"kernel:{name}" for name in KERNELS),
    "peers": LIST_PEERS,
    "surprise": tuple(f"surprise:{name}" for name in PEERS),
    "extensions": (*(f"knn:{name}" for name, row in MEASURES.items() if row.extension), AGREEMENT),
}
OBJECT = "object:"
ANSWERS: dict[Task, str] = {"rating": "predict", "ranking": "recommend"}
"""The method of a recommender that each task needs."""


class FitPredict(Protocol):
    """A recommender whose predicted ratings can be evaluated."""

    def fit(self, data: Dataset) -> Any:
        """Learn from the training ratings."""

    def predict(self, pairs: list[tuple[Any, Any]]) -> Any:
        """Return one rating for each (user, item), as an array or as `Predictions`."""


class FitRecommend(Protocol):
    """A recommender whose lists can be evaluated."""

    def fit(self, data: Dataset) -> Any:
        """Learn from the training ratings."""

    def recommend(self, users: list[Any], n: int) -> Any:
        """Return, for each user in order, the ids of n unrated items, best first."""


AnyRecommender: TypeAlias = FitPredict | FitRecommend


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
        if name in (*CONTROLS, AGREEMENT, *LIST_CONTROLS):
            return cls(name, name, name, "control")
        if name in ESTIMATED:
            return cls(name, name, f"estimated {find_measure(rest).label}", "control")
        if name in LIST_PEERS:
            return cls(name, name, name, "peer")
        if head == "kernel" and rest in KERNELS:
            return cls(name, name, f"kernel {rest}", "control")
        if head == "kernel" and rest:
            row = find_measure(rest)
            return cls(f"kernel:{row.name}", f"kernel:{row.name}", f"kernel {row.label}", "model")
        if head == "knn" and rest:
            measure, _, convention = rest.partition(":")
            row = find_measure(measure)
            convention = row.convention(convention or None)
            full = f"knn:{row.name}" + ("" if convention == row.default else f":{convention}")
            return cls(full, row.name, row.label, "measure", convention)
        if head == "surprise" and rest in PEERS:
            return cls(name, rest, rest, "peer")
        raise InputError(_unknown(name))

    @property
    def family(self) -> str:
        """The kind of object behind the name: the part before a colon, or the name itself."""
        head = self.recommender.partition(":")[0]
        return "kernel-ridge" if head == "kernel" and self.kind == "control" else head

    @property
    def tasks(self) -> tuple[Task, ...] | None:
        """The tasks that the recommender can do; None for an object, which has to be looked at."""
        if self.family == "object":
            return None
        if self.family in ("default", "knn", "kernel", "bias"):
            return ("rating", "ranking")
        predicts = self.recommender in RATING_CONTROLS or self.family == "surprise"
        return ("rating",) if predicts else ("ranking",)


def _unknown(name: str) -> str:
    """Return what is wrong with a name, and what to choose."""
    known = ["default", *(f"knn:{measure}" for measure in (*MEASURES, "all")), *GROUPS]
    known += [one for names in GROUPS.values() for one in names] + [*LIST_PEERS, *RATING_CONTROLS]
    close = close_names(name, list(dict.fromkeys(known)), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    singles = dict.fromkeys((*RATING_CONTROLS, *LIST_CONTROLS, *LIST_PEERS))
    return (
        f"recommender {name!r} is not known; {hint}choose default, knn:MEASURE, kernel:DISTANCE, "
        f"{', '.join(singles)}, or surprise:MODEL with {', '.join(PEERS)}"
    )


def tasks_of(name: str, tasks: Iterable[Task], objects: Mapping[str, Any]) -> list[Task]:
    """Return those of some tasks that a recommender can do; an error if it can do none of them."""
    method, wanted = Method.parse(name), list(tasks)
    able = method.tasks
    if able is None:
        one = objects.get(name)
        able = tuple(
            task for task, answer in ANSWERS.items() if one is None or callable(getattr(one, answer, None))
        )
    chosen = [task for task in wanted if task in able]
    if not chosen:
        remedy = f"add {ANSWERS[wanted[0]]}() to it" if method.family == "object" else "leave it out"
        raise InputError(
            f"recommender {method.label} cannot do task {wanted[0]!r}; {remedy}, or choose task={able[0]}",
            argument="task",
        )
    return chosen


def check_packages(names: Iterable[str]) -> None:
    """Raise an error if a recommender needs a package that is not installed."""
    from prefmover.evaluation.baselines.packages import require

    for name in names:
        if (family := Method.parse(name).family) in ("surprise", "implicit"):
            require(family)


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
            for row in _paper_and_own() if measure == "all" else (measure,):
                full += _conventions(row) if convention == "all" else [f"knn:{row}:{convention}".rstrip(":")]
        else:
            full.append(name)
    return tuple(dict.fromkeys(Method.parse(name).recommender for name in full))


def _paper_and_own() -> list[str]:
    """Return the measures of the paper, and those that were registered."""
    return [name for name, row in MEASURES.items() if not row.extension]


def _conventions(measure: str) -> list[str]:
    """Return a measure under each practical convention that differs, the published one first."""
    row = find_measure(measure)
    return [
        f"knn:{row.name}:{name}" for name in row.distinct_conventions() if row.conventions[name].practical
    ]


def name_objects(
    recommenders: str | AnyRecommender | Iterable[str | AnyRecommender] | Mapping[str, str | AnyRecommender],
) -> tuple[tuple[str, ...], dict[str, AnyRecommender]]:
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
    objects: dict[str, AnyRecommender] = {}
    for label, one in entries:
        if isinstance(one, str):
            names.append(one)
            continue
        has = [name for name in ("fit", *ANSWERS.values()) if callable(getattr(one, name, None))]
        if "fit" not in has or len(has) < 2 or isinstance(one, type):
            lacks = "has no fit()" if "fit" not in has else "has neither predict() nor recommend()"
            lacks = "is a class; pass an instance" if isinstance(one, type) else lacks
            raise InputError(
                f"recommender {label} {lacks}; give a name, or an object with fit and predict or recommend"
            )
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


def create(
    method: Method,
    experiment: Experiment,
    seed: int,
    n_threads: int | None,
    task: Task = "rating",
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Return a new, unfitted recommender by its name; ``settings`` are those of a trial of a search."""
    from prefmover.evaluation.baselines import kernel_ridge
    from prefmover.evaluation.baselines import packages as peers
    from prefmover.evaluation.baselines import rating_controls as controls
    from prefmover.evaluation.baselines import simple_rankers as list_peers
    from prefmover.model import KNNRecommender, Recommender
    from prefmover.rank import RankingSettings

    e, name, family = experiment, method.method, method.family
    average: dict[str, Any] = {"centering": e.centering, "shrinkage": e.shrinkage, "n_threads": n_threads}
    if family == "knn":
        if task == "ranking":
            return KNNRecommender(name, convention=method.convention, n_threads=n_threads, **settings)
        return KNNRecommender(name, e.ks[-1], convention=method.convention, **average)
    # Predicted ratings do not depend on the settings of the ranking, which take long to choose.
    ranking = RankingSettings() if task == "rating" else None
    if family == "default":
        return Recommender(ranking=ranking, n_threads=n_threads)
    if family == "kernel":
        return Recommender(name.removeprefix("kernel:"), ranking=ranking, n_threads=n_threads)
    if family == "kernel-ridge":
        return kernel_ridge.KernelRidge(name.removeprefix("kernel:"), n_threads=n_threads, **settings)
    short = name.rpartition(":")[2]
    if family == "surprise":
        return peers.SurpriseRecommender(short, seed=seed, settings=settings)
    if family == "implicit":
        iterations = 15 if short == "als" else 100
        return peers.ImplicitRecommender(
            name=short, seed=seed, n_threads=n_threads, iterations=iterations, **settings
        )
    if family == "object":
        raise InputError(
            f"{method.recommender} is an object of an earlier program; pass it to evaluate() under the label "
            f"{method.label!r}"
        )
    if name == "uniform":
        return controls.uniform(seed, k=e.ks[-1], **average)
    if name == "mean-vector":
        return controls.mean_vector(k=e.ks[-1], **average)
    if name == AGREEMENT:
        return controls.agreement(k=e.ks[-1], **average)
    if family == "estimated":
        return controls.estimated(name.removeprefix("estimated:"), k=e.ks[-1], **average)
    if name == "user-mean" or (name == "bias" and task == "rating"):
        return controls.ControlRecommender(name)
    lists: dict[str, Any] = {
        "bias": list_peers.ItemBias,
        "popularity": list_peers.Popularity,
        "liked-popularity": partial(list_peers.Popularity, "liked", e.relevant),
        "random": partial(list_peers.RandomOrder, seed),
        "ease": list_peers.EASE,
        "item-knn": list_peers.ItemKNN,
        "user-knn": list_peers.UserKNN,
    }
    return lists[name](**settings)
