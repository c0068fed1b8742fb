"""``$ command`` lines of console blocks: parsed, checked against the command line, and run."""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import typer

from prefmover.cli import app, main
from tests.docs.blocks import ROOT, Block

__all__ = ["Command", "check", "commands_of", "run"]

SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Command:
    """A command as printed, and the output that the page shows below it."""

    line: str
    shown: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a block; a line that ends with a backslash continues in the next."""
    assert block.code.startswith("$ "), f"{block.location}: a console block starts with '$ '"
    joined = block.code.replace("\\\n", " ")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [Command(*(part.split("\n", 1))) for part in parts]


def check(command: Command) -> None:
    """Raise an AssertionError unless the verbs, options, targets and extras exist."""
    words = command.words
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):  # VARIABLE=value before the command
        words = words[1:]
    if words[:1] == ["prefmover"]:
        _check_verb(command.line, _before_pipe(words[1:]))
    elif words[:1] == ["make"]:
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        goals = [word for word in words[1:] if "=" not in word]
        assert set(goals) <= set(targets), f"{command.line}: make has {targets}"
    elif "pip" in words:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for word in words:
            for named in re.findall(r"\[([\w,-]+)\]", word):
                assert set(named.split(",")) <= set(extras), f"{command.line}: the extras are {list(extras)}"


def _before_pipe(words: list[str]) -> list[str]:
    ends = [words.index(mark) for mark in ("|", ">", "&&", ";", "&") if mark in words]
    return words[: min(ends, default=len(words))]


def _check_verb(line: str, words: list[str]) -> None:
    """Let each verb and subcommand parse its part of the line."""
    command = typer.main.get_command(app)
    context = None
    while True:
        context = command.context_class(command, info_name=command.name, parent=context)
        try:
            _, rest, _ = command.make_parser(context).parse_args(list(words))
            if not hasattr(command, "resolve_command") or not rest:
                break
            _, command, words = command.resolve_command(context, rest)
        except Exception as error:
            raise AssertionError(f"$ {line}: {error}") from None


def run(command: Command, folder: Path) -> None:
    """Run a command in a folder; raise an AssertionError if it fails or its output differs from the page.

    The page shows stdout, or stdout and stderr together; ``...`` stands for anything.
    """
    words = command.words
    if words[:1] == ["prefmover"] and not set(words) & {"|", ">", "&&", ";"}:
        code, out, both = _run_here(words[1:], folder)
    else:
        path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            command.line, shell=True, cwd=folder, capture_output=True, text=True, env=os.environ | path
        )
        code, out, both = done.returncode, done.stdout, done.stdout + done.stderr
    assert code == 0, f"$ {command.line}\nexit code {code}\n{both}"
    if command.shown.strip():
        same = doctest.OutputChecker().check_output
        good = any(same(command.shown, got, SAME) for got in (out, both))
        assert good, f"$ {command.line}\nthe page shows\n{command.shown}\nbut it printed\n{both}"


def _run_here(words: list[str], folder: Path) -> tuple[int, str, str]:
    """Run prefmover in this process, which saves the second that Python takes to start."""
    both = io.StringIO()
    out = _Both(both)
    with contextlib.chdir(folder), contextlib.redirect_stderr(both), contextlib.redirect_stdout(out):
        try:
            main(words)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, out.getvalue(), both.getvalue()


class _Both(io.StringIO):
    """A stream that also writes to another."""

    def __init__(self, other: io.StringIO) -> None:
        super().__init__()
        self.other = other

    def write(self, text: str) -> int:
        self.other.write(text)
        return super().write(text)
