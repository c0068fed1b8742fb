import sys

import matplotlib
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import PathPatch

from prefmover.errors import MissingExtraError
from prefmover.explain import explain_users
from prefmover.explain.plot import COLOR_MAP, color_position, plan_image


@pytest.fixture(autouse=True)
def _no_window():
    with matplotlib.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def test_a_ribbon_for_each_flow(data):
    why = explain_users(data, 0, 1)
    ax = why.plot(n=2)
    assert len([patch for patch in ax.patches if isinstance(patch, PathPatch)]) == 2
    texts = {text.get_text() for text in why.plot().texts}
    assert {"ann", "bob", "Alien   5", "5   Aliens"} <= texts


def test_close_items_have_dark_ribbons():
    colors = matplotlib.colormaps[COLOR_MAP]
    lightness = [sum(colors(color_position(s))[:3]) for s in (0, 0.25, 0.5, 0.75, 1)]
    assert lightness == sorted(lightness, reverse=True)


def test_files_are_the_same_every_time(data):
    why = explain_users(data, 0, 1)
    for format_, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        image = plan_image(why, format_)
        assert image.startswith(start)
        assert image == plan_image(why, format_)


def test_without_matplotlib(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError):
        plan_image(explain_users(data, 0, 1))
