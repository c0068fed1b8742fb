import tomllib

from prefmover.evaluation import Experiment, Panel
from prefmover.report.sentences import about_panel, about_ratings, commands, provenance, trend, verdict
from tests.messages import unnamed
from tests.report.records import make_record, make_results, only_table


def test_verdict_names_the_winners():
    assert not unnamed(
        verdict(only_table([make_record("pmd", (0.7, 0.6)), make_record("cos", (0.8, 0.9))])), "2 of 2 points"
    )
    mixed = [make_record("pmd", (0.7, 0.6)), make_record("msd", (0.65, 0.7)), make_record("cos", (0.8, 0.5))]
    assert not unnamed(
        verdict(only_table(mixed)), "3 measures", "0 of 2", "MSD (1 point)", "COS (1 point)", "0.1000"
    )


def test_equal_errors_are_no_loss():
    table = only_table([make_record("cos", (0.7, 0.6)), make_record("pmd", (0.70000001, 0.6))])
    assert not unnamed(verdict(table), "PMD", "2 of 2 points")


def test_summary_follows_the_numbers():
    records = [
        make_record("pmd", (0.7, 0.6)),
        make_record("cos", (0.8, 0.9)),
        make_record("bias", 0.65, kind="control"),
        make_record("default", 0.5, kind="model"),
    ]
    results = make_results(records)
    table = results.table(results.panels()[0])
    first, second, default, bias = about_ratings(results)
    assert not unnamed(first, "PMD", "2 of 2 points", "toy", "1 repeat")
    assert not unnamed(second, "COS", "0.2000", "2 of 2 points")
    assert not unnamed(default, "default", "0 of 2 points", "0.1500")
    assert not unnamed(bias, "1 of 2 points", "0.0000", "-0.0500", "+0.0500")
    assert any(not unnamed(text, "PMD", "1 of 2 points") for text in about_panel(table))
    without = make_results(records[1:])
    (only,) = about_ratings(without)
    assert unnamed(only, "2 of 2 points")


def test_trend():
    table = only_table(
        [
            make_record("pmd", (0.7, 0.6)),
            make_record("cos", (0.8, 0.795)),
            make_record("msd", (0.8, 0.9)),
            make_record("bcf", (0.8, 0.804)),
        ]
    )
    text = trend(table)
    assert not unnamed(
        text, "K = 5 to 40", "2 of 4 measures", "MSD, BCF", "MSD at 5", "BCF at 5", "1%: COS, BCF"
    )
    assert text in about_panel(table)
    falling = only_table([make_record("pmd", (0.7, 0.6)), make_record("cos", (0.8, 0.6))])
    assert not unnamed(trend(falling), "2 of 2 measures", "none")
    over_shares = make_results([make_record("pmd", (0.7, 0.6)), make_record("pmd", (0.8, 0.7), share=0.5)])
    assert all(
        unnamed(text, "K = 5 to 40") for text in about_panel(over_shares.table(over_shares.panels()[0]))
    )


def test_records_left_out_are_counted():
    table = only_table(
        [
            make_record("pmd", (0.7, 0.6)),
            make_record("pmd", (0.9, 0.8), repeat=1),
            make_record("cos", (0.75, 0.65)),
        ]
    )
    assert any(not unnamed(text, "1 repeat", "1 record") for text in about_panel(table))


def test_one_measure_and_its_peers():
    records = [
        make_record("pmd", (0.7, 0.6), spread=0.01),
        make_record("bias", 0.8, kind="control", spread=0.01),
        make_record("SVD", 0.65, kind="peer", spread=0.01),
        make_record("BaselineOnly", 0.9, kind="peer", spread=0.01),
    ]
    results = make_results(records)
    table = results.table(results.panels()[0])
    summary = about_ratings(results)
    assert not unnamed(summary[0], "PMD", "toy", "1 repeat")
    assert not unnamed(summary[-1], "Surprise", "SVD", "0.0000", "1 of 2 points")
    panel = about_panel(table)
    assert panel[0] == trend(table)
    assert not unnamed(panel[-1], "Surprise's SVD", "2 peers", "1 of 2 points")
    rising = only_table([make_record("pmd", (0.6, 0.7)), records[2]])
    assert not unnamed(trend(rising), "PMD", "PMD at 5")
    assert not unnamed(about_panel(rising)[-1], "Surprise's SVD")


def test_a_claim_is_shown():
    panels = (Panel(name="a", over="k", train=0.8, ks=(5, 40), claim="PMD wins."),)
    results = make_results([make_record("pmd", (0.7, 0.6))], panels=panels)
    assert not unnamed(about_panel(results.table(results.panels()[0]))[0], "PMD wins.")


def test_commands_reproduce_the_experiment():
    results = make_results([make_record("pmd", (0.7, 0.6), share=1 / 3)], train=1 / 3, shrinkage=0.5)
    command, report = commands(results)
    assert command.startswith("prefmover evaluate --dataset toy ")
    assert not unnamed(command, "--recommenders knn:pmd", "--train 1:2", "--shrinkage 0.5", "--out FOLDER")
    assert report == "prefmover report FOLDER"


def test_commands_with_panels_need_a_file():
    panels = (Panel(name='x"y', over="k", train=1 / 3, ks=(5, 40), claim="A claim."),)
    results = make_results([make_record("pmd", (0.7, 0.6), share=1 / 3)], train=1 / 3, panels=panels)
    file, command, _ = commands(results)
    assert Experiment(**tomllib.loads(file)) == results.experiment
    assert "--config experiment.toml" in command


def test_provenance():
    results = make_results([make_record("pmd", (0.7, 0.6)), make_record("cos", (0.7, 0.6))])
    data, splits, run = provenance(results)
    assert not unnamed(data, "toy", "r")
    assert not unnamed(splits, "4:1: 800 + 2,000 (1 and 2)")
    assert not unnamed(run, "2 records", "2.0 s", "prefmover 0")
