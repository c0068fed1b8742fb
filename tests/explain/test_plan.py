import json

import numpy as np
import pytest

from prefmover import MEASURES, Dataset, ItemGeometry, Measure, Ratings, pairwise, pmd
from prefmover.data.ratings import one_user
from prefmover.errors import InputError
from prefmover.explain import explain_users
from tests.messages import names, unnamed

FLOW_KEYS = {
    *("source", "source_label", "source_rating", "target", "target_label", "target_rating"),
    *("similarity", "mass", "distance", "value", "share"),
}


def test_a_plan_is_that_of_pmd(data):
    why = explain_users(data, 0, 1)
    solved = pmd(data, "ann", "bob")
    assert (why.user, why.other, why.distance) == ("ann", "bob", solved.distance)
    assert sorted(why.flows) == sorted(solved.flows)
    assert sum(flow.mass for flow in why.flows) == pytest.approx(1)
    assert sum(flow.share for flow in why.flows) == pytest.approx(1)
    assert sum(flow.value for flow in why.flows) == pytest.approx(why.distance)
    for flow in why.flows:
        assert flow.source_rating == data.ratings["ann"][flow.source]
        assert flow.target_rating == data.ratings["bob"][flow.target]
    assert why.certificate.valid


def test_preference_in_common(data):
    why = explain_users(data, 0, 1)
    assert why.common_share == pytest.approx(2 / 10)
    assert why.n_common == 1
    assert explain_users(data, 0, 0).common_share == pytest.approx(1)
    assert explain_users(data, 0, 1, "jaccard").common_share is None


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_explained(data, measure):
    row = MEASURES[measure]
    why = explain_users(data, 0, 1, measure)
    value = pairwise(data, measure, users=["ann"], others=["bob"])[0, 0]
    assert why.value == pytest.approx(value, nan_ok=True)
    assert getattr(why, row.value_name) is why.value
    with pytest.raises(AttributeError):
        getattr(why, "distance" if row.larger_is_closer else "similarity")
    content = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    assert row.value_name in content
    assert ("distance" in content) != ("similarity" in content)
    assert all(flow.keys() == FLOW_KEYS for flow in content["flows"])
    assert why.to_arrow().num_rows == len(why.flows)
    assert not unnamed(str(why), "ann", "bob", row.label)


def test_undefined_values_have_a_reason(data):
    why = explain_users(data, 0, 4, "cos")  # ann and eve have nothing in common
    assert np.isnan(why.similarity)
    assert why.to_dict()["similarity"] is None
    assert why.reason
    assert why.reason in str(why)


def test_a_measure_without_a_breakdown(data):
    measure = Measure.from_function("always", lambda u, v: 0.5)
    why = explain_users(data, 0, 1, measure)
    assert (why.similarity, why.flows, why.factors) == (0.5, (), ())
    assert "always" in str(why)
    assert why._repr_html_()
    assert why.to_arrow().num_rows == 0


def test_titles_come_from_the_data(data):
    why = explain_users(data, 0, 1)
    first = why.to_dict(1)["flows"]
    assert len(first) == 1
    assert first[0]["source_label"] == data.catalog.label(data.ratings.item_position(first[0]["source"]))
    assert "Clueless <1995>" in str(why)
    assert "Clueless &lt;1995&gt;" in why._repr_html_()


@pytest.mark.parametrize("measure", MEASURES)
def test_a_guest_is_explained_as_the_same_user(data, measure):
    """Measures that look at others see the guest next to the original, which changes item means a little."""
    one = one_user(data.ratings, "guest", *data.ratings.row(0))
    guest = explain_users(data, one, 1, measure)
    user = explain_users(data, 0, 1, measure)
    assert (guest.user, guest.other) == ("guest", "bob")
    if not MEASURES[measure].uses_others:
        assert guest.value == pytest.approx(user.value, nan_ok=True)
        assert guest.flows == user.flows
    assert guest.labels == user.labels


def test_only_plans_are_drawn(data):
    with pytest.raises(InputError, match=names("jaccard")):
        explain_users(data, 0, 1, "jaccard").plot()


def test_what_is_shared_most_comes_first(data):
    plan = explain_users(data, 0, 1).flows
    shared = [flow.mass * flow.similarity for flow in plan]
    assert shared == sorted(shared, reverse=True)
    assert shared[0] > min(shared)
    differences = [flow.value for flow in explain_users(data, 0, 1, "msd").flows]
    assert differences == sorted(differences)
    products = [abs(flow.value) for flow in explain_users(data, 0, 1, "bcf").flows]
    assert products == sorted(products, reverse=True)


def test_taste_and_agreement_are_both_explained():
    ratings = Ratings.from_arrays(
        ["ann"] * 4 + ["bob"] * 4 + ["cid"],
        ["Alien", "Emma", "Heat", "Up", "Alien", "Emma", "Heat", "Jaws", "Jaws"],
        [5, 1, 4, 3, 4, 2, 1, 5, 4],
    )
    data = Dataset(ratings, ItemGeometry.from_vectors(ratings.items, np.eye(5) + 0.5))
    why = explain_users(data, 0, 1, "pmd-agreement")
    assert [flow.source for flow in why.agreement] == ["Emma", "Alien", "Heat"]
    assert [flow.value > 0 for flow in why.agreement] == [True, True, False]
    content = why.to_dict()
    assert [one["source_label"] for one in content["agreement"]] == ["Emma", "Alien", "Heat"]
    assert {"D", "P", "J"} <= {factor["name"] for factor in content["factors"]}
    assert sum(flow.value for flow in why.flows) == pytest.approx(why.factor("D"))
    assert not unnamed(str(why), "2 of 3 items", "Alien, 5 and 4", "Heat, 4 and 1")
    assert not unnamed(why._repr_html_(), "2 of 3 items", "Alien, 5 and 4")
    strangers = explain_users(data, 0, 2, "pmd-agreement")
    assert strangers.agreement == ()
    assert strangers.factor("P") == 0
    assert str(strangers)
    assert explain_users(data, 0, 1).to_dict()["agreement"] == []
