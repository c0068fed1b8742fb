"""The committed reference is that of the docstrings, and the glossary is in order."""

import re

import pytest

from tests.docs.blocks import ROOT
from tools.reference import FOLDER, render_pages

OTHERS = {"cli.md", "errors.md"}  # generated elsewhere


@pytest.fixture(scope="module")
def rendered():
    return render_pages()


def test_the_pages_are_up_to_date(rendered):
    stale = [name for name, text in rendered.items() if (FOLDER / name).read_text(encoding="utf-8") != text]
    assert not stale, "run `python -m tools.reference`"


def test_there_are_no_other_pages(rendered):
    assert {page.name for page in FOLDER.glob("*.md")} == {*rendered, *OTHERS}


def test_every_public_name_is_documented(rendered):
    import prefmover

    rows = re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| (.+) \|$", rendered["index.md"], re.MULTILINE)
    assert {name for name, summary in rows if summary.strip()} == set(prefmover.__all__)


def test_the_glossary_has_one_line_for_each_word():
    page = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    glossary = page.partition("## Glossary")[2]
    words = re.findall(r"^\| ([a-z][^|]*?) \| [^|]+ \|$", glossary, re.MULTILINE)[1:]
    assert len(words) == len(set(words)) >= 40
    assert words == sorted(words)
