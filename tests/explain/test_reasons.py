"""Which terms of a score are reasons: related items, the nearest users; every kind of user and item."""

import json
import math

import numpy as np
import pytest

from prefmover import Dataset, KNNRecommender, Ratings, Recommender, datasets, nearest
from prefmover.errors import InputError, UnknownIdError
from prefmover.explain import reasons
from prefmover.items.geometry import ItemGeometry
from prefmover.predict import RankingSettings
from tests.messages import names

SETTINGS = RankingSettings(item_penalty=30.0)


@pytest.fixture(scope="module")
def cinema():
    films = datasets.load("cinema")
    return films.with_ratings(films.ratings.take(users=range(120)))


@pytest.fixture(scope="module")
def model(cinema):
    return Recommender(ranking=SETTINGS).fit(cinema)


def add_up(why):
    parts = (*why.own, why.other_own, *why.neighbors, why.other_users)
    assert math.fsum(part.value for part in parts) == pytest.approx(why.score, abs=1e-12)
    json.dumps(why.to_dict(), allow_nan=False)


def related(data, item, other):
    """The slow twin: is a film among the 100 nearest, or do more people like both than chance explains?"""
    distances = dict(data.geometry.near(item, data.n_items))
    if sum(d < distances[other] for d in distances.values()) < 100:
        return True
    likes = {}
    for user in data.ratings.users.tolist():
        given = data.ratings[user]
        mean = sum(given.values()) / len(given)
        likes[user] = {film for film, r in given.items() if r >= mean}
    both, a, b = (sum(some <= films for films in likes.values()) for some in ({item, other}, {item}, {other}))
    return both >= 10 and both * len(likes) > 2 * a * b


def test_named_films_are_related_and_liked(model, cinema):
    pairs = []
    for user in cinema.ratings.users[::6].tolist():
        given = cinema.ratings[user]
        mean = sum(given.values()) / len(given)
        for one in model.recommend(user, 10):
            pairs += [(one.item, part.item) for part in one.why.own]
            for part in one.why.own:
                assert part.rating == given[part.item]
                assert part.rating >= min(max(mean, 3), 4)
                assert part.value > 0
            values = [part.value for part in one.why.own]
            assert values == sorted(values, reverse=True)
    assert len(pairs) > 200
    assert np.mean([related(cinema, *pair) for pair in pairs]) >= 0.95


@pytest.mark.parametrize("seed", range(3))
def test_related_items_one_by_one(seed):
    rng = np.random.default_rng(seed)
    n = 240
    distances = rng.integers(0, 60, n).astype(float)  # many ties
    distances[rng.random(n) < 0.2] = np.nan
    distances[7] = 0.0
    of = rng.choice(n, 50, replace=False)
    n_both, lift = rng.integers(0, 20, 50), rng.uniform(0, 3, 50)
    found = reasons.related(distances, n_both, lift, of)
    for k, item in enumerate(of.tolist()):
        n_nearer = sum(d < distances[item] for i, d in enumerate(distances) if i != 7)
        near = n_nearer < 240 // 20
        together = n_both[k] >= 10 and lift[k] >= 1.5 and n_nearer < 240 // 3
        if item != 7:
            assert found[k] == ((near or together) and not math.isnan(distances[item]))
    assert 0 < found.sum() < 50
    without = reasons.related(None, n_both, lift, of)
    assert without.tolist() == [b >= 10 and x >= 1.5 for b, x in zip(n_both, lift, strict=True)]


def test_people_are_the_nearest_with_a_percentile(model, cinema):
    user = cinema.ratings.users.tolist()[3]
    near = [(one.user, one.distance) for one in nearest(cinema, 119, [user])[user]]
    rank = {other: place for place, (other, _) in enumerate(near, 1)}
    for one in model.recommend(user, 5):
        assert one.why.n_nearest == 30
        raters = {other for other, _ in near[:30] if one.item in cinema.ratings[other]}
        assert {part.user for part in one.why.neighbors} == raters
        for part in one.why.neighbors:
            assert part.nearer_than == (119 - rank[part.user]) / 119
            assert part.measure_value == dict(near)[part.user]
            common = cinema.ratings[user].keys() & cinema.ratings[part.user].keys()
            assert part.n_common == len(common)
            titles = {cinema.items.label(cinema.ratings.item_position(film)) for film in common}
            assert set(part.common) == (titles if len(titles) <= 2 else set())
            if part.alike:
                assert not common
                assert one.title not in part.alike


def test_without_anything_in_common_the_nearest_pair_is_named():
    ids, vectors = ["a", "b", "c", "d", "e"], [[9, 1], [8, 2], [1, 9], [2, 8], [5, 5]]
    users = ["ann", "ann", "bob", "bob", "bob", "cid"]
    items = ["a", "c", "b", "d", "e", "d"]
    ratings = Ratings.from_arrays(users, items, [5, 1, 5, 1, 4, 5])
    data = Dataset(ratings, ItemGeometry.from_vectors(ids, vectors))
    (part,) = Recommender(ranking=SETTINGS).fit(data).explain_recommendation("ann", "e").neighbors
    assert (part.user, part.n_common, part.common, part.alike) == ("bob", 0, (), ("a", "b"))


def test_a_few_users_are_never_everybody(cinema):
    for n_users, k in ((2, 1), (4, 1), (6, 2), (9, 2)):
        few = cinema.with_ratings(cinema.ratings.take(users=range(n_users)))
        small = KNNRecommender("jaccard").fit(few)
        assert small.recommend(cinema.ratings.users[0], 1)[0].why.n_nearest == k


def test_guests_have_reasons(model, cinema):
    guest = model.guest({"alien-1979": 5, "the-thing-1982": 4.5, "casablanca-1942": 1})
    top = model.recommend(guest, 40)
    for one in top:
        add_up(one.why)
        assert one.why.user == "guest"
        assert {part.item for part in one.why.own} <= {"alien-1979", "the-thing-1982"}
        assert one.why.other_users.count + len(one.why.neighbors) == cinema.n_users
    assert any(one.why.own for one in top)
    with pytest.raises(InputError):
        model.guest({})


def test_nothing_is_known(model, cinema):
    for one in model.recommend(None, 3):
        add_up(one.why)
        assert (one.why.own, one.why.neighbors, one.why.n_nearest) == ((), (), 0)
        assert len(one.reasons) == 1
        assert one.why.score == pytest.approx(one.score)
    why = model.explain_recommendation(None, "alien-1979")
    assert (why.item_side, why.rated) == (0.0, None)


def test_an_item_that_the_user_has_rated(model, cinema):
    user = cinema.ratings.users.tolist()[5]
    item, rating = next(iter(cinema.ratings[user].items()))
    why = model.explain_recommendation(user, item)
    add_up(why)
    assert why.rated == rating
    assert item not in {part.item for part in why.own}


def test_an_item_that_nobody_has_rated(cinema):
    kept = cinema.ratings.matrix.copy()
    kept.data[kept.indices == cinema.ratings.item_position("alien-1979")] = 0
    kept.eliminate_zeros()
    names = {"users": cinema.ratings.users, "items": cinema.ratings.items}
    ratings = Ratings.from_csr(kept, **names, scale=cinema.ratings.scale)
    model = Recommender(ranking=SETTINGS).fit(cinema.with_ratings(ratings))
    user = next(u for u in ratings.users.tolist() if ratings[u].get("aliens-1986", 0) >= 4.5)
    why = model.explain_recommendation(user, "alien-1979")
    add_up(why)
    assert (why.n_ratings, why.n_likes, why.neighbors) == (0, 0, ())
    assert why.reasons


def test_implicit_feedback():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    rows = [(u, 10 * g + i) for u, g in enumerate(group) for i in rng.choice(10, 6, replace=False)]
    users, items = zip(*rows, strict=True)
    vectors = np.repeat(np.eye(2), 10, axis=0) + rng.uniform(0, 0.3, (20, 2))
    data = Dataset(Ratings.from_arrays(users, items), ItemGeometry.from_vectors(range(20), vectors))
    model = Recommender(ranking=SETTINGS).fit(data)
    one = model.recommend(0, 1)[0]
    add_up(one.why)
    assert one.why.implicit
    assert one.why.rating is None
    assert one.why.own
    assert one.why.against == ()
    assert {part.item for part in one.why.own} <= set(data.ratings[0])
    with pytest.raises(InputError):
        model.explain_recommendation(0, one.item, by="rating")


def test_votes_of_the_neighbor_average(cinema):
    for measure in ("pmd", "jaccard"):
        model = KNNRecommender(measure, k=30).fit(cinema)
        user = cinema.ratings.users.tolist()[0]
        for one in model.recommend(user, 3):
            add_up(one.why)
            assert (one.why.item_side, one.why.own) == (0.0, ())
            assert one.why.neighbors
            assert one.reasons


def test_reasons_for_a_list_of_users_on_demand(model, cinema):
    users = cinema.ratings.users[:3].tolist()
    assert all(one.why is None and one.reasons == () for best in model.recommend(users, 2) for one in best)
    table = model.recommend(users, 2, reasons=True)
    alone = [model.recommend(user, 2) for user in users]
    assert [[one.reasons for one in best] for best in table] == [[o.reasons for o in best] for best in alone]
    assert model.recommend(users[0], 2, reasons=False)[0].why is None


def test_the_order_by_rating_has_reasons_too(model, cinema):
    user = cinema.ratings.users.tolist()[0]
    for one in model.recommend(user, 2, by="rating"):
        add_up(one.why)
        assert one.why.score == pytest.approx(model.explain_recommendation(user, one.item).score, abs=1e-5)


def test_bad_input(model):
    user = model.data_.ratings.users.tolist()[0]
    with pytest.raises(UnknownIdError, match=names("'nobody'")):
        model.explain_recommendation("nobody", "alien-1979")
    with pytest.raises(UnknownIdError, match=names("'nothing'")):
        model.explain_recommendation(user, "nothing")
    with pytest.raises(InputError, match=names("'stars'")):
        model.explain_recommendation(user, "alien-1979", by="stars")
