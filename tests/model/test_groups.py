"""Recommendations for several people together."""

import numpy as np
import pytest

import prefmover as pm
from prefmover.errors import InputError
from tests.messages import names


@pytest.fixture(scope="module", params=[pm.Recommender, pm.KNNRecommender])
def model(request, data):
    return request.param().fit(data)


@pytest.fixture(scope="module")
def group(model):
    sizes = np.diff(model.data_.ratings.matrix.indptr)
    return model.data_.ratings.users[np.argsort(sizes, kind="stable")[:3]].tolist()


def scores(model, group):
    """The members' scores of all items, standardized, the slow way."""
    rows = []
    for user in group:
        best = model.recommend(user, model.data_.n_items, seen=True)
        row = np.full(model.data_.n_items, np.nan)
        row[model.data_.ratings.item_positions([one.item for one in best])] = [one.score for one in best]
        rows.append((row - row.mean()) / row.std())
    return np.array(rows)


@pytest.mark.parametrize("combine", ["mean", "least"])
def test_scores_are_combined_and_nobody_has_rated_the_items(model, group, combine):
    found = model.recommend_group(group, 5, combine=combine)
    table = scores(model, group)
    total = table.mean(axis=0) if combine == "mean" else table.min(axis=0)
    rated = {item for user in group for item in model.data_.ratings[user]}
    order = [model.data_.ratings.items.tolist()[k] for k in np.argsort(-total, kind="stable")]
    assert [one.item for one in found] == [item for item in order if item not in rated][:5]
    for one in found:
        position = model.data_.item_position(one.item)
        assert one.score == pytest.approx(total[position], abs=1e-5)
        assert [member.score for member in one.members] == pytest.approx(
            table[:, position].tolist(), abs=1e-5
        )
        assert [member.user for member in one.members] == group
        ratings = [model.predict_one(user, one.item).rating for user in group]
        assert [member.rating for member in one.members] == pytest.approx(ratings, abs=1e-6)
        assert one.rating == pytest.approx(np.mean(ratings), abs=1e-6)


def test_by_rating_the_mean_prediction_is_the_score(model, group):
    for one in model.recommend_group(group, 3, by="rating"):
        assert one.score == pytest.approx(np.mean([member.score for member in one.members]))


def test_guests_may_be_members(model, group):
    item = model.data_.ratings.items.tolist()[0]
    guest = model.guest({item: model.data_.ratings.scale.highest}, name="guest")
    found = model.recommend_group([group[0], guest], 3)
    assert found.group == (group[0], "guest")
    assert item not in [one.item for one in found]
    assert item in [
        one.item for one in model.recommend_group([group[0], guest], model.data_.n_items, seen=True)
    ]


def test_reasons_name_the_members(data):
    model = pm.Recommender().fit(data)
    users = data.ratings.users.tolist()[:2]
    given = [one.members[k].reason for one in model.recommend_group(users, 8) for k in (0, 1)]
    assert any(given)
    for k, reason in enumerate(given):
        assert not reason or str(users[k % 2]) in reason
    assert not any(
        one.reasons[0] for one in model.recommend_group(users, 2, reasons=False) if one.members[0].reason
    )


def test_dictionaries_and_frames(model, group):
    found = model.recommend_group(group, 2)
    listed = found.to_dict()
    assert listed["group"] == group
    assert listed["recommendations"][0]["members"][0]["user"] == group[0]
    frame = found.to_arrow()
    assert frame.num_rows == 6
    assert frame["member"].to_pylist()[:3] == [str(user) for user in group]
    assert found[:1][0] == found[0]


def test_bad_groups(model, group):
    for members, named in (
        ([group[0]], (1,)),
        ([*group, "nobody at all"], ("nobody at all",)),
        (group[:1] * 2, ()),
    ):
        with pytest.raises(InputError, match=names(*named) if named else None):
            model.recommend_group(members)
    with pytest.raises(InputError, match=names("worst")):
        model.recommend_group(group, combine="worst")


def test_neighbors_of_a_group(model, group):
    if model.data_.geometry is None:
        pytest.skip("needs a geometry")
    found = model.group_neighbors(group, 3)
    assert len(found) == 3
    assert not {one.user for one in found} & set(group)
    other = pm.KNNRecommender(measure="cos").fit(model.data_)
    with pytest.raises(InputError):
        other.group_neighbors(group)
