"""Every kind of bad input is refused with an InputError that names what is wrong."""

import pytest

from prefmover.cli import terminal
from tests.messages import unnamed
from tests.reliability import bad_input
from tests.reliability.bad_input import CASES


@pytest.fixture(scope="module", autouse=True)
def _close_the_service():
    yield
    if bad_input.client.cache_info().currsize:
        bad_input.client().__exit__(None, None, None)
        bad_input.client.cache_clear()


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.what)
def test_is_refused_and_named(one):
    said = bad_input.message(one)
    assert not unnamed(said, *one.names), said
    assert "Traceback" not in said


def test_there_are_many():
    assert len({(one.section, one.what) for one in CASES}) == len(CASES) >= 80


def test_defects_of_ours_are_one_line_too(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("prefmover.datasets.load", broken)
    code, said = bad_input.run(["items", "near", "Alien", "-d", "cinema"])
    assert code == 1
    assert "Traceback" not in said
    assert "--debug" in said
    with pytest.raises(ZeroDivisionError):
        bad_input.run(["--debug", "items", "near", "Alien", "-d", "cinema"])
    terminal.STATE.debug = False
