"""What is served: the model, its data, and maps of them."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version

from prefmover._typing import Floats, Ints, Progress
from prefmover.measures import MEASURES
from prefmover.server.item_groups import groupings
from prefmover.server.scatter_map import item_map, user_map
from prefmover.server.schemas import responses
from prefmover.server.served import ServedModel

GROUPS = 8  # groups that a map distinguishes


def get_model(served: ServedModel) -> responses.ModelOut:
    """Return the sizes of the data, the scale of the ratings, the measure and the model's parameters."""
    ratings, geometry, measure = served.data.ratings, served.data.geometry, served.measure
    parameters = {
        name: value if isinstance(value, str | int | float | bool | None) else str(value)
        for name, value in (served.model.get_params() | served.model.settings_).items()
        if name not in ("n_threads", "measure")
    }
    near, far = (0.99, 0.01) if measure.larger_is_closer else (0.01, 0.99)
    spread, years = served.spread, served.data.catalog.years
    known = years[years > 0]
    return responses.ModelOut(
        name=served.name,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        n_ratings=ratings.n_ratings,
        feedback=served.feedback.kind,
        scale=responses.ScaleOut.model_validate(served.feedback.scale),
        usual=served.feedback.usual,
        rating_noun=served.feedback.noun,
        verb=served.data.verb,
        geometry=None if geometry is None else geometry.name,
        user_noun=served.user_noun,
        item_noun=served.item_noun,
        genres=served.users.genres,
        years=[int(known.min()), int(known.max())] if len(known) else None,
        spread=responses.SpreadOut(
            nearest=spread.quantile(near), median=spread.quantile(0.5), farthest=spread.quantile(far)
        ),
        measure=measure.name,
        value_name=measure.value_name,
        parameters=parameters,
        version=version("prefmover"),
        measures=[responses.MeasureOut.of(row) for row in MEASURES.values()],
    )


def get_user_map(served: ServedModel, progress: Progress) -> responses.MapOut:
    """Return users as points in the plane, by estimated distances: near points are users with like tastes."""
    (users, points), texts = user_map(served.similarity, progress), served.users.texts
    return _map(users, points, texts, texts, [served.users.taste(user)[:1] for user in users.tolist()])


def get_item_map(served: ServedModel, progress: Progress) -> responses.MapOut:
    """Return items as points in the plane, by the distances that the model uses."""
    geometry = served.data.require_geometry("a map of items")
    items, points = item_map(geometry, served.items.n_ratings, progress)
    kinds = groupings(served.data.catalog, geometry, items)
    groups = [[name] for name in kinds["genre"]] if "genre" in kinds else [[] for _ in items]
    return _map(items, points, served.items.texts, served.data.catalog.labels, groups)


def _map(
    positions: Ints, points: Floats, ids: list[str], names: list[str], groups: list[list[str]]
) -> responses.MapOut:
    kinds = [name for name, _ in Counter(name for some in groups for name in some).most_common(GROUPS)]
    number = {name: k for k, name in enumerate(kinds)}
    rows = zip(positions.tolist(), points.round(4).tolist(), groups, strict=True)
    return responses.MapOut(
        groups=kinds,
        points=[
            responses.PointOut(
                id=ids[k], name=names[k], x=x, y=y, group=number.get(some[0]) if some else None
            )
            for k, (x, y), some in rows
        ],
    )
