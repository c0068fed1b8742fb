"""What every measure x predictor owes its users; inherited by the tests of models."""

import copy
import json
import pickle

import numpy as np
import pytest

from prefmover.model import UserKNN


class ModelContract:
    """Subclasses give a ``model`` fixture (fitted) and a ``world`` fixture (ratings, geometry)."""

    @pytest.fixture(scope="class")
    @classmethod
    def pairs(cls, world):
        ratings, _ = world
        return [(u, i) for u in ratings.users.tolist()[:6] for i in ratings.items.tolist()]

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
        predicted = model.predict(pairs)
        assert [(p.user, p.item) for p in predicted] == pairs

    def test_unknown_users_and_items(self, model, world):
        ratings, _ = world
        user, item = ratings.users[0], ratings.items[0]
        predicted = model.predict([("nobody", item), (user, "nothing"), ("nobody", "nothing"), (7, None)])
        assert [p.how for p in predicted] == [
            "unknown user",
            "unknown item",
            "nothing known",
            "nothing known",
        ]
        assert np.isfinite(predicted.ratings).all()
        assert predicted[2].rating == pytest.approx(ratings.matrix.data.mean(), abs=0.5)
        assert predicted[0].neighbors == ()
        assert len(model.recommend("nobody", 3)) == 3

    def test_parts_add_up(self, model, pairs):
        for user, item in [*pairs[::9], ("nobody", pairs[0][1]), (pairs[0][0], "nothing")]:
            why = model.explain_recommendation(user, item)
            prediction = model.predict_one(user, item)
            assert min(max(why.total, 1), 5) == pytest.approx(prediction.rating, abs=1e-4)
            assert prediction.clipped == (not 1 <= why.total <= 5)
            assert len(why.neighbors) == prediction.n_neighbors
            assert bool(why.neighbors) == (prediction.how == "neighbors")
            if model.predictor == "kernel":
                assert all(part.value != 0 for part in why.neighbors)
            assert all(part.weight != 0 for part in why.neighbors)
            json.dumps(why.to_dict(), allow_nan=False)
            for part in why.neighbors:
                if model.predictor == "kernel":
                    assert part.value == pytest.approx(part.weight * part.opinion, abs=1e-12)

    def test_recommendations_are_new_and_sorted(self, model, world):
        ratings, _ = world
        for user in ratings.users[:5]:
            top = model.recommend(user, n=6)
            assert not {p.item for p in top} & set(ratings[user])
            assert len({p.item for p in top}) == len(top) == 6
            said = model.predict([(user, i) for i in ratings.items if i not in ratings[user]])
            assert [p.rating for p in top] == pytest.approx(sorted(said.ratings, reverse=True)[:6], abs=1e-5)

    def test_recommend_everything(self, model, world):
        ratings, _ = world
        user = ratings.users[1]
        everything = model.recommend(user, n=1000)
        assert len(everything) == ratings.n_items - len(ratings[user])

    def test_saved_and_loaded(self, model, pairs, tmp_path):
        model.save(tmp_path / "model")
        again = UserKNN.load(tmp_path / "model")
        assert again.predict(pairs).ratings.tolist() == model.predict(pairs).ratings.tolist()
        assert [p.item for p in again.recommend(pairs[0][0])] == [
            p.item for p in model.recommend(pairs[0][0])
        ]
        assert again.ratings_.users.tolist() == model.ratings_.users.tolist()
        assert {**again.get_params(), "measure": 0} == {**model.get_params(), "measure": 0}

    def test_pickled_and_restored(self, model, pairs):
        for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert again.predict(pairs).ratings.tolist() == model.predict(pairs).ratings.tolist()
            assert again.neighbors(pairs[0][0]) == model.neighbors(pairs[0][0])
            assert again.predictor_.likeness.measure is model.predictor_.likeness.measure
        some = model.predict(pairs[:9])
        restored = pickle.loads(pickle.dumps(some))
        assert [repr(p.neighbors) for p in restored] == [repr(p.neighbors) for p in some]
        top = model.recommend(pairs[0][0], 2)
        assert [p.neighbors[:1] for p in pickle.loads(pickle.dumps(top))] == [p.neighbors[:1] for p in top]

    def test_neighbors(self, model, world):
        ratings, _ = world
        near = model.neighbors(ratings.users[0], k=5)
        assert ratings.users[0] not in [n.id for n in near]
        assert {n.id for n in near} <= set(ratings.users.tolist())
        values = [n.distance for n in near]
        closer_first = model.predictor_.likeness.measure.larger_is_closer
        assert values == sorted(values, reverse=closer_first)

    def test_guest(self, model, world):
        ratings, _ = world
        guest = model.for_ratings({"i01": 5, "i02": 1, "i05": 4})
        predicted = guest.predict([*ratings.items.tolist(), "nothing"])
        assert np.isfinite(predicted.ratings).all()
        assert predicted[-1].how == "unknown item"
        top = guest.recommend(n=4)
        assert len(top) == 4
        assert not {p.item for p in top} & {"i01", "i02", "i05"}
        for p in top:
            why = guest.explain_recommendation(p.item)
            assert len(why.neighbors) == p.n_neighbors
            assert min(max(why.total, 1), 5) == pytest.approx(p.rating, abs=1e-4)
        near = guest.neighbors(k=3)
        assert {n.id for n in near} <= set(ratings.users.tolist())
