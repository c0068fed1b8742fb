"""The fewest ratings without which an item is not recommended, against all sets of ratings."""

from itertools import combinations

import pytest

from prefmover.errors import InputError
from prefmover.explain import counterfactual as module
from prefmover.model import KNNRecommender, Recommender
from prefmover.rank import RankingSettings
from tests.predict.conftest import make_data


@pytest.fixture(scope="module", params=[Recommender(ranking=RankingSettings()), KNNRecommender(k=5)], ids=str)
def model(request):
    return request.param.fit(make_data(3))


def listed(model, user, gone, n):
    return [one.item for one in model.recommend(model.without(user, gone), n, reasons=False)]


def smallest_by_trial(model, user, item, n):
    """The size of the smallest set after which an item is not among the first n; None if there is none."""
    rated = list(model.data_.ratings[user])
    for size in range(1, len(rated)):
        if any(item not in listed(model, user, gone, n) for gone in combinations(rated, size)):
            return size
    return None


@pytest.mark.parametrize("n", [1, 3])
def test_it_is_the_smallest_set_of_all(model, n):
    sizes = set()
    for user in model.data_.ratings.users[:6].tolist():
        now = [one.item for one in model.recommend(user, n, reasons=False)]
        found = model.counterfactual(user, now[-1], n)
        size = smallest_by_trial(model, user, now[-1], n)
        sizes.add(size)
        assert (found.user, found.item, found.n, found.place) == (user, now[-1], n, n)
        if size is None:
            assert (found.without, found.place_without, found.instead) == ((), None, None)
            assert not found.smallest
            continue
        assert found.smallest
        assert len(found.without) == size
        assert all(model.data_.ratings[user][one.item] == one.rating for one in found.without)
        then = listed(model, user, [one.item for one in found.without], 18)
        assert then.index(found.item) + 1 == found.place_without > n
        assert found.instead == next(item for item in then if item not in now)
    assert sizes & {1, 2}


def test_a_greedy_search_finds_a_set_of_which_every_rating_is_needed(model, monkeypatch):
    exact = {u: model.counterfactual(u, model.recommend(u, 1)[0].item) for u in ("u02", "u05", "u09")}
    monkeypatch.setattr(module, "EXHAUSTIVE", 1)
    for user, other in exact.items():
        found = model.counterfactual(user, other.item)
        gone = [one.item for one in found.without]
        assert len(gone) >= len(other.without)
        if gone:
            assert found.item not in listed(model, user, gone, 1)
        for one in gone if len(gone) > 1 else ():
            assert found.item in listed(model, user, [item for item in gone if item != one], 1)


def test_few_sets_are_tried_if_there_are_many(model, monkeypatch):
    user = "u02"
    item = model.recommend(user, 1)[0].item
    monkeypatch.setattr(module, "MOST_SETS", 3)
    found = model.counterfactual(user, item)
    assert found.n_tried <= len(model.data_.ratings[user]) + 2 * 3 + module.CANDIDATES
    if len(found.without) > 2:
        assert not found.smallest


def test_what_has_no_counterfactual_is_an_error(model):
    best, rated = [one.item for one in model.recommend("u01", 5)], next(iter(model.data_.ratings["u01"]))
    for item, n, said in (
        (best[3], 1, "place is 4"),
        (rated, 1, "rated"),
        (best[0], 18, "smaller n"),
        (best[0], 0, "n is 0"),
        ("nothing", 1, "nothing"),
    ):
        with pytest.raises(InputError, match=said):
            model.counterfactual("u01", item, n)
    with pytest.raises(InputError, match="nobody"):
        model.counterfactual("nobody", best[0])


def test_one_rating_cannot_be_taken_out(model):
    guest = model.guest({"i01": 5})
    found = model.counterfactual(guest, model.recommend(guest, 1)[0].item)
    assert (found.without, found.n_tried) == ((), 0)
