"""The report about lists: means, paired tests, sentences, pictures and tables."""

import json
import re

import numpy as np
import pytest
from scipy.stats import ttest_rel

from prefmover.evaluation import Experiment, run_experiment
from prefmover.evaluation.metrics import packed
from prefmover.evaluation.recommenders import Method
from prefmover.evaluation.record import ActivityGroup, Events, Groups, Record, RunInfo, Trial, Tuning
from prefmover.report import write_report
from prefmover.report.figures import draw_activity, draw_density, draw_scatter
from prefmover.report.render import report_page
from prefmover.report.results import HeadToHead
from prefmover.report.sentences import about_lists, steps
from prefmover.report.statistics import bootstrap, holm
from tests.messages import names, unnamed
from tests.report.records import make_results
from tests.report.test_render import Page


def make_list_record(
    recommender, ndcg, *, share=0.8, repeat=0, spread=0.01, events=None, trials=2, seconds=1.0
):
    """Return a record with groups of users around its nDCG; those of a method differ by a wave of its own."""
    wave = spread * np.sin(np.arange(20) * (1 + len(recommender)))
    groups = Groups(n=(5,) * 20, sums=(tuple(5 * (ndcg + wave)),))
    metrics = {
        "ndcg": (ndcg,), "recall": (ndcg / 2,), "precision": (ndcg / 4,), "mrr": (ndcg,),
        "hit_rate": (min(1, 2 * ndcg),),
    }  # fmt: skip
    others = {"catalog": (0.5,), "popularity": (40.0,), "novelty": (3.0,), "diversity": (0.8,)}
    others |= {"gini": (0.7,), "average_popularity": (50.0,), "tail": (0.1,)}
    activity = [
        ActivityGroup(name=name, fewest=k, most=k + 9, n_users=50, metrics=metrics, groups=groups)
        for k, name in enumerate(("sparse", "quarter 4"))
    ]
    tuned = Tuning(validation=0.2, budget=trials, n_judged=90, trials=tuple(
        Trial(settings={"penalty": 10.0**k}, value=0.1 + k / 100) for k in range(trials)
    ))  # fmt: skip
    return Record(
        task="ranking", dataset="toy", geometry="toy", protocol="random",
        share=share, repeat=repeat, seed=repeat,
        n_train=800, n_test=200, new_users=0, new_items=0, **Method.parse(recommender)._asdict(),
        cuts=(10,), relevant=4.0, n_users=100, n_relevant=150, settings={"penalty": 10.0} if trials else {},
        tuning=tuned if trials else None, metrics=metrics | others,
        activity=tuple(activity), events=events or Events(), groups=groups,
        per_user=packed(np.clip(ndcg + np.tile(wave, 5), 0, 1), np.arange(100), 120),
        run=RunInfo(
            seconds=seconds, fit_seconds=seconds / 2, answer_seconds=seconds / 2,
            trial_seconds=(1.0,) * trials,
        ),
    )  # fmt: skip


def listed(records):
    """Return the results of records of lists."""
    return make_results(records, task="ranking")


def test_ours_against_each_is_a_paired_test_over_users():
    records = [
        make_list_record("default", 0.40),
        make_list_record("ease", 0.38),
        make_list_record("item-knn", 0.3999),
    ]
    (table,) = listed(records).lists
    ours, ease, knn = (table.of(name) for name in ("default", "ease", "item-knn"))
    assert table.ours is ours
    found = table.head_to_head["ease"]
    assert found.p_users == pytest.approx(ttest_rel(ours.groups[0], ease.groups[0]).pvalue)
    assert (found.difference, found.relative) == pytest.approx((0.02, 0.02 / 0.38))
    assert found.outcome == "win"
    assert HeadToHead.from_lines(ease, ours).outcome == "loss"
    assert HeadToHead.from_lines(ours, knn).outcome == "tie"
    assert HeadToHead.from_lines(ours, ease, "sparse").outcome == "win"


def test_outcomes_are_decided_by_adjusted_p_values():
    """Holm's correction over all comparisons of all shares; the interval is that of the per-user values."""
    others = {"ease": 0.38, "item-knn": 0.3999, "user-knn": 0.3925, "random": 0.1}
    records = [
        make_list_record(name, value - share / 50, share=share, repeat=repeat, spread=0.02)
        for name, value in ({"default": 0.4} | others).items() for share in (0.1, 0.8) for repeat in (0, 1)
    ]  # fmt: skip
    tables = listed(records).lists
    found = [one for table in tables for one in table.head_to_head.values()]
    assert len(found) == 8
    assert [one.p_holm for one in found] == pytest.approx(holm([one.p_users for one in found]))
    assert [one.outcome == "tie" for one in found] == [one.p_holm >= 0.05 for one in found]
    assert {one.outcome for one in found} == {"win", "tie"}
    for table in tables:
        ours, ease = table.of("default"), table.of("ease")
        assert ours.per_user.shape == (2, 120)
        assert table.head_to_head["ease"].interval == bootstrap(ours.per_user, ease.per_user)
        p = [one.p_users for one in table.by_activity.values()]
        assert [one.p_holm for one in table.by_activity.values()] == pytest.approx(holm(p))
    text = report_page("summary.md", listed(records), {})
    assert not unnamed(text, ".3980 ± .0000", "p, Holm", "p, bootstrap", "Gini", "tail")


def test_new_users_are_a_column_of_their_own():
    new = make_list_record("ease", 0.2).activity[0].model_copy(
        update={"name": "new", "fewest": 0, "most": 0, "n_users": 7}
    )  # fmt: skip
    records = [make_list_record(name, 0.3).model_copy(update={"new": new}) for name in ("default", "ease")]
    results = listed(records)
    assert results.lists[0].of("ease").new.n_users == 7
    assert not unnamed(about_lists(results)[-1], 7, ".2000")
    assert not unnamed(report_page("summary.md", results, {}), "new (no ratings, 7 users)")


def test_what_falls_short_is_printed_first():
    records = [make_list_record("default", 0.40), make_list_record("ease", 0.42)]
    records += [make_list_record("default", 0.30, share=0.1), make_list_record("ease", 0.25, share=0.1)]
    first, *others = about_lists(listed(records))
    assert not unnamed(first, "default", "EASE", 0.8, ".0200", "4.8 %")
    assert not re.search(names("0.1"), first)
    at_tenth = next(text for text in others if re.search(names(".3000"), text))
    assert not unnamed(at_tenth, 0.1, ".2500", "20.0 %", "2 trials")
    clear = about_lists(listed(records[2:]))
    assert not unnamed(clear[0], "default", "nDCG@10")


def test_kernels_take_the_score_apart():
    names_ = [
        "liked-popularity",
        "kernel:cosine",
        "kernel:total-variation",
        "kernel:mean-vector",
        "kernel:pmd",
    ]
    scores = [0.10, 0.20, 0.21, 0.24, 0.25]
    records = [make_list_record(*one) for one in zip(names_, scores, strict=True)]
    rows = steps(listed([*records, make_list_record("default", 0.27)]))
    assert [float(row[1].split()[0]) for row in rows] == pytest.approx([0.10, 0.03, 0.01, 0.04, 0.02])
    assert steps(listed(records[:1])) == []


def test_wrong_entries_of_lists_are_told():
    records = [
        make_list_record("default", 0.4),
        make_list_record("object:mine", 0.1, events=Events(rated=3, short=2)),
    ]
    text = about_lists(listed(records))[-1]
    assert not unnamed(text, "mine", "3 rated items", "2 lists too short")


def test_every_method_is_in_every_picture():
    records = [
        make_list_record(name, 0.4, share=s) for name in ("default", "ease", "random") for s in (0.1, 0.8)
    ]
    results = listed(records)
    for figure in (draw_density(results), draw_scatter(results, "seconds"), draw_scatter(results, "novelty")):
        (legend,) = figure.legends
        assert {text.get_text() for text in legend.get_texts()} == {"default", "EASE", "random"}
    assert len(draw_activity(results).axes) == 2


def test_a_page_of_lists():
    records = [
        make_list_record("default", 0.4),
        make_list_record("ease", 0.3),
        make_list_record("random", 0.01, trials=0),
    ]
    results = make_results(records, task="ranking")
    text = report_page("summary.md", results, {})
    assert re.search(r"\| default \| model \| \*\*\.4000\*\* (\|  ){5}\| \.2000 \|", text)
    assert re.search(r"\| EASE \| peer \| \*\*\.3000\*\* \| \+0\.1000 \| ", text)
    assert re.search(r"\| EASE \| penalty 10 \| 2 \| \.1100 \|", text)
    assert "\n\n\n" not in text
    assert "<h1>Recommenders on toy</h1>" in report_page("report.html", results, {})


def test_both_tasks_have_one_page(tmp_path):
    """A real run of both tasks: one page without external files, the same twice."""
    experiment = Experiment(
        dataset="cinema", task="both", train=(0.5, 0.1), repeats=1, ks=(5, 40), trials=2,
        recommenders="bias, popularity, ease, knn:jaccard",
    )  # fmt: skip
    run_experiment(experiment, tmp_path / "run")
    written = write_report(tmp_path / "run")
    again = write_report(tmp_path / "run", tmp_path / "again")
    for name in ("report.html", "summary.md", "summary.json"):
        assert written[name].read_bytes() == again[name].read_bytes()
    page = Page()
    page.feed(written["report.html"].read_text(encoding="utf-8"))
    assert (page.open, page.loads) == ([], [])
    assert len(page.ids) == len(set(page.ids))
    assert next(iter(written)) == "density.svg"
    facts = json.loads(written["summary.json"].read_text())
    assert {row["recommender"] for row in facts["lists"]} == {"bias", "popularity", "ease", "knn:jaccard"}
    assert [panel["over"] for panel in facts["panels"]] == ["train", "k", "k"]
