import pytest

from prefmover.errors import InputError
from prefmover.evaluation.recommenders import GROUPS, Method
from prefmover.paper.figure_3 import figure_3, settings
from tests.messages import names


def test_the_six_panels():
    small, large = figure_3("ml-100k"), figure_3("ml-1m", repeats=1)
    assert [p.name for p in small.panels + large.panels] == list("abcdef")
    assert small.train == large.train == (0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
    assert (small.repeats, large.repeats) == (5, 1)
    a, b, c = small.panels
    assert (len(a.points()), len(b.points()), len(c.points())) == (8, 12, 12)
    assert a.points()[0] == (0.8, 40)
    assert b.title == "train:test 4:1, K from 5 to 60"
    methods = [Method.parse(name) for name in small.recommenders]
    assert len({m.method for m in methods if m.kind == "measure"}) == 12
    assert tuple(m.method for m in methods if m.kind == "control") == GROUPS["controls"]


def test_some_panels_need_some_shares():
    assert figure_3("ml-100k", ["c"]).train == (0.1,)
    assert figure_3("ml-100k", ["b", "c"]).train == (0.8, 0.1)
    with pytest.raises(InputError, match=names("ml-100k", "a, b, c")):
        figure_3("ml-100k", ["d"])


def test_other_data_make_no_claims():
    assert all(panel.claim for panel in figure_3("ml-1m").panels)
    assert not any(panel.claim for panel in figure_3("cinema").panels)
    assert settings()["doubts"]
