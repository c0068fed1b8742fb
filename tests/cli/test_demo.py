"""The demo on the built-in data, with every eighth viewer and fewer measures."""

import importlib
import json
import re
import sys

import pytest

from tests.messages import names, unnamed

pytestmark = pytest.mark.slow

demo = importlib.import_module("prefmover.cli.demo")


@pytest.fixture(autouse=True)
def small(small_cinema, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "MEASURES", ("pmd", "cos"))
    monkeypatch.setattr(demo, "SHARES", (0.1, 0.2))
    monkeypatch.setattr(demo, "LISTS", ("default", "popularity"))
    monkeypatch.chdir(tmp_path)
    return small_cinema


def test_demo(run, small, tmp_path):
    code, out, _ = run("demo")
    assert code == 0
    assert not unnamed(out, "petra-h", 6)
    assert "↔" in out
    assert "default" in out
    assert out.splitlines()[-1] == "prefmover-demo/report.html"
    page = (tmp_path / "prefmover-demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    for name in ("plan.svg", "plan.png", "comparison/report/report.html"):
        assert (tmp_path / "prefmover-demo" / name).stat().st_size > 1000
    # The errors are those of the records.
    from prefmover.evaluation.folder import RunFolder

    records = RunFolder(tmp_path / "prefmover-demo" / "comparison").records().values()
    pmd = [
        record.main[0]
        for share in demo.SHARES
        for record in records
        if (record.recommender, record.share) == ("knn:pmd", share)
    ]
    row = next(line for line in out.splitlines() if line.startswith("  PMD"))
    assert row.split()[1:] == [f"{value:.4f}" for value in pmd]
    (line,) = [line for line in out.splitlines() if line.startswith("nDCG@10")]
    lists = RunFolder(tmp_path / "prefmover-demo" / "lists").records().values()
    for record in lists:
        assert f"{record.recommender} {record.main[0]:.3f}" in line
    # What to watch comes first.
    assert out.index("recommends:") < out.index("Nearest to")
    # The second run finds the records, and prints the same errors.
    code, again, _ = run("demo", "--json")
    found = json.loads(again)
    assert (code, found["errors"]["PMD"]) == (0, pmd)
    assert list(found["lists"]) == ["default", "popularity"]
    assert found["recommendations"][0]["title"] in out


def test_demo_without_matplotlib(run, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("demo", "--out", "here")
    assert code == 0
    assert "[plot]" in err
    assert out.splitlines()[-1] == "here/report.html"
    page = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "petra-h" in page


@pytest.mark.parametrize(
    ("args", "message"), [(("--user", "petra"), names("'petra'")), (("--out", "file"), names("file"))]
)
def test_errors(run, tmp_path, args, message):
    (tmp_path / "file").touch()
    code, out, err = run("demo", *args)
    assert (code, out) == (2, "")
    assert re.search(message, err)
