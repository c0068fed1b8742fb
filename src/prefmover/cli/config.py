"""Options from a TOML file: keys are the names of options, without dashes in front.

.. code-block:: toml

    dataset = "cinema"
    k = 20

    [neighbors]     # only for this verb
    user = ["petra-h"]

What is given on the command line wins over the verb's own table, and that over the rest of the file.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Union, get_args, get_origin

import typer

from prefmover.errors import InputError

__all__ = ["configure", "read_toml", "settings_for"]

WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def read_toml(path: str) -> dict[str, Any]:
    """Return what is in a TOML file."""
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def configure(
    kinds: Mapping[str, Any], only: Container[str] | None = None
) -> Callable[[typer.Context, str], str]:
    """Return typer's callback of ``--config`` for a command whose parameters have these types.

    With ``only``, other keys are left to the command.
    """

    def callback(ctx: typer.Context, value: str) -> str:
        if value and not ctx.resilient_parsing:
            names = _option_names(ctx)
            given = settings_for(read_toml(value), _verbs(ctx))
            if only is not None:
                given = {key: one for key, one in given.items() if key in only}
            ctx.default_map = dict(_checked(given, names, kinds, value))
        return value

    return callback


def settings_for(content: Mapping[str, Any], verbs: Iterable[str]) -> dict[str, Any]:
    """Return the keys that are for a verb: those outside of tables, and those in the verb's own table.

    A file that has no table for the verb is for it as a whole; tables of other verbs are left alone.

    >>> settings_for({"k": 5, "neighbors": {"k": 9}, "fit": {"seed": 1}}, ["neighbors"])
    {'k': 9}
    """
    from prefmover.cli import VERBS

    given = {
        name: value for name, value in content.items() if name not in VERBS or not isinstance(value, dict)
    }
    table: Any = content
    for verb in verbs:
        table = table.get(verb, {}) if isinstance(table, dict) else {}
    return {**given, **table} if isinstance(table, dict) else given


def _verbs(ctx: typer.Context) -> list[str]:
    """Return the words that lead to the command: ["items", "near"]."""
    words: list[str] = []
    at: Any = ctx
    while at is not None and at.parent is not None:
        words.insert(0, str(at.info_name))
        at = at.parent
    return words


def _option_names(ctx: typer.Context) -> dict[str, str]:
    """Return the parameter that each key means: long options, and the names of arguments."""
    names: dict[str, str] = {}
    for parameter in ctx.command.params:
        for option in (*parameter.opts, str(parameter.name)):
            key = option.lstrip("-").replace("_", "-")
            if (len(key) > 1 or option.startswith("--") or not option.startswith("-")) and key != "config":
                names.setdefault(key, str(parameter.name))
    names.pop("help", None)
    return names


def _checked(
    given: Mapping[str, Any], names: Mapping[str, str], kinds: Mapping[str, Any], path: str
) -> Iterable[tuple[str, Any]]:
    from prefmover.data.ids import close_names

    for key, value in given.items():
        name = names.get(key.replace("_", "-"))
        if name is None:
            close = close_names(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(names))}"
            raise InputError(f"{path}: there is no option {key!r}; {hint}")
        yield name, _typed(value, kinds.get(name, str), f"{path}: {key}")


def _typed(value: Any, kind: Any, where: str) -> Any:
    """Return a value if it is of a type; whole numbers also pass for numbers, and numbers for text.

    >>> _typed([1, "b"], list[str], "a.toml: user")
    ['1', 'b']
    >>> _typed("ten", int | None, "a.toml: k")
    Traceback (most recent call last):
    prefmover.errors.InputError: a.toml: k is 'ten'; expected a whole number
    """
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is list:
        listed = value if isinstance(value, list) else [value]
        return [_typed(one, get_args(kind)[0], where) for one in listed]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (isinstance(value, str) or number)
        if kind is str
        else number
        if kind is float
        else isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    )
    if not fits:
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        raise InputError(f"{where} is {shown}; expected {WORDS[kind]}")
    return str(value) if kind is str else value
