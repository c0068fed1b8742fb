import importlib
import json
import logging
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import get_args

import pytest

import prefmover as pm
from prefmover.cli import VERBS, _load, main, terminal
from prefmover.datasets.registry import SOURCES
from prefmover.errors import InputError, MissingExtraError, NotOptimalError
from prefmover.execution.threads import Stages
from tests.messages import unnamed


@pytest.fixture
def failing(monkeypatch):
    """Make `prefmover doctor` raise."""

    def fail_with(error):
        def doctor():
            raise error

        monkeypatch.setattr(importlib.import_module("prefmover.cli.doctor"), "doctor", doctor)

    return fail_with


def test_help_lists_all_verbs(run):
    code, out, _ = run("--help")
    assert code == 0
    for verb in VERBS:
        assert f"\n  {verb} " in out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(run, verb):
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: prefmover {verb}" in out


def test_help_begins_with_a_sentence_and_examples_and_has_panels(run):
    _, out, _ = run("recommend", "--help")
    panels = ("Examples:", "Options:", "Data:", "Columns of your files:", "Model:", "Run:")
    places = [out.index(f"\n{' ' * (name == 'Examples:') * 2}{name}\n") for name in panels]
    assert places == sorted(places)
    first = out[places[1] : places[2]]
    assert all(option in first for option in ("--user", "--where", "--out"))
    assert not any(option in first for option in ("--ratings", "--measure", "--threads", "--encoding"))
    assert "cos|" not in out  # long choices have a verb that lists them
    assert "ml-100k|" not in out


def test_an_option_has_one_short_name_in_all_verbs():
    """-o is --out everywhere, and so on; -n is how many are shown, --k how many neighbors are averaged."""
    short: dict[str, set[str]] = {}
    shapes: dict[str, set[str]] = {}
    for verb in VERBS:
        command = _load(verb)
        for part in (command, *getattr(command, "commands", {}).values()):
            for option in part.params:
                names = sorted(option.opts, key=len)
                if option.metavar and not option.hidden:
                    shapes.setdefault(names[-1], set()).add(option.metavar)
                if len(names) > 1:
                    short.setdefault(names[0], set()).add(names[-1])
    assert {name: longs for name, longs in short.items() if len(longs) > 1} == {}
    assert short["-u"] == {"--user"}
    assert {name: of for name, of in shapes.items() if len(of) > 1} == {"--out": {"FILE", "FOLDER"}}


def test_measures(run):
    found = json.loads(run("measures", "--json")[1])
    assert [row["name"] for row in found] == list(pm.MEASURES)
    assert [row["conventions"] for row in found if row["name"] == "nhsm"] == [["published", "table-1"]]
    assert all(name in run("measures")[1] for name in pm.MEASURES)


def test_version(run):
    from importlib.metadata import version

    assert run("--version") == (0, f"prefmover {version('prefmover')}\n", "")


def test_an_input_error_is_one_line(run, failing):
    failing(InputError("ratings.csv, line 3:\n  no good"))
    assert run("doctor") == (2, "", "prefmover: error: ratings.csv, line 3: no good\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MissingExtraError("drawing needs matplotlib"), 2),
        (NotOptimalError("no proof"), 1),
        (PermissionError(13, "Permission denied", "out.csv"), 2),
    ],
)
def test_other_errors(run, failing, error, code):
    failing(error)
    found, _, err = run("doctor")
    assert found == code
    assert err.startswith("prefmover: ")
    assert err.count("\n") == 1


def test_debug_shows_the_traceback(failing):
    failing(InputError("no good"))
    with pytest.raises(InputError, match="no good"):
        main(["--debug", "doctor"])


def test_a_defect_of_ours_is_named_as_one(run, failing):
    failing(ZeroDivisionError("ours"))
    code, out, err = run("doctor")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "ZeroDivisionError: ours" in err
    with pytest.raises(ZeroDivisionError):
        main(["--debug", "doctor"])


def test_interrupt(run, failing):
    failing(KeyboardInterrupt())
    assert run("doctor")[0] == 130


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_notes_and_warnings_go_to_stderr_unless_quiet(run, monkeypatch, options):
    def doctor():
        terminal.note("a note")
        warnings.showwarning(UserWarning("mind"), UserWarning, "file", 1)
        logging.getLogger("prefmover").warning("compiling")
        print("result")

    monkeypatch.setattr(importlib.import_module("prefmover.cli.doctor"), "doctor", doctor)
    code, out, err = run(*options, "doctor")
    assert (code, out) == (0, "result\n")
    assert err == ("" if options else "a note\nprefmover: warning: mind\ncompiling\n")


def test_progress_draws_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("work") as callback:
        callback(1, 2)
        callback(2, 2)
    assert "work" in capsys.readouterr().err


def test_progress_elsewhere_is_a_line_now_and_then(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now)
    with terminal.progress("work") as callback:
        for now in [0.5, 1.5, 2.0, 3.0, 4.0, 9.0, 100.0]:
            callback(int(now), 100)
    assert capsys.readouterr().err.splitlines() == [
        "work: 1 of 100 (1%), 2 s",
        "work: 9 of 100 (9%), about 91 s left",
    ]


def test_progress_says_what_it_is_at_and_does_not_stand_still(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now)
    lines = terminal._Lines("fitting")
    for now in [2.0, 4.0, 8.0, 70.0, 80.0, 131.0]:
        lines.tell()  # as the thread of a progress does
        if now == 4.0:
            Stages(lines.steps, {"comparing": 1}).begin("comparing")
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[-1] for line in said] == [
        "2 s",
        "0 of 1 (0%), 8 s",
        "0 of 1 (0%), 70 s",
        "0 of 1 (0%), 131 s",
    ]
    assert "comparing" in said[1]


def test_progress_does_not_count_the_time_of_compiling(monkeypatch, capsys):
    clock = [0.0]
    compiling = SimpleNamespace(now=True, seconds=0.0)
    monkeypatch.setattr(terminal, "_compiling", lambda: compiling)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    lines = terminal._Lines("fitting")
    clock[0] = compiling.seconds = 30.0
    lines.steps(0, 10)
    compiling.now = False
    for clock[0], done in [(40.0, 5), (46.0, 5), (60.0, 5)]:
        lines.steps(done, 10)
    assert capsys.readouterr().err.splitlines() == [
        "fitting: compiling: 0 of 10 (0%), 30 s",
        "fitting: 5 of 10 (50%), about 10 s left",
        "fitting: 5 of 10 (50%), about 4 s left",
        "fitting: 5 of 10 (50%), 60 s",
    ]


def test_quiet_has_no_progress(monkeypatch):
    monkeypatch.setattr(terminal.STATE, "quiet", True)
    with terminal.progress("work") as callback:
        assert callback is None


def test_doctor(run, monkeypatch, tmp_path):
    (tmp_path / "ml-100k").mkdir()
    for name in SOURCES["ml-100k"].needs:
        (tmp_path / "ml-100k" / name).touch()
    monkeypatch.setenv("PREFMOVER_DATA", str(tmp_path))
    code, out, err = run("doctor", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["healthy"]
    assert found["data"]["installed"]["ml-100k"] == str(tmp_path / "ml-100k")
    assert found["versions"]["numpy"]
    assert found["kernels"]["writable"]


def test_doctor_compiles(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "prefmover.cli", "--quiet", "doctor", "--warm", "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiled = {file.name.split(".")[0] for file in tmp_path.rglob("*.nbi")}
    assert {"_pmd", "_estimates", "_sparse_sums", "_cascade"} <= compiled
    assert json.loads(done.stdout)["kernels"]["compiled"] == len(list(tmp_path.rglob("*.nbc")))


def test_doctor_says_what_is_missing(run, monkeypatch, tmp_path):
    doctor = importlib.import_module("prefmover.cli.doctor")
    monkeypatch.setenv("PREFMOVER_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(doctor, "requirements", lambda: {"": ["numpy"], "plot": ["no-such-package"]})
    code, out, _ = run("doctor")
    assert code == 0
    assert not unnamed(out, "[plot]", "no-such-package")
    assert str(tmp_path / "nowhere") in out
    monkeypatch.setattr(doctor, "requirements", lambda: {"": ["no-such-package"]})
    assert run("doctor")[0] == 1


def test_doctor_knows_every_extra(run):
    found = json.loads(run("doctor", "--json")[1])
    assert {"plot", "server", "ray", "peers"} <= set(found["extras"])
    assert not {"test", "lint", "docs"} & set(found["extras"])
    assert set(found["extras"]["plot"]) == {"matplotlib"}
    assert {"numpy", "numba", "scipy", "typer"} <= set(found["versions"])


def test_choices_of_options_are_those_of_the_tables():
    from prefmover.cli import options

    conventions = dict.fromkeys(name for row in pm.MEASURES.values() for name in row.conventions)
    assert get_args(options.MeasureName) == tuple(pm.MEASURES)
    assert get_args(options.ConventionName) == tuple(conventions)
