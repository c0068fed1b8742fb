"""Blocks chosen by held-out ratings: a planted block is found, noise is left out, tests are not seen."""

import pickle

import numpy as np
import pytest

from prefmover import Dataset, Ratings, Recommender, evaluate
from prefmover.data.file_options import FileOptions
from prefmover.dataset import geometry_follows_ratings
from prefmover.items import features
from prefmover.items.table import ItemFiles
from prefmover.items.weighting import _HeldOut
from prefmover.model import storage

N_USERS, N_ITEMS = 120, 60
ITEMS = np.arange(N_ITEMS)


def planted(implicit: bool = False):
    """Return ratings that follow item vectors, a block of these vectors, and a block of noise."""
    random = np.random.default_rng(0)
    items, tastes = random.normal(size=(N_ITEMS, 3)), random.normal(size=(N_USERS, 3))
    rated = random.permuted(np.tile(ITEMS, (N_USERS, 1)), axis=1)[:, :25]
    likes = tastes @ items.T
    if implicit:
        rated = np.argsort(-likes - random.gumbel(size=likes.shape), axis=1)[:, :15]
    users = np.repeat(np.arange(N_USERS), rated.shape[1])
    values = 3 + likes[users, rated.ravel()] + 0.3 * random.normal(size=rated.size)
    values = np.clip(values.round(), 1, 5)
    ratings = (
        Ratings.from_arrays(users, rated.ravel(), np.ones(rated.size), feedback="implicit")
        if implicit
        else Ratings.from_arrays(users, rated.ravel(), values)
    )
    blocks = [
        features.from_vectors(ITEMS, items, name="signal"),
        features.from_vectors(ITEMS, random.normal(size=(N_ITEMS, 3)), name="noise"),
    ]
    return ratings, [block._replace(name=block.name.split(":")[0]) for block in blocks]


def files_of(blocks, **options):
    return ItemFiles.read(features=blocks, rated=ITEMS, options=FileOptions(**options))


def weights_of(geometry):
    return {one.name.split(":")[0]: one.weight for one in geometry.blocks}


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_planted_block_is_found_and_noise_is_left_out(implicit, reverse):
    ratings, blocks = planted(implicit)
    geometry = files_of(blocks[:: -1 if reverse else 1])(ratings)
    assert weights_of(geometry) == {"signal": 1, "noise": 0}
    noise = next(one for one in geometry.blocks if one.name.startswith("noise"))
    assert noise.error > noise.error_without  # with it the error is larger
    signal = next(one for one in geometry.blocks if one.name.startswith("signal"))
    assert (signal.error, signal.error_without) == (noise.error_without, None)  # nothing else is left
    assert geometry.vectors.tobytes() == files_of(blocks[:1]).geometry.vectors.tobytes()


def test_without_a_useful_block_the_error_is_larger():
    ratings, blocks = planted()
    half = features.from_vectors(ITEMS, blocks[0].vectors[:, :2])._replace(name="half")
    rest = features.from_vectors(ITEMS, blocks[0].vectors[:, 2:])._replace(name="rest")
    shown = files_of([half, rest])(ratings).blocks
    assert all(one.weight == 1 and one.error < one.error_without for one in shown)
    assert len({one.error for one in shown}) == 1


def test_given_weights_stay_and_the_choice_is_the_same_every_time():
    ratings, blocks = planted()
    fixed = files_of(blocks, weights={"noise": 0.5})
    assert weights_of(fixed(ratings)) == {"signal": 1, "noise": 0.5}
    assert fixed(ratings).blocks == fixed(ratings).blocks
    assert not files_of(blocks, weights={"noise": 0.5, "signal": 1}).follows_ratings
    assert not files_of(blocks, choose_weights=False).follows_ratings
    assert not files_of(blocks[:1]).follows_ratings


def test_too_few_ratings_leave_the_weights():
    ratings, blocks = planted()
    few = ratings.take(users=range(3))
    assert _HeldOut.sample(few) is None
    geometry = files_of(blocks)(few)
    assert weights_of(geometry) == {"signal": 1, "noise": 1}
    assert [one.error for one in geometry.blocks] == [None, None]


def test_held_out_ratings_do_not_shape_the_offsets():
    """The items' sums and counts are those of the other ratings."""
    ratings, _ = planted()
    held_out = _HeldOut.sample(ratings)
    assert held_out.counts.sum() == ratings.n_ratings - sum(len(one.held) for one in held_out.users)
    for one in held_out.users:
        assert not set(one.known) & set(one.held)


class Spy:
    """A geometry that remembers the ratings it was given."""

    follows_ratings = True

    def __init__(self, make):
        self.make = make

    def __call__(self, ratings):
        SEEN.append(ratings)
        return self.make(ratings)


SEEN: list[Ratings] = []


class Mean:
    """A recommender that looks at the geometry."""

    def fit(self, data):
        self.mean = data.ratings.matrix.data.mean()
        assert data.geometry.blocks[1].weight == 0

    def predict(self, pairs):
        return [self.mean] * len(pairs)


def test_experiments_choose_blocks_on_training_ratings_only():
    from prefmover.data.splits import random_split

    ratings, blocks = planted()
    SEEN.clear()
    data = Dataset(ratings, Spy(files_of(blocks)))
    evaluation = evaluate(data, {"mean": Mean()}, task="rating", train=(0.5,), repeats=2)
    assert evaluation.data.geometry == "from each split's training ratings"
    train = [random_split(data.ratings, 0.5, seed).train.matrix for seed in (0, 1)]
    assert len(SEEN) == 2
    for seen, expected in zip(SEEN, train, strict=True):
        assert (seen.matrix != expected).nnz == 0
        assert seen.n_ratings == ratings.n_ratings // 2
    assert all("signal" in one.geometry for one in evaluation)


def test_a_data_set_keeps_its_function_when_it_is_pickled():
    ratings, blocks = planted()
    data = Dataset(ratings, files_of(blocks))
    _ = data.geometry
    again = pickle.loads(pickle.dumps(data))
    assert geometry_follows_ratings(again)
    few = data.ratings.take(users=range(80))
    assert again.with_ratings(few).geometry.blocks == data.with_ratings(few).geometry.blocks


def test_models_and_summaries_have_what_blocks_are_worth(tmp_path):
    ratings, blocks = planted()
    data = Dataset(ratings, files_of(blocks))
    model = Recommender().fit(data)
    storage.save(model, tmp_path / "model")
    loaded = storage.load(tmp_path / "model").data_.geometry
    assert loaded.blocks == data.geometry.blocks
    assert "signal and noise" in loaded.name
    assert set(loaded.summary()) >= {"weight of signal: 3 numbers", "weight of noise: 3 numbers"}


def test_no_trial_leaves_nothing_to_compare(tmp_path):
    """A feature of the profiles is no block of its own: with profiles and all others at 0, it is nothing."""
    random = np.random.default_rng(0)
    n_items, kinds = 120, random.integers(0, 2, 120)
    tags, liked = [["dark", "scary", "night"], ["fun", "light", "joke"]], random.integers(0, 2, 80)
    lines = [f"i{i},T{i},{['Horror', 'Comedy'][kinds[i]]},a{random.integers(30)}" for i in range(n_items)]
    (tmp_path / "items.csv").write_text("\n".join(["item,title,genres,author", *lines]))
    lines = [f"i{i},{tag}" for i in range(n_items) for tag in tags[kinds[i]] if random.random() < 0.7]
    (tmp_path / "tags.csv").write_text("\n".join(["item,tag", *lines]))
    rows = [(u, i) for u in range(80) for i in random.choice(n_items, 25, replace=False)]
    stars = [4.3 if kinds[i] == liked[u] else 2.0 for u, i in rows] + random.normal(0, 0.7, len(rows))
    lines = [f"u{u},i{i},{r}" for (u, i), r in zip(rows, np.clip(stars.round(), 1, 5), strict=True)]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *lines]))
    vectors = np.eye(2)[kinds] * 3 + random.normal(0, 1, (n_items, 2))
    np.savez(tmp_path / "v.npz", ids=[f"i{i}" for i in range(n_items)], vectors=vectors)
    files = [tmp_path / "items.csv", tmp_path / "tags.csv"]
    data = Dataset.from_files(
        tmp_path / "ratings.csv", files, features=[tmp_path / "v.npz"], options=FileOptions(tags=["author"])
    )
    weights = {one.name: one.weight for one in data.geometry.blocks}
    assert len(weights) == 3
    assert max(weights.values()) > 0


def test_people_who_chose_everything_leave_the_weights():
    _, blocks = planted()
    users, items = np.repeat(np.arange(60), 10), np.tile(np.arange(10), 60)
    ratings = Ratings.from_arrays(users, items, users % 7 + 1, feedback="implicit")
    some = [features.from_vectors(ITEMS[:10], one.vectors[:10])._replace(name=one.name) for one in blocks]
    assert set(weights_of(files_of(some)(ratings)).values()) == {1.0}
