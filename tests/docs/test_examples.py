"""The examples run on their own and draw the pictures of the pages."""

import importlib.util

import pytest

from tests.docs.blocks import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
assert EXAMPLES
SMALLER = {"plot_map": {"viewers": 60, "perplexity": 5}}  # a part of the picture, to save time


@pytest.fixture(autouse=True)
def _no_windows():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    with pytest.importorskip("threadpoolctl").threadpool_limits(1):
        yield
    assert pyplot.get_fignums() == [], "an example leaves a figure open"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.stem)
def test_example(file, tmp_path):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    paths = example.main(tmp_path, **SMALLER.get(file.stem, {}))
    assert paths
    for path in paths:
        assert path.stat().st_size > 5_000
        assert (ROOT / "docs" / "pictures" / path.name).exists(), "run `make pictures`"
