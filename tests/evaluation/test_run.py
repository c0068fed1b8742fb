from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

from prefmover import Dataset, KNNRecommender, Recommender, datasets
from prefmover.data.splits import random_split
from prefmover.errors import InputError
from prefmover.evaluation import Experiment, RunFolder, evaluate, metrics, run_experiment
from tests.evaluation.killed import killed_run, lasting
from tests.messages import names, unnamed

SMALL = Experiment(
    dataset="cinema",
    task="rating",
    train=(0.05,),
    repeats=2,
    ks=(5, 40),
    recommenders="controls, knn:cos:all, knn:nhsm:all, knn:bcf:all, knn:pmd",
)
N_RECORDS = 2 * (4 + 1 + 2 + 3 + 1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run without interruption, on one thread."""
    lines = []
    evaluation = run_experiment(SMALL, tmp_path_factory.mktemp("run"), n_threads=1, tell=lines.append)
    return evaluation, lines


def test_every_record_is_there(finished):
    evaluation, lines = finished
    assert len(evaluation) == len(evaluation.folder.records()) == N_RECORDS
    assert f"[{N_RECORDS}/{N_RECORDS}]" in lines[-1]
    assert not (evaluation.folder.path / "records").exists()
    table = pq.read_table(evaluation.folder.path / "records.parquet")
    assert table.num_rows == evaluation.to_arrow().num_rows == 2 * (2 * 1 + 2 * 2 + 7 * 2)
    assert {"mae", "rmse", "coverage", "seed", "versions", "solved", "geometry"} <= set(table.column_names)


def test_records_describe_themselves(finished):
    record = finished[0].folder.records()["0.05-1-knn.pmd"]
    assert (record.settings["weight"], record.seed, record.share, record.repeat) == (
        "exponential(4)",
        1,
        0.05,
        1,
    )
    assert record.geometry.startswith("cinema")
    assert record.n_train + record.n_test == 21644
    assert record.new_users > 0
    assert record.run.solved > 0
    assert record.run.versions["prefmover"]
    for at in range(2):  # the groups of users add up to the whole
        assert sum(record.groups.sums[at]) / record.n_test == pytest.approx(record.main[at], abs=1e-5)


def test_means_over_repeats(finished):
    evaluation, _ = finished
    rows = evaluation.summary().to_pylist()
    assert len(rows) == 2 * 1 + 2 * 2 + 7 * 2
    assert list(dict.fromkeys(row["recommender"] for row in rows)) == list(evaluation.experiment.recommenders)
    row = next(row for row in rows if row["recommender"] == "knn:pmd" and row["k"] == 40)
    errors = [record.main[1] for record in evaluation if record.recommender == "knn:pmd"]
    assert row["repeats"] == 2
    assert row["mae"] == pytest.approx(np.mean(errors))
    assert row["mae_std"] == pytest.approx(np.std(errors, ddof=1))
    assert f"{row['mae']:.4f}" in str(evaluation)


def test_a_second_run_computes_nothing(finished):
    folder = finished[0].folder
    before = (folder.path / "records.jsonl.gz").read_bytes()
    lines = []
    again = run_experiment(SMALL, folder.path, tell=lines.append)
    assert len(lines) == 1
    assert not unnamed(lines[0], N_RECORDS, 0)
    assert (folder.path / "records.jsonl.gz").read_bytes() == before
    assert [record.key for record in again] == [record.key for record in finished[0]]


def test_in_memory_as_in_a_folder(finished, cinema):
    calls = []
    evaluation = evaluate(
        cinema,
        ["bias", "knn:nhsm", "uniform"],
        task="rating",
        train=0.05,
        ks=(5, 40),
        n_threads=2,
        progress=lambda *call: calls.append(call),
    )
    expected = lasting(finished[0])
    assert lasting(evaluation) == {
        key: expected[key] for key in ("0.05-0-bias", "0.05-0-knn.nhsm", "0.05-0-uniform")
    }
    assert calls == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_killed_and_resumed(finished, tmp_path):
    """SIGKILL in the middle, then on with other threads: the same records."""
    run, saved = killed_run(SMALL, tmp_path, 4)
    assert 4 <= saved < N_RECORDS
    lines = []
    evaluation = run_experiment(SMALL, run, n_threads=2, tell=lines.append)
    assert not unnamed(lines[0], saved, N_RECORDS - saved)
    assert lasting(evaluation) == lasting(finished[0])


def test_an_experiment_may_grow_but_not_change(tmp_path):
    same = {"dataset": "cinema", "task": "rating", "ks": (5,)}
    run_experiment(Experiment(recommenders="knn:cos", train=0.2, repeats=1, **same), tmp_path)
    more = Experiment(recommenders="knn:cos, knn:msd, bias", repeats=2, train=(0.2, 0.1), **same)
    lines = []
    assert len(run_experiment(more, tmp_path, tell=lines.append)) == 12
    assert not unnamed(lines[0], 1, 11)
    for changed in ({"ks": (5, 10)}, {"seed": 3}, {"geometry": "genres"}, {"centering": "baseline"}):
        with pytest.raises(InputError, match=next(iter(changed))):
            run_experiment(Experiment(recommenders="knn:cos", **{**same, **changed}), tmp_path)


def test_settings_without_records_may_change(tmp_path):
    """A run that failed at once does not block its folder."""
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n" + "".join(f"u{k % 4},i{k // 4},3\n" for k in range(40)))
    same = {"ratings": str(file), "recommenders": "bias", "repeats": 1}
    with pytest.raises(InputError, match="relevant"):
        run_experiment(Experiment(relevant=4, **same), tmp_path / "run")
    assert len(run_experiment(Experiment(task="rating", **same), tmp_path / "run")) == 1


def test_folds_that_differ_by_a_rating_have_one_share(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n" + "".join(f"u{k % 4},i{k // 4},{k % 5}\n" for k in range(43)))
    folds = Experiment(ratings=str(file), protocol="k-fold", recommenders="bias", task="rating", repeats=4)
    records = run_experiment(folds, tmp_path / "run").records
    assert len({record.n_train for record in records}) == 2
    assert {record.share for record in records} == {0.75}
    with pytest.raises(InputError, match=names("repeats")):  # other folds, not more of them
        run_experiment(folds.model_copy(update={"repeats": 5}), tmp_path / "run")


def test_folds_and_a_geometry_from_ratings(tmp_path):
    experiment = Experiment(
        dataset="cinema",
        task="rating",
        protocol="k-fold",
        repeats=2,
        ks=10,
        recommenders="knn:n-bcf:all",
        geometry="ratings",
    )
    records = run_experiment(experiment, tmp_path).folder.records()
    assert set(records) == {f"folds-{r}-knn.n-bcf{c}" for r in range(2) for c in ("", ".median", ".table-1")}
    assert {round(record.share, 3) for record in records.values()} == {0.5}
    assert records["folds-0-knn.n-bcf"].geometry
    with pytest.raises(InputError, match=names("cinema")):
        run_experiment(Experiment(dataset="cinema", protocol="published"), tmp_path / "other")


class Recorder:
    """Predicts the mean, and remembers its input."""

    seen: ClassVar[list] = []

    def fit(self, data):
        self.mean = data.ratings.matrix.data.mean()
        self.seen.append((data, None))
        return self

    def predict(self, pairs):
        self.seen[-1] = (self.seen[-1][0], pairs)
        return np.full(len(pairs), self.mean)


def test_any_object_with_fit_and_predict(cinema):
    Recorder.seen.clear()
    recorder = Recorder()
    (record,) = evaluate(cinema, recorder, task="rating", train=0.3)
    assert not hasattr(recorder, "mean")  # a copy was fitted
    ((train, pairs),) = Recorder.seen
    split = random_split(cinema.ratings, 0.3, 0)
    assert isinstance(train, Dataset)
    assert train.ratings.digest() == split.train.digest()  # nothing of the test part reaches fit
    assert pairs == split.test_pairs()
    mean = split.train.matrix.data.mean()
    assert record.main == (round(metrics.mae(split.ratings, np.full(split.n_test, mean)), 8),)
    assert (record.kind, record.label, record.cuts) == ("model", "Recorder", (None,))
    assert record.metrics["coverage"] == (0.0,)


def test_a_geometry_from_ratings_comes_from_the_training_part(cinema):
    Recorder.seen.clear()
    data = Experiment(dataset="cinema", geometry="ratings").load()
    evaluate(data, Recorder(), task="rating", train=0.3)
    train = Recorder.seen[0][0]
    expected = data.with_ratings(random_split(data.ratings, 0.3, 0).train).geometry
    assert train.geometry.digest() == expected.digest() != data.geometry.digest()


def test_objects_match_names(cinema):
    """The same recommender by name and by object, at the object's K."""
    few = Dataset(cinema.ratings.take(users=np.arange(80)), cinema.geometry, cinema.catalog)
    model = KNNRecommender("jmsd", 5, centering="mean")
    evaluation = evaluate(few, ["knn:jmsd", model, "default"], task="rating", ks=(3, 5), train=0.5)
    by_name, by_object, default = evaluation
    assert by_object.cuts == (5,)
    assert by_object.main[0] == pytest.approx(by_name.main[1], abs=1e-8)
    assert by_object.label == repr(model)
    (same,) = evaluate(few, {"mine": Recommender()}, task="rating", train=0.5)
    assert same.main == default.main
    assert (same.label, default.label, default.kind) == ("mine", "default", "model")


def test_objects_resume_in_a_folder(tmp_path, cinema):
    both = {"Recorder": Recorder(), "bias": "bias"}
    first = evaluate(cinema, both, task="rating", folder=tmp_path, train=0.3)
    Recorder.seen.clear()
    again = evaluate(cinema, both, task="rating", folder=tmp_path, train=0.3)
    assert not Recorder.seen
    assert [record.main for record in again] == [record.main for record in first]
    assert RunFolder(tmp_path).content().settings.recommenders == ("object:Recorder", "bias")


def test_bad_arguments(cinema):
    with pytest.raises(InputError, match=names("'repeat'", "'repeats'")):
        evaluate(cinema, "bias", repeat=2)
    with pytest.raises(InputError, match="executor"):
        evaluate(cinema, "bias", executor="slurm")


class Nameless:
    """A recommender without a repr of its own."""

    def fit(self, data):
        return self

    def predict(self, pairs):
        return [3.0] * len(pairs)


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"geometry": "genres"}, "geometry"), ({"scale": "1:5:1"}, "scale"), ({"dataset": "cinema"}, "dataset")],
)
def test_settings_of_the_data_are_refused_next_to_a_dataset(settings, named):
    with pytest.raises(InputError, match=names(named)):
        evaluate(datasets.load("cinema"), "bias", **settings)


def test_objects_in_a_folder_need_a_label(tmp_path):
    with pytest.raises(InputError, match=names("Nameless")):
        evaluate(datasets.load("cinema"), [Nameless()], folder=tmp_path)
    (record,) = evaluate(datasets.load("cinema"), {"three": Nameless()}, task="rating", folder=tmp_path)
    assert record.label == "three"
