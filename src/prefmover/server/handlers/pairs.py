"""A person and a user: why they are near, and their values under all measures."""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from prefmover.data.ratings import one_user
from prefmover.measures import MEASURES
from prefmover.measures.breakdown import breakdown
from prefmover.measures.pairs import values
from prefmover.server.item_groups import groupings
from prefmover.server.schemas import explanations, requests
from prefmover.server.served import ServedModel
from prefmover.server.workers import check_cancelled


def explain_users(served: ServedModel, body: requests.PersonAndUser) -> explanations.UserExplanationOut:
    """Return the value of the model's measure for two users, part by part; for PMD, the plan and a proof."""
    other = served.users.ids[served.users.position(body.other)]
    explanation, data = served.model.explain(served.person(body), other), served.data
    served.count({"solved": 1})
    ids = {id_ for flow in explanation.flows for id_ in (flow.source, flow.target)}
    positions = np.sort(np.array([data.ratings.item_position(id_) for id_ in ids], np.int64))
    kinds = groupings(data.catalog, data.geometry, positions)
    return explanations.UserExplanationOut(
        **served.feedback.in_explanation(explanation.to_dict()),
        nearer_than=served.spread.nearer_than(explanation.value),
        items=[
            explanations.GroupedItemOut(
                item=served.items.texts[position], groups={kind: names[k] for kind, names in kinds.items()}
            )
            for k, position in enumerate(positions.tolist())
        ],
    )


def compare_users(served: ServedModel, body: requests.PersonAndUser) -> explanations.ComparisonOut:
    """Return the values of all measures for two users, and why some are undefined."""
    state, position = served.person(body), served.users.position(body.other)
    ratings = served.data.ratings
    name = served.guest_name if state.position == position else state.name
    user = one_user(ratings, name, state.rated, state.given)
    pair = served.data.with_guests(user, [position])
    # Most measures look at the two users only; the others use the ratings of everybody.
    everybody, first = served.data, state.position
    if first < 0:
        everybody, first = served.data.with_guests(user), ratings.n_users
    results = []
    for row in MEASURES.values():
        if row.extension:
            continue
        check_cancelled()
        data, u, v = (everybody, first, position) if row.uses_others else (pair, 1, 0)
        value, reason = nan, None
        if row.needs_geometry and data.geometry is None:
            reason = "the data set has no distances between items"
        else:
            value = float(values(data, row, None, np.array([u]), np.array([v]), n_threads=1)[0, 0])
            if isnan(value):
                reason = breakdown(data, u, v, row).reason or "the measure gives no value for this pair"
        shown = None if isnan(value) else value
        results.append(explanations.MeasureValueOut.of(row, value=shown, reason=reason))
    return explanations.ComparisonOut(
        user=state.name,
        other=served.users.texts[position],
        n_common=int(ratings.n_common(state.rated)[position]),
        measures=results,
    )
