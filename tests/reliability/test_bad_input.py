"""Every kind of bad input says what docs/reference/errors.md says it says."""

import pytest

from prefmover.cli import terminal
from tests.reliability import bad_input
from tests.reliability.bad_input import CASES, PAGE


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def _close_the_service():
    yield
    if bad_input.client.cache_info().currsize:
        bad_input.client().__exit__(None, None, None)
        bad_input.client.cache_clear()


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.what)
def test_says_what_the_page_says(one, page):
    row = bad_input.row(one)
    if bad_input.versions() in page:
        assert row in page.splitlines(), (
            f"{row}\nis not on the page; run python -m tests.reliability.bad_input"
        )
    else:  # other versions of the libraries underneath may say the same in other words
        assert any(line.startswith(row[: len(one.what) + 20]) for line in page.splitlines()), row


def test_the_page_has_nothing_else(page):
    rows = [
        line
        for line in page.splitlines()
        if line.startswith("| ") and not line.startswith(("| ---", "| what"))
    ]
    assert len(rows) == len(CASES) >= 80


def test_defects_of_ours_are_one_line_too(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("prefmover.datasets.load", broken)
    code, said = bad_input.run(["items", "near", "Alien"])
    assert code == 1
    assert said.startswith("prefmover: error: a defect of prefmover")
    assert "report" in said
    assert "--debug" in said
    with pytest.raises(ZeroDivisionError):
        bad_input.run(["--debug", "items", "near", "Alien"])
    terminal.STATE.debug = False
