"""The task of ranking: what recommenders are given, what is asked, how answers are checked and scored."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import hypergeom

from prefmover import Dataset, Ratings
from prefmover.data.splits import by_time, leave_last_out, random_split, validation_split
from prefmover.dataset import geometry_from_ratings
from prefmover.errors import InputError
from prefmover.evaluation import Experiment, compute, evaluate, metrics, run_experiment
from prefmover.evaluation.baselines.rankers import ByScores, most_liked
from prefmover.evaluation.compute import TrainTest
from prefmover.evaluation.recommenders import ROWS, Method, Request, fit
from prefmover.evaluation.tasks import RankingTask, check_lists
from prefmover.rank import tuning
from tests.evaluation.killed import killed_run, lasting
from tests.messages import names, unnamed
from tests.oracles import evaluation as slow


@pytest.fixture(scope="module")
def few(cinema):
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(80)))


@pytest.fixture(scope="module")
def implicit():
    rng = np.random.default_rng(0)
    pairs = sorted({(int(u), int(i)) for u, i in rng.integers(0, 30, (400, 2))})
    users, items = zip(*pairs, strict=True)
    return Dataset(Ratings.from_arrays(users, items, np.ones(len(pairs)), feedback="implicit"))


class Scripted:
    """Recommends what a function of (data, user) says, and remembers what it was given."""

    seen: ClassVar[list] = []

    def __init__(self, answer):
        self.answer = answer

    def __deepcopy__(self, memo):
        return Scripted(self.answer)

    def fit(self, data):
        self.data = data

    def recommend(self, users, n):
        self.seen.append((self.data, users, n))
        return [self.answer(self.data, user, n) for user in users]


def relevant_items(data):
    """Return a split in halves, and the relevant test items of each user in a dictionary of sets."""
    split = random_split(data.ratings, 0.5, 0)
    relevant = {}
    for (user, item), rating in zip(split.test_pairs(), split.ratings, strict=True):
        if rating >= 4:
            relevant.setdefault(user, set()).add(item)
    return split, relevant


def test_who_knows_the_test_part_scores_one(few):
    _, relevant = relevant_items(few)

    def answer(data, user, n):
        rated = set(data.ratings[user])
        others = [item for item in data.ratings.items.tolist() if item not in rated | relevant[user]]
        return [*sorted(relevant[user]), *others][:n]

    (record,) = evaluate(few, {"oracle": Scripted(answer)}, task="ranking", train=0.5, ns=(5, 10))
    assert record.main == record.metrics["mrr"] == record.metrics["hit_rate"] == (1.0, 1.0)
    sizes = np.array([len(items) for items in relevant.values()])
    assert record.metrics["recall"][1] == pytest.approx(np.minimum(10 / sizes, 1).mean(), abs=1e-7)
    assert record.metrics["precision"][0] == pytest.approx(np.minimum(sizes / 5, 1).mean(), abs=1e-7)
    assert {group.metrics["ndcg"] for group in record.activity} == {(1.0, 1.0)}
    assert not str(record.events)
    assert (record.n_users, record.n_relevant) == (len(relevant), sizes.sum())


def test_a_random_order_scores_what_theory_says(cinema):
    """Over many seeds: the mean is the expected value within four standard errors."""
    task = RankingTask.of_split(random_split(cinema.ratings, 0.5, 0))
    share = task.n_relevant / task.n_candidates()
    places = np.arange(11)[:, None]
    hit_by = hypergeom.sf(0, task.n_candidates(), task.n_relevant, places)  # (places, users)
    gains = 1 / np.log2(1 + places[1:, 0])
    ideal = np.cumsum(gains)[np.minimum(task.n_relevant, 10) - 1]
    expected = {"recall": 10 * (share / task.n_relevant).mean(), "precision": share.mean()}
    expected |= {"hit_rate": hit_by[-1].mean(), "ndcg": (share * gains.sum() / ideal).mean()}
    expected["mrr"] = (np.diff(hit_by, axis=0) / places[1:]).sum(axis=0).mean()
    rows = []
    for seed in range(12):
        e = Experiment(
            dataset="cinema", task="ranking", recommenders="random", train=0.5, repeats=1, seed=seed
        )
        rows += [run_experiment(e, data=cinema).records[0].metrics]
    for name, value in expected.items():
        found = np.array([row[name][0] for row in rows])
        assert abs(found.mean() - value) < 4 * found.std(ddof=1) / np.sqrt(len(found)), name


def test_nothing_of_the_test_part_reaches_a_recommender(few):
    Scripted.seen.clear()
    evaluate(few, {"spy": Scripted(lambda data, user, n: [])}, task="ranking", train=0.5, ns=7)
    ((data, users, n),) = Scripted.seen
    split, relevant = relevant_items(few)
    assert data.ratings.digest() == split.train.digest()
    assert not set(zip(data.ratings.rows(), data.ratings.matrix.indices, strict=True)) & set(
        zip(split.users, split.items, strict=True)
    )
    assert (set(users), n) == (set(relevant), 7)


def test_a_search_sees_a_part_of_the_training_part_only(few, monkeypatch):
    """Each trial is fitted to the inner training part, and judged on the rest of the training part."""
    fitted, fit = [], ByScores.fit

    def spy(self, data):
        fitted.append((self.learn.keywords["k"], data.ratings.digest()))
        return fit(self, data)

    monkeypatch.setattr(ByScores, "fit", spy)
    (record,) = evaluate(few, "user-knn", task="ranking", train=0.5, trials=3)
    split = random_split(few.ratings, 0.5, 0)
    inner = [validation_split(split, 0.8, compute.SEEDS * k) for k in range(3)]  # few are split three times
    digests = [one.train.digest() for one in inner]
    assert [digest for _, digest in fitted] == digests * 3 + [split.train.digest()]
    assert all(one.train.n_ratings + one.n_test == split.train.n_ratings for one in inner)
    best = max(record.tuning.trials, key=lambda trial: trial.value)
    assert record.settings == best.settings
    assert fitted[-1][0] == best.settings["k"]
    assert (record.tuning.budget, len(record.run.trial_seconds), record.tuning.validation) == (3, 3, 0.2)


def test_a_record_matches_the_slow_twin(few):
    """Every figure of a record, from lists written down by hand-made code."""
    given = {}

    def answer(data, user, n):
        rated = set(data.ratings[user])
        given[user] = [item for item in data.ratings.items.tolist()[::-1] if item not in rated][:n]
        return given[user]

    (record,) = evaluate(few, {"backward": Scripted(answer)}, task="ranking", train=0.5, ns=(3, 10))
    split, relevant = relevant_items(few)
    for at, n in enumerate((3, 10)):
        each = {user: slow.list_metrics(given[user], relevant[user], n) for user in relevant}
        for name in metrics.PER_USER:
            mean = np.mean([values[name] for values in each.values()])
            assert record.metrics[name][at] == pytest.approx(mean, abs=1e-7), (name, n)
        top = [given[user][:n] for user in relevant]
        assert record.metrics["catalog"][at] == pytest.approx(
            len({i for one in top for i in one}) / few.n_items, abs=1e-7
        )
        counts = {
            i: split.train.matrix[:, [few.ratings.item_positions([i])[0]]].nnz for one in top for i in one
        }
        raters = [counts[i] for one in top for i in one]
        assert record.metrics["popularity"][at] == np.median(raters)
        assert record.metrics["average_popularity"][at] == pytest.approx(np.mean(raters), abs=1e-7)
        flat = few.ratings.item_positions([i for one in top for i in one])
        times = np.bincount(flat, minlength=few.n_items)
        assert record.metrics["gini"][at] == pytest.approx(slow.gini(times.tolist()), abs=1e-7)
        in_tail = np.isin(flat, [*slow.tail(np.diff(split.train.matrix.tocsc().indptr).tolist())])
        assert record.metrics["tail"][at] == pytest.approx(in_tail.mean(), abs=1e-7)
        by_n = {user: len(split.train[user]) for user in relevant}
        for group in record.activity:
            some = [u for u in relevant if group.fewest <= by_n[u] <= group.most]
            assert len(some) == group.n_users
            mean = np.mean([each[u]["ndcg"] for u in some])
            assert group.metrics["ndcg"][at] == pytest.approx(mean, abs=1e-7)
        if at == 0:
            users = few.ratings.user_positions(list(each))
            found = metrics.unpacked(record.per_user)
            assert np.isnan(np.delete(found, users)).all()
            assert found[users] == pytest.approx([one["ndcg"] for one in each.values()], abs=0.5 / 254)
        assert sum(record.groups.n) == record.n_users
        assert sum(record.groups.sums[at]) / record.n_users == pytest.approx(record.main[at], abs=1e-5)


NEW = range(0, 80, 4)  # every fourth user has no training rating


@pytest.fixture(scope="module")
def with_new(few):
    """Return the training data of a split in halves without some users, and its task."""
    split, _ = relevant_items(few)
    matrix = split.train.matrix.copy()
    matrix.data[np.isin(split.train.rows(), NEW)] = 0
    matrix.eliminate_zeros()
    train = Ratings(matrix, split.train.users, split.train.items, split.train.scale)
    return few.with_ratings(train), replace(split, train=train)


def test_warm_and_new_users_apart(with_new):
    """The metrics are of users with training ratings; the others are a group of their own."""
    data, split = with_new
    task = RankingTask.of_split(split, ns=(5, 10))
    free = {u: np.setdiff1d(np.arange(data.n_items), split.train.row(u)[0]) for u in range(80)}
    answer = [data.ratings.items[free[u][-10:]].tolist() for u in task.users.tolist()]
    found = task.score(answer, Method.parse("object:x"), data.geometry)
    users, items = task.relevant_pairs()
    relevant = {u: set(data.ratings.items[items[users == u]].tolist()) for u in task.users.tolist()}
    assert set(zip(users.tolist(), items.tolist(), strict=True)) == {
        pair for *pair, rating in zip(split.users, split.items, split.ratings, strict=True) if rating >= 4
        for pair in [tuple(pair)]
    }  # fmt: skip
    each = {
        u: slow.list_metrics(own, relevant[u], 5) for u, own in zip(task.users.tolist(), answer, strict=True)
    }
    for is_new, part, n in (
        (False, found["metrics"], found["n_users"]),
        (True, found["new"].metrics, found["new"].n_users),
    ):
        some = [each[u] for u in each if (u in NEW) == is_new]
        assert n == len(some) > 0
        for name in metrics.PER_USER:
            assert part[name][0] == pytest.approx(np.mean([one[name] for one in some]), abs=1e-7)
    assert found["n_relevant"] == sum(len(relevant[u]) for u in each if u not in NEW)
    assert sum(found["groups"].n) == found["n_users"]
    assert min(group.fewest for group in found["activity"]) > 0
    assert (found["new"].fewest, found["new"].most) == (0, 0)
    value = task.value(answer, Method.parse("object:x"))
    assert value == pytest.approx(found["metrics"]["ndcg"][0], abs=1e-7)


BY_NAME = [row.name for row in ROWS if "ranking" in row.tasks and not row.name.endswith(":guest")]


@pytest.mark.parametrize("name", [*BY_NAME, "knn:pmd", "knn:cos", "kernel:jmsd"])
def test_new_users_get_the_same_lists_from_every_recommender(with_new, name):
    """What most people like, in one order for all; a list of warm users is their recommender's."""
    data, split = with_new
    task = RankingTask.of_split(split)
    method = Method.parse(name)
    if method.row.package:
        pytest.importorskip(method.row.package)
    model = Request(method, Experiment(dataset="cinema"), 0, 1, "ranking").create({})
    fit(model, data, "ranking")
    lists = task.ask(model, method)
    best = data.ratings.items[most_liked(data.ratings)[:10]].tolist()
    assert [own for u, own in zip(task.users, lists, strict=True) if u in NEW] == [best] * sum(
        u in NEW for u in task.users
    )
    if name in ("default", "knn:pmd"):
        warm = [data.ratings.users[u] for u in task.users if u not in NEW]
        theirs = [[one.item for one in own] for own in model.recommend_many(warm, 10)]
        assert theirs == [own for u, own in zip(task.users, lists, strict=True) if u not in NEW]


def test_only_new_users_are_an_error(with_new):
    _, split = with_new
    own = np.isin(split.users, NEW)
    only = replace(split, users=split.users[own], items=split.items[own], ratings=split.ratings[own])
    with pytest.raises(InputError, match=names("training", "larger")):
        RankingTask.of_split(only)


@pytest.mark.parametrize("geometry", ["file", "ratings"])
def test_a_search_sees_the_items_with_the_most_ratings(few, geometry, monkeypatch):
    """The data of a trial, and what is held out, are of the same items; few users are judged."""
    monkeypatch.setattr(tuning, "MAX_ITEMS", 90)
    monkeypatch.setattr(compute, "MAX_USERS", 12)
    data = few if geometry == "file" else few.with_geometry(geometry_from_ratings)
    split = random_split(data.ratings, 0.5, 0)
    part = TrainTest(Experiment(dataset="cinema", ns=(5, 20)), 0.5, 0, split, data.with_ratings(split.train))
    known, inner, task = part.validations("ranking")[0]
    whole = validation_split(split, 0.8, 0)
    counts = np.bincount(whole.train.matrix.indices, minlength=few.n_items)
    kept = few.ratings.item_positions(known.ratings.items.tolist())
    assert known.n_items == 90
    assert counts[kept].min() >= np.delete(counts, kept).max()
    assert known.ratings.digest() == inner.train.digest()
    for user in whole.train.users.tolist():
        expected = {i: r for i, r in whole.train[user].items() if i in set(known.ratings.items)}
        assert known.ratings[user] == expected
    held = {
        (u, i)
        for (u, i), rating in zip(whole.test_pairs(), whole.ratings, strict=True)
        if rating >= 4 and i in set(known.ratings.items)
    }
    users, items = task.relevant_pairs()
    found = set(zip(inner.train.users[users].tolist(), inner.train.items[items].tolist(), strict=True))
    assert found == {(u, i) for u, i in held if u in set(task.ids())}
    assert task.n_judged == len(task.warm) == 12
    assert task.ns == (50,)  # of few ratings, longer lists are judged
    near = known.geometry.block(range(90), range(90))
    if geometry == "file":
        assert (near == few.geometry.block(kept, kept)).all()
    assert list(known.catalog.titles) == [few.catalog.titles[k] for k in kept]
    judged = part.validations("ranking")[0].of_judged()
    assert (judged.data.n_users, judged.data.n_items, judged.task.n_judged) == (12, 90, 12)
    (record,) = evaluate(data, "user-knn", task="ranking", train=0.5, trials=2)
    assert (record.tuning.n_judged, record.tuning.n_users, record.tuning.n_items) == (3 * 12, 80, 90)
    assert record.n_users > 12


def test_what_is_wrong_with_lists_is_counted(few):
    """Rated, unknown and repeated items, and short lists: counted, reported, never a hit."""
    split, relevant = relevant_items(few)
    someone = next(iter(relevant))

    def answer(data, user, n):
        rated = list(data.ratings[user])
        free = [item for item in data.ratings.items.tolist() if item not in rated]
        if user == someone:
            hit = sorted(relevant[user])[0]
            return [rated[0], "no such film", hit, hit]
        return free[:n]

    evaluation = evaluate(few, {"careless": Scripted(answer)}, task="ranking", train=0.5)
    (record,) = evaluation
    assert record.events.model_dump() == {"rated": 1, "unknown": 1, "repeated": 1, "short": 1}
    assert not unnamed(
        str(evaluation), "1 rated items", "1 unknown items", "1 repeated items", "1 lists too short"
    )
    task = RankingTask.of_split(split)
    user = few.ratings.user_positions([someone])[0]
    at = int(np.searchsorted(task.users, user))
    lists, _ = check_lists([answer(few.with_ratings(split.train), u, 10) for u in task.ids()], task, 10, "x")
    assert (lists[at] >= 0).tolist() == [False, False, True] + [False] * 7
    assert task.hits(lists)[at].sum() == 1


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (lambda self, users, n: 3, ("int",)),
        (lambda self, users, n: [], ("0", "74")),
        (lambda self, users, n: [[{}]] * len(users), ("item",)),
        (lambda self, users, n: [3] * len(users), ("list",)),
    ],
)
def test_answers_that_are_no_lists_are_errors(few, answer, named):
    kind = type("Odd", (), {"fit": lambda self, data: None, "recommend": answer})
    with pytest.raises(InputError, match=names("Odd", *named)):
        evaluate(few, {"Odd": kind()}, task="ranking", train=0.5)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"relevant": 6}, ("6", "relevant")),
        ({"train": 0.0001}, ()),
        ({"train": 1.0}, ("train", "1.0")),
        ({"metric": "ndgc"}, ("'metric'",)),
        ({"train": 0.001, "recommenders": "ease"}, ("trials",)),
        ({"recommenders": "surprise:SVD"}, ("SVD", "ranking")),
        ({"recommenders": "uniform"}, ("uniform", "ranking")),
        ({"recommenders": "eas"}, ("eas", "ease")),
        ({"recommenders": "kernel:pdm"}, ("pdm",)),
        ({"protocol": "time"}, ("times",)),
        ({"protocol": "last"}, ("times",)),
    ],
)
def test_bad_input(few, settings, named):
    arguments = {"recommenders": "popularity", "task": "ranking", "train": 0.5} | settings
    if "protocol" in settings:
        del arguments["train"]
    with pytest.raises(InputError, match=names(*named)):
        evaluate(few, **arguments)


def test_an_object_without_recommend_cannot_rank(few):
    kind = type(
        "Rater", (), {"fit": lambda self, data: None, "predict": lambda self, pairs: [3] * len(pairs)}
    )
    with pytest.raises(InputError, match=names("Rater", "recommend()")):
        evaluate(few, {"Rater": kind()}, task="ranking")


def test_both_tasks(few):
    evaluation = evaluate(few, ["bias", "popularity", "user-mean"], task="both", train=0.5)
    assert [(r.task, r.recommender) for r in evaluation] == [
        ("ranking", "bias"), ("ranking", "popularity"), ("rating", "bias"), ("rating", "user-mean"),
    ]  # fmt: skip
    assert evaluation.summary("rating").num_rows == evaluation.summary("ranking").num_rows == 2
    assert {"ndcg", "ndcg_std", "fit_seconds"} <= set(evaluation.summary().column_names)


def test_implicit_data_rank_every_test_item(implicit):
    (record,) = evaluate(implicit, "popularity", task="ranking", train=0.5)
    assert (record.relevant, record.n_relevant) == (None, record.n_test)
    with pytest.raises(InputError, match=names("relevant")):
        evaluate(implicit, "popularity", task="ranking", train=0.5, relevant=1)
    with pytest.raises(InputError, match=names("ranking")):
        evaluate(implicit, "popularity", task="rating")


@pytest.mark.parametrize("protocol", ["time", "last"])
def test_splits_by_time_train_on_the_past(few, protocol):
    times = np.random.default_rng(1).permutation(few.ratings.n_ratings).astype(float)
    (record,) = evaluate(few, "ease", task="ranking", protocol=protocol, times=times, trials=2)
    split = by_time(few.ratings, times) if protocol == "time" else leave_last_out(few.ratings, times)
    assert (record.n_train, record.n_test) == (split.train.n_ratings, split.n_test)
    inner = validation_split(split, 0.8)
    assert inner.kind == split.kind
    assert inner.train.n_ratings + inner.n_test == split.train.n_ratings
    assert record.key.startswith(f"lists-{protocol}")


def test_folds_and_equal_shares_of_users(few):
    folds = evaluate(few, "popularity", task="ranking", protocol="k-fold", repeats=3)
    assert sum(record.n_test for record in folds) == few.ratings.n_ratings
    (record,) = evaluate(few, "popularity", task="ranking", stratify="user", train=0.5)
    assert record.new_users == 0


NAMES = "simple, ease, item-knn, user-knn, kernel:cosine, kernel:jaccard, knn:cos"
N_RECORDS = 2 * 10


@pytest.fixture(scope="module")
def experiment(tmp_path_factory, few):
    """Settings that name a file with the ratings of 80 users."""
    file = tmp_path_factory.mktemp("data") / "ratings.csv"
    few.ratings.to_arrow().to_pandas().to_csv(file, index=False)
    same = {"repeats": 1, "trials": 2, "ns": (5, 10), "train": (0.5, 0.2)}
    return Experiment(ratings=str(file), task="ranking", recommenders=NAMES, **same)


@pytest.fixture(scope="module")
def finished(experiment, tmp_path_factory):
    return run_experiment(experiment, tmp_path_factory.mktemp("lists"), n_threads=1)


@pytest.mark.slow
def test_killed_and_resumed(finished, experiment, tmp_path):
    """SIGKILL in the middle, then on with other threads: the same records."""
    run, saved = killed_run(experiment, tmp_path, 3)
    assert 3 <= saved < N_RECORDS
    again = run_experiment(experiment, run, n_threads=2)
    assert lasting(again) == lasting(finished)


def test_records_are_typed_and_resume(finished, experiment):
    assert len(finished) == N_RECORDS
    assert all(record.task == "ranking" for record in finished.folder.records().values())
    lines = []
    again = run_experiment(experiment, finished.folder.path, tell=lines.append)
    assert not unnamed(lines[0], N_RECORDS, 0)
    assert lasting(again) == lasting(finished)


def test_the_default_model_is_the_same_on_any_number_of_threads(few):
    (one,) = evaluate(few, "default", task="ranking", train=0.5, n_threads=1)
    (two,) = evaluate(few, "default", task="ranking", train=0.5, n_threads=2)
    assert lasting([one]) == lasting([two])
    assert one.settings in [trial.settings for trial in one.tuning.trials]
    chosen = next(trial.value for trial in one.tuning.trials if trial.settings == one.settings)
    assert chosen * (1 + tuning.MARGIN) >= max(trial.value for trial in one.tuning.trials)


@pytest.mark.slow
def test_a_cluster_computes_the_same_records(finished, experiment):
    pytest.importorskip("ray")
    on_ray = run_experiment(experiment, executor="ray", n_threads=2)
    assert lasting(on_ray) == lasting(finished)
