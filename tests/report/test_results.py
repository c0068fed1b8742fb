import pytest
from scipy.stats import ttest_rel

from prefmover.errors import InputError
from prefmover.evaluation import Experiment, Panel
from prefmover.report import Results
from tests.report.records import DATA, make_record, make_results, only_table


def test_the_better_convention_is_shown():
    table = only_table(
        [
            make_record("pmd", (0.7, 0.6)),
            make_record("bcf", (0.8, 0.7)),
            make_record("bcf", (0.6, 0.7), convention="median"),
            make_record("bcf", (0.9, 0.1), convention="table-1", ks=(5, 41)),  # lacks K = 40
        ]
    )
    line = next(one for one in table.lines if one.method == "bcf")
    assert (line.convention, line.n_conventions) == ("median", 2)
    assert line.mean.tolist() == [0.6, 0.7]
    assert [one.method for one in table.best_measures()] == ["bcf", "pmd"]


def test_wins_ties_and_losses():
    table = only_table(
        [
            make_record("pmd", (0.70, 0.60), spread=0.01),
            make_record("cos", (0.75, 0.65), spread=0.01),  # always worse
            make_record("msd", (0.7001, 0.5999), spread=0.05),  # nearly equal, different users
            make_record("jaccard", (0.65, 0.65), spread=0.01),  # one each
        ]
    )
    counts = {
        name.removeprefix("knn:"): (x.better, x.wins, x.ties, x.losses)
        for name, x in table.head_to_head.items()
    }
    assert counts == {"cos": (2, 2, 0, 0), "msd": (1, 0, 2, 0), "jaccard": (1, 1, 0, 1)}


def test_users_are_paired():
    records = [make_record("pmd", (0.6, 0.7), spread=0.1), make_record("jaccard", (0.61, 0.73), spread=0.2)]
    table = only_table(records)
    ours, other = (line.groups.mean(axis=0) for line in table.lines[::-1])
    assert table.head_to_head["knn:jaccard"].p_users == pytest.approx(ttest_rel(ours, other).pvalue)


def test_equal_errors_are_a_tie():
    result = only_table([make_record("pmd", (0.7, 0.6)), make_record("cos", (0.7, 0.6))]).head_to_head[
        "knn:cos"
    ]
    assert (result.wins, result.ties, result.losses, result.p_users) == (0, 2, 0, 1.0)


def test_repeats_are_paired():
    records = [make_record("pmd", (x, x), repeat=r) for r, x in enumerate((0.6, 0.7, 0.8))]
    records += [make_record("cos", (x, x), repeat=r) for r, x in enumerate((0.61, 0.73, 0.82))]
    result = only_table(records).head_to_head["knn:cos"]
    assert result.p_repeats == pytest.approx(ttest_rel((0.6, 0.7, 0.8), (0.61, 0.73, 0.82)).pvalue)
    assert result.difference == pytest.approx(-0.02)
    assert only_table(records[:2] + records[3:5]).head_to_head["knn:cos"].p_repeats is None


def test_only_common_repeats_are_compared():
    """PMD is lower on the split that both have, and has another one that is hard for everybody."""
    table = only_table(
        [
            make_record("pmd", (0.7, 0.6)),
            make_record("pmd", (0.9, 0.8), repeat=1),
            make_record("cos", (0.75, 0.65)),
        ]
    )
    assert (table.repeats, table.left_out) == (1, 1)
    assert table.of("knn:pmd").mean.tolist() == [0.7, 0.6]


def test_panels_are_shown_as_far_as_there_are_records():
    panels = (
        Panel(name="a", over="train", train=(0.8, 0.5, 0.1), ks=40, claim="PMD wins."),
        Panel(name="c", over="k", train=0.1, ks=(5, 40)),
    )
    results = make_results(
        [make_record("pmd", (0.7, 0.6)), make_record("pmd", (0.8, 0.7), share=0.5)],
        train=(0.8, 0.5, 0.1),
        panels=panels,
    )
    assert [(p.name, p.train) for p in results.panels()] == [("a", (0.8, 0.5))]
    assert results.table(results.panels()[0]).heads == ["4:1", "1:1"]


def test_methods_are_sorted_by_kind():
    table = only_table(
        [
            make_record("SVD", 0.8, kind="peer"),
            make_record("bias", 0.8, kind="control"),
            make_record("default", 0.7, kind="model"),
            make_record("pmd", (0.7, 0.6)),
            make_record("cos", (0.8, 0.9)),
        ]
    )
    assert [line.method for line in table.lines] == ["cos", "pmd", "default", "bias", "SVD"]


def test_no_records():
    with pytest.raises(InputError):
        Results([], Experiment(dataset="toy"), DATA)
