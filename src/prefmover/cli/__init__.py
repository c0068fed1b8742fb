"""The command line: one file per verb, found in the table below, imported when it is called.

A verb's module holds either a function with the verb's name, whose parameters are the options, or a
:class:`typer.Typer` named ``app`` for a verb with sub-commands; and ``EXAMPLES``, the command lines that its
help shows (by sub-command, if there are any). Heavy imports go inside the functions. The table has the
one-line help, so that ``prefmover --help`` imports none of them.

Errors that a user can mend end with one line on stderr and exit code 2; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from prefmover.cli.interrupt import INTERRUPTED, prompt_interrupts
from prefmover.cli.terminal import STATE, error_line, tell
from prefmover.errors import InputError, MissingExtraError, PrefmoverError

__all__ = ["VERBS", "app", "main"]

VERBS = {
    "demo": "A tour on built-in data: neighbors, reasons, recommendations.",
    "fit": "Learn from ratings and keep the model in a folder.",
    "neighbors": "Find the users most like a user, or everybody's.",
    "recommend": "Recommend items to a user, with reasons.",
    "predict": "Predict ratings of (user, item) pairs.",
    "explain": "Show why two users are alike, or why an item suits.",
    "distance": "Measure how far apart two users are.",
    "items": "Look at item geometries.",
    "data": "List, download and locate data sets.",
    "evaluate": "Predict test ratings by any measure, share and K.",
    "report": "Write the figures, tables and conclusions of a run.",
    "paper": "Compute the paper's own tables and figures.",
    "serve": "Serve a model over HTTP: an API and an explorer.",
    "bench": "Time this machine against POT, within a minute.",
    "doctor": "Show what is installed, what is missing, and the remedy.",
}


class _Verbs(TyperGroup):
    """The table as a group of commands that are imported when they are called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in VERBS.items():  # what the overview shows, and what misspellings are compared with
            self.commands[name] = TyperCommand(name, help=line)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)  # says what was meant if it is not there
        return name, (None if name is None else _load(str(name))), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            tell("prefmover: stopped")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # `prefmover ... | head` has what it wants. Nothing more can be written, at exit neither.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except (PrefmoverError, OSError) as error:  # files that are not there, full disks, rights
            if STATE.debug:
                raise
            error_line(str(error))
            ours = isinstance(error, PrefmoverError) and not isinstance(error, InputError | MissingExtraError)
            raise typer.Exit(1 if ours else 2) from None
        except Exception as error:
            # Typer's own, such as a misspelt option, know their exit code (of which class they are depends on
            # its version).
            if STATE.debug or hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise
            error_line(
                f"a defect of prefmover, not of yours ({type(error).__name__}: {error}); please report it, "
                "with what `prefmover --debug ...` prints for the same command"
            )
            raise typer.Exit(1) from None


def _load(name: str) -> Any:
    """Import a verb's module and return its command."""
    from prefmover.cli.options import command as ready

    module = importlib.import_module(f"prefmover.cli.{name.replace('-', '_')}")
    examples: Any = getattr(module, "EXAMPLES", {})
    verb = getattr(module, "app", None)
    if verb is None:
        verb = typer.Typer(add_completion=False)
        verb.command(epilog=_epilog(examples))(getattr(module, name.replace("-", "_")))
        examples = {}
    for info in verb.registered_commands:
        assert info.callback is not None
        info.callback = ready(info.callback)
        info.epilog = info.epilog or _epilog(examples.get(info.name or info.callback.__name__, ()))
    command: Any = typer.main.get_command(verb)
    for part in (command, *getattr(command, "commands", {}).values()):
        part.rich_markup_mode = None
    command.name = name
    return command


def _epilog(examples: Sequence[str]) -> str | None:
    """Return examples as the end of a command's help; the first character keeps the lines apart."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in examples)]) if examples else None


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
    with prompt_interrupts():
        command.main(args=sys.argv[1:] if args is None else list(args), prog_name="prefmover")
