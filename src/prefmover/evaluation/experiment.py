"""An experiment as settings: which data, which splits, which methods, and what to show of them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from prefmover.data.ids import close_names
from prefmover.errors import InputError

__all__ = [
    "PEERS",
    "Experiment",
    "Panel",
    "parse_ks",
    "parse_names",
    "parse_shares",
    "read_settings",
    "share_name",
    "share_text",
]

PEERS = ("SVD", "SVDpp", "KNNBaseline", "KNNWithMeans", "BaselineOnly")
PROTOCOLS = ("random", "k-fold", "published")
MOST_KS = 10_000
CHANGEABLE = ("train", "repeats", "measures", "conventions", "controls", "peers", "panels", "title")


def share_name(share: float) -> str:
    """Return a share of training ratings as the ratio train:test, if it is one of small numbers.

    >>> share_name(0.8), share_name(0.1), share_name(0.123)
    ('4:1', '1:9', '0.123')
    """
    ratio = Fraction(share).limit_denominator(20)
    if abs(float(ratio) - share) > 1e-9 or not 0 < share < 1:
        return f"{share:g}"
    return f"{ratio.numerator}:{ratio.denominator - ratio.numerator}"


def share_text(share: float) -> str:
    """Return a share so that it is read back as the same number, shortly if that is possible.

    >>> share_text(0.8), share_text(1 / 3), share_text(0.1234567890123)
    ('0.8', '1:2', '0.1234567890123')
    """
    return next(text for text in (f"{share:g}", share_name(share), repr(share)) if _share(text) == share)


def parse_shares(text: str) -> tuple[float, ...]:
    """Return the shares in a list of numbers or ratios, such as ``".1, 4:1"``.

    >>> parse_shares(".1, 4:1")
    (0.1, 0.8)
    """
    return tuple(_share(part) for part in str(text).split(",") if part.strip())


def _share(text: Any) -> float:
    try:
        if isinstance(text, str) and ":" in text:
            train, test = (float(part) for part in text.split(":"))
            share = float(train / (train + test))
        else:
            share = float(text)
    except (ValueError, TypeError, ZeroDivisionError):
        share = 0.0
    if not 0 < share < 1:
        raise InputError(f"train is {text!r}; give the share to train on (.8) or a ratio (4:1)")
    return share


def parse_ks(text: str) -> tuple[int, ...]:
    """Return numbers of neighbors from a list with ranges, such as ``"5:60:5"`` or ``"1, 5:20:5"``.

    >>> parse_ks("1, 10:30:10")
    (1, 10, 20, 30)
    """
    out: set[int] = set()
    for part in str(text).split(","):
        try:
            numbers = [int(n) for n in part.split(":")]
            if len(numbers) > 3:
                raise ValueError
            start, stop, step = numbers[0], numbers[min(1, len(numbers) - 1)], (numbers[2:] or [1])[0]
            if len(range(start, stop + 1, step)) > MOST_KS:
                raise InputError(f"k is {text!r}, more than {MOST_KS:,} numbers; give a larger step")
            out.update(range(start, stop + 1, step))
        except (ValueError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"k is {text!r}; give numbers (5,10) or ranges with a step (5:60:5)") from None
    if not out or min(out) < 1:
        raise InputError(f"k is {text!r}; give whole numbers from 1")
    return tuple(sorted(out))


def parse_names(what: str, text: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names in a list of measures, controls or peers; ``all`` (or ``surprise``), ``none``.

    >>> parse_names("peers", "SVD, BaselineOnly"), parse_names("peers", "none")
    (('SVD', 'BaselineOnly'), ())
    """
    listed = [name.strip() for name in (text.split(",") if isinstance(text, str) else text)]
    if listed in (["none"], [""]):
        return ()
    return _everything(what) if listed in (["all"], ["surprise"]) else tuple(listed)


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: the error over the share of training ratings, or over K.

    Attributes
    ----------
    name
        Short, such as ``"a"``.
    over
        ``"train"`` or ``"k"``: what the horizontal axis has.
    train, ks
        The shares and numbers of neighbors shown; one of the two has one entry.
    claim
        What was claimed of it beforehand, if anything; the report sets the result beside it.
    """

    name: str
    over: str
    train: tuple[float, ...]
    ks: tuple[int, ...]
    claim: str = ""

    @property
    def title(self) -> str:
        """The settings in words.

        >>> Panel("b", "k", (0.8,), (5, 10)).title
        'train:test 4:1, K from 5 to 10'
        """
        if self.over == "train":
            ends = f"{share_name(self.train[0])} to {share_name(self.train[-1])}"
            return f"train:test from {ends}, K = {self.ks[0]}"
        ks = f"K from {self.ks[0]} to {self.ks[-1]}" if len(self.ks) > 1 else f"K = {self.ks[0]}"
        return f"train:test {share_name(self.train[0])}, {ks}"

    def cells(self) -> list[tuple[float, int]]:
        """Return the (share, K) of its points, left to right."""
        return [(share, k) for share in self.train for k in self.ks]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What to run. Everything that a record depends on, apart from the data themselves.

    Attributes
    ----------
    dataset
        Name of a data set, or the path of a file of ratings.
    user_column, item_column, rating_column
        Of a file whose columns do not have the usual names.
    geometry
        ``"best"``: the best the data at hand allow. ``"genres"``. ``"ratings"``: vectors made from the
        training ratings of each split. Or the path of a file of items.
    protocol
        ``"random"``: ``repeats`` random splits for each share in ``train``. ``"k-fold"``: as many folds as
        ``repeats``. ``"published"``: the publisher's folds.
    train
        Shares of the ratings to train on.
    repeats, seed
        Repeat r is split with seed + r, so that the training ratings of a small share are among those
        of a larger one.
    stratify
        ``""``, or ``"user"``.
    ks
        Numbers of neighbors; all come out of one computation.
    measures
        Names of measures.
    conventions
        ``"all"`` runs a measure under each of its conventions that differ, ``"published"`` under its own.
    controls, peers
        Names of controls, and of models of Surprise.
    centering, shrinkage
        Of the predictor.
    top_n
        If not 0, also rank each user's test items and score the first so many.
    panels
        What the report shows; chosen from the records if empty.
    title
        Of the report.
    """

    dataset: str
    geometry: str = "best"
    protocol: str = "random"
    train: tuple[float, ...] = (0.8,)
    repeats: int = 5
    seed: int = 0
    stratify: str = ""
    ks: tuple[int, ...] = tuple(range(5, 61, 5))
    measures: tuple[str, ...] = ()
    conventions: str = "all"
    controls: tuple[str, ...] = ("uniform", "mean-vector", "user-mean", "bias")
    peers: tuple[str, ...] = ()
    centering: str = "mean"
    shrinkage: float = 0.0
    top_n: int = 0
    user_column: str = ""
    item_column: str = ""
    rating_column: str = ""
    panels: tuple[Panel, ...] = ()
    title: str = ""

    def __post_init__(self) -> None:
        from prefmover.evaluation.protocol import CONTROLS
        from prefmover.measures import MEASURES, find_measure
        from prefmover.predict.centering import CENTERINGS

        _one_of("protocol", self.protocol, PROTOCOLS)
        _one_of("stratify", self.stratify, ("", "user"))
        _one_of("conventions", self.conventions, ("all", "published"))
        _one_of("centering", self.centering, CENTERINGS)
        if not 0 <= self.shrinkage < math.inf:
            raise InputError(f"shrinkage is {self.shrinkage!r}; give a number from 0")
        if self.columns and "." not in self.dataset:
            raise InputError(f"columns are named for a file of ratings; dataset is {self.dataset!r}")
        if self.stratify and self.protocol != "random":
            raise InputError(f"stratify goes with random splits; protocol is {self.protocol!r}")
        for name in self.controls:
            _one_of("control", name, CONTROLS)
        for name in self.peers:
            _one_of("peer", name, PEERS)
        if self.repeats < 1 or (self.protocol == "k-fold" and self.repeats < 2):
            raise InputError(f"repeats is {self.repeats}; give a whole number from 1 (k-fold: from 2)")
        if self.top_n < 0:
            raise InputError(f"top_n is {self.top_n}; give a whole number from 0")
        if not (self.measures or self.controls or self.peers):
            raise InputError("nothing to run: name measures, controls or peers")
        names = tuple(find_measure(name).name for name in self.measures)
        order = {name: k for k, name in enumerate(MEASURES)}
        object.__setattr__(self, "measures", tuple(sorted(set(names), key=order.__getitem__)))
        object.__setattr__(self, "controls", tuple(dict.fromkeys(self.controls)))
        object.__setattr__(self, "peers", tuple(dict.fromkeys(self.peers)))
        if self.protocol == "random" and not self.train:
            raise InputError("train is empty; give the share to train on (.8) or a ratio (4:1)")
        shares = tuple(sorted({_share(share) for share in self.train}, reverse=True))
        object.__setattr__(self, "train", shares if self.protocol == "random" else ())
        parse_ks(",".join(map(str, self.ks)))
        object.__setattr__(self, "ks", tuple(sorted(set(self.ks))))
        for panel in self.panels:
            missing = set(panel.ks) - set(self.ks)
            if missing:
                raise InputError(f"panel {panel.name} shows K = {min(missing)}, which is not among those run")

    @property
    def columns(self) -> dict[str, str]:
        """The columns that have names of their own: ``{"user": ...}``."""
        named = {"user": self.user_column, "item": self.item_column, "rating": self.rating_column}
        return {column: name for column, name in named.items() if name}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], where: str = "the settings") -> Experiment:
        """Return the experiment of plain settings, as in TOML or JSON; K and shares may be written short."""
        known = {f.name: f for f in fields(cls)}
        given: dict[str, Any] = {}
        for key, value in settings.items():
            if key not in known:
                close = close_names(key, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
                raise InputError(f"{where}: there is no setting {key!r}{hint}")
            given[key] = _read(key, value, where)
        if "dataset" not in given:
            raise InputError(f"{where}: name a dataset, such as cinema or ml-100k")
        if given.get("train") and given.get("protocol", "random") != "random":
            raise InputError(f"{where}: train goes with random splits; folds have their own share")
        try:
            return cls(**given)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Experiment:
        """Return the experiment in a TOML file."""
        return cls.from_dict(read_settings(path), str(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain Python, ready for JSON."""
        return asdict(self)

    def fixed(self) -> dict[str, Any]:
        """Return the settings that all records of a folder share; the others may grow from run to run."""
        changeable = set(CHANGEABLE) - ({"repeats"} if self.protocol == "k-fold" else set())
        return {name: value for name, value in self.to_dict().items() if name not in changeable}

    def joined(self, later: Experiment) -> Experiment:
        """Return the experiment that has everything that this one or a later one in its folder asks for."""

        def both(name: str) -> tuple[Any, ...]:
            return tuple(dict.fromkeys((*getattr(self, name), *getattr(later, name))))

        panels = later.panels
        if not set(self.panels) <= set(panels):
            named = {panel.name: panel for panel in both("panels")}
            panels = tuple(named[name] for name in sorted(named))
        return replace(
            later,
            train=both("train"),
            measures=both("measures"),
            controls=both("controls"),
            peers=both("peers"),
            repeats=max(self.repeats, later.repeats),
            conventions="all" if "all" in (self.conventions, later.conventions) else later.conventions,
            panels=panels,
            title=later.title or self.title,
        )


def read_settings(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the settings in a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; give the path of a TOML file of settings") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except RecursionError:
        raise InputError(f"{path} is not TOML: its brackets are nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, bytes that are not UTF-8, a number of 5,000 digits
        raise InputError(f"{path} is not TOML: {error}") from error


def _one_of(what: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise InputError(f"{what} is {value!r}; choose one of {', '.join(repr(name) for name in known)}")


def _read(key: str, value: Any, where: str) -> Any:
    """Return a plain setting in the type that its field has."""
    try:
        if key == "train":
            return parse_shares(value) if isinstance(value, str) else tuple(_share(share) for share in value)
        if key == "ks":
            return parse_ks(str(value)) if isinstance(value, str | int) else tuple(int(k) for k in value)
        if key in ("measures", "controls", "peers"):
            return parse_names(key, value)
        if key == "panels":
            return tuple(
                Panel(
                    str(one["name"]),
                    str(one["over"]),
                    _read("train", one["train"], where),
                    _read("ks", one["ks"], where),
                    str(one.get("claim", "")),
                )
                for one in value
            )
        if key in ("repeats", "seed", "top_n"):
            return int(value)
        return float(value) if key == "shrinkage" else str(value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise InputError(f"{where}: {error}") from None
        raise InputError(f"{where}: setting {key!r} is {value!r}, which cannot be used") from error


def _everything(key: str) -> tuple[str, ...]:
    from prefmover.evaluation.protocol import CONTROLS
    from prefmover.measures import MEASURES

    return {"measures": tuple(MEASURES), "controls": CONTROLS, "peers": PEERS}[key]
