"""The command line: one file per verb, found in the table below, imported when it is called.

A verb's module holds either a function with the verb's name, whose parameters are the options, or a
:class:`typer.Typer` named ``app`` for a verb with sub-commands. Heavy imports go inside the functions. The
table has the one-line help, so that ``prefmover --help`` imports none of them.

Errors that a user can mend end with one line on stderr and exit code 2; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from prefmover.cli.terminal import STATE, error_line
from prefmover.errors import InputError, MissingExtraError, PrefmoverError

__all__ = ["VERBS", "app", "main"]

VERBS = {
    "demo": "Work through the example of the paper, from ratings to flows.",
    "data": "List, download and locate data sets.",
    "items": "Build and look at item geometries.",
    "evaluate": "Predict test ratings by any measure, share and K; resumable.",
    "report": "Write the figures, tables and conclusions of a run.",
    "paper": "Run the experiments of the paper and compare with its figures.",
    "doctor": "Show versions, threads, caches and data, and how to get what is missing.",
}


class _Verbs(TyperGroup):
    """The table as a group of commands that are imported when they are called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in VERBS.items():  # what the overview shows, and what misspellings are compared with
            self.commands[name] = TyperCommand(name, help=line)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)  # says what was meant if it is not there
        return name, _load(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except (PrefmoverError, OSError) as error:
            if STATE.debug or isinstance(error, BrokenPipeError):  # the latter is no error: nobody reads on
                raise
            error_line(str(error))
            ours = isinstance(error, PrefmoverError) and not isinstance(error, InputError | MissingExtraError)
            raise typer.Exit(1 if ours else 2) from None


def _load(name: str) -> Any:
    """Import a verb's module and return its command."""
    module = importlib.import_module(f"prefmover.cli.{name.replace('-', '_')}")
    verb = getattr(module, "app", None)
    if verb is None:
        verb = typer.Typer(add_completion=False)
        verb.command()(getattr(module, name.replace("-", "_")))
    command: Any = typer.main.get_command(verb)
    for part in (command, *getattr(command, "commands", {}).values()):
        part.rich_markup_mode = None
    command.name = name
    return command


app = typer.Typer(
    cls=_Verbs,
    name="prefmover",
    help="Find like-minded users by exact optimal transport between their ratings.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"prefmover {version('prefmover')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no notes, only results and errors.")
    ] = False,
) -> None:
    STATE.debug, STATE.quiet = debug, quiet
    STATE.listen()


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit; this is the ``prefmover`` script."""
    command = typer.main.get_command(app)
    command.main(args=sys.argv[1:] if args is None else list(args), prog_name="prefmover")
