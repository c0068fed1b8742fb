"""Options from a TOML file, for every verb."""

import importlib
import json
import re

import pytest

from prefmover.cli import VERBS
from tests.messages import names, unnamed

pytestmark = pytest.mark.usefixtures("in_shop")

FILES = 'ratings = "ratings.csv"\nitems = ["tags.csv"]\n'


@pytest.fixture
def config(in_shop):
    def write(text):
        (in_shop / "c.toml").write_text(text)
        return "c.toml"

    return write


def commands():
    """Yield every command, as the words that call it."""
    for verb in VERBS:
        app = getattr(importlib.import_module(f"prefmover.cli.{verb.replace('-', '_')}"), "app", None)
        if app is None:
            yield (verb,)
        else:
            for info in app.registered_commands:
                yield verb, info.name or info.callback.__name__


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_takes_a_file_and_checks_its_keys(run, config, words):
    assert "--config FILE" in run(*words, "--help")[1]
    code, out, err = run(*words, "--config", config("confg = true\n"))
    assert (code, out) == (2, "")
    assert "'confg'" in err


def test_the_file_stands_for_the_options(run, config):
    by_options = run("neighbors", "-r", "ratings.csv", "-i", "tags.csv", "-u", 42, "-n", 3, "--json")
    by_file = run("neighbors", "--config", config(FILES + "user = [42]\nn = 3\njson = true\n"))
    assert by_file[:2] == by_options[:2]
    assert json.loads(by_file[1])["k"] == 3


def test_options_win(run, config):
    file = config(FILES + 'user = "7"\nn = 3\njson = true\n')
    found = json.loads(run("neighbors", "--config", file, "-n", 5, "--user", 42)[1])
    assert [one["user"] for one in found["users"]] == [42]
    assert len(found["users"][0]["neighbors"]) == 5


def test_a_file_for_several_verbs(run, config):
    file = config(FILES + "json = true\n[neighbors]\nuser = 42\nn = 2\n[distance]\n")
    found = json.loads(run("neighbors", "--config", file)[1])
    assert len(found["users"][0]["neighbors"]) == 2
    found = json.loads(run("distance", "--config", file, "--user", 42, "--other", 7)[1])
    assert found["other"] == 7


@pytest.mark.slow
def test_one_file_for_all_verbs(run, config):
    """A verb takes what it knows, and ignores what only others have or what does not go with the rest."""
    file = config(
        FILES + "user = 42\nother = 7\nn = 3\nk = 9\nseed = 1\nrecall = 0.9\njson = true\ntrain = '.5'\n"
    )
    found = json.loads(run("distance", "--config", file)[1])
    assert (found["user"], found["other"]) == (42, 7)
    verbs = [("neighbors",), ("recommend",), ("fit", "--out", "m"), ("items", "near", "Alien"), ("measures",)]
    for words in verbs:
        code, out, err = run(*words, "--config", file)
        assert code == 0, err
        assert json.loads(out)
    assert run("recommend", "--config", file, "--model", "m")[0] == 0  # not --ratings
    assert run("recommend", "--config", file, "--k", 3)[0] == 2  # typed, so it is not ignored
    assert run("neighbors", "--config", file, "--recall", 0.9)[0] == 2


def test_arguments_and_sub_commands(run, config):
    file = config("title = 'Alien'\nitems = 'tags.csv'\nn = 1\njson = true\n")
    assert json.loads(run("items", "near", "--config", file)[1])["near"][0]["item"] == "Aliens"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("usr = 42", names("'usr'", "'user'")),
        ("zzzz = 42", names("c.toml", "'zzzz'", "address", "all")),
        ("n = 'ten'", names("c.toml", "n", "'ten'")),
        ("n = 2.5", names("c.toml", "n", 2.5)),
        ("n = true", names("c.toml", "n", "true")),
        ("json = 'yes'", names("c.toml", "json", "'yes'")),
        ("user = [true]", names("c.toml", "user", "true")),
        ("measure = ['pmd', 'cos']", names("c.toml", "measure", "'pmd'", "'cos'")),
        ("measure = 'pmdd'", names("c.toml", "measure", "'pmdd'", "pmd")),
        ("n = {a = 1}", names("c.toml", "n")),
        ("n = 0", names("c.toml", "n", 0, 1)),
        ("n = ", names("c.toml")),
        ("[neighbors]\nuserr = 1", names("'userr'", "'user'")),
    ],
)
def test_what_can_be_wrong(run, config, text, message):
    code, out, err = run(
        "neighbors", "-r", "ratings.csv", "-i", "tags.csv", "-u", 42, "--config", config(text)
    )
    assert (code, out) == (2, "")
    assert re.search(message, err)


def test_the_file_must_be_there(run):
    code, _, err = run("neighbors", "--config", "none.toml")
    assert (code, err.count("\n"), unnamed(err, "none.toml")) == (2, 1, [])
