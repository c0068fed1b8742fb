"""The contract of every recommender with every measure; the tests of models inherit it."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.model import storage
from prefmover.predict.predictor import UserState


class ModelContract:
    """Subclasses have a fixture ``model``, fitted to the fixture ``data``."""

    @pytest.fixture(scope="class")
    @classmethod
    def pairs(cls, data):
        return [(u, i) for u in data.ratings.users.tolist()[:6] for i in data.ratings.items.tolist()]

    def test_batch_is_one_by_one(self, model, pairs):
        batch = model.predict(pairs)
        for k in range(0, len(pairs), 7):
            alone = model.predict_one(*pairs[k])
            assert alone.rating == pytest.approx(batch[k].rating, abs=1e-5)
            assert (alone.how, alone.n_neighbors, alone.clipped) == (
                batch[k].how,
                batch[k].n_neighbors,
                batch[k].clipped,
            )

    def test_order_of_pairs_does_not_matter(self, model, pairs):
        forward, backward = model.predict(pairs).ratings, model.predict(pairs[::-1]).ratings[::-1]
        assert forward == pytest.approx(backward, abs=1e-5)

    def test_within_the_scale(self, model, pairs):
        predicted = model.predict(pairs)
        assert np.isfinite(predicted.ratings).all()
        assert predicted.ratings.min() >= 1
        assert predicted.ratings.max() <= 5

    def test_ids_survive(self, model, pairs):
        assert [(p.user, p.item) for p in model.predict(pairs)] == pairs

    def test_unknown_users_and_items(self, model, data):
        user, item = data.ratings.users[0], data.ratings.items[0]
        predicted = model.predict([("nobody", item), (user, "nothing"), ("nobody", "nothing"), (None, None)])
        assert [p.how for p in predicted] == [
            "unknown user",
            "unknown item",
            "nothing known",
            "nothing known",
        ]
        assert np.isfinite(predicted.ratings).all()
        assert predicted[2].rating == pytest.approx(data.ratings.matrix.data.mean(), abs=0.5)
        assert model.explain_rating("nobody", item).contributions == ()
        top = model.recommend(None, 3)
        assert [one.how for one in top] == ["unknown user"] * 3
        with pytest.raises(InputError, match="nobody"):
            model.recommend("nobody", 3)

    def test_parts_add_up(self, model, pairs):
        for user, item in [*pairs[::9], ("nobody", pairs[0][1]), (pairs[0][0], "nothing")]:
            why = model.explain_rating(user, item)
            prediction = model.predict_one(user, item)
            assert min(max(why.total, 1), 5) == pytest.approx(prediction.rating, abs=1e-12)
            assert prediction.clipped == (not 1 <= why.total <= 5)
            assert len(why.contributions) == prediction.n_neighbors
            assert bool(why.contributions) == (prediction.how == "neighbors")
            assert all(part.weight != 0 for part in why.contributions)
            sizes = [abs(part.value) for part in why.contributions]
            assert sizes == sorted(sizes, reverse=True)
            json.dumps(why.to_dict(), allow_nan=False)

    def test_reasons_add_up_to_the_score(self, model, data):
        everyone = [*data.ratings.users.tolist()[:4], model.guest({"i01": 5, "i02": 1, "i05": 4})]
        for user in everyone:
            state, n_others = model._state(user), data.n_users - (not isinstance(user, UserState))
            top = model.recommend(user, 4)
            seen = model.recommend(user, 2, items=data.ratings.items[state.rated[:2]].tolist(), seen=True)
            for one in (*top, *seen):
                why = model.explain_recommendation(user, one.item)
                assert {part.user for part in one.why.neighbors} <= {part.user for part in why.neighbors}
                assert (one.why.n_for, one.why.n_against) == (why.n_for, why.n_against)
                assert (len(why.in_favor), len(why.against)) == (why.n_for, why.n_against)
                assert why.score == pytest.approx(one.score, abs=1e-5)
                assert why.rating == pytest.approx(one.rating, abs=1e-5)
                assert why.rated == dict(zip(state.rated, state.given, strict=True)).get(
                    data.ratings.item_position(one.item)
                )
                own, users = [part.value for part in why.own], [part.value for part in why.neighbors]
                total = math.fsum([*own, why.other_own.value, *users, why.other_users.value])
                assert total == pytest.approx(why.score, abs=1e-12)
                self._are_terms(model, state, why)
                assert len(own) + why.other_own.count == len(state.rated)
                assert len(users) + why.other_users.count == n_others
                near = {n.user: n.value for n in model.neighbors(user, n_others)}
                assert 0 < why.n_like_minded <= n_others / 4 + 1
                for part in why.neighbors:
                    assert part.measure_value == pytest.approx(near[part.user], abs=1e-9)
                    assert part.rating == data.ratings[part.user][one.item]
                json.dumps(why.to_dict(), allow_nan=False)
                assert 1 <= len(why.reasons) <= 3

    @staticmethod
    def _are_terms(model, state, why):
        """The named parts, and the sums of the others, are terms of the two sums."""
        ratings = model.data_.ratings
        parts = model.ranker_.terms(state, ratings.item_positions([why.item]), np.arange(ratings.n_users))
        items = dict(zip(ratings.items[state.rated].tolist(), parts.item_terms[:, 0], strict=True))
        users = dict(zip(ratings.users.tolist(), parts.user_terms[:, 0], strict=True))
        for part in why.own:
            assert part.value == pytest.approx(items.pop(part.item), abs=1e-5)
        for part in why.neighbors:
            assert part.value == pytest.approx(users.pop(part.user), abs=1e-5)
        assert sum(items.values()) == pytest.approx(why.other_own.value, abs=1e-4)
        assert sum(users.values()) == pytest.approx(why.other_users.value, abs=1e-4)

    def test_recommendations_are_new_and_sorted(self, model, data):
        for user in data.ratings.users[:5]:
            top = model.recommend(user, n=6)
            rated = data.ratings[user]
            assert not {one.item for one in top} & set(rated)
            assert len({one.item for one in top}) == len(top) == 6
            assert [one.score for one in top] == sorted((one.score for one in top), reverse=True)
            predicted = model.predict([(user, one.item) for one in top])
            assert [one.rating for one in top] == pytest.approx(predicted.ratings, abs=1e-5)

    def test_recommendations_by_rating(self, model, data):
        for user in data.ratings.users[:5]:
            top, rated = model.recommend(user, n=6, by="rating"), data.ratings[user]
            predicted = model.predict([(user, i) for i in data.ratings.items if i not in rated])
            highest = sorted(predicted.ratings, reverse=True)[:6]
            assert [one.rating for one in top] == pytest.approx(highest, abs=1e-5)

    def test_lists_of_many_users_are_those_of_each(self, model, data):
        users = data.ratings.users[:5].tolist()
        table = model.recommend_many(users, n=4)
        assert [row.user for row in table] == users
        for user, row in zip(users, table, strict=True):
            alone = model.recommend(user, n=4)
            assert [one.item for one in row] == [one.item for one in alone]
            assert [one.score for one in row] == pytest.approx([one.score for one in alone], abs=1e-5)

    def test_recommend_everything(self, model, data):
        user = data.ratings.users[1]
        everything = model.recommend(user, n=1000)
        assert len(everything) == data.n_items - len(data.ratings[user])
        some = [one.item for one in everything[3:6]]
        assert [one.item for one in model.recommend(user, items=some)] == some

    def test_saved_and_loaded(self, model, pairs, tmp_path):
        model.save(tmp_path / "model")
        for again in (type(model).load(tmp_path / "model"), storage.load(tmp_path / "model")):
            assert type(again) is type(model)
            assert again.predict(pairs).ratings.tolist() == model.predict(pairs).ratings.tolist()
            assert again.recommend(pairs[0][0]).to_dict() == model.recommend(pairs[0][0]).to_dict()
            assert again.data_.ratings.users.tolist() == model.data_.ratings.users.tolist()
            assert {**again.get_params(), "measure": 0} == {**model.get_params(), "measure": 0}

    def test_pickled_and_restored(self, model, pairs):
        for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert again.predict(pairs).ratings.tolist() == model.predict(pairs).ratings.tolist()
            assert list(again.neighbors(pairs[0][0])) == list(model.neighbors(pairs[0][0]))
            assert again.similarity_.measure is model.similarity_.measure

    def test_neighbors(self, model, data):
        users = data.ratings.users.tolist()
        near = model.neighbors(users[0], k=5)
        assert users[0] not in [n.user for n in near]
        assert {n.user for n in near} <= set(users)
        values = [n.value for n in near]
        closer_first = model.similarity_.measure.larger_is_closer
        assert values == sorted(values, reverse=closer_first)

    def test_explanations_are_by_the_measure(self, model, data):
        users = data.ratings.users.tolist()
        near = model.neighbors(users[0], k=1)[0]
        why = model.explain(users[0], near.user)
        assert why.measure == model.similarity_.measure.name
        assert why.value == pytest.approx(near.value, abs=1e-9)

    def test_guest(self, model, data):
        rated = {"i01": 5, "i02": 1, "i05": 4}
        guest = model.guest(rated)
        predicted = model.predict([(guest, item) for item in [*data.ratings.items.tolist(), "nothing"]])
        assert {p.user for p in predicted} == {"guest"}
        assert np.isfinite(predicted.ratings).all()
        assert predicted[-1].how == "unknown item"
        top = model.recommend(guest, n=4)
        assert len(top) == 4
        assert not {one.item for one in top} & set(rated)
        for one in top:
            why = model.explain_rating(guest, one.item)
            assert why.prediction.rating == pytest.approx(one.rating, abs=1e-5)
        near = model.neighbors(guest, k=3)
        assert {n.user for n in near} <= set(data.ratings.users.tolist())
        if near:
            assert model.explain(guest, near[0].user).value == pytest.approx(near[0].value, abs=1e-9)
        restored = pickle.loads(pickle.dumps(guest))
        assert model.recommend(restored, 4).to_dict() == top.to_dict()

    def test_without_some_ratings(self, model, data):
        """The person is as in data that never had these ratings."""
        user, items = data.ratings.users[1], data.ratings.items
        rated = data.ratings[user]
        gone = list(rated)[1:3]
        less = model.without(user, gone)
        assert len(less.rated) == len(rated) - 2
        best = model.recommend(less, 1000)
        assert {one.item for one in best} == set(items.tolist()) - set(rated)
        many = model.recommend_many([user, less, user], 3)
        assert [[one.item for one in row] for row in many[1:]] == [
            [one.item for one in row] for row in (best[:3], model.recommend(user, 3))
        ]
        self._are_terms(model, less, best[0].why)
        pairs = [(less, item) for item in items.tolist()]
        assert all(part.user != user for part in model.explain_rating(*pairs[0]).contributions)
        one_by_one = model.without(model.without(user, gone[:1]), gone[1:])
        assert [one.score for one in model.recommend(one_by_one, 3)] == pytest.approx(
            [one.score for one in best[:3]]
        )
        assert model.predict(pairs).ratings == pytest.approx(
            [model.predict_one(one_by_one, item).rating for _, item in pairs], abs=1e-5
        )
        if model.similarity_.measure.uses_others:  # the former row still counts in the means of items
            return
        matrix = data.ratings.matrix.copy()
        matrix[[1], items.searchsorted(gone)] = 0.0
        matrix.eliminate_zeros()
        fewer = data.with_ratings(Ratings(matrix, data.ratings.users, items, data.ratings.scale))
        similarity, at = model.similarity_.updated(fewer), np.array([1])
        compared = None
        if len(similarity.landmarks):
            compared = [similarity.to_landmarks(fewer.ratings.take(users=at))]
        twin = model.ranker_.with_data(similarity, at, compared)
        assert model.ranker_.scores(less).total == pytest.approx(twin.block(at).total, abs=2e-4)
        near = [(one.user, one.value) for one in model.neighbors(less, 5)]
        positions, values = similarity.nearest(at, 5).row(0)
        assert [name for name, _ in near] == fewer.ratings.users[positions].tolist()
        assert [value for _, value in near] == pytest.approx(values.tolist(), abs=1e-9)

    def test_without_nothing_everything_or_what_is_not_there(self, model, data):
        user, rated = data.ratings.users[1], list(data.ratings[data.ratings.users[1]])
        new = next(item for item in data.ratings.items.tolist() if item not in rated)
        whole, state = model._without(model._state(user), np.empty(0, np.int64)), model._state(user)
        if not model.similarity_.measure.uses_others:
            same = model.ranker_.scores(state).total
            assert model.ranker_.scores(whole).total == pytest.approx(same, abs=1e-5)
        for items, said in (
            ([new], new),
            ([], "empty"),
            (rated, "nothing is left"),
            ("i01", "list"),
            ([9], "9"),
        ):
            with pytest.raises(InputError, match=said):
                model.without(user, items)
        with pytest.raises(InputError, match="nobody"):
            model.without("nobody", rated[:1])

    def test_choices_hold(self, model, data):
        user, counts = data.ratings.users[2], np.bincount(data.ratings.matrix.indices, minlength=data.n_items)
        n_ratings = dict(zip(data.ratings.items.tolist(), counts.tolist(), strict=True))
        usual = [one.item for one in model.recommend(user, 1000)]
        assert [one.n_ratings for one in model.recommend(user, 1000)] == [n_ratings[item] for item in usual]
        without = [one.item for one in model.recommend(user, 1000, exclude=usual[:2])]
        assert without == usual[2:]
        known = [one.item for one in model.recommend(user, 1000, min_ratings=5)]
        assert known == [item for item in usual if n_ratings[item] >= 5]
        everything = [one.item for one in model.recommend(user, 1000, seen=True)]
        assert set(everything) == set(data.ratings.items.tolist())
        for by in ("ranking", "rating"):
            mean = [
                np.mean([one.n_ratings for one in model.recommend(user, 4, by=by, novelty=dial)])
                for dial in (-1, 0, 1)
            ]
            assert mean == sorted(mean, reverse=True)
        assert sorted(one.item for one in model.recommend(user, 1000, novelty=0.3)) == sorted(usual)
        with pytest.raises(InputError, match="exclude"):
            model.recommend(user, exclude=data.ratings.items)

    def test_everybody(self, model, data):
        table, users = model.recommend_all(4), data.ratings.users.tolist()
        assert table.users == users
        for user in users[:3]:
            assert [one.item for one in table[users.index(user)]] == [
                one.item for one in model.recommend(user, 4)
            ]

    def test_update(self, model, data, pairs):
        """A new user is what a guest was, and counts; a known user's ratings change; others hardly do."""
        model, rated = copy.copy(model), {"i01": 5.0, "i02": 1.0, "i05": 4.0}
        guest = model.guest(rated)
        before = [(one.item, one.score) for one in model.recommend(guest, 4)]
        model.update("new", rated)
        after = [(one.item, one.score) for one in model.recommend("new", 4)]
        assert [score for _, score in after] == pytest.approx([score for _, score in before], abs=0.1)
        assert model.data_.ratings["new"] == rated
        user = pairs[0][0]
        model.update(user, {"i01": 1, "i02": 5})
        assert model.data_.ratings[user] == {**data.ratings[user], "i01": 1, "i02": 5}
        predicted = model.predict(pairs).ratings
        assert np.isfinite(predicted).all()
        with pytest.raises(InputError, match="guest"):
            model.recommend(guest)
