import json
import re
import subprocess
import tomllib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import ttest_rel

from prefmover.errors import InputError
from prefmover.evaluation import Experiment, Panel, RunFolder, run_experiment
from prefmover.measures import MEASURES
from prefmover.paper.figure_3 import figure_3
from prefmover.report import Book, write_report
from prefmover.report.figures import STYLES, draw_gaps, draw_panels
from prefmover.report.notes import commands
from prefmover.report.render import html_page, markdown_page
from prefmover.report.results import paired_p
from prefmover.report.text import panel_words, summary_words, trend, verdict
from tests.messages import names, unnamed
from tools.browser import FLAGS, MISSING, find_chromium

ABOUT = {"ratings": "r", "distances": "d", "geometry name": "toy"}


def cell(method, mae, *, repeat=0, share=0.8, convention="published", kind="measure", ks=(5, 40), spread=0.0):
    """Make a record by hand: the error of each K, groups of users around it."""
    n = np.full(20, 100)
    wave = spread * np.sin(np.arange(20) + len(method))
    values = [mae] if np.isscalar(mae) else list(mae)
    return {
        "key": f"{share}-{repeat}-{method}-{convention}",
        "dataset": "toy", "geometry": "toy", "protocol": "random", "share": share, "repeat": repeat,
        "method": method, "label": MEASURES[method].label if method in MEASURES else method,
        "kind": kind, "convention": convention,
        "n_train": 800, "n_test": 2000, "new_users": 1, "new_items": 2,
        "k": list(ks) if len(values) == len(ks) else [None], "mae": values,
        "groups": {"n": n.tolist(), "error": [((x + wave) * n).tolist() for x in values]},
        "run": {"seconds": 1.0, "solved": 3, "threads": 1, "versions": {"prefmover": "0"}},
    }  # fmt: skip


def book(cells, **settings):
    names = tuple(dict.fromkeys(c["method"] for c in cells if c["kind"] == "measure"))
    return Book(cells, Experiment("toy", measures=names, ks=(5, 40), **settings), ABOUT)


def only_table(cells):
    made = book(cells)
    (panel,) = made.panels()
    return made.table(panel)


def test_the_better_convention_is_shown():
    table = only_table(
        [
            cell("pmd", (0.7, 0.6)),
            cell("bcf", (0.8, 0.7)),
            cell("bcf", (0.6, 0.7), convention="median"),
            cell("bcf", (0.9, 0.1), convention="table-1", ks=(5, 41)),  # lacks K = 40
        ]
    )
    line = table.line("bcf")
    assert (line.convention, line.n_conventions) == ("median", 2)
    assert line.mean.tolist() == [0.6, 0.7]
    assert table.best("measure") == ["bcf", "pmd"]


def test_wins_ties_and_losses():
    table = only_table(
        [
            cell("pmd", (0.70, 0.60), spread=0.01),
            cell("cos", (0.75, 0.65), spread=0.01),  # always worse
            cell("msd", (0.7001, 0.5999), spread=0.05),  # as good as equal, other users
            cell("jaccard", (0.65, 0.65), spread=0.01),  # one each
        ]
    )
    found = {duel.label: (duel.lower, duel.wins, duel.ties, duel.losses) for duel in table.duels}
    assert found == {"COS": (2, 2, 0, 0), "MSD": (1, 0, 2, 0), "Jaccard": (1, 1, 0, 1)}
    assert not unnamed(verdict(table), "PMD", 4, "0 of 2", "Jaccard (at 1)", "MSD (at 1)")


def test_paired_p_is_scipys():
    a, b = np.random.default_rng(0).random((2, 12))
    assert paired_p(a - b) == pytest.approx(ttest_rel(a, b).pvalue)
    assert paired_p(np.zeros(5)) == 1.0
    assert paired_p(np.ones(5)) == 0.0
    assert paired_p(np.ones(1)) == 1.0


def test_repeats_are_paired():
    cells = [cell("pmd", (x, x), repeat=r) for r, x in enumerate((0.6, 0.7, 0.8))]
    cells += [cell("cos", (x, x), repeat=r) for r, x in enumerate((0.61, 0.73, 0.82))]
    (duel,) = only_table(cells).duels
    assert duel.p_repeats == pytest.approx(ttest_rel((0.6, 0.7, 0.8), (0.61, 0.73, 0.82)).pvalue)
    assert duel.difference == pytest.approx(-0.02)
    (duel,) = only_table(cells[:2] + cells[3:5]).duels
    assert duel.p_repeats is None


def test_words_follow_the_numbers():
    cells = [
        cell("pmd", (0.7, 0.6)),
        cell("cos", (0.8, 0.9)),
        cell("bias", 0.65, kind="control", convention="-"),
    ]
    made = book(cells)
    table = made.table(made.panels()[0])
    assert not unnamed(verdict(table), "PMD", 2)
    said = " ".join(summary_words(made, [table]))
    assert not unnamed(said, "PMD", "2 of 2", "toy", 1, "1 of 2", "0.0000")
    assert any(not unnamed(text, "PMD", "1 of 2") for text in panel_words(table))
    without = book(cells[1:])
    assert unnamed(summary_words(without, [without.table(without.panels()[0])])[0], "2 of 2")


def test_what_more_neighbors_do():
    table = only_table(
        [
            cell("pmd", (0.7, 0.6)),
            cell("cos", (0.8, 0.795)),
            cell("msd", (0.8, 0.9)),
            cell("bcf", (0.8, 0.804)),
        ]
    )
    assert trend(table) == (
        "From K = 5 to 40 the error of 2 of the 4 measures becomes lower (not of MSD and BCF); "
        "lowest at a smaller K: MSD at 5, BCF at 5. Level within 1%: COS, BCF."
    )
    assert trend(table) in panel_words(table)
    falling = only_table([cell("pmd", (0.7, 0.6)), cell("cos", (0.8, 0.6))])
    assert trend(falling) == (
        "From K = 5 to 40 the error of all 2 measures becomes lower. Level within 1%: none."
    )
    over_shares = book([cell("pmd", (0.7, 0.6)), cell("pmd", (0.8, 0.7), share=0.5)])
    assert not any("From K" in text for text in panel_words(over_shares.table(over_shares.panels()[0])))


def test_numbers_of_any_size():
    """Errors beyond 10, as on a scale to 100: whole, and compared as numbers."""
    made = book([cell("pmd", (10.5, 9.5)), cell("cos", (9.75, 20.25))])
    table = made.table(made.panels()[0])
    text = markdown_page(made, [table], [])
    assert "| PMD | published | 10.5000 | **9.5000** |" in text
    assert "| COS | published | **9.7500** | 20.2500 |" in text
    assert table.best("measure") == ["cos", "pmd"]


def test_equal_errors_are_no_loss():
    table = only_table([cell("cos", (0.7, 0.6)), cell("pmd", (0.70000001, 0.6))])
    assert not unnamed(verdict(table), "PMD", 2)


def test_only_common_repeats_are_compared():
    """PMD is lower on the split that both have, and has another one that is hard for everybody."""
    made = book([cell("pmd", (0.7, 0.6)), cell("pmd", (0.9, 0.8), repeat=1), cell("cos", (0.75, 0.65))])
    table = made.table(made.panels()[0])
    assert (table.repeats, table.left_out) == (1, 1)
    assert table.line("pmd").mean.tolist() == [0.7, 0.6]
    said = " ".join([*summary_words(made, [table]), *panel_words(table)])
    assert not unnamed(said, "toy", 1)


def test_rankings_are_shown():
    ranked = {"precision": 0.5, "hit_rate": 1.0}
    cells = [cell("pmd", (0.7, 0.6)), cell("bias", 0.8, kind="control", convention="-")]
    for one in cells:
        one["top_n"] = [{**ranked, "precision": 0.25 + at / 4} for at in range(len(one["k"]))]
    made = book(cells, top_n=10)
    text = markdown_page(made, [made.table(made.panels()[0])], [])
    assert "## Each user's test items, ranked: the first 10, train:test 4:1, K = 40" in text
    assert "|  | convention | precision | hit rate |" in text
    assert "| PMD | published | .5000 | 1.0000 |" in text
    assert "| bias | control | .2500 | 1.0000 |" in text


def test_how_to_reproduce():
    panels = (Panel('x"y', "k", (1 / 3,), (5, 40), "A claim."),)
    made = book([cell("pmd", (0.7, 0.6), share=1 / 3)], train=(1 / 3,), panels=panels, geometry="my tags.csv")
    file, command, _ = commands(made)
    assert "--config panels.toml --dataset toy --geometry 'my tags.csv' --train 1:2" in command
    assert Experiment.from_dict({"dataset": "toy", **tomllib.loads(file)}).panels == panels
    paper = replace(figure_3("ml-100k", ["c"], repeats=2), title="Any")
    (first, _) = commands(Book([cell("pmd", (0.7, 0.6), share=0.1)], paper, ABOUT))
    assert first == "prefmover paper figures --dataset ml-100k --panels c --repeats 2 --seed 0 --out FOLDER"


def test_one_measure_and_its_peers():
    cells = [
        cell("pmd", (0.7, 0.6), spread=0.01),
        cell("bias", 0.8, kind="control", convention="-", spread=0.01),
        cell("SVD", 0.65, kind="peer", convention="-", spread=0.01),
        cell("BaselineOnly", 0.9, kind="peer", convention="-", spread=0.01),
    ]
    made = book(cells)
    table = made.table(made.panels()[0])
    said = summary_words(made, [table])
    assert not unnamed(said[0], "PMD", "toy", 1)
    assert said[-1] == (
        "What would people use instead? Of Surprise's models the one with the lowest error is SVD: 0.0000 "
        "above PMD on average, and lower than PMD at 1 of 2 points."
    )
    panel = panel_words(table)
    assert panel[0].startswith("From K = 5 to 40 the error of PMD becomes lower.")
    assert panel[-1].startswith(
        "Against Surprise's SVD, the best of 2 peers here: PMD's error is lower at 1 of 2 points"
    )
    rising = only_table([cell("pmd", (0.6, 0.7)), cells[2]])
    assert trend(rising).startswith("From K = 5 to 40 the error of PMD does not become lower; lowest at")
    assert panel_words(rising)[-1].startswith("Against Surprise's SVD: PMD's error is")


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([cell("bias", 0.8, kind="control", convention="-")], id="control"),
        pytest.param([cell("SVD", 0.8, kind="peer", convention="-")], id="peer"),
        pytest.param([cell("cos", (0.8, 0.9))], id="other measure"),
        pytest.param([cell("pmd", (0.8, 0.9))], id="pmd"),
    ],
)
def test_one_method_alone_has_a_report(cells):
    made = book(cells)
    tables = [made.table(panel) for panel in made.panels()]
    for text in (html_page(made, tables, {}), markdown_page(made, tables, [])):
        assert cells[0]["label"] in text


def test_panels_asked_for_are_shown_as_far_as_they_go():
    panels = (Panel("a", "train", (0.8, 0.5, 0.1), (40,), "PMD wins."), Panel("c", "k", (0.1,), (5, 40)))
    made = book(
        [cell("pmd", (0.7, 0.6)), cell("pmd", (0.8, 0.7), share=0.5)], train=(0.8, 0.5, 0.1), panels=panels
    )
    assert [(p.name, p.train) for p in made.panels()] == [("a", (0.8, 0.5))]
    assert made.table(made.panels()[0]).heads == ["4:1", "1:1"]
    assert "Claimed: PMD wins." in panel_words(made.table(made.panels()[0]))


def test_every_method_has_a_look_of_its_own():
    assert set(MEASURES) <= set(STYLES)
    assert len(set(STYLES.values())) == len(STYLES)


@pytest.mark.parametrize("draw", [draw_panels, draw_gaps])
def test_every_method_is_in_the_picture(draw):
    kinds = {"pmd": "measure", "cos": "measure", "bias": "control", "SVD": "peer", "KNNBaseline": "peer"}
    made = book([cell(name, (0.7, 0.6), kind=kind) for name, kind in kinds.items()])
    figure = draw([made.table(panel) for panel in made.panels()])
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"PMD", "COS", "bias", "SVD", "KNNBaseline"}


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
        "cinema",
        train=(0.05, 0.02),
        repeats=2,
        ks=(5, 20, 40),
        measures=("cos", "n-bcf", "pmd"),
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
    assert re.search(r"\| PMD \| published \|( \*?\*?\.\d{4}\*?\*? \|)+", markdown)


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
    folder.claim(Experiment("cinema"), ABOUT)
    with pytest.raises(InputError):
        write_report(folder)
