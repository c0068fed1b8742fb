"""Every command line that a help shows, run as it stands."""

import importlib
import shlex

import pytest

from prefmover.cli import VERBS

OUTSIDE = {
    "data get": "downloads",
    "--dataset ml-": "needs MovieLens",
    "data add ml-1m": "needs MovieLens",
    "data path ml-": "needs MovieLens",
    "--executor ray": "needs Ray; tests/execution runs it",
    "prefmover serve": "does not end; tests/server runs it",
    "prefmover demo": "takes long; test_demo.py runs it on fewer viewers",
}


def of(verb):
    """Return the examples of a verb, by subcommand if there are any."""
    return getattr(importlib.import_module(f"prefmover.cli.{verb.replace('-', '_')}"), "EXAMPLES", ())


def examples():
    for verb in VERBS:
        found = of(verb)
        for some in found.values() if isinstance(found, dict) else [found]:
            yield from some


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples(verb):
    assert of(verb)


@pytest.mark.slow
@pytest.mark.parametrize("line", list(examples()))
@pytest.mark.usefixtures("in_shop", "small_cinema")
def test_example(run, line):
    for part, reason in OUTSIDE.items():
        if part in line:
            pytest.skip(reason)
    words = shlex.split(line)
    assert words[0] == "prefmover"
    if words[1] == "report" or "--config" in words:  # of an earlier run
        settings = ("-d", "cinema", "--recommenders", "knn:cos", "--repeats", 1, "--no-report")
        run("evaluate", *settings, "-o", "run")
    code, out, err = run(*words[1:])
    assert code == 0, err
    assert out
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_them(run, verb):
    found = of(verb)
    pages = found.items() if isinstance(found, dict) else [("", found)]
    for part, lines in pages:
        code, out, _ = run(verb, *([part] if part else []), "--help")
        assert code == 0
        for line in lines:
            assert f"\n    {line}\n" in out
