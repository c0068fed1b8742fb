"""Other people's models on the same splits: scikit-surprise, with its defaults and a fixed seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from prefmover.data.splits import Split
from prefmover.errors import InputError, MissingExtraError
from prefmover.evaluation.experiment import PEERS
from prefmover.evaluation.protocol import Predictions

__all__ = ["predict_by_peer"]


def predict_by_peer(split: Split, name: str, seed: int = 0) -> Predictions:
    """Return the predictions of one of Surprise's models, trained on the split's training ratings.

    Parameters
    ----------
    name
        ``"SVD"``, ``"SVDpp"``, ``"KNNBaseline"``, ``"KNNWithMeans"`` or ``"BaselineOnly"``. The two of
        them with neighbors are user-based, by MSD, with K = 40, as Surprise would have it.
    seed
        Of the factor models' initial values.
    """
    try:
        import surprise
    except ImportError:
        raise MissingExtraError("peers need scikit-surprise: pip install 'prefmover[peers]'") from None
    if name not in PEERS:
        raise InputError(f"peer is {name!r}; choose one of {', '.join(PEERS)}")
    options: dict[str, Any] = {"random_state": seed} if name.startswith("SVD") else {"verbose": False}
    model = getattr(surprise, name)(**options)
    train, scale = split.train, split.train.scale
    owner = np.repeat(np.arange(train.n_users), np.diff(train.matrix.indptr))
    columns = owner.tolist(), train.matrix.indices.tolist(), train.matrix.data.tolist()
    reader = surprise.Reader(rating_scale=(scale.lowest, scale.highest))
    rows = [(u, i, r, None) for u, i, r in zip(*columns, strict=True)]
    model.fit(surprise.Dataset(reader).construct_trainset(rows))
    asked = zip(split.users.tolist(), split.items.tolist(), strict=True)
    predicted = np.array([model.predict(u, i).est for u, i in asked])
    return Predictions((None,), predicted[:, None], np.zeros((split.n_test, 1), np.int32))
