"""The command line: one module per verb, listed in the table below and imported when the verb is called.

A verb's module has a function with the verb's name, whose parameters are the options, or a
:class:`typer.Typer` named ``app`` with subcommands. ``EXAMPLES`` are the command lines in its help, by
subcommand if there are any. The table has the one-line help, so that ``prefmover --help`` imports no verb.

Options that several verbs share are the fields of a dataclass, and the verb takes one parameter of that
class. A verb that returns an :class:`~prefmover.cli.terminal.Output` has ``--json``, and all have
``--config`` for the ``experiment.json`` of a run, or a file in TOML. Its keys are the long names of options
or the names of arguments. A table holds the options of one verb, and every verb takes from the rest what it
knows:

.. code-block:: toml

    dataset = "cinema"
    n = 5

    [neighbors]     # only for this verb
    user = ["petra-h"]

The command line overrides the verb's table, and the table overrides the rest of the file.

Errors that the user can fix end with one line on stderr and exit code 2; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import json as json_format
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import metadata
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from prefmover.cli.terminal import INTERRUPTED, STATE, Output, error_line, note, prompt_interrupts, read_text
from prefmover.errors import InputError, MissingExtraError, PrefmoverError, close_names

__all__ = ["VERBS", "app", "main"]

KEYWORD = inspect.Parameter.KEYWORD_ONLY

VERBS = {
    "demo": "Show neighbors, an explanation and recommendations.",
    "fit": "Fit a model to ratings and save it in a folder.",
    "neighbors": "Find the nearest neighbors of one user or of all users.",
    "recommend": "Recommend items to users, with reasons.",
    "predict": "Predict ratings of (user, item) pairs.",
    "explain": "Explain a distance, a recommendation or a predicted rating.",
    "distance": "Compute the distance or similarity between two users.",
    "measures": "List the measures between users.",
    "items": "Inspect the distances between items.",
    "data": "List, download and locate data sets.",
    "evaluate": "Compare the lists or the predicted ratings of recommenders.",
    "report": "Write figures, tables and conclusions of an evaluation.",
    "paper": "Reproduce the tables and figures of the paper.",
    "serve": "Serve a model over HTTP: an API and an explorer.",
    "export-site": "Write the explorer as a folder of files, which needs no server.",
    "doctor": "Check the installation, and show how to fix it.",
}


PANELS = ("Options", "Data", "Columns of your files", "Model", "Run")
"""The parts of a help; the first has the options of the verb alone."""


class Opt:
    """An option: its help, its other names (-o), what stands for its value (FILE), and typer's settings.

    The rest follows from the parameter: the long name, N for a number, and that a list is repeatable. The
    panel is that of the dataclass (``PANEL``), if it is not given.
    """

    def __init__(self, text: str, *words: str, panel: str = "", **settings: Any) -> None:
        self.text, self.words, self.panel, self.settings = text, words, panel, settings


class _Verb(TyperCommand):
    """A command whose help begins with a sentence and examples; options follow by panel, then the details."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[Any]] = {panel: [] for panel in PANELS}
        for one in self.get_params(ctx):
            row, last = one.get_help_record(ctx), "Run" if one.name == "help" else PANELS[0]
            if row is not None:
                if one.param_type_name == "argument":
                    row = (str(one.name).upper(), row[1])
                panels[getattr(one, "rich_help_panel", None) or last].append(row)
        sentence, *details = str(self.help).split("\n\n")
        self.format_usage(ctx, formatter)
        self._write(formatter, sentence, self.epilog or "")
        for panel, rows in panels.items():
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)
        self._write(formatter, *details)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the verb: [OPTIONS], and arguments in capital letters."""
        return [piece.strip("{}").upper() for piece in super().collect_usage_pieces(ctx)]

    def _write(self, formatter: Any, *texts: str) -> None:
        for text in filter(None, texts):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(text)


class _Verbs(TyperGroup):
    """The verbs as commands that are imported when they are called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in VERBS.items():  # for the overview and for the hints on misspelled verbs
            self.commands[name] = TyperCommand(name, help=line)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)  # raises with a hint if there is no such verb
        return name, (None if name is None else _load(str(name))), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            note("prefmover: stopped")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # `prefmover ... | head` closed the pipe. Python must not flush to it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except (PrefmoverError, OSError) as error:  # missing files, full disks, permissions
            if STATE.debug:
                raise
            error_line(str(error))
            ours = isinstance(error, PrefmoverError) and not isinstance(error, InputError | MissingExtraError)
            raise typer.Exit(1 if ours else 2) from None
        except Exception as error:
            # Typer's own errors have an exit code; their class depends on the version of typer.
            if STATE.debug or hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise
            error_line(
                f"internal error in prefmover ({type(error).__name__}: {error}); please report it with the "
                "output of the same command after `prefmover --debug`"
            )
            raise typer.Exit(1) from None


def _load(name: str) -> Any:
    """Import a verb's module and return its command."""
    place = name.replace("-", "_")
    module = importlib.import_module(f"prefmover.cli.{place}")
    examples: Any = getattr(module, "EXAMPLES", {})
    verb = getattr(module, "app", None)
    if verb is None:
        verb = typer.Typer(add_completion=False)
        verb.command(name)(getattr(module, place))
        examples = {name: examples}
    for info in verb.registered_commands:
        assert info.callback is not None
        info.callback, info.cls = as_command(info.callback), _Verb
        lines = [f"  {line}" for line in examples.get(info.name or info.callback.__name__, ())]
        if lines:
            info.epilog = "\n".join(["\b", "Examples:", *lines])  # the first character keeps the line breaks
    command: Any = typer.main.get_command(verb)
    for part in (command, *getattr(command, "commands", {}).values()):
        part.rich_markup_mode = None
    command.name, command.help = name, command.help or VERBS[name]
    return command


def as_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that typer calls: groups are spread into their fields, and options are added.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Trip:
    ...     city: Annotated[str, typer.Option(help="Destination.")] = "Ghent"
    >>> def send(trip: Trip, n: int = 1) -> Output:
    ...     return Output({"city": trip.city}, [trip.city] * n)
    >>> ready = as_command(send)
    >>> [*inspect.signature(ready).parameters]
    ['city', 'n', 'json', 'config']
    >>> ready(city="Delft", n=2)
    Delft
    Delft
    """
    if hasattr(function, "option_groups"):
        return function
    own, parameters = _parameters(function), list[inspect.Parameter]()
    groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
    for one in own:
        parameters += _parameters(one.annotation) if one.name in groups else [one]
    extra = {"json": (Json, False)} if get_type_hints(function).get("return") is Output else {}
    for name, (kind, default) in {**extra, "config": (Config, "")}.items():
        parameters.append(inspect.Parameter(name, KEYWORD, annotation=kind, default=default))

    @functools.wraps(function)
    def run(*, config: str = "", json: bool = False, **values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{one.name: values.pop(one.name) for one in fields(group)})
        output = function(**values)
        if output is not None:
            output.print(json)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.option_groups = groups  # type: ignore[attr-defined]
    return run


def _parameters(owner: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function, or the fields of a dataclass, with their types."""
    types = get_type_hints(owner, include_extras=True)
    parameters = inspect.signature(owner).parameters.values()
    for name, kind in types.items():
        if isinstance(option := getattr(kind, "__metadata__", (None,))[0], Opt):
            types[name] = _declared(option, name, kind.__origin__, getattr(owner, "PANEL", ""))
    return [one.replace(kind=KEYWORD, annotation=types.get(one.name, str)) for one in parameters]


def _declared(option: Opt, name: str, kind: Any, panel: str) -> Any:
    """Return the type of a parameter for typer."""
    kinds = get_args(kind) or (kind,)
    names = [word for word in option.words if word.startswith("-")]
    metavar = next((word for word in option.words if not word.startswith("-")), None)
    if len(name) > 1 and not any(one.startswith("--") for one in names):
        names.append(f"--{name.replace('_', '-')}")
    if metavar is None and (int in kinds or float in kinds):
        metavar = "N"
    text = f"{option.text.removesuffix('.')}; repeatable." if list[str] in (kind, *kinds) else option.text
    panel = option.panel or panel or PANELS[0]
    return Annotated[
        kind, typer.Option(*names, help=text, metavar=metavar, rich_help_panel=panel, **option.settings)
    ]


def _configure(ctx: typer.Context, path: str) -> str:
    """Make the settings of a file the defaults of the command's options."""
    STATE.source_of = ctx.get_parameter_source
    if path and not ctx.resilient_parsing:
        is_run = path.endswith(".json")
        try:
            content = _settings_of_run(read_text(path)) if is_run else tomllib.loads(read_text(path))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            kind = "the experiment.json of a run" if is_run else "TOML"
            raise InputError(f"{path} is not {kind}: {error}") from None
        own, shared = settings_for(content, ctx.command_path.split()[1:])
        options = _options_of(ctx.command)
        others = {key for key in shared if key.replace("_", "-") not in options and _is_known(key)}
        settings = {key: value for key, value in {**shared, **own}.items() if key in own or key not in others}
        ctx.default_map = dict(_checked(ctx, key, value, path) for key, value in settings.items())
    return path


def _is_known(key: str) -> bool:
    """Whether any verb has an option of this name."""
    commands = [
        part for verb in map(_load, VERBS) for part in (verb, *getattr(verb, "commands", {}).values())
    ]
    return any(key.replace("_", "-") in _options_of(command) for command in commands)


def _settings_of_run(text: str) -> dict[str, Any]:
    """Return the settings in an ``experiment.json``, without those that are not set.

    >>> _settings_of_run('{"settings": {"dataset": "cinema", "ratings": "", "relevant": null}}')
    {'dataset': 'cinema'}
    """
    settings = json_format.loads(text)["settings"]
    return {name: value for name, value in settings.items() if value not in (None, "", [])}


Json = Annotated[bool, typer.Option("--json", help="JSON output.", rich_help_panel="Run")]
Config = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        is_eager=True,
        callback=_configure,
        rich_help_panel="Run",
        help="TOML file of options for all verbs, or a run's experiment.json; what is typed overrides it.",
    ),
]


def settings_for(content: Mapping[str, Any], verbs: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings for a verb: those of the verb's table, and the keys outside of tables.

    >>> settings_for({"n": 5, "neighbors": {"n": 9}, "fit": {"seed": 1}}, ["neighbors"])
    ({'n': 9}, {'n': 5})
    """
    common = {key: value for key, value in content.items() if key not in VERBS or not isinstance(value, dict)}
    table: Any = content
    for verb in verbs:
        table = table.get(verb, {}) if isinstance(table, dict) else {}
    return dict(table) if isinstance(table, dict) else {}, common


def _checked(ctx: typer.Context, key: str, value: Any, path: str) -> tuple[str, Any]:
    """Return a setting as (parameter, text); typer checks the text, as if it were typed."""
    options = _options_of(ctx.command)
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


def _options_of(command: Any) -> dict[str, Any]:
    """Return the parameters of a command by the names that a file may use."""
    options: dict[str, Any] = {}
    for parameter in command.params:
        names = [name for name in parameter.opts if name.startswith("--") or not name.startswith("-")]
        for name in [*names, str(parameter.name)]:
            options.setdefault(name.lstrip("-").replace("_", "-"), parameter)
    return {name: option for name, option in options.items() if name not in ("config", "help")}


app = typer.Typer(
    cls=_Verbs,
    name="prefmover",
    help="Find like-minded users by exact optimal transport between their ratings.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"prefmover {metadata.version('prefmover')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Version of prefmover.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Error tracebacks.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Results and errors only; no notes, no progress.")
    ] = False,
) -> None:
    STATE.debug, STATE.quiet = debug, quiet
    STATE.listen()


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit; this is the ``prefmover`` script."""
    command = typer.main.get_command(app)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a pipe on Windows has no ↔; in JSON, \u2194 is the same
        sys.stdout.reconfigure(errors="backslashreplace")
    with prompt_interrupts():
        command.main(args=sys.argv[1:] if args is None else list(args), prog_name="prefmover")
