"""Which terms of a score are reasons: related items, like-minded users; every kind of user and item."""

import json
import math

import numpy as np
import pytest

from prefmover import Dataset, KNNRecommender, Ratings, Recommender, datasets, nearest
from prefmover.errors import InputError, UnknownIdError
from prefmover.explain import co_likes, reasons
from prefmover.items.geometry import ItemGeometry
from prefmover.predict import similarity
from prefmover.rank import RankingSettings
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


def liked(given):
    mean = sum(given.values()) / len(given)
    return {film for film, rating in given.items() if rating >= min(max(mean, 3), 4)}


def test_named_films_are_related_and_said_ones_are_liked(model, cinema):
    pairs = []
    for user in cinema.ratings.users[::6].tolist():
        given = cinema.ratings[user]
        for one in model.recommend(user, 10):
            own = {part.item: part for part in one.why.own}
            pairs += [(one.item, part.item) for part in one.why.own]
            assert {film: part.rating for film, part in own.items()} == {film: given[film] for film in own}
            values = [part.value for part in one.why.own]
            assert values == sorted(values, reverse=True)
            assert min(values, default=1.0) >= 0.0005
            assert {part.item for part in one.why.because} <= liked(given) & own.keys()
    assert len(pairs) > 200
    assert np.mean([related(cinema, *pair) for pair in pairs]) >= 0.95


@pytest.mark.parametrize("alone", [0.0, 1.0, 50.0])
def test_unrelated_ratings_that_add_much_are_named_and_not_said(model, cinema, alone):
    explainer, n_unrelated = reasons.Explainer(model.ranker_, alone=alone), 0
    items = np.arange(0, cinema.n_items, 9)
    for user in cinema.ratings.users[::20].tolist():
        state = model._state(user)
        terms = model.ranker_.terms(state, items, np.empty(0, np.int64)).item_terms
        explained = explainer.explain(state, items, [None] * len(items))
        names = cinema.ratings.items[state.rated].tolist()
        for why, added in zip(explained, terms.T, strict=True):
            add_up(why)
            least = max(0.0005, alone / len(names) ** 0.5 * sum(term for term in added if term > 0))
            much = {film for film, term in zip(names, added, strict=True) if term >= least}
            unrelated = {part.item for part in why.own if not part.related}
            assert unrelated <= much <= {part.item for part in why.own}
            assert all(part.related for part in why.because) or len(why.because) == 1
            n_unrelated += len(unrelated)
    assert (n_unrelated > 0) == (alone < 2)


@pytest.mark.parametrize("n", [1, 4, 240])
@pytest.mark.parametrize("seed", range(3))
def test_near_items_one_by_one(seed, n):
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 60, (2, n)).astype(float)  # many ties
    distances[rng.random((2, n)) < 0.2] = np.nan
    itself = n // 2
    distances[:, itself] = 0.0
    near, aside = reasons.limits(distances)
    for row, first, second in zip(distances, near[:, 0], aside[:, 0], strict=True):
        for item, distance in enumerate(row):
            if item != itself and not math.isnan(distance):
                n_nearer = sum(d < distance for i, d in enumerate(row) if i != itself)
                # The item itself is one of those at distance 0.
                assert (distance <= first) == (n_nearer < max(5, n // 20)) or distance == 0
                assert (distance <= second) == (n_nearer < n // 3) or distance == 0


def test_liked_together():
    found = co_likes.liked_together(np.array([9, 10, 10, 50]), np.array([3.0, 1.5, 1.4, 1.6]))
    assert found.tolist() == [False, True, False, True]


def like_minded(model, user):
    """The slow twin: users by their weight in the score, and the exact distances to all."""
    state = model._state(user)
    features = model.ranker_.user_side.kernel.features
    weights = features @ model.ranker_.placed(state)
    others = model.data_.ratings.users.tolist()
    order = sorted(range(len(others)), key=lambda v: -weights[v])
    return [others[v] for v in order if others[v] != user and weights[v] > 0]


@pytest.mark.parametrize("estimated", [False, True])
def test_people_are_those_who_count_most(cinema, estimated, monkeypatch):
    if estimated:
        monkeypatch.setattr(similarity, "EXACT_PAIRS", 100)
    model = Recommender(ranking=SETTINGS).fit(cinema)
    assert (model.calibration_ is not None) == estimated
    errors = []
    for user in cinema.ratings.users.tolist()[3:40:12]:
        exact = {one.user: one.distance for one in nearest(cinema, 119, [user])[user]}
        first = like_minded(model, user)[:30]
        for one in model.recommend(user, 5):
            whole = model.explain_recommendation(user, one.item)
            raters = [other for other in first if one.item in cinema.ratings[other]]
            means = {other: np.mean(list(cinema.ratings[other].values())) for other in raters}
            likes = {v for v in raters if cinema.ratings[v][one.item] >= min(max(means[v], 3), 4) - 1e-9}
            assert one.why.n_like_minded == whole.n_like_minded == 30
            assert (one.why.n_for, one.why.n_against) == (len(likes), len(raters) - len(likes))
            assert {part.user for part in whole.neighbors} == set(raters)
            assert {part.user for part in whole.in_favor} == likes
            named = {part.user for part in one.why.in_favor}
            best = [part.value for part in whole.in_favor]
            assert len(named) == min(2, len(likes))
            assert all(part.value >= 0.8 * best[k] for k, part in enumerate(one.why.in_favor))
            assert [part.user for part in one.why.against] == [part.user for part in whole.against[:1]]
            assert one.why.estimated == whole.estimated == estimated
            for part in (*whole.neighbors, *one.why.neighbors):
                assert part.measure_value in (
                    {exact[part.user]} if part in whole.neighbors else {exact[part.user], None}
                )
                n_farther = sum(d > exact[part.user] for d in exact.values())
                errors.append(part.nearer_than - n_farther / 119)
                common = cinema.ratings[user].keys() & cinema.ratings[part.user].keys()
                assert part.n_common == len(common)
                assert one.title not in (part.alike or ())
                assert part.likes_it or part.alike is None
    assert len(errors) > 100
    if estimated:
        assert np.mean(np.abs(errors)) < 0.03
    else:
        assert errors == pytest.approx(np.zeros(len(errors)), abs=1e-12)


def test_without_anything_in_common_the_nearest_pair_is_named():
    ids, vectors = ["a", "b", "c", "d", "e"], [[9, 1], [8, 2], [1, 9], [2, 8], [5, 5]]
    users = ["ann", "ann", "bob", "bob", "bob", "cid"]
    items = ["a", "c", "b", "d", "e", "d"]
    ratings = Ratings.from_arrays(users, items, [5, 1, 5, 1, 4, 5])
    data = Dataset(ratings, ItemGeometry.from_vectors(ids, vectors))
    (part,) = Recommender(ranking=SETTINGS).fit(data).explain_recommendation("ann", "e").neighbors
    assert (part.user, part.n_common, part.alike) == ("bob", 0, ("a", "b"))


def test_what_connects_is_liked_by_both_and_near_the_item(model, cinema):
    by_title = {cinema.catalog.label(k): film for k, film in enumerate(cinema.ratings.items.tolist())}
    n_shared = 0
    for user in cinema.ratings.users.tolist()[::25]:
        mine = cinema.ratings[user]
        first = None
        for one in model.recommend(user, 5):
            for part in one.why.in_favor:
                theirs = cinema.ratings[part.user]
                liked = [
                    {
                        film
                        for film, r in given.items()
                        if r >= min(max(np.mean(list(given.values())), 3), 3.875)
                    }
                    for given in (mine, theirs)
                ]
                stays = {
                    film: min(mine[film] / sum(mine.values()), theirs[film] / sum(theirs.values()))
                    for film in liked[0] & liked[1] - {one.item}
                }
                if not stays:
                    continue
                assert part.alike[0] == part.alike[1]
                assert stays[by_title[part.alike[0]]] >= 0.8 * max(stays.values()) - 1e-12
                if first is None:  # nothing was named before: the nearest to the item of those not said
                    first = by_title[part.alike[0]]
                    near = dict(cinema.geometry.near(one.item, cinema.n_items))
                    most = {film for film in stays if stays[film] >= 0.8 * max(stays.values()) - 1e-12}
                    most = most - {said.item for said in one.why.because} or most
                    assert near[first] == min(near[film] for film in most)
                n_shared += 1
    assert n_shared > 20


def test_a_rating_in_the_middle_convinces_nobody(cinema):
    guest = {"alien-1979": 4, "the-thing-1982": 2.5, "aliens-1986": 2.5, "jaws-1975": 2.5, "emma-1996": 0.5}
    known = set(cinema.ratings.items.tolist())
    guest = {film: rating for film, rating in guest.items() if film in known}
    model = Recommender(ranking=SETTINGS).fit(cinema)
    named = [part for one in model.recommend(model.guest(guest), 10) for part in one.why.because]
    assert {part.rating for part in named} == {4.0}
    low = dict.fromkeys(guest, 2.75) if cinema.ratings.scale.step == 0 else dict.fromkeys(guest, 2.5)
    for one in model.recommend(model.guest(low), 10):
        add_up(one.why)


def test_every_list_says_because_you(cinema, monkeypatch):
    monkeypatch.setattr(reasons, "NEAR", 0)
    monkeypatch.setattr(reasons, "liked_together", lambda n_both, lift: np.zeros(n_both.shape, bool))
    monkeypatch.setattr(
        reasons,
        "limits",
        lambda distances: (np.zeros((len(distances), 1)) - 1, np.full((len(distances), 1), np.inf)),
    )
    model = Recommender(ranking=SETTINGS).fit(cinema)
    for user in cinema.ratings.users.tolist()[::20]:
        best = model.recommend(user, 5)
        named = [part for one in best for part in one.why.because]
        if len(cinema.ratings[user]) < 5:
            assert named == []
            continue
        (only,) = named
        assert not only.related
        assert [one.why.weak for one in best if one.why.because] == [True]
        for one in best:
            add_up(one.why)


def test_a_list_does_not_name_the_same_again_and_again(model, cinema):
    n_checked = 0
    for user in cinema.ratings.users.tolist()[::6]:
        best = model.recommend(user, 10)
        for kind in ("because", "in_favor"):
            named = [
                [getattr(part, "item", None) or part.user for part in getattr(one.why, kind)] for one in best
            ]
            often = {name for some in named for name in some if sum(name in some for some in named) > 3}
            n_checked += len(often)
            for one, some in zip(best, named, strict=True):
                if kind == "because" and often & set(some):
                    used = [part for part in one.why.own if part.related and part.item not in some]
                    used = [p for p in used if p.item in liked(cinema.ratings[user]) and p.rating > 2.75]
                    least = min(part.value for part in one.why.because)
                    # Others add less than 80 % as much, or are named three times themselves.
                    assert all(
                        part.value < least / 0.8 or sum(part.item in names for names in named) >= 3
                        for part in used
                    )
    assert n_checked


def test_a_few_users_are_never_everybody(cinema):
    for n_users, k in ((2, 1), (4, 1), (6, 2), (9, 2)):
        few = cinema.with_ratings(cinema.ratings.take(users=range(n_users)))
        small = KNNRecommender("jaccard").fit(few)
        assert small.recommend(cinema.ratings.users[0], 1)[0].why.n_like_minded == k


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
        assert (one.why.own, one.why.neighbors, one.why.n_like_minded) == ((), (), 0)
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
    assert one.why.words.implicit
    assert one.why.rating is None
    assert one.why.own
    assert one.why.against == ()
    assert {part.item for part in one.why.own} <= set(data.ratings[0])
    with pytest.raises(InputError):
        model.explain_rating(0, one.item)


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
    assert all(
        one.why is None and one.reasons == () for best in model.recommend_many(users, 2) for one in best
    )
    table = model.recommend_many(users, 2, reasons=True)
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
