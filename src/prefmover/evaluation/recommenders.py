"""Recommenders by name, and the interface of a recommender.

A row of :data:`TABLE` is a recommender: what it is, what it can do, how it is made, and the settings that a
search may try. Three families have names with a part that is free:

========================  ==========================================================================  =======
knn:MEASURE[:CONVENTION]  :class:`~prefmover.KNNRecommender`, the paper's neighbor average; ``all``   both
                          stands for every measure of the paper, or for every convention that
                          differs. Ratings are predicted for every K
kernel:MEASURE            ``Recommender(MEASURE)``, for the measures without a row of this name       both
object:LABEL              any object with ``fit(data)`` and ``predict(pairs)`` or                     its own
                          ``recommend(users, n)``, or both
========================  ==========================================================================  =======

An object is fitted to a :class:`~prefmover.Dataset` that holds the training ratings. ``predict`` gets a list
of (user, item) pairs of ids and returns a rating for each; ``recommend`` gets a list of user ids, and returns
a list of n item ids for each (or of objects with an attribute ``item``), best first.

The order of a grid is that of trying: a budget of t trials takes the first t, so these cover the grid. A run
chooses among them on its validation part only. The grids themselves are not blind: those of ALS and of the
kernels were revised after a first look at one split of MovieLens-100K (share .8, seed 0), where their test
nDCG was low, and widened where validation parts of that split and of share .1 chose their edge. That can
favor these methods, not the default model, which chooses by itself in its fit (:mod:`prefmover.rank.tuning`);
its record has the number of its trials. Give the others a budget of 30 or more for the same. Surprise's grids
begin with its defaults. They were written down before any of their results was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from prefmover.dataset import Dataset
from prefmover.errors import InputError, close_names
from prefmover.evaluation.baselines import content, linear, packages, rankers, rating_controls
from prefmover.evaluation.baselines.kernel_ridge import NTK_VALUES, kernel_ridge, neural_tangent
from prefmover.evaluation.baselines.rankers import ByScores, Scorer
from prefmover.evaluation.record import Kind, Task
from prefmover.measures import MEASURES, find_measure
from prefmover.model import KNNRecommender, Recommender
from prefmover.model.base_recommender import BaseRecommender

if TYPE_CHECKING:
    from prefmover.evaluation.experiment import Experiment

Settings: TypeAlias = dict[str, Any]
Style: TypeAlias = tuple[str, str, str]

ANSWERS: dict[Task, str] = {"rating": "predict", "ranking": "recommend"}
"""The method of a recommender that each task needs."""


class AnyRecommender(Protocol):
    """A recommender of the caller: besides ``fit`` it has ``predict``, ``recommend``, or both."""

    def fit(self, data: Dataset) -> Any:
        """Learn from the training ratings."""


Recommenders: TypeAlias = (
    str | AnyRecommender | Iterable[str | AnyRecommender] | Mapping[str, str | AnyRecommender]
)


class Request(NamedTuple):
    """What a recommender is made from."""

    method: Method
    experiment: Experiment
    seed: int
    n_threads: int | None
    task: Task = "rating"
    settings: Mapping[str, Any] = MappingProxyType({})

    def create(self, settings: Settings | None = None) -> Any:
        """Return a new, unfitted recommender, with the settings of a trial of a search."""
        made = self.method.row.make(self._replace(settings=settings or {}))
        if isinstance(made, ByScores):
            made.relevant = self.experiment.relevant
        return made

    @property
    def average(self) -> dict[str, Any]:
        """The parameters of a neighbor average that predicts ratings."""
        e = self.experiment
        return {
            "k": e.ks[-1], "centering": e.centering, "shrinkage": e.shrinkage, "n_threads": self.n_threads,
        }  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A recommender: its name, what it is, the tasks that it can do, and how it is made."""

    name: str
    kind: Kind
    tasks: tuple[Task, ...]
    make: Callable[[Request], Any]
    grid: tuple[Settings, ...] = ()  # one for each trial; of lists if it recommends, else of ratings
    groups: tuple[str, ...] = ()  # names that stand for several recommenders, this one included
    package: str = ""  # module of the extra peers that it needs
    method: str = ""  # name in records; that of the row by default
    label: str = ""  # name in figures and tables; that of the method by default
    style: Style = ("#CC79A7", "-", "x")  # color, dash and marker in figures


STRIDE = 7  # coprime to the sizes of the grids below
TRIALS = 30  # the largest grid
PRIMES = (2, 3, 5, 7, 11)


def _product(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return all combinations, in an order that visits all values of each setting early."""
    every = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    return tuple(every[k * STRIDE % len(every)] for k in range(len(every)))


def _spread(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return at most 30 of all combinations, evenly spread: the points of a Halton sequence."""
    found: dict[tuple[int, ...], Settings] = {}
    n_all = prod(map(len, values.values()))
    at = 0
    while len(found) < min(TRIALS, n_all):
        at += 1
        place = tuple(
            int(len(some) * _halton(at, base)) for base, some in zip(PRIMES, values.values(), strict=False)
        )
        found.setdefault(place, {name: some[k] for k, (name, some) in zip(place, values.items(), strict=True)})
    return tuple(found.values())


def _halton(at: int, base: int) -> float:
    """Return the number whose digits in a base are those of ``at``, mirrored at the point."""
    value, step = 0.0, 1.0
    while at:
        step /= base
        at, digit = divmod(at, base)
        value += digit * step
    return value


def _knn(ask: Request) -> KNNRecommender:
    name, convention = ask.method.method, ask.method.convention
    if ask.task == "rating":
        return KNNRecommender(name, convention=convention, **ask.average)
    return KNNRecommender(name, convention=convention, n_threads=ask.n_threads, **ask.settings)


def _model(ask: Request, measure: str = "pmd") -> Recommender:
    return Recommender(measure, n_threads=ask.n_threads)


def _scored(learn: Callable[..., Scorer], *names: str) -> Callable[[Request], ByScores]:
    """Return how a recommender is made that ranks by scores; ``names`` are what it needs of a request."""
    return lambda ask: ByScores(partial(learn, **{one: getattr(ask, one) for one in names}, **ask.settings))


def _bias(ask: Request) -> Any:
    if ask.task == "rating":
        return rating_controls.Baseline("bias")
    return ByScores(rankers.item_bias)


def _lost(ask: Request) -> Any:
    raise InputError(
        f"{ask.method.recommender} is an object of an earlier program; pass it to evaluate() under the label "
        f"{ask.method.label!r}"
    )


RATING: tuple[Task, ...] = ("rating",)
RANKING: tuple[Task, ...] = ("ranking",)
BOTH: tuple[Task, ...] = ("rating", "ranking")
GRAY = "#777777"
VALUES = ("ratings", "seen", "centered")
PENALTIES = (10.0, 30.0, 60.0, 120.0, 250.0, 500.0, 1e3, 2.5e3, 6e3, 2e4)
KERNEL = _product(penalty=(3.0, 10.0, 1.0, 30.0, 0.3, 100.0), rate=(2.0, 1.0, 4.0, 0.5, 8.0))
NEIGHBORS = _product(
    k=(40, 20, 80, 160), similarity=("msd", "pearson_baseline", "cosine"), user_based=(True, False)
)


def _estimated(measure: str, marker: str) -> Row:
    name, label = f"estimated:{measure}", f"estimated {find_measure(measure).label}"
    style = (GRAY, "-", marker)
    return Row(
        name, "control", RATING, lambda ask: rating_controls.estimated(measure, **ask.average),
        label=label, style=style,
    )  # fmt: skip


def _kernel(distance: str, style: Style) -> Row:
    return Row(
        f"kernel:{distance}", "control", RANKING,
        lambda ask: kernel_ridge(distance, n_threads=ask.n_threads, **ask.settings),
        KERNEL, ("kernels",), label=f"kernel {distance}", style=style,
    )  # fmt: skip


def _surprise(model: str, grid: tuple[Settings, ...], style: Style) -> Row:
    return Row(
        f"surprise:{model}", "peer", RATING,
        lambda ask: packages.SurpriseRecommender(model, seed=ask.seed, settings=ask.settings),
        grid, ("surprise",), "surprise", method=model, style=style,
    )  # fmt: skip


def _peer(
    name: str, learn: Callable[..., Scorer], grid: tuple[Settings, ...], style: Style, group: str = "peers"
) -> Row:
    return Row(name, "peer", RANKING, _scored(learn), grid, (group,), style=style)


_content_peer = partial(_peer, group="content-peers")


ROWS = (
    Row("default", "model", BOTH, _model, style=("#009E73", "-", "d")),
    Row(
        "uniform", "control", RATING, lambda ask: rating_controls.uniform(ask.seed, **ask.average),
        groups=("controls",), style=(GRAY, ":", "s"),
    ),
    Row(
        "mean-vector", "control", RATING, lambda ask: rating_controls.mean_vector(**ask.average),
        groups=("controls",), style=(GRAY, "-.", "D"),
    ),
    Row(
        "user-mean", "control", RATING, lambda ask: rating_controls.Baseline("user-mean"),
        groups=("controls",), style=(GRAY, ":", ""),
    ),
    Row("bias", "control", BOTH, _bias, groups=("controls", "simple"), style=(GRAY, "-.", "")),
    Row(
        "agreement", "control", RATING, lambda ask: rating_controls.agreement(**ask.average),
        groups=("extensions",), style=(GRAY, "--", "s"),
    ),
    _estimated("pmd", "o"),
    _estimated("pmd-agreement", "P"),
    _kernel("pmd", ("#000000", "--", "*")),
    _kernel("rwmd", ("#0072B2", "-.", "*")),
    _kernel("mean-vector", ("#0072B2", ":", "D")),
    _kernel("total-variation", ("#009E73", "-.", "*")),
    _kernel("cosine", ("#56B4E9", "-.", "*")),
    _kernel("jaccard", ("#E69F00", "-.", "*")),
    Row(
        "kernel:ntk", "control", RANKING, lambda ask: neural_tangent(**ask.settings),
        _product(
            values=NTK_VALUES,
            penalty=(0.03, 0.1, 0.2, 0.4, 0.7, 1.2, 2.0, 3.5, 6.0, 10.0, 18.0, 30.0, 60.0, 120.0, 300.0),
        ),
        ("kernels",), label="∞-AE", style=("#CC79A7", "-.", "*"),
    ),
    Row(
        "popularity", "control", RANKING, lambda ask: ByScores(rankers.popularity),
        groups=("simple",), style=(GRAY, "--", "v"),
    ),
    Row(
        "liked-popularity", "control", RANKING,
        lambda ask: ByScores(partial(rankers.popularity, values="liked", relevant=ask.experiment.relevant)),
        groups=("simple",), style=(GRAY, "-", "^"),
    ),
    Row(
        "random", "control", RANKING, _scored(rankers.random_order, "seed"),
        groups=("simple",), style=(GRAY, ":", "x"),
    ),
    _surprise(
        "SVD",
        _product(n_factors=(100, 20), reg_all=(0.02, 0.1, 0.05), n_epochs=(20, 40), lr_all=(0.005, 0.01)),
        ("#009E73", ":", "1"),
    ),
    _surprise(
        "SVDpp",
        _product(n_factors=(20, 50), reg_all=(0.02, 0.1, 0.05), n_epochs=(20, 40), lr_all=(0.007, 0.003)),
        ("#CC79A7", ":", "2"),
    ),
    _surprise("KNNBaseline", NEIGHBORS, ("#E69F00", ":", "3")),
    _surprise("KNNWithMeans", NEIGHBORS, ("#56B4E9", ":", "4")),
    _surprise(
        "BaselineOnly",
        _product(reg_i=(10.0, 5.0, 2.0, 20.0), reg_u=(15.0, 10.0, 5.0, 3.0, 2.0, 30.0)),
        ("#D55E00", ":", "+"),
    ),
    _peer("ease", linear.ease, _product(values=VALUES, penalty=PENALTIES), ("#D55E00", "--", "p")),
    _peer(
        "edlae", linear.edlae,
        _spread(p=(0.1, 0.2, 0.33, 0.5, 0.67, 0.8), values=VALUES, penalty=(10.0, 30.0, 100.0, 300.0, 1000.0)),
        ("#D55E00", ":", "P"),
    ),
    _peer(
        "dan", linear.dan,
        _spread(
            beta=(0.0, 0.25, 0.5), values=VALUES, penalty=(10.0, 30.0, 80.0, 200.0, 500.0, 1500.0),
            p=(0.0, 0.2, 0.4, 0.6), alpha=(0.0, 0.1, 0.2, 0.3),
        ),
        ("#D55E00", "-.", "X"),
    ),
    _peer(
        "item-knn", rankers.item_knn,
        _spread(shrinkage=(0.0, 10.0, 30.0, 100.0), values=VALUES, k=(10, 20, 50, 100, 200)),
        ("#E69F00", "--", "h"),
    ),
    _peer(
        "user-knn", rankers.user_knn,
        _product(values=VALUES, k=(20, 30, 40, 60, 80, 120, 180, 270, 400, 900)), ("#56B4E9", "--", "H"),
    ),
    _peer(
        "bm25", rankers.bm25,
        _spread(
            k1=(0.3, 1.2, 5.0, 20.0, 100.0), b=(0.0, 0.3, 0.6, 0.9), k=(20, 50, 100, 200, 500),
            values=("ratings", "seen"),
        ),
        ("#E69F00", ":", "8"),
    ),
    _peer(
        "rp3beta", rankers.rp3beta,
        _spread(
            beta=(0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8), alpha=(0.5, 1.0, 1.5), k=(20, 50, 100, 300, 1000),
            values=("ratings", "seen"),
        ),
        ("#E69F00", "-.", "d"),
    ),
    _content_peer(
        "cease", linear.cease,
        _spread(
            alpha=(1.0, 4.0, 15.0, 60.0, 250.0, 1000.0), values=VALUES,
            penalty=(10.0, 30.0, 100.0, 300.0, 1000.0),
        ),
        ("#0072B2", "--", "p"),
    ),
    _content_peer(
        "addease", linear.addease,
        _spread(
            alpha=(0.1, 0.2, 0.3, 0.5), values=VALUES, penalty=(20.0, 60.0, 200.0, 600.0, 2000.0),
            content_penalty=(1.0, 10.0, 100.0),
        ),
        ("#0072B2", ":", "P"),
    ),
    _content_peer(
        "l3ae", linear.l3ae,
        _spread(
            delta=(10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0), values=VALUES,
            penalty=(10.0, 50.0, 200.0, 800.0), content_penalty=(1.0, 10.0, 100.0), prior=("ease", "cosine"),
        ),
        ("#0072B2", "-.", "X"),
    ),
    _content_peer(
        "hybrid-svd", content.hybrid_svd,
        _spread(
            alpha=(0.1, 0.3, 0.5, 0.7, 0.9), values=VALUES, rank=(5, 10, 20, 30, 45, 70, 110, 180),
        ),
        ("#CC79A7", "--", "s"),
    ),
    _content_peer(
        "content-knn", content.content_knn,
        _product(values=VALUES, k=(5, 10, 20, 35, 60, 100, 180, 300, 600, 1500)), ("#E69F00", "--", "o"),
    ),
    _content_peer(
        "wcf", content.wcf,
        _spread(
            epsilon=(0.02, 0.05, 0.1, 0.2, 0.4), values=("ratings", "liked", "seen"),
            rank=(5, 10, 20, 40, 80, 160),
        ),
        ("#000000", ":", "*"),
    ),
    Row(
        "implicit:als", "peer", RANKING, _scored(packages.als, "seed", "n_threads"),
        _product(regularization=(10.0, 30.0, 1.0, 100.0), factors=(32, 64, 16), alpha=(1.0, 5.0)),
        ("peers",), "implicit", style=("#CC79A7", "--", "<"),
    ),
    Row(
        "implicit:bpr", "peer", RANKING, _scored(packages.bpr, "seed"),
        _product(
            factors=(64, 16), regularization=(0.01, 0.001, 0.1), learning_rate=(0.05, 0.01, 0.1, 0.02)
        ),
        ("peers",), "implicit", style=("#CC79A7", "-.", ">"),
    ),
)  # fmt: skip

TABLE = {row.name: row for row in ROWS}
"""The recommenders by full name, in the order of reports."""

FAMILIES = {
    "knn": Row(
        "knn:MEASURE", "measure", BOTH, _knn,
        tuple({"k": k} for k in (40, 20, 80, 160, 320, 10, 30, 60, 120, 240, 640, 5)),
    ),
    "kernel": Row(
        "kernel:MEASURE", "model", BOTH, lambda ask: _model(ask, ask.method.method.removeprefix("kernel:"))
    ),
    "object": Row("object:LABEL", "model", (), _lost),
}  # fmt: skip
"""The recommenders whose names have a part that is free, by what is before the colon."""

GROUPS = {
    group: tuple(row.name for row in ROWS if group in row.groups)
    for group in ("controls", "simple", "kernels", "peers", "content-peers", "surprise")
}
GROUPS["extensions"] = (
    *(f"knn:{name}" for name, row in MEASURES.items() if row.extension),
    *(row.name for row in ROWS if "extensions" in row.groups),
)


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
        if name in TABLE:
            row = TABLE[name]
            method = row.method or name
            return cls(name, method, row.label or method, row.kind)
        family, _, rest = name.partition(":")
        if family not in FAMILIES or not rest:
            known = [*TABLE, *(f"knn:{measure}" for measure in (*MEASURES, "all")), *GROUPS]
            hint = "".join(f"did you mean {close!r}? " for close in close_names(name, known, n=1))
            raise InputError(
                f"recommender {name!r} is not known; {hint}choose knn:MEASURE, kernel:MEASURE, "
                f"{', '.join(TABLE)}"
            )
        kind = FAMILIES[family].kind
        if family == "object":
            return cls(name, rest, rest, kind)
        if family == "kernel":
            measure = find_measure(rest)
            full = f"kernel:{measure.name}"
            return cls(full, full, f"kernel {measure.label}", kind)
        measure_name, _, convention = rest.partition(":")
        measure = find_measure(measure_name)
        convention = measure.convention(convention or None)
        full = f"knn:{measure.name}" + ("" if convention == measure.default else f":{convention}")
        return cls(full, measure.name, measure.label, kind, convention)

    @property
    def row(self) -> Row:
        """The row of the table, or of the family."""
        return TABLE.get(self.recommender) or FAMILIES[self.recommender.partition(":")[0]]


def tasks_of(name: str, tasks: Iterable[Task], objects: Mapping[str, Any]) -> list[Task]:
    """Return those of some tasks that a recommender can do; an error if it can do none of them."""
    method, wanted = Method.parse(name), list(tasks)
    able, remedy = method.row.tasks, "leave it out"
    if not able:  # an object has to be looked at
        one, remedy = objects.get(name), f"add {ANSWERS[wanted[0]]}() to it"
        able = tuple(
            t for t, answer in ANSWERS.items() if one is None or callable(getattr(one, answer, None))
        )
    chosen = [task for task in wanted if task in able]
    if not chosen:
        raise InputError(
            f"recommender {method.label} cannot do task {wanted[0]!r}; {remedy}, or choose task={able[0]}",
            argument="task",
        )
    return chosen


def check_packages(names: Iterable[str]) -> None:
    """Raise an error if a recommender needs a package that is not installed."""
    for name in names:
        if package := Method.parse(name).row.package:
            packages.require(package)


def grid(method: Method, budget: int, task: Task = "ranking") -> tuple[Settings, ...]:
    """Return the settings to try, at most ``budget``; none for a recommender without a grid.

    >>> grid(Method.parse("ease"), 2)
    ({'values': 'ratings', 'penalty': 1000.0}, {'values': 'ratings', 'penalty': 10000.0})
    """
    row = method.row
    return row.grid[:budget] if row.tasks[-1:] == (task,) else ()


def expand(names: Iterable[Any]) -> tuple[str, ...]:
    """Return full names without duplicates; groups are replaced by their members.

    >>> expand(["knn:COS", "knn:cos", "knn:nhsm:all", "controls"])
    ('knn:cos', 'knn:nhsm', 'knn:nhsm:table-1', 'uniform', 'mean-vector', 'user-mean', 'bias')
    """
    full: list[str] = []
    paper = [name for name, row in MEASURES.items() if not row.extension]  # and those that were registered
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"recommender {name!r} is not a name; pass objects to evaluate()")
        head, _, rest = name.partition(":")
        measure, _, convention = rest.partition(":")
        if name in GROUPS:
            full += GROUPS[name]
        elif head == "knn" and "all" in (measure, convention):
            for row in map(find_measure, paper if measure == "all" else [measure]):
                chosen = [convention]
                if convention == "all":  # the published one first
                    chosen = [one for one in row.distinct_conventions() if row.conventions[one].practical]
                full += [f"knn:{row.name}:{one}".rstrip(":") for one in chosen]
        else:
            full.append(name)
    return tuple(dict.fromkeys(Method.parse(name).recommender for name in full))


def name_objects(recommenders: Recommenders) -> tuple[tuple[str, ...], dict[str, AnyRecommender]]:
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
        names.append(f"object:{label}")
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


def fit(model: Any, data: Dataset, task: Task) -> None:
    """Fit a recommender; of a model of the package, only the head that the task asks."""
    if isinstance(model, BaseRecommender):
        model.fit(data, heads=[task])
    else:
        model.fit(data)
