"""Functions as commands: groups of options, ``--json``, and a ``--config`` file for all of them.

A verb is a function whose parameters are its options. Options that several verbs share are the fields of a
dataclass, and the verb takes one parameter of that class. A verb that returns an
:class:`~prefmover.cli.terminal.Output` has ``--json``.

A configuration file is TOML. Its keys are the long names of options or the names of arguments, and a table
holds the options of one verb:

.. code-block:: toml

    dataset = "cinema"
    k = 20

    [neighbors]     # only for this verb
    user = ["petra-h"]

The command line overrides the verb's table, and the table overrides the rest of the file.
"""

from __future__ import annotations

import functools
import inspect
import json as json_format
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from prefmover.cli.terminal import Output
from prefmover.errors import InputError, close_names


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that typer calls: groups are spread into their fields, and options are added.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Trip:
    ...     city: Annotated[str, typer.Option(help="Destination.")] = "Ghent"
    >>> def send(trip: Trip, n: int = 1) -> Output:
    ...     return Output({"city": trip.city}, [trip.city] * n)
    >>> ready = command(send)
    >>> [*inspect.signature(ready).parameters]
    ['city', 'n', 'json', 'config']
    >>> ready(city="Delft", n=2)
    Delft
    Delft
    """
    if hasattr(function, "option_groups"):
        return function
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name in inspect.signature(function).parameters:
        owner, names = (groups[name], _fields(groups[name])) if name in groups else (function, [name])
        types, defaults = get_type_hints(owner, include_extras=True), inspect.signature(owner).parameters
        parameters += [_parameter(one, types.get(one, str), defaults[one].default) for one in names]
    if hints.get("return") is Output:
        parameters.append(_parameter("json", Json, False))
    parameters.append(_parameter("config", Config, ""))

    @functools.wraps(function)
    def run(*, config: str = "", json: bool = False, **values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field: values.pop(field) for field in _fields(group)})
        output = function(**values)
        if output is not None:
            output.print(json)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.option_groups = groups  # type: ignore[attr-defined]
    return run


def _fields(group: Any) -> list[str]:
    return list(inspect.signature(group).parameters)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _configure(ctx: typer.Context, path: str) -> str:
    """Make the settings of a file the defaults of the command's options."""
    if path and not ctx.resilient_parsing:
        settings = settings_for(_read_toml(path), ctx.command_path.split()[1:])
        ctx.default_map = dict(_checked(ctx, key, value, path) for key, value in settings.items())
    return path


Json = Annotated[bool, typer.Option("--json", help="JSON output.")]
Config = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        is_eager=True,
        callback=_configure,
        help="TOML file of options; the command line overrides it.",
    ),
]


def settings_for(content: Mapping[str, Any], verbs: Sequence[str]) -> dict[str, Any]:
    """Return the settings for a verb: the keys outside of tables, and those of the verb's table.

    >>> settings_for({"k": 5, "neighbors": {"k": 9}, "fit": {"seed": 1}}, ["neighbors"])
    {'k': 9}
    """
    from prefmover.cli import VERBS

    common = {key: value for key, value in content.items() if key not in VERBS or not isinstance(value, dict)}
    table: Any = content
    for verb in verbs:
        table = table.get(verb, {}) if isinstance(table, dict) else {}
    return {**common, **table} if isinstance(table, dict) else common


def _read_toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise InputError(f"{path} is not TOML: {error}") from None


def _checked(ctx: typer.Context, key: str, value: Any, path: str) -> tuple[str, Any]:
    """Return a setting as (parameter, text); typer checks the text, as if it were typed."""
    options = _options(ctx)
    option = options.get(key.replace("_", "-"))
    if option is None:
        close = close_names(key, options, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"options: {', '.join(sorted(options))}"
        raise InputError(f"{path}: there is no option {key!r}; {hint}")
    flag = getattr(option, "is_flag", False)
    values = value if isinstance(value, list) else [value]
    for one in values:
        if isinstance(one, bool) != flag:
            shown = str(one).lower() if isinstance(one, bool) else repr(one)
            expected = "true or false" if flag else "a number or text"
            raise InputError(f"{path}: {key} is {shown}; expected {expected}")
    texts = [str(one) for one in values]
    typed = value if flag else texts if option.multiple else ",".join(texts)
    if any(isinstance(one, dict) for one in values):  # tables, which no command line could hold
        typed = json_format.dumps(values, default=str)
    try:
        option.process_value(ctx, typed)
    except typer.BadParameter as error:
        raise InputError(f"{path}: {key} is {value!r}: {error.message}") from None
    return option.name, typed


def _options(ctx: typer.Context) -> dict[str, Any]:
    """Return the parameters of a command by the names that a file may use."""
    options: dict[str, Any] = {}
    for parameter in ctx.command.params:
        names = [name for name in parameter.opts if name.startswith("--") or not name.startswith("-")]
        for name in [*names, str(parameter.name)]:
            options.setdefault(name.lstrip("-").replace("_", "-"), parameter)
    return {name: option for name, option in options.items() if name not in ("config", "help")}
