"""The command line: one module per verb, listed in the table below and imported when the verb is called.

A verb's module has a function with the verb's name, whose parameters are the options, or a
:class:`typer.Typer` named ``app`` with subcommands. ``EXAMPLES`` are the command lines in its help, by
subcommand if there are any. The table has the one-line help, so that ``prefmover --help`` imports no verb.

Errors that the user can fix end with one line on stderr and exit code 2; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from prefmover.cli.terminal import INTERRUPTED, STATE, error_line, note, prompt_interrupts
from prefmover.errors import InputError, MissingExtraError, PrefmoverError

__all__ = ["VERBS", "app", "main"]

VERBS = {
    "demo": "Show neighbors, an explanation and recommendations.",
    "fit": "Fit a model to ratings and save it in a folder.",
    "neighbors": "Find the nearest neighbors of one user or of all users.",
    "recommend": "Recommend items to users, with reasons.",
    "predict": "Predict ratings of (user, item) pairs.",
    "explain": "Explain a distance, a recommendation or a predicted rating.",
    "distance": "Compute the distance or similarity between two users.",
    "items": "Inspect the distances between items.",
    "data": "List, download and locate data sets.",
    "evaluate": "Compare the lists or the predicted ratings of recommenders.",
    "report": "Write figures, tables and conclusions of an evaluation.",
    "paper": "Reproduce the tables and figures of the paper.",
    "serve": "Serve a model over HTTP: an API and an explorer.",
    "doctor": "Check the installation, and show how to fix it.",
}


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
    from prefmover.cli.command import command as ready

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
    command.name, command.help = name, command.help or VERBS[name]
    return command


def _epilog(examples: Sequence[str]) -> str | None:
    """Return the examples for the end of a help page; the first character keeps their line breaks."""
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
    with prompt_interrupts():
        command.main(args=sys.argv[1:] if args is None else list(args), prog_name="prefmover")
