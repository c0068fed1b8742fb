"""A record: one recommender on one split, for one task. Its fields are spelled here and nowhere else.

Ratings are judged at each K, and lists at each length n: these are the ``cuts`` of a record, and every metric
has one entry per cut. Everything outside ``run`` (time, threads, versions) is the same whenever and wherever
a record is computed.

``groups`` holds sums (of absolute errors, or of nDCG) over each of twenty fixed groups of users, drawn by a
hash of the user's position. That is enough for a paired test over users, in a few hundred numbers. For a
bootstrap over users, ``per_user`` holds nDCG of each, in about a byte per user.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from prefmover.errors import InputError, close_names

Task: TypeAlias = Literal["rating", "ranking", "reasons"]
Kind = Literal["measure", "control", "model", "peer"]
Activity: TypeAlias = Literal[
    "sparse", "quarter 1", "quarter 2", "quarter 3", "quarter 4", "new", "warm items", "cold items"
]
Columns: TypeAlias = dict[str, tuple[float | None, ...]]

CUTS: dict[Task, str] = {"rating": "k", "ranking": "n", "reasons": "removed"}
"""What the cuts of a record are: numbers of neighbors, lengths of lists, or numbers of removed ratings."""

MAIN: dict[Task, str] = {"rating": "mae", "ranking": "ndcg", "reasons": "cdcg"}
"""The metric that chooses settings and is tested over groups of users."""

METRICS: dict[Task, tuple[str, ...]] = {
    "rating": ("mae", "rmse", "coverage", "neighbors"),
    "ranking": (
        *("ndcg", "recall", "precision", "mrr", "hit_rate"),
        *("catalog", "gini", "popularity", "average_popularity", "tail", "novelty", "diversity"),
    ),
    "reasons": ("pos", "del", "ins", "cdcg"),
}
"""The metrics of a record; :mod:`prefmover.evaluation.metrics` and :mod:`prefmover.evaluation.removal` have
their formulas.

Of ratings, coverage is the share of predictions with a neighbor. Of lists, gini, popularity and tail say how
fair they are to items: how unequally often items are listed, how many training ratings listed items have
(median and average), and the share of listed items that are in the long tail.
"""


class FrozenModel(BaseModel):
    """Frozen settings or results; a wrong value is an `InputError` that names the field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(self._explain(error)) from None

    @classmethod
    def _explain(cls, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "value_error":  # raised by a validator of ours, or by a model inside this one
            message = str(first["ctx"]["error"])
            return message if not first["loc"] or str(first["loc"][0]) in message else f"{name}: {message}"
        if first["type"] == "extra_forbidden":
            close = close_names(name, cls.model_fields, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(cls.model_fields)}"
            return f"there is no field {name!r}; {hint}"
        if first["type"] == "missing":
            return f"{name!r} is missing"
        value = repr(first["input"])
        shown = value if len(value) <= 60 else f"{value[:57]}..."
        return f"{name!r} is {shown}; {first['msg'][0].lower()}{first['msg'][1:]}"


class Groups(FrozenModel):
    """The main metric by group of users."""

    n: tuple[int, ...]  # test ratings, or users, in each group
    sums: tuple[tuple[float, ...], ...]  # of absolute errors, or of nDCG: one row per cut


class RunInfo(FrozenModel):
    """The part of a record that may differ from run to run; times are in seconds."""

    seconds: float  # to fit and predict, or to recommend; without the search
    fit_seconds: float | None = None
    answer_seconds: float | None = None  # to predict or to recommend
    trial_seconds: tuple[float, ...] = ()  # of each trial of the search
    solved: int | None = None  # pairs of users that were compared, if counted
    threads: int = 1
    versions: dict[str, str] = {}  # of the packages that compute

    @property
    def search(self) -> float:
        """Time of all trials of the search."""
        return sum(self.trial_seconds)

    @property
    def total(self) -> float:
        """Time with the search."""
        return self.seconds + self.search


class DataInfo(FrozenModel):
    """Identity of the data behind the records of a folder, by digests."""

    ratings: str
    # Between some pairs of items, in digits that no processor changes; empty if each split has its own.
    distances: str
    geometry: str  # name of the item geometry
    times: str = ""  # of the ratings; empty without times
    split: str = ""  # codes of the ratings; empty without a file
    preferences: str = ""  # with the scale, if the caller's data set has its own


class Events(FrozenModel):
    """What was wrong with the lists; nothing of it is ever counted as a hit."""

    rated: int = 0  # places with an item that the user rated in training
    unknown: int = 0  # places with an item that is not in the data
    repeated: int = 0  # places with an item that is in the list already
    short: int = 0  # lists with fewer items than asked for, although there are more

    def __str__(self) -> str:
        names = {name: f"{name} items" for name in ("rated", "unknown", "repeated")}
        counts = {names.get(name, "lists too short"): count for name, count in self}
        return ", ".join(f"{count:,} {text}" for text, count in counts.items() if count)


class ActivityGroup(FrozenModel):
    """Users with about as many training ratings; ``"new"`` are those without any.

    Or users with relevant warm, or cold, items: their lists are of these items alone.
    """

    name: Activity
    fewest: int  # training ratings of the least active of them
    most: int  # training ratings of the most active of them
    n_users: int = Field(ge=1)
    metrics: Columns  # of their lists
    groups: Groups  # nDCG by group of users


class Trial(FrozenModel):
    """Settings that were tried, and the main metric on the validation part."""

    settings: dict[str, Any]
    value: float  # mean absolute error, or nDCG at the first length


class Tuning(FrozenModel):
    """The search for settings, on a part of the training ratings."""

    validation: float  # share of the training ratings that was held out
    budget: int  # trials that each recommender may make
    search: str = ""  # which settings were tried
    n_judged: int  # held-out ratings, or users (at most a sample), that were judged
    n_users: int = 0  # that a trial was fitted to
    n_items: int = 0  # that a trial was fitted to, and ranked
    trials: tuple[Trial, ...]


class ReasonOrder(FrozenModel):
    """What came of removing a user's ratings, or people, in an order; means over the judged items."""

    name: str
    metrics: Columns  # see removal.py; one entry per number removed
    success: float | None = None  # share of items that leave the list without the first five, or all named
    size: float | None = None  # mean number of removals after which these items are gone
    related: tuple[float | None, ...] = ()  # share of the first two, and of the first five, that are related
    per_user: dict[str, tuple[float | None, ...]] = {}  # del and cdcg of each judged user


class ReasonEvents(FrozenModel):
    """What could not be judged; nothing of it counts as a success."""

    one_rating: int = 0  # users with one rating, whom removal leaves nothing
    no_list: int = 0  # users to whom nothing was recommended
    unexplained: int = 0  # judged items without a named rating; nothing is removed
    nothing_left: int = 0  # judged items for which all ratings are named
    no_score: int = 0  # judged items whose score is not above 0, which have no del and ins

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self if count)


class TradePoint(FrozenModel):
    """What is named at one value of the trade between relatedness and faithfulness, for other users."""

    alone: float  # an unrelated rating is named if it adds alone / sqrt(n) of all that n ratings add
    users: int
    n_named: float
    related: tuple[float | None, float | None]  # as in Reasons
    metrics: Columns  # of the first item of each list
    behind: dict[str, float | None]  # del and cdcg, relative to the largest terms


class Reasons(FrozenModel):
    """The reasons of a recommender, judged by removal (:mod:`prefmover.evaluation.reasons`)."""

    n: int  # length of the lists
    users: tuple[int, ...]  # positions of the judged users
    n_judged: int  # items, the first of each list
    n_named: float  # ratings that are named for an item of a list, the mean
    related: tuple[float | None, float | None]  # share of ratings in sentences, and of all named, in lists
    explained: float  # share of the items of lists with a named rating
    lists: (
        float | None
    )  # share of lists of five items or more, of users with five ratings, with a named rating
    no_effect: float | None  # share of named ratings without which, alone, the score is not lower
    same_place: float | None  # share of named ratings without which, alone, the item has no later place
    all_same_place: float | None  # share of items that have no later place without all named ratings
    fixed_place: float | None = None  # share of items that no rating alone can move to a later place
    milliseconds: float  # for a list with reasons
    orders: tuple[ReasonOrder, ...]
    people: tuple[ReasonOrder, ...] = ()
    refitted: tuple[ReasonOrder, ...] = ()
    n_refitted: int = 0  # users
    trade: tuple[TradePoint, ...] = ()
    events: ReasonEvents = ReasonEvents()


class Record(FrozenModel):
    """Predicted ratings, or recommended lists, of one recommender on one split."""

    task: Task
    dataset: str  # name of the data set, or file of ratings
    geometry: str  # name of the item geometry
    protocol: str  # how the split was made
    share: float = Field(gt=0, lt=1)  # of the ratings to train on
    given: int | None = None  # training ratings of new people, by protocol new-people
    repeat: int = Field(ge=0)  # number of the split, from 0
    seed: int  # of the split
    stratify: str = ""  # user if every user has the same share of training ratings
    n_train: int  # training ratings
    n_test: int  # test ratings
    new_users: int  # of the test part, without a training rating
    new_items: int  # of the test part, without a training rating
    recommender: str  # full name, such as knn:bcf:median
    method: str  # measure, control, peer or model, such as bcf
    label: str  # name in figures and tables, such as BCF
    kind: Kind  # what the method is
    convention: str = ""  # of the measure
    relevant: float | None = None  # lowest relevant test rating; None if all are, or for ratings
    n_users: int | None = Field(default=None, ge=1)  # with a relevant test item, and warm
    n_relevant: int | None = None  # relevant test ratings of these users
    settings: dict[str, Any] = {}  # that were used, or chosen
    tuning: Tuning | None = None  # how they were chosen; None without a search
    cuts: tuple[int | None, ...] = Field(min_length=1)  # see CUTS; only None without any neighbors
    metrics: Columns  # by name, one entry per cut; of lists of warm users
    activity: tuple[ActivityGroup, ...] = ()  # metrics of lists by number of training ratings
    parts: tuple[ActivityGroup, ...] = ()  # lists of warm items, and of cold ones, by protocol cold-items
    new: ActivityGroup | None = None  # metrics of lists of users without training ratings, if there are any
    events: Events = Events()  # what was wrong with the lists
    groups: Groups  # the main metric by group of users
    reasons: Reasons | None = None  # of task reasons
    per_user: str = ""  # nDCG of warm users at the first length, packed by evaluation.metrics.packed
    run: RunInfo

    @model_validator(mode="after")
    def _one_entry_per_cut(self) -> Self:
        if set(self.metrics) != set(METRICS[self.task]):
            raise ValueError(f"'metrics' of task {self.task!r} are {', '.join(METRICS[self.task])}")
        parts: list[tuple[str, Record | ActivityGroup]] = [("", self)]
        parts += [(f"activity.{one.name}.", one) for one in self.activity]
        parts += [(f"parts.{one.name}.", one) for one in self.parts]
        parts += [] if self.new is None else [("new.", self.new)]
        for place, one in parts:
            columns: dict[str, Any] = {f"metrics.{name}": column for name, column in one.metrics.items()}
            columns["groups.sums"] = one.groups.sums
            for name, column in columns.items():
                if len(column) != len(self.cuts):
                    counts = f"{len(column)} entries and 'cuts' {len(self.cuts)}"
                    raise ValueError(f"'{place}{name}' has {counts}; give one for each")
            if any(len(row) != len(one.groups.n) for row in one.groups.sums):
                raise ValueError(f"a row of '{place}groups.sums' does not have {len(one.groups.n)} entries")
        return self

    @property
    def key(self) -> str:
        """Name of the record, unique in its folder."""
        share = self.share if self.given is None else self.given
        return record_key(self.protocol, share, self.repeat, self.recommender, self.task)

    @property
    def main(self) -> tuple[float, ...]:
        """The mean absolute error, or nDCG, at each cut."""
        return tuple(value or 0.0 for value in self.metrics[MAIN[self.task]])

    def column(self, cut: int) -> int | None:
        """Return the entry for a cut: the only one without neighbors, None if this cut was not run."""
        if self.cuts == (None,):
            return 0
        return self.cuts.index(cut) if cut in self.cuts else None

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per cut, for tables."""
        nested = {
            "settings",
            "tuning",
            "cuts",
            "metrics",
            "activity",
            "parts",
            "new",
            "events",
            "groups",
            "reasons",
            "per_user",
            "run",
        }
        common = {name: value for name, value in self if name not in nested}
        common["settings"] = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        common["trials"] = len(self.tuning.trials) if self.tuning else 0
        common |= {name: value for name, value in self.run if name not in ("trial_seconds", "versions")}
        common["tune_seconds"] = round(self.run.search, 3)
        common["versions"] = ", ".join(f"{name} {number}" for name, number in self.run.versions.items())
        columns = dict(self.metrics)
        if self.task == "ranking":
            common |= {f"{name}_events": count for name, count in self.events}
            parts = (*self.activity, *self.parts, *([] if self.new is None else [self.new]))
            columns |= {f"ndcg_{one.name.replace(' ', '_')}": one.metrics["ndcg"] for one in parts}
            common["n_new"] = 0 if self.new is None else self.new.n_users
        return [
            common | {CUTS[self.task]: cut} | {name: column[at] for name, column in columns.items()}
            for at, cut in enumerate(self.cuts)
        ]


def record_key(protocol: str, share: float, repeat: int, recommender: str, task: Task = "rating") -> str:
    """Return the name of a record, which is also the name of its file; new people have ``given`` as a share.

    >>> record_key("random", 0.8, 0, "knn:bcf:median"), record_key("k-fold", 0.75, 2, "bias")
    ('0.8-0-knn.bcf.median', 'folds-2-bias')
    >>> record_key("time", 0.8, 0, "ease", "ranking")
    'lists-time-0.8-0-ease'
    """
    named = {"random": f"{share:g}", "last": "last", "file": "file"}
    named |= {one: f"{one}-{share:g}" for one in ("time", "cold-items", "new-people")}
    split = named.get(protocol, "folds")
    name = re.sub(r"[^\w.+-]", "_", recommender.replace(":", "."), flags=re.ASCII)
    if "_" in name or len(name) > 80:  # two names must not share a file
        name = f"{name[:80]}-{sha256(recommender.encode()).hexdigest()[:8]}"
    kind = {"rating": "", "ranking": "lists-", "reasons": "reasons-"}[task]
    return f"{kind}{split}-{repeat}-{name}"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute."""
    numbers = {"python": platform.python_version()}
    for name in ("prefmover", "numpy", "scipy", "numba", "scikit-surprise", "implicit", "irspack"):
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return numbers
