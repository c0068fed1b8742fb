"""FileOptions: how files of ratings and of items are read, and by which names their columns are recognized.

An option is one field of :class:`FileOptions`. The options of the command line and the settings of an
experiment (:data:`SETTINGS`) are made from the fields. This module imports no NumPy, so that help is quick.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

from prefmover.errors import InputError, close_names

if TYPE_CHECKING:
    from prefmover.data.scale import Scale

__all__ = [
    "SETTINGS",
    "FileOptions",
    "Setting",
    "check_choice",
    "check_whole_number",
    "find_column",
    "find_ratings",
    "find_similar",
    "find_usual",
    "name_words",
    "named_in_file_options",
    "plain_name",
]

LOG = logging.getLogger(__name__)

Duplicates: TypeAlias = Literal["error", "last", "mean"]
Feedback: TypeAlias = Literal["explicit", "implicit"]
Damping: TypeAlias = Literal["log", "sqrt", "none", "binary"]
Zeros: TypeAlias = Literal["rating", "missing"]
Missing: TypeAlias = Literal["error", "drop", "far"]
OnBadLines: TypeAlias = Literal["error", "skip", "warn"]

USUAL_NAMES = {
    role: tuple(names.split())
    for role, names in {
        "user": "user userid uid username viewer viewerid customer customerid reviewer reviewerid rater "
        "raterid member memberid account accountid visitor visitorid who person reader readerid player "
        "playerid steamid listener listenerid buyer buyerid client clientid session sessionid",
        "item": "item itemid iid movie movieid film filmid product productid asin book bookid isbn song "
        "songid track trackid artist artistid album albumid game gameid show showid business businessid "
        "recipe recipeid anime animeid article articleid sku wine wineid beer beerid place placeid "
        "restaurant restaurantid venue venueid video videoid podcast podcastid what",
        "rating": "rating ratings stars star score starrating overall value grade",
        "title": "title name label",
        "year": "year releaseyear publicationyear yearofpublication releasedate publicationdate",
        "genres": "genres genre categories category",
        "tags": "tags tag keywords keyword labels",
        "text": "text description summary plot overview",
        "count": "count counts plays playcount playcounts nplays listens listencount clicks clickcount views "
        "viewcount purchases purchasecount orders quantity qty times frequency freq interactions visits n",
    }.items()
}
"""By role, the names that are recognized, the likeliest first; compared by :func:`plain_name`."""

GUESSED = {"feedback": False, "hours": True, "minutes": True, "event": True, "events": True, "weight": True}
"""Names of the only column of numbers left that are taken for ratings (False) or counts (True)."""

OTHER_WORDS = frozenset(
    (
        "time",
        "timestamp",
        "date",
        "datetime",
        "day",
        "month",
        "year",
        "hour",
        "unix",
        "epoch",
        "average",
        "avg",
        "mean",
    )
)
"""Words in the names of columns that are neither ratings nor counts."""

SHOWN, SHOWN_LETTERS = 20, 60  # names of columns in a message, and letters of each
CLOSE = 65
"""The percentage of two names that must agree for one to be a likely misspelling of the other."""


class Setting(NamedTuple):
    """An option where people type it, on a command line or in a TOML file.

    ``kind`` is str, bool, list (of texts) or a Literal; ``field`` is its name in :class:`FileOptions`.
    """

    help: str
    metavar: str | None = None
    kind: Any = str
    name: str = ""
    field: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How files of ratings and of items are read. Most files need no options.

    Parameters
    ----------
    user, item, rating : str, int or None
        Columns of the ratings, by name or by position from 0. By default the usual names are recognized
        (user, userId, user_id, item, movieId, rating, ...); in a file without a header, the first three
        columns are user, item and rating. A file without a rating column is implicit feedback: a column under
        a usual name for counts (count, plays, clicks, weight, ...) has the counts, and otherwise every row is
        one interaction. ``item`` is the column of ids in the files of items, too.
    time
        Column of times of the ratings, for splits by time: seconds, or milliseconds since 1970, which are
        recognized.
    separator
        One or two characters between the columns of the ratings; detected by default. Fields may be quoted as
        in CSV if it is one byte.
    header
        Whether the first line of the ratings names the columns; detected by default.
    encoding
        Encoding of text; ``"mixed"`` for UTF-8 with Latin-1 here and there.
    duplicates
        What to do if a user rated an item more than once: raise an ``"error"``, or take the ``"last"`` rating
        or the ``"mean"``. Counts of implicit feedback are added up.
    scale
        Scale of the ratings; inferred by default.
    feedback
        Whether these are ratings on a scale (``"explicit"``), or interactions and their counts
        (``"implicit"``); recognized by default.
    damping
        How a count c of implicit feedback becomes a strength: ``"log"``, log₂(1 + c), the default;
        ``"sqrt"``, √c; ``"none"``, c; or ``"binary"``, 1.
    zeros
        Whether 0 is a ``"rating"``, the default, or means that it is ``"missing"``; then the row is dropped.
        A count of 0 is always dropped.
    missing
        What to do about rated items that no file describes: raise an ``"error"``; ``"drop"`` their ratings;
        or keep them, ``"far"`` from every other item, at a right angle. If nearly no rated item is described,
        the ids are those of another catalog, which is an error in any case.
    on_bad_lines
        What to do about lines with too many or too few columns, or without an id or a number: raise an
        ``"error"``, or leave them out and log (``"skip"``) or ``"warn"`` how many there were.
    item_id
        Column of ids in the files of items that have it; ``item`` by default.
    title
        Column of titles in the files of items.
    tags
        Columns that are tags too, such as author or publisher.
    text
        Columns of text to compare items by; they may have another role too, such as the title.
    weights
        Weight of a column among what describes the items; 0 leaves it out. ``"numbers"`` are the columns of
        numbers together. A block of features has the name of its file, without ``.npz``, or of its function.
    encoder
        A sentence encoder for the columns of text, or the name of one of sentence-transformers, instead of
        tf-idf: :func:`~prefmover.items.features.from_text`.
    choose_weights
        Whether ratings choose blocks (:mod:`prefmover.items.weighting`): one that gains nothing gets weight
        0, unless its weight is given. By default, they do if there are features or an encoder. In an
        experiment, the training ratings of each split do.

    Examples
    --------
    >>> FileOptions(user="who", tags=["author"]).weights
    {}
    >>> FileOptions(duplicates="first")
    Traceback (most recent call last):
    prefmover.errors.InputError: duplicates is 'first'; choose one of ('error', 'last', 'mean')
    """

    user: Annotated[str | int | None, Setting("Name of the user column", "NAME", name="user_column")] = None
    item: Annotated[str | int | None, Setting("Name of the item column", "NAME", name="item_column")] = None
    rating: Annotated[
        str | int | None, Setting("Name of the rating column", "NAME", name="rating_column")
    ] = None
    time: Annotated[
        str | None, Setting("Name of the column of times, in (milli)seconds", "NAME", name="time_column")
    ] = None
    separator: Annotated[
        str | None, Setting("Column separator of the ratings; detected by default", "TEXT")
    ] = None
    header: Annotated[
        bool | None, Setting("Whether the ratings have a header; detected by default", kind=bool)
    ] = None
    encoding: Annotated[str, Setting("Encoding of the files", "NAME")] = "utf-8"
    duplicates: Annotated[
        Duplicates, Setting("What to do if a user rated an item twice", kind=Duplicates)
    ] = "error"
    scale: Annotated[
        "Scale | None", Setting("Rating scale; the range of the ratings by default", "LOW:HIGH:STEP")
    ] = None
    feedback: Annotated[
        Feedback | None,
        Setting("Ratings, or interactions and their counts; recognized by default", kind=Feedback),
    ] = None
    damping: Annotated[
        Damping | None, Setting("How counts of implicit feedback are damped; log by default", kind=Damping)
    ] = None
    zeros: Annotated[
        Zeros | None, Setting("Whether 0 is a rating (default), or means that there is none", kind=Zeros)
    ] = None
    missing: Annotated[
        Missing, Setting("What to do with rated items that no file describes", kind=Missing)
    ] = "error"
    on_bad_lines: Annotated[
        OnBadLines, Setting("What to do with damaged lines; skip leaves them out", kind=OnBadLines)
    ] = "error"
    item_id: Annotated[
        str | None, Setting("Id column of the items; --item-column by default", "NAME", name="id_column")
    ] = None
    title: Annotated[str | None, Setting("Title column of the items", "NAME", name="title_column")] = None
    tags: Annotated[
        Sequence[str], Setting("Column of the items to use as tags, too", "NAME", list, "tag_column")
    ] = ()
    text: Annotated[
        Sequence[str], Setting("Column of text to compare items by", "NAME", list, "text_column")
    ] = ()
    weights: Annotated[
        Mapping[str, float],
        Setting("Weight of a column or of features; text .1, others 1", "NAME=NUMBER", list, "column_weight"),
    ] = field(default_factory=dict)
    encoder: Annotated[
        Callable[[list[str]], Any] | str | None,
        Setting("Model of sentence-transformers for text; tf-idf without", "NAME", name="text_encoder"),
    ] = None
    choose_weights: Annotated[
        bool | None,
        Setting("Leave out features that gain nothing by the ratings; by default with features", kind=bool),
    ] = None

    def __post_init__(self) -> None:
        for one in SETTINGS:
            if get_origin(one.kind) is Literal:
                check_choice(one.field, getattr(self, one.field), one.kind, optional=one.default is None)
        for name in ("tags", "text"):
            if isinstance(columns := getattr(self, name), str):
                raise InputError(f"{name} is {columns!r}; give a list of columns", argument=name)
        for name, weight in self.weights.items():
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not is_number or not 0 <= weight < float("inf"):
                problem = f"the weight of {name!r} is {weight!r}"
                raise InputError(f"{problem}; give a number from 0", argument="weights")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "FileOptions":
        """Return options as people type them, by the names of :data:`SETTINGS`.

        None and an empty list are not set.

        >>> options = FileOptions.from_settings({"user_column": "who", "column_weight": ["plot=.5"]})
        >>> options.user, options.weights
        ('who', {'plot': 0.5})
        """
        given = {one.field: settings.get(one.name) for one in SETTINGS}
        chosen = {name: value for name, value in given.items() if value not in (None, [], ())}
        if "scale" in chosen:
            from prefmover.data.scale import Scale

            chosen["scale"] = Scale.parse(chosen["scale"])
        if "weights" in chosen:
            chosen["weights"] = dict(map(_parse_weight, chosen["weights"]))
        return cls(**chosen)

    def refuse_item_options(self) -> None:
        """Raise an error about the first option that describes items, because no file does."""
        for name in ("item_id", "title", "tags", "text", "weights", "encoder", "choose_weights"):
            if getattr(self, name):
                raise InputError(f"{name}= is about files of items, and there are none", argument=name)


SETTINGS: tuple[Setting, ...] = tuple(
    setting._replace(
        name=setting.name or one.name,
        field=one.name,
        default=one.default if isinstance(one.default, str) else None,
    )
    for one in fields(FileOptions)
    for setting in FileOptions.__annotations__[one.name].__metadata__
)


def check_choice(name: str, value: Any, choices: Any, *, optional: bool = True) -> None:
    """Raise an error unless a value is one of those of a Literal (or None)."""
    if value not in get_args(choices) and not (optional and value is None):
        raise InputError(f"{name} is {value!r}; choose one of {get_args(choices)}", argument=name)


def check_whole_number(name: str, value: Any, least: int = 1) -> None:
    """Raise an error unless a parameter is a whole number from ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name} is {value!r}; give a whole number of at least {least}")


@contextmanager
def named_in_file_options() -> Iterator[None]:
    """Add a note to an error that names an option: where to pass it."""
    try:
        yield
    except InputError as error:
        if error.argument in {one.field for one in SETTINGS} and not hasattr(error, "__notes__"):
            error.add_note(f"{error.argument} is an option: pass options=FileOptions({error.argument}=...)")
        raise


def _parse_weight(text: str) -> tuple[str, float]:
    column, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        column, weight = "", 0.0
    if not column.strip():
        raise InputError(f"{text!r} is not a weight; give COLUMN=NUMBER, such as overview=0.5")
    return column.strip(), weight


def plain_name(name: str) -> str:
    """Return a column name for comparison: no case, no spaces, ``_``, ``-`` or ``.``.

    >>> plain_name("Movie_ID"), plain_name("star rating")
    ('movieid', 'starrating')
    """
    return re.sub(r"[-_ .]", "", name).casefold()


def name_words(name: str) -> set[str]:
    """Return the words in a name.

    >>> sorted(name_words("playCount")), sorted(name_words("time_of_day"))
    (['count', 'play'], ['day', 'of', 'time'])
    """
    return {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def find_usual(role: str, names: Sequence[str]) -> int | None:
    """Return the position of the column with a usual name of a role, or None.

    >>> find_usual("rating", ["who", "what", "Stars"])
    2
    """
    plain = [plain_name(name) for name in names]
    return next((plain.index(usual) for usual in USUAL_NAMES[role] if usual in plain), None)


def find_similar(role: str, names: Sequence[str]) -> int | None:
    """Return the position of the column with a usual name, or else of the only one with a usual word in it.

    For headers only: a row of data might well contain such a word.

    >>> find_similar("rating", ["Customer Name", "Film Title", "Your Rating"])
    2
    >>> find_similar("rating", ["critics rating", "audience rating"])  # ambiguous
    >>> find_similar("rating", ["ratingId", "average rating", "rating_count"])  # not what a user gave
    """
    usual = find_usual(role, names)
    if usual is not None:
        return usual
    similar = [k for k, name in enumerate(names) if name_words(name) & set(USUAL_NAMES[role])]
    if role in ("rating", "count"):
        similar = [k for k in similar if not _is_beside_the_point(names[k])]
    return similar[0] if len(similar) == 1 else None


def find_column(name: str, names: Sequence[str], role: str, file: str = "the table") -> int:
    """Return the position of a column by its name, or raise an error that suggests one.

    >>> find_column("user", ["userId", "movieId", "rating"], "user")
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; the nearest is 'userId': pass
    user='userId' (columns: 'userId', 'movieId', 'rating')
    >>> find_column("user", ["Kunde", "FilmNr", "Sterne"], "user")  # no guess is better than a bad one
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; pass user= with the name of the user
    column (columns: 'Kunde', 'FilmNr', 'Sterne')
    >>> find_column("user", ["Taster", "Wine", "Score"], "user")  # the only one that has no other role
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; is it 'Taster'? Then pass user='Taster'
    (columns: 'Taster', 'Wine', 'Score')
    """
    count = list(names).count(name)
    if count == 1:
        return list(names).index(name)
    from rapidfuzz import fuzz

    listed = ", ".join(repr(one[:SHOWN_LETTERS]) for one in names[:SHOWN]) or "none"
    if len(names) > SHOWN:
        listed += f", and {len(names) - SHOWN:,} more"
    if count:
        raise InputError(f"{file} has {count} columns named {name!r}; rename all but one (columns: {listed})")
    remedy = f"pass {role}= with the name of the {role} column"
    taken = {find_similar(other, names) for other in USUAL_NAMES}
    free = [one for k, one in enumerate(names) if k not in taken and not _is_beside_the_point(one)]
    if name == role in ("user", "item") and len(free) == 1:
        remedy = f"is it {free[0]!r}? Then pass {role}={free[0]!r}"
    for close in close_names(name, names, n=1):
        if fuzz.ratio(plain_name(name), plain_name(close)) >= CLOSE:
            remedy = f"the nearest is {close!r}: pass {role}={close!r}"
    raise InputError(f"{file} has no column {name!r}; {remedy} (columns: {listed})", argument=role)


def find_ratings(
    names: Sequence[str],
    rating: str | None,
    feedback: Feedback | None,
    others: Sequence[int],
    is_number: Callable[[int], bool],
    file: str,
) -> tuple[int | None, bool]:
    """Return the position of the column of ratings or counts (None if none), and whether it is implicit.

    A column that the caller names is what the caller says it is. Otherwise it is a rating under a usual name
    for ratings, or else a count under a usual name for counts, or else every row is one interaction. The only
    column of numbers that is left is guessed by a name such as Hours; another one is an error.

    ``others`` are the positions of users and items, and ``is_number`` says whether a column has numbers.

    >>> numbers = lambda position: True
    >>> find_ratings(["user", "item", "stars"], None, None, (0, 1), numbers, "a.csv")
    (2, False)
    >>> find_ratings(["user", "item", "plays"], None, None, (0, 1), numbers, "a.csv")
    (2, True)
    >>> find_ratings(["user", "item", "timestamp"], None, None, (0, 1), numbers, "a.csv")
    (None, True)
    """
    if rating is not None:
        return find_column(rating, names, "rating", file), feedback == "implicit"
    free = [k for k in range(len(names)) if k not in others]
    match = {role: find_similar(role, [names[k] for k in free]) for role in ("rating", "count")}
    if feedback == "explicit" and match["rating"] is None:
        return find_column("rating", names, "rating", file), False
    for role in ("count", "rating") if feedback == "implicit" else ("rating", "count"):
        found = match[role]
        if found is not None:
            name = names[free[found]]
            return find_column(name, names, "rating", file), feedback == "implicit" or role == "count"
    unclear = [names[k] for k in free if is_number(k) and not _is_beside_the_point(names[k])]
    if len(unclear) == 1 and feedback is None and plain_name(unclear[0]) in GUESSED:
        is_count = GUESSED[plain_name(unclear[0])]
        what = "counts" if is_count else "ratings"
        remedy = "name another (--rating-column, rating=), or say that the feedback is implicit"
        LOG.info("%s: %r, the only numbers left, is taken for %s; else %s", file, unclear[0], what, remedy)
        return find_column(unclear[0], names, "rating", file), is_count
    if unclear and feedback is None:
        name, listed = unclear[0], ", ".join(map(repr, names))
        problem = f"{file} has no column 'rating', but {name!r} may be it"
        remedy = f"pass rating={name!r} if it is, or feedback='implicit' if every row is one interaction"
        raise InputError(f"{problem}; {remedy} (columns: {listed})", argument="rating")
    return None, True


def _is_beside_the_point(name: str) -> bool:
    """Whether a column is about times, or ids, or all ratings of an item."""
    words = name_words(name)
    counted = bool(words & {"rating", "ratings"}) and bool(words & {"count", "counts", "number", "num", "n"})
    return bool(words & OTHER_WORDS) or counted or plain_name(name).endswith("id") or not name.strip()
