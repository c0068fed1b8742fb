"""Every figure of a page comes from its source, and none is typed."""

import re

import pytest

from tests.docs.blocks import ROOT
from tools import figures

MEASURED = [ROOT / "README.md", ROOT / "docs" / "benchmarks.md", *(ROOT / "docs" / "results").glob("*.md")]
NOT_OURS = {ROOT / "docs" / "explanation" / "table-1.md"}  # the numbers that the paper prints
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
RESULT = re.compile(r"(?<![\w.])\d*\.\d{3,}\b|\b\d+(\.\d+)?x\b|\d ?(µs|ms|GiB)\b|\b\d[\d,]* records\b")
ON_RESULT_PAGES = re.compile(
    RESULT.pattern + r"|\b\d+\.\d+ ?%|\b\d+(\.\d+)? (s|seconds|minutes|hours|MB|GB)\b"
)


def typed(page):
    """Return what a page says outside of code and generated figures."""
    text = page.read_text(encoding="utf-8")
    return CODE.sub("", figures.VALUE.sub("", figures.BLOCK.sub("", text)))


@pytest.mark.parametrize("page", figures.pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_figures_are_those_of_their_sources(page):
    text = page.read_text(encoding="utf-8")
    assert figures.fill(text, page) == text, "run `make figures`"


@pytest.mark.parametrize(
    "page", sorted({*figures.pages()} - NOT_OURS), ids=lambda p: str(p.relative_to(ROOT))
)
def test_no_figure_is_typed(page):
    pattern = ON_RESULT_PAGES if page in MEASURED else RESULT
    found = [match[0] for match in pattern.finditer(typed(page))]
    assert not found, "let `make figures` write these, or leave them out"


def test_a_wrong_figure_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "The error is .7123, 12x as fast. <!-- figure: lowest ml-100k ratios -->1<!-- /figure -->"
    )
    assert figures.fill(page.read_text(), page) != page.read_text()
    assert [match[0] for match in RESULT.finditer(typed(page))] == [".7123", "12x"]
    with pytest.raises(SystemExit, match="there is no figure 'nothing'"):
        figures.fill("<!-- figure: nothing --><!-- /figure -->", page)


def test_every_benchmark_is_shown():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"<!-- figures: benchmark (\S+) -->", page))
    assert shown == {file.stem for file in figures.BENCHMARKS.glob("*.json")} - {"earlier"}
    for key in shown:
        assert {"title", "date", "machine", "versions", "parts"} <= set(figures.benchmark(key))
