"""The tables of the contest, from records made by hand."""

import pytest

from prefmover.report.statistics import holm
from tests.messages import unnamed
from tests.report.test_lists import make_list_record
from tools import cells, list_figures

VALUES = {
    "default": 0.40, "kernel:pmd": 0.39, "kernel:mean-vector": 0.38, "kernel:total-variation": 0.37,
    "kernel:cosine": 0.36, "liked-popularity": 0.2, "ease": 0.41, "user-knn": 0.30,
}  # fmt: skip


def made(folder):
    """Return records of two shares and two splits; EASE is the best, at a tenth by more."""
    if folder != "ranking/lastfm":
        raise cells.NoRecordsError(folder)
    return [
        make_list_record(
            name, value - 0.1 - repeat / 500 + share * (name == "ease"), share=share, repeat=repeat
        )
        for name, value in VALUES.items()
        for share in (0.1, 0.05)
        for repeat in (0, 1)
    ]


@pytest.fixture(autouse=True)
def _records(monkeypatch):
    monkeypatch.setattr(cells, "records", made)
    monkeypatch.setattr(list_figures, "records", made)
    monkeypatch.setattr(list_figures, "CONTENT", ("user-knn",))
    caches = (cells.cells, list_figures.outcomes)
    for one in caches:
        one.cache_clear()
    yield
    for one in caches:
        one.cache_clear()


def rows(text):
    """Return the rows of a Markdown table without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")[2:]]


def test_cells_are_adjusted_together():
    found = list_figures.outcomes()
    assert set(found) == {("lastfm", 0.05), ("lastfm", 0.1)}
    tests = []
    for (_, share), one in found.items():
        here = list_figures.of("lastfm")[share]
        assert one.rivals.best is one.rivals.others is here["ease"]
        assert one.rivals.content is here["user-knn"]
        assert one.rivals.control is here["kernel:pmd"]
        assert one.interval.low <= one.difference <= one.interval.high
        tests.append(here["default"].against(here["ease"])[1])
    assert [one.p for one in found.values()] == pytest.approx(holm(tests))
    assert list_figures.lists_outcome() == "loses in 2, ties in 0 and wins in 0"


def test_the_worst_cell_comes_first():
    """With mean and standard deviation over the splits, difference, interval and adjusted p-value."""
    first, second = rows(list_figures.lists("lastfm"))
    assert (first[0], second[0]) == ("10%", "5%")
    assert not unnamed(first[1], ".2990 ± .0014")
    assert not unnamed(first[3], "EASE .4090 ± .0014")
    assert first[5].startswith("-.1100 [-.11")
    assert "-26.9% (p < .001)" in first[5]
    assert [row[0] for row in rows(list_figures.lists_short())] == ["music, 10%"]  # which has no 5%


def test_cells_are_compared_on_the_splits_that_both_have():
    here = list_figures.of("lastfm")[0.1]
    ours, ease = here["default"], cells.Cell(here["ease"].some[1:])
    assert ours.against(ease)[0] == pytest.approx(ours.repeats[1] - ease.repeats[0])
    low, high, _ = ours.interval(ease)
    assert low <= ours.against(ease)[0] <= high


def test_steps_have_their_spread():
    found = rows(list_figures.steps("lastfm"))
    assert [row[0] for row in found] == [words for words, _, _ in list_figures.STEPS]
    assert found[-1][1].startswith("+.0100 ± .0000")


def test_one_budget_or_an_error(monkeypatch):
    assert list_figures.budget() == "2"
    others = [*made("ranking/lastfm"), make_list_record("random", 0.1, trials=3)]
    monkeypatch.setattr(list_figures, "records", lambda folder: others)
    with pytest.raises(SystemExit, match=r"\[2, 3\]"):
        list_figures.budget()


def test_fairness_names_everybody_once():
    found = rows(list_figures.fairness("lastfm"))
    names = ["the default, `Recommender()`", "user-kNN", "EASE", "kernel ridge, PMD", "most liked items"]
    assert [row[1] for row in found] == names * 2
    assert found[0][2:5] == [".700", "50", "10.0%"]
    assert [row for row in rows(list_figures.new_users()) if row != [""]] == []
