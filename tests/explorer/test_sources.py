"""What the files of the explorer must not contain, whatever a browser makes of them."""

import re
from importlib.resources import files

import pytest

FOLDER = files("prefmover.server") / "explorer"
FILES = {entry.name: entry.read_text(encoding="utf-8") for entry in FOLDER.iterdir()}
MODULES = sorted(name for name in FILES if name.endswith(".js"))


@pytest.mark.parametrize("name", MODULES)
def test_data_never_becomes_markup(name):
    forbidden = (
        r"\.(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
        r"|setAttribute\(\"(style|on)"
    )
    assert re.search(forbidden, FILES[name]) is None


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_short_and_say_what_they_do(name):
    assert FILES[name].startswith("/**")
    assert FILES[name].count("\n") <= 240


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_from_elsewhere(name):
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"')]*", FILES[name]))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_no_inline_script_or_style():
    page = FILES["index.html"]
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page) is None


def test_everything_named_is_there():
    named = set(re.findall(r"/assets/([\w.-]+)", FILES["index.html"]))
    for name in MODULES:
        named |= set(re.findall(r"from \"\./([\w.-]+)\"", FILES[name]))
    assert named == set(FILES) - {"index.html"}


def test_every_colour_is_in_one_file():
    for name, text in FILES.items():
        if name.endswith(".css") and name != "colours.css":
            assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![-\w])", text) == []
