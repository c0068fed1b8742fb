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

The settings that a search tries are in :mod:`prefmover.evaluation.grids`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from prefmover._typing import Ints
from prefmover.dataset import Dataset
from prefmover.errors import InputError, close_names
from prefmover.evaluation.baselines import content, linear, packages, rankers, rating_controls
from prefmover.evaluation.baselines.kernel_ridge import kernel_ridge, neural_tangent
from prefmover.evaluation.baselines.rankers import ByScores, Scorer
from prefmover.evaluation.explained import Linear
from prefmover.evaluation.grids import GRIDS, Settings
from prefmover.evaluation.guests import AsGuests
from prefmover.evaluation.record import Kind, Task
from prefmover.measures import MEASURES, find_measure
from prefmover.model import KNNRecommender, Recommender
from prefmover.model.base_recommender import BaseRecommender

if TYPE_CHECKING:
    from prefmover.evaluation.experiment import Experiment

Style: TypeAlias = tuple[str, str, str]

ANSWERS: dict[Task, str] = {"rating": "predict", "ranking": "recommend", "reasons": "explain"}
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
    guests: Ints | None = None  # positions of the people who are guests of the model

    def create(self, settings: Settings | None = None) -> Any:
        """Return a new, unfitted recommender, with the settings of a trial of a search."""
        if self.task == "reasons" and isinstance(self.method.row.reasons, str):
            return Linear(self.method.row.reasons)
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
    reasons: bool | str = (
        False  # whether its lists have reasons; of a linear one, what its terms are those of
    )


def _knn(ask: Request) -> KNNRecommender:
    name, convention = ask.method.method, ask.method.convention
    if ask.task == "rating":
        return KNNRecommender(name, convention=convention, **ask.average)
    return KNNRecommender(name, convention=convention, n_threads=ask.n_threads, **ask.settings)


def _model(ask: Request, measure: str = "pmd") -> Recommender:
    return Recommender(measure, n_threads=ask.n_threads)


def _guests(ask: Request) -> AsGuests:
    if ask.guests is None:
        raise InputError(
            "default:guest is for new people; choose protocol new-people", argument="recommenders"
        )
    return AsGuests(_model(ask), ask.guests, ask.experiment.relevant)


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
        GRIDS["kernel"], ("kernels",), label=f"kernel {distance}", style=style,
    )  # fmt: skip


def _surprise(model: str, style: Style) -> Row:
    name = f"surprise:{model}"
    return Row(
        name, "peer", RATING,
        lambda ask: packages.SurpriseRecommender(model, seed=ask.seed, settings=ask.settings),
        GRIDS[name], ("surprise",), "surprise", method=model, style=style,
    )  # fmt: skip


def _peer(
    name: str, learn: Callable[..., Scorer], style: Style, *needs: str, group: str = "peers", label: str = "",
    reasons: bool | str = False,
) -> Row:  # fmt: skip
    """Return the row of a peer that scores; before a colon, its name has the package that it is from."""
    package = name.partition(":")[0] if ":" in name else ""
    make = _scored(learn, *needs)
    return Row(
        name, "peer", RANKING, make, GRIDS[name], (group,), package, label=label, style=style, reasons=reasons
    )


_content_peer = partial(_peer, group="content-peers")


ROWS = (
    Row("default", "model", BOTH, _model, style=("#009E73", "-", "d"), reasons=True),
    Row("default:guest", "model", RANKING, _guests, label="default, as a guest", style=("#009E73", ":", "d")),
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
        "kernel:ntk", "control", RANKING, lambda ask: neural_tangent(**ask.settings), GRIDS["kernel:ntk"],
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
    _surprise("SVD", ("#009E73", ":", "1")),
    _surprise("SVDpp", ("#CC79A7", ":", "2")),
    _surprise("KNNBaseline", ("#E69F00", ":", "3")),
    _surprise("KNNWithMeans", ("#56B4E9", ":", "4")),
    _surprise("BaselineOnly", ("#D55E00", ":", "+")),
    _peer("ease", linear.ease, ("#D55E00", "--", "p"), label="EASE", reasons="ease"),
    _peer("edlae", linear.edlae, ("#D55E00", ":", "P"), label="EDLAE"),
    _peer("dan", linear.dan, ("#D55E00", "-.", "X"), label="DAN"),
    _peer("item-knn", rankers.item_knn, ("#E69F00", "--", "h"), reasons="item-knn"),
    _peer("user-knn", rankers.user_knn, ("#56B4E9", "--", "H")),
    _peer("bm25", rankers.bm25, ("#E69F00", ":", "8"), label="BM25"),
    _peer("rp3beta", rankers.rp3beta, ("#E69F00", "-.", "d"), label="RP3β"),
    _peer("implicit:als", packages.als, ("#CC79A7", "--", "<"), "seed", "n_threads"),
    _peer("implicit:bpr", packages.bpr, ("#CC79A7", "-.", ">"), "seed"),
    _peer("irspack:slim", packages.slim, ("#009E73", "--", "v"), label="SLIM"),
    _peer("irspack:ials", packages.ials, ("#009E73", ":", "^"), "seed", "n_threads", label="iALS"),
    _content_peer("cease", linear.cease, ("#0072B2", "--", "p"), label="CEASE"),
    _content_peer("addease", linear.addease, ("#0072B2", ":", "P"), label="AddEASE"),
    _content_peer("l3ae", linear.l3ae, ("#0072B2", "-.", "X"), label="L3AE"),
    _content_peer("hybrid-svd", content.hybrid_svd, ("#CC79A7", "--", "s"), label="HybridSVD"),
    _content_peer(
        "irspack:ials-content", packages.content_ials, ("#009E73", "-.", "s"), "seed", "n_threads",
        label="iALS with content",
    ),
    _content_peer("content-knn", content.content_knn, ("#E69F00", "--", "o")),
    _content_peer("wcf", content.wcf, ("#000000", ":", "*"), label="WCF"),
)  # fmt: skip

TABLE = {row.name: row for row in ROWS}
"""The recommenders by full name, in the order of reports."""

FAMILIES = {
    "knn": Row(
        "knn:MEASURE", "measure", BOTH, _knn,
        GRIDS["knn"],
    ),
    "kernel": Row(
        "kernel:MEASURE", "model", BOTH, lambda ask: _model(ask, ask.method.method.removeprefix("kernel:")),
        reasons=True,
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
    if method.row.reasons:
        able = (*able, "reasons")
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
    ({'values': 'ratings', 'penalty': 250.0}, {'values': 'ratings', 'penalty': 1000.0})
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
        model.fit(data, heads=["ranking" if task == "reasons" else task])
    else:
        model.fit(data)
