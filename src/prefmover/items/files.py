"""One file that describes items: its columns by role, its rows checked, its cells as words and numbers."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.columns import open_arrow
from prefmover.data.delimited import BadLines, Delimited, Origin, file_bytes
from prefmover.data.file_options import FileOptions, find_column, find_similar, find_usual, plain_name
from prefmover.data.ids import MISSING_ID, from_arrow
from prefmover.errors import InputError, close_names
from prefmover.items.catalog import parse_year, split_year

__all__ = ["NUMBERS", "ItemFile", "Roles", "as_text", "check_columns", "words_in_cells"]

LOG = logging.getLogger(__name__)

ROLES = ("title", "year", "genres", "tags", "text")
SAMPLE, SEVERAL = 1 << 19, 20  # bytes of ratings in which columns about items are looked for, and items there
ONE_VALUE = 0.95  # the share of items with one value in all their ratings that makes a column theirs
HEADERLESS = ["item", "title", "genres"]  # columns of movies.dat
NUMBERS = "numbers"  # what columns of numbers are called among the weights
MARKS = "|;,"  # between words, in the order of preference
NAME_KEYS = ("name", "title", "label", "tag", "keyword", "value")
BRACKETS = {"[": "]", "{": "}", "(": ")"}

Roles: TypeAlias = dict[str, list[int]]
"""The columns of a file by what they are used for, as positions."""


@dataclass(frozen=True, slots=True)
class ItemFile:
    """One file: names of its columns, and the cells of each as text (or lists, in Parquet)."""

    origin: Origin
    names: list[str]
    columns: list[list[Any]]
    id_column: int
    is_long: bool = False  # one row per tag

    @classmethod
    def read(cls, path: str | os.PathLike[str], options: FileOptions) -> ItemFile:
        """Read and check a file."""
        file, data = os.fspath(path), file_bytes(path)
        bad = BadLines(file, options.on_bad_lines)
        if (arrow := open_arrow(data, file)) is not None:
            names, origin = arrow.schema.names, Origin(file, arrow.unit)
            table = arrow.read(names)
            columns = [list(map(_cell, column.to_pylist())) for column in table.columns]
        else:
            names, columns, origin = _text_columns(data, file, options, bad)
        named = [str(name) for name in (options.item_id, options.item) if name in names]
        id_column = find_column(named[0], names, "item_id", file) if named else _find_id_column(names, file)
        kept = cls(origin, names, columns, id_column)._checked(options, bad)
        bad.report()
        if not kept.ids:
            raise InputError(f"{file} has a header but no items below it")
        return kept

    @classmethod
    def of_ratings(cls, path: str | os.PathLike[str], options: FileOptions) -> ItemFile:
        """Read what a file of ratings says about the items, as a row for each item.

        A column describes the items if nearly every item has the same value in all its ratings. The others
        describe the ratings, or the users.
        """
        found, differ = cls._found_in(file_bytes(path), os.fspath(path), options)
        if differ:
            listed = ", ".join(map(repr, differ))
            said = "not about the items, since they differ between ratings of an item"
            LOG.info("%s: %s: %s", found.origin.file, said, listed)
        return found._checked(options, BadLines(found.origin.file))

    @classmethod
    def offered_by(cls, path: str | os.PathLike[str], options: FileOptions) -> list[str]:
        """Return the columns of a file of ratings that would describe the items, by its first rows."""
        data = file_bytes(path)
        start = data[: data.rfind(b"\n", 0, SAMPLE) + 1] if len(data) > SAMPLE else data
        try:
            found, _ = cls._found_in(start, os.fspath(path), options, least=SEVERAL)
        except InputError:  # it has no header, say
            return []
        usual = [found.position(role) for role in ("genres", "tags", "text")]
        words = found.shared_words(options) or [found.names[p] for p in usual if p is not None]
        title = found.position("title")
        return [*words, found.names[title]] if words and title is not None else words

    @classmethod
    def _found_in(
        cls, data: bytes, file: str, options: FileOptions, least: int = 0
    ) -> tuple[ItemFile, list[str]]:
        """Return what ratings say about items, and the columns that do not.

        At least so many items must have several ratings.
        """
        names, columns, origin = _coded_columns(data, file, options)
        id_column = names.index(options.item) if options.item in names else find_similar("item", names)
        id_column = find_usual("title", names) if id_column is None else id_column
        if id_column is None:
            id_column = find_column("item", names, "item", file)
        codes, ids = columns[id_column]
        roles = {"user": options.user, "rating": options.rating, "count": None}
        known = {
            names.index(name) if name in names else find_similar(role, names) for role, name in roles.items()
        }
        kept: dict[str, list[str]] = {names[id_column]: ids}
        differ = []
        enough = np.sum(np.bincount(codes) > 1) >= least
        for position, (values, texts) in enumerate(columns):
            if position not in known and position != id_column:
                share, cells = _values_of_items(codes, len(ids), values, texts)
                if share >= ONE_VALUE and enough:
                    kept[names[position]] = cells
                else:
                    differ.append(names[position])
        rows = np.unique(codes, return_index=True)[1]
        return cls(origin.take(rows), [*kept], [*kept.values()], 0), differ

    def shared_words(self, options: FileOptions) -> list[str]:
        """Return the columns of words that items share, if none are named or have usual names."""
        usual = [self.position(role) for role in ("genres", "tags", "text")]
        if options.tags or options.text or usual != [None] * 3:
            return []
        words = [[cell for cell in column if cell and not _floats(cell)] for column in self.columns]
        return [
            name for k, (name, some) in enumerate(zip(self.names, words, strict=True))
            if k not in (self.id_column, self.position("title", options.title)) and len({*some}) < len(some)
        ]  # fmt: skip

    @property
    def ids(self) -> list[str]:
        """The id of each row."""
        return self.columns[self.id_column]

    def position(self, role: str, name: str | None = None) -> int | None:
        """Return the column of a role: the one that the caller names, or the one with a usual name."""
        if name is not None and name in self.names:
            return find_column(name, self.names, role, self.origin.file)
        position = find_similar(role, self.names)
        return None if position == self.id_column else position

    def _named(self, columns: Sequence[str]) -> list[int]:
        """Return the columns that the caller names and this file has."""
        file = self.origin.file
        return [find_column(name, self.names, "tags", file) for name in columns if name in self.names]

    def _checked(self, options: FileOptions, bad: BadLines) -> ItemFile:
        """Return the rows that can be used: each with an id, a year if any, and no item twice."""
        title, year, genres, tags, text = (self.position(role) for role in ROLES)
        has_labels = (genres, tags) != (None, None) or bool(self._named(options.tags))
        is_long = has_labels and text is None and self._repeats_items(title)
        # What an item has once: a title, a text, a year or numbers.
        is_single = not has_labels or (title, year, text) != (None,) * 3 or bool(self._named(options.text))
        if is_long:  # a row is a tag, and its year is that of the tag
            year = None
        seen: dict[str, int] = {}
        kept: list[int] = []
        for k, key in enumerate(self.ids):
            if isinstance(key, list) or not key or re.match(MISSING_ID, key):
                reason = "a list is not an item id" if isinstance(key, list) else "the item is missing"
                bad.add(f"{self.origin.at(k, self.names[self.id_column])}: {reason}")
            elif year is not None and parse_year(text_of_year := str(self.columns[year][k])) is None:
                bad.add(f"{self.origin.at(k, self.names[year])}: {text_of_year!r} is not a year")
            elif key in seen and is_single and not is_long:
                both = f"{self.origin.both(seen[key], k)}: item id {key!r} occurs more than once"
                bad.add(f"{both}; ids must be unique, and spaces around them do not count")
            else:
                seen.setdefault(key, k)
                kept.append(k)
        columns = [[cells[k] for k in kept] for cells in self.columns]
        return replace(self, origin=self.origin.take(kept), columns=columns, is_long=is_long)

    def _repeats_items(self, title: int | None) -> bool:
        """Whether items occur more than once; if there are titles, twice or more and under the same one."""
        keys = [str(key) for key in self.ids]
        if title is None:
            return len({*keys}) < len(keys)
        titled = set(zip(keys, map(str, self.columns[title]), strict=True))
        return len(titled) == len({*keys}) <= len(keys) / 2

    def roles(self, options: FileOptions) -> Roles:
        """Return what each column is used for; columns of weight 0 are left out."""
        unused = {p for p, name in enumerate(self.names) if options.weights.get(name, 1) == 0}
        named = {role: self.position(role, options.title if role == "title" else None) for role in ROLES}
        if self.is_long:  # a row is a tag, and its year and text are those of the tag
            named["year"] = named["text"] = None
        roles = {role: [] if position is None else [position] for role, position in named.items()}
        roles["tags"] += [p for p in self._named(options.tags) if p not in (named["tags"], named["genres"])]
        roles["text"] = self._named(options.text) or roles["text"]
        for role in ("genres", "tags", "text"):
            roles[role] = [p for p in roles[role] if p not in unused]
        roles["numbers"] = []
        if not (roles["genres"] or roles["tags"] or roles["text"]):
            roles["numbers"] = self._number_columns({*roles["title"], *roles["year"], *unused})
        shown = [f"{role} from {self.names[p]!r}" for role in ROLES for p in roles[role]]
        shown += [f"{len(roles['numbers'])} columns of numbers"] if roles["numbers"] else []
        taken = {self.id_column, *(p for some in roles.values() for p in some)}
        rest = [repr(name) for p, name in enumerate(self.names) if p not in taken]
        more = ", ..." if len(rest) > 12 else " (--tag-column, tags= uses columns of words)"
        shown += [f"not used: {', '.join(rest[:12])}{more}"] if rest else []
        LOG.info("%s: item from %r, %s", self.origin.file, self.names[self.id_column], ", ".join(shown))
        return roles

    def titles(self, roles: Roles) -> Iterator[tuple[str, str, int]]:
        """Yield id, title and year of every row; without a column of titles, the title is in the id."""
        titles = self.columns[roles["title"][0]] if roles["title"] else self.ids
        years = self.columns[roles["year"][0]] if roles["year"] else [""] * len(self.ids)
        for key, cell, year in zip(self.ids, titles, years, strict=True):
            title, year_in_title = split_year(as_text(cell))
            yield key, title, parse_year(str(year)) or year_in_title

    def words(self, position: int) -> list[tuple[str, list[str], float]]:
        """Return id, words and count of every row of a column of tags or genres."""
        cells = self.columns[position]
        split = words_in_cells(cells, split=not self.is_long)
        out = []
        for k, (key, words, count) in enumerate(zip(self.ids, split, self._counts(), strict=True)):
            if words is None:
                where = self.origin.at(k, self.names[position])
                raise InputError(f"{where}: {cells[k][:60]!r} looks like a list, but cannot be parsed")
            out.append((key, words, count))
        return out

    def _counts(self) -> list[float]:
        position = find_usual("count", self.names)
        if position is None or not self.is_long:
            return [1.0] * len(self.ids)
        counts = [_floats(cell) for cell in self.columns[position]]
        for k, count in enumerate(counts):
            if len(count) != 1 or not 0 < count[0] < np.inf:
                where = self.origin.at(k, self.names[position])
                raise InputError(f"{where}: {self.columns[position][k]!r} is not a count, a positive number")
        return [count for (count,) in counts]

    def _number_columns(self, used: set[int]) -> list[int]:
        """Return the columns of numbers among those without a role."""
        lengths = {k: len(_floats(cells[0])) for k, cells in enumerate(self.columns) if k != self.id_column}
        columns = [k for k, n in lengths.items() if n and k not in used]
        columns = [k for k in columns if plain_name(self.names[k]) == "vector" or lengths[k] > 1] or columns
        for k in range(len(self.ids)):
            for column in columns:
                cell, n = self.columns[column][k], lengths[column]
                if len(_floats(cell)) != n:
                    where = self.origin.at(k, self.names[column])
                    expected = "a number" if n == 1 else f"a list of {n} numbers"
                    raise InputError(f"{where}: {cell!r} is not {expected}")
        return columns

    def numbers(self, columns: Sequence[int]) -> Floats:
        """Return the numbers of every row."""
        rows = zip(*(self.columns[p] for p in columns), strict=True)
        return np.array([[x for cell in row for x in _floats(cell)] for row in rows])


def check_columns(options: FileOptions, files: Sequence[ItemFile], blocks: Sequence[str]) -> None:
    """Raise an error for a column that no file has; ``blocks`` are names that may have a weight too."""
    names = list(dict.fromkeys(name for file in files for name in file.names))
    where = " and ".join(file.origin.file for file in files) or "the features"
    chosen: dict[str, Iterable[str | None]] = {
        "item_id": [] if blocks and not files else [options.item_id],  # else it names an array
        "title": [options.title],
        "tags": options.tags,
        "text": options.text,
        "weights": [name for name in options.weights if name not in (NUMBERS, *blocks)],
    }
    for argument, columns in chosen.items():
        for column in columns:
            if column is not None and column not in names:
                find_column(column, [*names, *(blocks if argument == "weights" else ())], argument, where)


def _find_id_column(names: list[str], file: str) -> int:
    """Return the column of ids: by its usual name, or else by a word for items in its name.

    >>> _find_id_column(["Film Title", "Film Nr"], "films.csv")  # preferably one without another role
    1
    """
    plain = [plain_name(name) for name in names]
    others = {find_similar(role, names) for role in ROLES}
    rest = [k for k in range(len(names)) if k not in others]
    similar = find_similar("item", [names[k] for k in rest])
    for position in (
        find_usual("item", names),
        plain.index("id") if "id" in plain else None,
        None if similar is None else rest[similar],
        find_similar("item", names),
    ):
        if position is not None:
            return position
    close = close_names("item", names, n=1)
    hint = f"; is it {close[0]!r}?" if close else ""
    raise InputError(
        f"{file}, line 1: no column 'item' among {', '.join(map(repr, names))}{hint}; the first line names "
        f"the columns: item, and some of {', '.join(ROLES)}"
    )


def _text_columns(
    data: bytes, file: str, options: FileOptions, bad: BadLines
) -> tuple[list[str], list[list[Any]], Origin]:
    def is_header(names: list[str]) -> bool:
        is_usual = find_usual("item", names) is not None or "id" in map(plain_name, names)
        return len(names) > 1 and (is_usual or options.item_id in names or options.item in names)

    expected = "a header with item and tags, and rows below it"
    table = Delimited.open(data, file, encoding=options.encoding, is_header=is_header, expected=expected)
    names = list(table.first)
    # A number is no name. Without a header, the columns can only be those of movies.dat.
    has_header = is_header(names) or not names[0].isdecimal() or len(names) != len(HEADERLESS)
    if not has_header:
        names = list(HEADERLESS)
        LOG.info("%s: no header; the columns are %s", file, ", ".join(names))
    records = list(table.records(header=has_header, bad=bad))
    origin = Origin(file, "line", lambda rows: [records[k][0] for k in rows])
    return names, [[fields[p] for _, fields in records] for p in range(len(names))], origin


def _coded_columns(
    data: bytes, file: str, options: FileOptions
) -> tuple[list[str], list[tuple[Ints, list[str]]], Origin]:
    """Return the names of the columns of a file, each column as codes and the texts that they stand for."""
    import pyarrow as pa

    if (arrow := open_arrow(data, file)) is not None:
        names, origin = arrow.schema.names, Origin(file, arrow.unit)
        table = arrow.read(names)
        columns = [pa.chunked_array([[str(_cell(x)) for x in one.to_pylist()]]) for one in table.columns]
        columns = [column.dictionary_encode() for column in columns]
    else:
        text = Delimited.open(
            data, file, encoding=options.encoding, separator=options.separator,
            expected="a header, and rows below it",
        )  # fmt: skip
        names, bad = list(text.first), BadLines(file, options.on_bad_lines)
        columns = [*text.parse(dict.fromkeys(range(len(names)), "code"), header=True, bad=bad).values()]
        origin = text.origin(header=True, only_even=not bad.are_errors)
    coded = []
    for column in columns:
        one = column.unify_dictionaries().combine_chunks()
        texts, codes = np.unique([str(x).strip() for x in one.dictionary.to_pylist()], return_inverse=True)
        coded.append((codes[from_arrow(one.indices)], texts.tolist()))
    return names, coded, origin


def _values_of_items(items: Ints, n_items: int, codes: Ints, texts: list[str]) -> tuple[float, list[str]]:
    """Return the most frequent text of each item, and how many of the items have no other text.

    Only items with two texts or more count, and cells without any text do not.

    >>> _values_of_items(np.array([0, 0, 0, 1, 1]), 2, np.array([0, 1, 1, 1, 1]), ["red", "blue"])
    (0.5, ['blue', 'blue'])
    """
    filled = np.array([not re.match(MISSING_ID, text) for text in texts])[codes]
    pairs, counts = np.unique(items[filled] * len(texts) + codes[filled], return_counts=True)
    of, value = np.divmod(pairs, len(texts))
    order = np.lexsort((counts, of))  # the most frequent one comes last, and stays
    best = np.full(n_items, -1)
    best[of[order]] = value[order]
    n_rows, n_values = (np.bincount(some, minlength=n_items) for some in (items[filled], of))
    several = n_rows > 1
    share = float(np.mean(n_values[several] == 1)) if several.any() else 1.0
    return share, [texts[k] if k >= 0 else "" for k in best.tolist()]


def _cell(value: Any) -> Any:
    return value if isinstance(value, list) else "" if value is None else str(value)


def _floats(cell: Any) -> list[float]:
    """Return the numbers in a cell; none if it holds something else."""
    values = cell if isinstance(cell, list) else [cell]
    if isinstance(cell, list) and not all(isinstance(x, int | float) for x in cell):
        return []
    try:
        return [float(x) for x in values]
    except (ValueError, OverflowError):  # OverflowError: an integer of 400 digits
        return []


def as_text(cell: Any) -> str:
    """Return a cell as one text."""
    return " ".join(str(one) for one in cell if one is not None) if isinstance(cell, list) else str(cell)


def words_in_cells(cells: Sequence[Any], *, split: bool = True) -> list[list[str] | None]:
    """Return the words in each cell of a column; None for a list that cannot be parsed.

    >>> words_in_cells(["Drama|War", "Comedy"])
    [['Drama', 'War'], ['Comedy']]
    >>> words_in_cells(["[{'id': 18, 'name': 'Drama'}, {'id': 35, 'name': 'Comedy'}]", "[]", '["War"]'])
    [['Drama', 'Comedy'], [], ['War']]

    Cells are text, or lists (from Parquet). They are lists if most of those that are not empty look like one.
    Otherwise, and if ``split``, they are divided at the first of ``|``, ``;`` and the comma that occurs.
    """
    filled = [cell for cell in cells if not isinstance(cell, str) or cell.strip()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of backslashes in texts
        if filled and 2 * sum(map(_is_list, filled)) >= len(filled):
            return [_listed(cell) if _is_list(cell) else _split(cell, None) for cell in cells]
    mark = next((m for m in MARKS if any(m in cell for cell in filled)), None) if split else None
    return [_split(cell, mark) for cell in cells]


def _is_list(cell: Any) -> bool:
    if not isinstance(cell, str):
        return True
    text = cell.strip()
    return len(text) > 1 and BRACKETS.get(text[0]) == text[-1]


def _split(cell: Any, mark: str | None) -> list[str]:
    if not isinstance(cell, str):
        return _listed(cell) or []
    words = cell.split(mark) if mark else [cell]
    return [word.strip() for word in words if word.strip()]


def _listed(cell: Any) -> list[str] | None:
    """Return the names in a list, or in the text of one."""
    if isinstance(cell, str):
        cell = _parsed(cell.strip())
    if isinstance(cell, dict):
        are_counts = cell and all(isinstance(value, int | float) for value in cell.values())
        cell = list(cell) if are_counts else [cell]
    if not isinstance(cell, list | tuple | set):
        return None
    return [name for one in cell if (name := _name(one))]


def _name(one: Any) -> str:
    """Return the name of an entry: itself, or the name in a dictionary."""
    if isinstance(one, dict):
        texts = [one[key] for key in NAME_KEYS if isinstance(one.get(key), str)]
        texts += [value for value in one.values() if isinstance(value, str)]
        return str(texts[0]).strip() if texts else ""
    return "" if one is None or isinstance(one, list | tuple | set) else str(one).strip()


def _parsed(text: str) -> Any:
    """Return the value of a text in JSON, or in the notation of Python or NumPy; None if it is neither.

    >>> _parsed("['a' 'b']")  # as NumPy prints it; in Python, 'a' 'b' would be 'ab'
    ['a', 'b']
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if re.search(r"'\s+'|\"\s+\"", text) and "," not in text:
        return [single or double for single, double in re.findall(r"'([^']*)'|\"([^\"]*)\"", text)]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
