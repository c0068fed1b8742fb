"""Recommendations for all users: the lists of each, in parts, resumed, on any executor."""

import json

import numpy as np
import pytest

from prefmover.data.ratings import Ratings, Scale
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution import LocalExecutor
from prefmover.items.geometry import ItemGeometry
from prefmover.model import KNNRecommender, Recommender, batch
from prefmover.rank import RankingSettings
from tests.messages import names

BOTH = pytest.mark.parametrize("kind", [Recommender, KNNRecommender], ids=["kernel", "knn"])


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(batch, "BLOCK", 10)
    monkeypatch.setattr(batch, "PIECE", 4)


def assert_same(one, other):
    assert one.users == other.users
    for name in ("positions", "scores", "ratings", "how"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


@BOTH
def test_the_list_of_each_user(data, kind):
    model = kind().fit(data)
    for options in ({}, {"by": "rating"}, {"novelty": 0.5, "diversify": 0.3, "min_ratings": 3, "seen": True}):
        table = model.recommend_all(4, **options)
        assert table.users == data.ratings.users.tolist()
        for user, found in zip(table.users, table, strict=True):
            expected = model.recommend(user, 4, **options)
            assert [one.item for one in found] == [one.item for one in expected]
            assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
            assert [one.rating for one in found] == pytest.approx([one.rating for one in expected], abs=1e-5)


@BOTH
def test_parts_are_resumed(data, kind, tmp_path, monkeypatch):
    model = kind().fit(data)
    whole = model.recommend_all(3)
    calls = []
    again = model.recommend_all(3, checkpoint=tmp_path / "c", progress=lambda *call: calls.append(call))
    assert_same(again, whole)
    assert calls[0] == (0, 24)
    assert calls[-1] == (24, 24)
    parts = sorted((tmp_path / "c").glob("part-*.parquet"))
    assert [part.name for part in parts] == [f"part-{k:05d}.parquet" for k in range(3)]
    (tmp_path / "c" / "part-00001.parquet").unlink()
    done = []
    block = batch.recommend_block

    def counted(shared, by, users, **options):
        done.append(users.tolist())
        return block(shared, by, users, **options)

    monkeypatch.setattr(batch, "recommend_block", counted)
    assert_same(model.recommend_all(3, checkpoint=tmp_path / "c"), whole)
    assert done == [list(range(10, 20))]


def test_an_interrupted_run_keeps_its_parts(data, tmp_path, monkeypatch):
    model = Recommender(ranking=RankingSettings()).fit(data)
    block = batch.recommend_block

    def interrupted(shared, by, users, **options):
        if users[0]:
            raise KeyboardInterrupt
        return block(shared, by, users, **options)

    monkeypatch.setattr(batch, "recommend_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.recommend_all(3, checkpoint=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["_recommendations.json", "part-00000.parquet"]
    monkeypatch.undo()
    # A model that is fitted again is the same model.
    again = Recommender(ranking=RankingSettings()).fit(data)
    monkeypatch.setattr(batch, "BLOCK", 10)
    assert_same(again.recommend_all(3, checkpoint=tmp_path), model.recommend_all(3))


def test_parts_of_something_else_are_refused(data, tmp_path):
    model = Recommender(ranking=RankingSettings()).fit(data)
    model.recommend_all(3, checkpoint=tmp_path)
    other = Recommender(ranking=RankingSettings(user_penalty=7.0)).fit(data)
    for call in (
        lambda: model.recommend_all(4, checkpoint=tmp_path),
        lambda: model.recommend_all(3, by="rating", checkpoint=tmp_path),
        lambda: model.recommend_all(3, exclude=["i01"], checkpoint=tmp_path),
        lambda: model.recommend_all(3, novelty=0.1, checkpoint=tmp_path),
        lambda: other.recommend_all(3, checkpoint=tmp_path),
        lambda: model.update("u00", {"i01": 5}).recommend_all(3, checkpoint=tmp_path),
    ):
        with pytest.raises(InputError, match=names(tmp_path)):
            call()


def with_distances(factor):
    def change(data):
        distance = factor * data.geometry.block()
        return data.with_geometry(ItemGeometry.from_distance(data.ratings.items, distance))

    return change


def with_vectors(data):
    vectors = np.random.default_rng(1).random((data.n_items, 3))
    return data.with_geometry(ItemGeometry.from_vectors(data.ratings.items, vectors))


def with_scale(data):
    r = data.ratings
    return data.with_ratings(Ratings(r.matrix, r.users, r.items, Scale(0, 9, 1)))


@BOTH
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda data: data, with_vectors),
        (with_distances(1.0), with_distances(2.0)),  # on the grid, both have the same numbers
        (lambda data: data, with_scale),
    ],
    ids=["vectors", "distances", "scale"],
)
def test_parts_of_other_data_are_refused(data, kind, tmp_path, before, after):
    kind().fit(before(data)).recommend_all(3, checkpoint=tmp_path)
    with pytest.raises(InputError, match=names(tmp_path)):
        kind().fit(after(data)).recommend_all(3, checkpoint=tmp_path)


def test_damaged_parts_are_named(data, tmp_path):
    model = Recommender(ranking=RankingSettings()).fit(data)
    whole = model.recommend_all(3, checkpoint=tmp_path)
    part = tmp_path / "part-00001.parquet"
    content = part.read_bytes()
    for damaged in (b"", content[:-9], (tmp_path / "part-00000.parquet").read_bytes()):
        part.write_bytes(damaged)
        with pytest.raises(InputError, match=names("part-00001.parquet")):
            model.recommend_all(3, checkpoint=tmp_path)
    part.unlink()
    assert_same(model.recommend_all(3, checkpoint=tmp_path), whole)
    assert json.loads((tmp_path / "_recommendations.json").read_text())["n"] == 3


@BOTH
def test_threads_do_not_matter(data, kind):
    model = kind().fit(data)
    assert_same(*(model.recommend_all(5, executor=LocalExecutor(n)) for n in (1, 3)))


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(data, tmp_path):
    pytest.importorskip("ray")
    from prefmover.execution import RayExecutor

    with RayExecutor("local", n_threads=2) as executor:
        for kind in (Recommender, KNNRecommender):
            model, parts = kind().fit(data), tmp_path / kind.__name__
            there = model.recommend_all(5, executor=executor, checkpoint=parts)
            assert executor.summary.tasks == 3
            assert_same(there, model.recommend_all(5))
            assert_same(there, model.recommend_all(5, checkpoint=parts))


def test_lists_that_are_short_or_without_ratings():
    plays = Ratings.from_arrays(["a", "a", "a", "b"], list("xyzx"), [3, 1, 2, 9], feedback="implicit")
    data = Dataset(plays, ItemGeometry.from_vectors(list("xyz"), [[1, 0], [1, 1], [0, 1]]))
    table = Recommender().fit(data).recommend_all(5)
    assert [len(one) for one in table] == [0, 2]
    assert np.isnan(table.ratings).all()
    frame = table.to_arrow().to_pydict()
    assert frame["user"] == ["b", "b"]
    assert frame["rating"] == [None, None]


def test_bad_requests(data):
    model = Recommender().fit(data)
    with pytest.raises(InputError, match=names("n", 0)):
        model.recommend_all(0)
    with pytest.raises(InputError, match=names("by", "'stars'")):
        model.recommend_all(by="stars")
    with pytest.raises(InputError, match=names("'spark'")):
        model.recommend_all(executor="spark")
    with pytest.raises(InputError, match="fit"):
        Recommender().recommend_all()
