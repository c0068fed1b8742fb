import json
import re
import subprocess
from html.parser import HTMLParser

import pytest

from prefmover.errors import InputError
from prefmover.evaluation import Experiment, RunFolder, run_experiment
from prefmover.report import write_report
from prefmover.report.render import report_page
from tests.messages import names
from tests.report.records import DATA, make_record, make_results
from tools.programs import FLAGS, MISSING, find_chromium


def test_numbers_of_any_size():
    """Errors above 10, as on a scale to 100, are printed whole and compared as numbers."""
    results = make_results([make_record("pmd", (10.5, 9.5)), make_record("cos", (9.75, 20.25))])
    text = report_page("summary.md", results, {})
    assert "| PMD | published | 10.5000 | **9.5000** |" in text
    assert "| COS | published | **9.7500** | 20.2500 |" in text
    assert [line.method for line in results.ratings[0].best_measures()] == ["cos", "pmd"]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(make_record("bias", 0.8, kind="control"), id="control"),
        pytest.param(make_record("SVD", 0.8, kind="peer"), id="peer"),
        pytest.param(make_record("default", 0.8, kind="model"), id="model"),
        pytest.param(make_record("cos", (0.8, 0.9)), id="other measure"),
        pytest.param(make_record("pmd", (0.8, 0.9)), id="pmd"),
    ],
)
def test_one_method_alone_has_a_report(record):
    results = make_results([record])
    for name in ("report.html", "summary.md"):
        assert record.label in report_page(name, results, {})


def test_html_is_escaped():
    results = make_results([make_record("pmd", (0.8, 0.9))], title="a < b")
    page = report_page("report.html", results, {"panels": "<svg></svg>"})
    assert "<h1>a &lt; b</h1>" in page
    assert "<svg></svg>" in page
    assert "font: 16px/1.5 system-ui" in page


def test_markdown_has_no_double_blank_lines():
    results = make_results([make_record("pmd", (0.8, 0.9)), make_record("cos", (0.8, 0.9))])
    text = report_page("summary.md", results, {"panels": "", "gaps": ""})
    assert "\n\n\n" not in text
    assert text.endswith(".\n")
    assert "&" not in text


class Page(HTMLParser):
    """Check that tags are closed, and collect what a page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href") and not v.startswith("#")]
        self.ids += [names["id"]] if "id" in names else []
        if tag not in ("meta", "link", "br", "use", "path", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in ("use", "path"):
            return
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The report of a small real run on cinema."""
    folder = tmp_path_factory.mktemp("run")
    experiment = Experiment(
        dataset="cinema",
        task="rating",
        train=(0.05, 0.02),
        repeats=2,
        ks=(5, 20, 40),
        recommenders=("knn:cos", "knn:n-bcf", "knn:pmd", "controls"),
        title="A <small> run",
    )
    run_experiment(experiment, folder)
    return write_report(folder)


@pytest.mark.slow
def test_one_page_that_needs_nothing_else(written):
    text = written["report.html"].read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    assert "url(http" not in text
    assert "@import" not in text
    assert "<h1>A &lt;small&gt; run</h1>" in text
    assert text.count("<svg") == 2
    assert "prefmover evaluate --dataset cinema" in text
    assert "<b>." in text
    for label in ("COS", "N-BCF", "PMD", "uniform", "mean-vector", "bias"):
        assert f"<td>{label}</td>" in text


@pytest.mark.slow
def test_pictures_and_summary(written):
    for name in ("panels", "gaps"):
        assert written[f"{name}.png"].read_bytes().startswith(b"\x89PNG")
        assert written[f"{name}.svg"].read_text().startswith("<svg")
    facts = json.loads(written["summary.json"].read_text())
    assert [panel["points"] for panel in facts["panels"]] == [
        ["1:19", "0.02"],
        ["5", "20", "40"],
        ["5", "20", "40"],
    ]
    markdown = written["summary.md"].read_text()
    assert "![" in markdown
    assert re.search(r"\| PMD \| published \|( \*?\*?\.\d{4}\*?\*?( ± \.\d{4})? \|)+", markdown)


@pytest.mark.slow
def test_the_same_report_twice(written, tmp_path):
    again = write_report(written["report.html"].parent.parent, tmp_path)
    for name in ("report.html", "summary.md", "summary.json", "panels.svg"):
        assert again[name].read_bytes() == written[name].read_bytes()


@pytest.mark.slow
def test_the_page_opens_in_a_browser(written, tmp_path):
    """Headless Chromium lays the page out: the pictures have a size, and the page can be printed."""
    browser = find_chromium()
    if browser is None:
        pytest.skip(MISSING)
    probe = tmp_path / "probe.html"
    script = (
        "<script>onload = () => {"
        "const s = [...document.querySelectorAll('svg')].map(x => x.getBoundingClientRect());"
        "document.title = 'seen ' + s.filter(r => r.width > 500 && r.height > 200).length + ' '"
        " + document.querySelectorAll('table').length; }</script></body>"
    )
    probe.write_text(
        written["report.html"].read_text(encoding="utf-8").replace("</body>", script), encoding="utf-8"
    )
    command = [browser, "--headless", *FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]
    dom = subprocess.run(
        [*command, "--dump-dom", probe.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert "<title>seen 2 6</title>" in dom
    pdf = tmp_path / "report.pdf"
    print_it = [*command, f"--print-to-pdf={pdf}", written["report.html"].as_uri()]
    subprocess.run(print_it, capture_output=True, timeout=120, check=True)
    assert pdf.read_bytes().startswith(b"%PDF")


def test_nothing_to_report(tmp_path):
    with pytest.raises(InputError, match=names("experiment.json")):
        write_report(tmp_path)
    folder = RunFolder(tmp_path)
    folder.claim(Experiment(dataset="cinema"), DATA)
    with pytest.raises(InputError):
        write_report(folder)
