"""Functions as commands: groups of options spread out, and a ``--config`` file for all of them.

A verb is a function whose parameters are its options. Where several verbs share options, these are the
fields of a dataclass, and the verb takes one parameter of that class.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from prefmover.cli.config import configure

__all__ = ["command"]


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for typer: option groups spread into their fields, and ``--config`` added.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Where:
    ...     city: Annotated[str, typer.Option(help="Where to.")] = "Ghent"
    >>> def send(where: Where, n: int = 1) -> None:
    ...     print(n, where.city)
    >>> ready = command(send)
    >>> [*inspect.signature(ready).parameters]
    ['city', 'n', 'config']
    >>> ready(city="Delft", n=2, config="")
    2 Delft
    """
    if getattr(function, "is_command", False):
        return function
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints.get(parameter.name, str)
        if is_dataclass(kind) and isinstance(kind, type):
            spread = _fields(kind)
            groups[parameter.name] = kind, [one.name for one in spread]
            parameters += spread
        else:
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=kind, kind=keyword))
    with_config = "config" not in {one.name for one in parameters}
    if with_config:
        types = {one.name: _plain(one.annotation) for one in parameters}
        option = typer.Option(
            metavar="FILE",
            is_eager=True,
            callback=configure(types),
            help="A TOML file of options; those given here win.",
        )
        parameters.append(_keyword("config", Annotated[str, option], ""))

    @functools.wraps(function)
    def run(**given: Any) -> Any:
        if with_config:
            given.pop("config")
        for name, (kind, names) in groups.items():
            given[name] = kind(**{one: given.pop(one) for one in names})
        return function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.is_command = True  # type: ignore[attr-defined]
    return run


def _fields(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    out = []
    for one in fields(group):
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        out.append(
            _keyword(one.name, hints[one.name], inspect.Parameter.empty if default is MISSING else default)
        )
    return out


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain(annotation: Any) -> Any:
    """Return a type without what typer is told about it."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
