"""Item vectors: against scikit-learn and by hand, the same bytes every time, and nothing from nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.geometry import ItemGeometry
from prefmover.items.tag_profiles import tag_profiles
from tests.messages import names

PAIRS = [
    (1, "space"),
    (1, "robot"),
    (2, "space"),
    (2, "robot"),
    (3, "love"),
    (3, "paris"),
    (4, "love"),
    (4, "robot"),
]
ITEMS, TAGS = [i for i, _ in PAIRS], [t for _, t in PAIRS]


def cosines(vectors: features.ItemVectors) -> np.ndarray:
    return vectors.vectors @ vectors.vectors.T


def random_counts(n: int, m: int, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.3, (n, m)) * (rng.random((n, m)) < 0.5)
    return sparse.csr_array(counts.astype(float))


def test_tf_idf_by_hand():
    counts = sparse.csr_array(np.array([[3.0, 1, 0], [0, 1, 0], [0, 0, 0]]))
    vectors = features.tf_idf(counts).toarray()
    first = np.array([np.log2(4) * np.log(3 / 1), np.log2(2) * np.log(3 / 2)])
    assert np.allclose(vectors[0], first / np.linalg.norm(first))
    assert np.allclose(vectors[1], [0, 1])
    assert not vectors[2].any()


def test_rare_terms_are_left_out():
    counts = sparse.csr_array(np.array([[1.0, 1], [0, 1]]))
    assert features.tf_idf(counts, min_items=2).shape == (2, 1)


@pytest.mark.parametrize("shape", [(60, 40), (700, 900), (900, 700)])
def test_truncated_svd_is_the_best_approximation(shape):
    from sklearn.decomposition import TruncatedSVD

    X = features.tf_idf(random_counts(*shape))
    ours = features.truncated_svd(X, 10)
    theirs = TruncatedSVD(10, algorithm="arpack", random_state=0).fit_transform(X)
    assert np.allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-8)
    lengths = np.linalg.norm(ours, axis=0)
    assert (np.diff(lengths) <= 1e-12).all()
    peaks = ours[np.abs(ours).argmax(axis=0), np.arange(10)]
    assert (peaks > 0).all()
    assert features.truncated_svd(X, 10).tobytes() == ours.tobytes()


def test_more_dimensions_than_there_are():
    X = features.tf_idf(random_counts(6, 5))
    vectors = features.truncated_svd(X, 50)
    assert vectors.shape[1] <= 5
    assert np.allclose(vectors @ vectors.T, (X @ X.T).toarray())
    with pytest.raises(InputError, match=names("dimensions", 0)):
        features.truncated_svd(X, 0)


def test_rows_outside_the_kept_dimensions_are_zero_not_noise():
    # 600 items with one strong tag each of two, and one item with a tag that no other has.
    items = [*range(1200), 5000]
    tags = [("a", "b")[i % 2] for i in range(1200)] + ["alone"]
    filler = [(i, f"t{i // 2}") for i in range(1200)]
    vectors = features.from_tags(
        items + [i for i, _ in filler], tags + [t for _, t in filler], dimensions=2, min_items=1
    )
    assert not vectors.vectors.any(axis=1)[-1]
    assert not vectors.vectors[-1].any()


def test_one_tag_an_item_keeps_all_of_them_apart():
    """An SVD would keep the 100 largest of 600 authors, and say nothing about books by the others."""
    authors = [f"author {k}" for k in np.repeat(np.arange(600), np.arange(600) % 3 + 2)]
    vectors = features.from_tags(np.arange(len(authors)), authors)
    assert vectors.vectors.shape == (len(authors), 100)
    same = np.equal.outer(authors, authors)
    assert cosines(vectors)[same].min() > 1 - 1e-12
    assert np.abs(cosines(vectors)[~same]).mean() == pytest.approx(np.sqrt(2 / np.pi) / 10, rel=0.05)
    some = np.flatnonzero(np.arange(600) % 7 == 0)
    with_two = features.from_tags(
        [*range(len(authors)), *some], [*authors, *(f"author {k}" for k in some)]
    )  # some books have two authors
    assert (np.linalg.norm(with_two.vectors, axis=1) > 0).all()
    with pytest.raises(InputError, match=names("dimensions", 0)):
        features.from_tags(np.arange(len(authors)), authors, dimensions=0)


def test_from_tags_orders_and_counts():
    vectors = features.from_tags(ITEMS, TAGS, dimensions=None)
    assert vectors.items.tolist() == [1, 2, 3, 4]
    assert np.allclose(np.diag(cosines(vectors)), 1)
    assert np.isclose(cosines(vectors)[0, 1], 1)
    some = features.from_tags(ITEMS, TAGS, dimensions=None, ids=[3, 9, 1])
    assert some.items.tolist() == [3, 9, 1]
    assert some.vectors.any(axis=1).tolist() == [True, False, True]
    assert np.isclose(cosines(some)[0, 2], cosines(vectors)[2, 0])
    many = features.from_tags(ITEMS, TAGS, [1, 9] + [1] * 6, dimensions=None)
    assert not np.isclose(cosines(many)[0, 1], 1)


@given(st.permutations(PAIRS))
def test_the_order_of_the_rows_does_not_matter(pairs):
    vectors = features.from_tags([i for i, _ in pairs], [t.upper() for _, t in pairs], dimensions=2)
    assert vectors.vectors.tobytes() == features.from_tags(ITEMS, TAGS, dimensions=2).vectors.tobytes()


def test_from_text_is_from_tags_of_words():
    texts = ["Space! A robot.", "space robot", "love in Paris", "robot love"]
    vectors = features.from_text([1, 2, 3, 4], texts, dimensions=None)
    assert np.isclose(cosines(vectors)[0, 1], 1)
    assert 0 < cosines(vectors)[2, 3] < 1
    nothing = features.from_text([1, 2], ["", "!"])
    assert nothing.vectors.any(axis=1).tolist() == [False, False]
    with pytest.raises(InputError, match=names(1, 2)):
        features.from_text([1, 2], ["one"])


def test_from_ratings_sees_training_ratings_only_through_the_matrix():
    R = sparse.csr_array(np.array([[5, 5, 1, 0], [1, 1, 5, 0], [4, 5, 2, 0]], float))
    vectors = features.from_ratings(R, ["a", "b", "c", "d"], dimensions=2)
    c = cosines(vectors)
    assert c[0, 1] > 0.9
    assert c[0, 2] < 0
    assert vectors.vectors.any(axis=1).tolist() == [True, True, True, False]
    with pytest.raises(InputError, match=names(4, 2)):
        features.from_ratings(R, [1, 2])


def test_combine_takes_weighted_means_of_cosines():
    one = features.from_genres([1, 2, 3], [["a"], ["a", "b"], ["b"]])
    two = features.from_tags([3, 1, 2], ["x", "x", "y"], dimensions=None, min_items=1)
    both = features.combine(one, two, weights=[2, 3])
    expected = (2 * cosines(one) + 3 * cosines(two)) / 5
    assert np.allclose(cosines(both), expected)


def test_a_missing_block_is_predicted_by_hand():
    genres = features.from_genres(["a", "b", "c"], ["Horror", "Comedy", "Horror"])
    text = features.ItemVectors(np.array(["a", "b"], object), np.eye(2), "text")
    # Genres are (1, 0), (0, 1), so centered ±(1/2, -1/2), whose squares sum to 1: the ridge of .025 for each
    # of two items shrinks by 1.05. So c gets the mean (1/2, 1/2) plus (1/2, -1/2) / 1.05.
    x = np.array([0.5 + 0.5 / 1.05, 0.5 - 0.5 / 1.05])
    length = np.sqrt(1 + x @ x)
    both = cosines(features.combine(genres, text))
    assert np.isclose(both[2, 0], (1 + x[0]) / (length * np.sqrt(2)))
    assert np.isclose(both[2, 1], x[1] / (length * np.sqrt(2)))
    assert np.isclose(both[0, 1], 0)


def test_an_item_without_text_is_between_those_that_it_equals_otherwise():
    genres = features.from_genres(["a", "b", "c"], ["Horror"] * 3)
    text = features.ItemVectors(np.array(["a", "b"], object), np.eye(2), "text")
    geometry = ItemGeometry.combine(genres, text)
    degrees = np.degrees(geometry.block()).round(3)
    assert degrees[0, 1] == 60  # half of the cosine, by the genre
    assert degrees[0, 2] == degrees[1, 2] == 30  # weights by pair would give 0 and 0, which is no metric


@given(st.integers(0, 10_000))
def test_missing_blocks_leave_a_metric_and_complete_items_alone(seed):
    random = np.random.default_rng(seed)
    X, Y = random.normal(size=(12, 3)), random.normal(size=(12, 2))
    whole = [features.from_vectors(range(12), Z, centered=False) for Z in (X, Y)]
    has = random.random((2, 12)) < 0.6
    has[:, :2] = True
    parts = [
        block._replace(vectors=block.vectors * some[:, None]) for block, some in zip(whole, has, strict=True)
    ]
    full, holes = (features.combine(*some, weights=[1, 2]) for some in (whole, parts))
    complete = has.all(axis=0)
    assert np.allclose(cosines(holes)[np.ix_(complete, complete)], cosines(full)[np.ix_(complete, complete)])
    assert (holes.vectors.any(axis=1) == has.any(axis=0)).all()
    assert ItemGeometry.from_features(holes).check_metric().is_metric


def test_tag_profiles_with_further_blocks():
    items = list(range(60))
    tags = ["war" if i % 3 else "love" for i in items]
    text = features.from_vectors(
        items[:50], [[1.0, 0.1] if i % 3 else [0.0, 1.0] for i in items[:50]], name="text"
    )
    plain = tag_profiles(items, tags, ids=items, genres=["Drama"] * 60)
    same = tag_profiles(items, tags, ids=items, genres=["Drama"] * 60, blocks=[text], weights=[0])
    assert same.vectors.tobytes() == plain.vectors.tobytes()
    # Items 40 to 59 have no tags: text tells those below 50 apart, and those above have the mean.
    few = [tags[i] for i in items[:40]]
    v = tag_profiles(items[:40], few, ids=items, genres=["Drama"] * 60, min_items=5, blocks=[text])
    near = cosines(v)
    assert near[40, 1] > near[40, 0]
    assert near[42, 0] > near[42, 1]
    assert np.allclose(v.vectors[50:], v.vectors[50])
    with pytest.raises(InputError, match=names(2, 1)):
        tag_profiles(items, tags, ids=items, genres=["Drama"] * 60, blocks=[text], weights=[1, 2])


def test_centered_vectors_by_hand():
    v = features.from_vectors(["a", "b", "c"], [[4, 3], [0, 3], [0, 0]])
    assert np.allclose(v.vectors, [[1, 0], [-1, 0], [0, 0]])
    plain = features.from_vectors(["a", "b", "c"], [[4, 3], [0, 3], [0, 0]], centered=False)
    assert np.allclose(plain.vectors, [[0.8, 0.6], [0, 1], [0, 0]])
    with pytest.raises(InputError, match=names("b")):
        features.from_vectors(["a", "b"], [[1.0], [np.nan]])


def test_combine_where_a_kind_is_missing():
    one = features.from_genres([1, 2], [["a"], ["a"]])
    two = features.from_tags([2, 3], ["x", "x"], dimensions=None, min_items=1)
    both = features.combine(one, two)
    assert both.items.tolist() == [1, 2, 3]
    assert both.vectors.any(axis=1).all()
    # Whatever has a genre has this one, and whatever has a tag has this one: there is no reason to differ.
    assert np.allclose(cosines(both), 1)
    with pytest.raises(InputError):
        features.combine(one)
    with pytest.raises(InputError):
        features.combine(one, two, weights=[1, 0])
    with pytest.raises(InputError):
        features.combine(one, features.from_genres(["x"], ["a"]))


def profiles(**settings) -> features.ItemVectors:
    """Noir and space films; the last three have a genre, no genre, and neither."""
    rng = np.random.default_rng(3)
    noir, space = ["dark", "rain", "detective", "night"], ["alien", "ship", "laser", "orbit"]
    items, tags = [], []
    for item in range(60):
        tags_of_item = noir if item < 30 else space
        for tag in rng.choice(tags_of_item, 2, replace=False):
            items.append(item)
            tags.append(str(tag))
    items.append(61)
    tags.append("rain")
    genres = [["Noir"]] * 30 + [["Sci-Fi"]] * 30 + [["Noir"], [], []]
    settings = {"min_items": 5, "dimensions": 4} | settings
    return tag_profiles(items, tags, ids=list(range(63)), genres=genres, **settings)


def test_tag_profiles_see_through_to_what_items_would_be_tagged():
    vectors = profiles()
    c = cosines(vectors)
    assert vectors.vectors.any(axis=1).tolist() == [True] * 62 + [False]
    noir, space = slice(0, 30), slice(30, 60)
    assert c[noir, noir].min() > c[noir, space].max()  # even for pairs without a tag in common
    assert c[60, noir].mean() > c[60, space].mean()  # by its genre
    assert c[61, noir].mean() > c[61, space].mean()  # by its only tag
    assert vectors.vectors.tobytes() == profiles().vectors.tobytes()


def test_the_common_coordinate_draws_items_together():
    apart, together = cosines(profiles(common=0.0)), cosines(profiles(common=1.0))
    assert apart[0, 40] < together[0, 40]


def test_items_of_which_nothing_is_known_are_far_from_all_and_from_each_other():
    vectors = features.from_genres([1, 2, 3], ["", "", "Drama"])
    geometry = ItemGeometry.from_vectors(vectors.items, vectors.vectors, zero="far")
    assert np.allclose(geometry.block() + np.pi / 2 * np.eye(3), np.pi / 2)
    assert geometry.is_metric


def test_arrays_cannot_be_changed():
    vectors = features.from_genres([1, 2], ["a", "b"])
    for array in vectors[:2]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: features.from_tags([1], ["a", "b"]), names(1, 2)),
        (lambda: features.from_tags([1], ["a"], [0]), names("'a'", 1, "0.0")),
        (lambda: features.from_tags([1], ["a"], [np.nan]), names("nan")),
        (lambda: features.from_tags([1], ["a"], ids=["x"]), names()),
        (lambda: features.from_genres([1, 1], ["a", "b"]), names(1)),
        (lambda: features.from_genres([1], ["a", "b"]), names(2, 1)),
        (lambda: profiles(min_items=99), names(99, 63)),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
