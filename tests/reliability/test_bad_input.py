"""Every kind of bad input is refused with an InputError that names what is wrong."""

import pytest

from tests.messages import unnamed
from tests.reliability import bad_input
from tests.reliability.bad_input import CASES


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.what)
def test_is_refused_and_named(one):
    said = bad_input.message(one)
    assert not unnamed(said, *one.names), said
    assert "Traceback" not in said


def test_there_are_many():
    assert len({(one.section, one.what) for one in CASES}) == len(CASES) >= 80
