"""Every heavy handler called once, so that kernels are compiled and indexes built before a client waits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.server.handlers import pairs, people
from prefmover.server.schemas import requests
from prefmover.server.served import ServedModel

__all__ = ["warm_up"]


def warm_up(served: ServedModel, progress: Progress = lambda done, total: None) -> None:
    """Call everything for a user with a typical number of ratings, and for a guest."""
    _ = served.spread
    counts, users, items = served.users.n_ratings, served.users.texts, served.items.texts
    raters = np.flatnonzero(counts > 0)
    typical = int(raters[np.argsort(counts[raters], kind="stable")[len(raters) // 2]])
    other = users[raters[0] if raters[0] != typical else raters[-1]]
    rated, ratings = (part[:5].tolist() for part in served.data.ratings.row(typical))
    guest = [{"item": items[k], "rating": rating} for k, rating in zip(rated, ratings, strict=True)]
    calls: list[tuple[Callable[[ServedModel, Any], object], type[requests.Person], dict[str, Any]]] = [
        (people.get_neighbors, requests.NeighborsOf, {}),
        (people.get_recommendations, requests.RecommendationsFor, {"n": 3}),
        (people.get_predictions, requests.PredictionsFor, {"items": items[:2]}),
        (people.explain_recommendation, requests.PersonAndItem, {"item": items[0]}),
        (people.explain_prediction, requests.PersonAndItem, {"item": items[0]}),
        (pairs.explain_users, requests.PersonAndUser, {"other": other}),
        (pairs.compare_users, requests.PersonAndUser, {"other": other}),
    ]
    everyone: list[dict[str, Any]] = [{"user": users[typical]}, {"ratings": guest}]
    steps = [(call, body(**person, **more)) for person in everyone for call, body, more in calls]
    for done, (call, body) in enumerate(steps):
        progress(done, len(steps))
        with suppress(InputError):  # undefined for this user, perhaps not for others
            call(served, body)
