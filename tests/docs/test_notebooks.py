"""The notebooks run, and what their cells show is HTML."""

import json

import pytest

from tools import notebook

FILES = sorted(notebook.FOLDER.glob("*.ipynb"))
assert FILES


@pytest.fixture(autouse=True)
def _no_windows():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebook(file):
    content = json.loads(file.read_text(encoding="utf-8"))
    values = notebook.run(content, file.name)
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    types = set()
    for k, (cell, value) in enumerate(zip(cells, values, strict=True), 1):
        stored = [output["data"] for output in cell["outputs"]]
        assert cell["execution_count"] == k, "run `make pictures`"
        assert len(stored) == (value is not None)
        assert all(data.keys() == notebook.shown(value).keys() for data in stored)
        if hasattr(value, "_repr_html_"):
            assert "<table" in value._repr_html_()
            types.add(type(value).__name__)
    assert {"Dataset", "Neighbors", "NeighborList", "Recommendations", "UserExplanation"} <= types
    assert {"RecommendationExplanation", "RatingExplanation", "DataFrame"} <= types


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_form(file):
    """What Jupyter expects of format 4.5, and nothing of a machine."""
    text = file.read_text(encoding="utf-8")
    content = json.loads(text)
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in content["cells"]]
    assert len(set(ids)) == len(ids)
    assert not any(
        line.startswith(("%", "!")) for code in notebook.sources(content) for line in code.splitlines()
    )
    assert len(text) < 100_000
