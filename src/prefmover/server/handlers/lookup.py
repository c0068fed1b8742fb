"""Users and items: search, profiles, near items, and ratings from other sites."""

from __future__ import annotations

import numpy as np

from prefmover.errors import UnknownIdError
from prefmover.server.imports import read_export
from prefmover.server.problems import reading
from prefmover.server.schemas import requests, responses
from prefmover.server.schemas.requests import ItemPath, K, Limit, Offset, Text, UserPath
from prefmover.server.served import ServedModel
from prefmover.server.workers import check_cancelled

FANS = 12  # users who liked an item, on its page


def find_users(
    served: ServedModel, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> responses.UsersOut:
    """Return a page of the users whose id contains a text; those whose id begins with it come first."""
    hits = served.users.search(q)
    page = [responses.UserOut(**served.users.facts(k)) for k in hits[offset : offset + limit]]
    return responses.UsersOut(total=len(hits), offset=offset, limit=limit, users=page)


def get_user(
    served: ServedModel, user: UserPath, offset: Offset = 0, limit: Limit = 50
) -> responses.UserDetailsOut:
    """Return a user with a page of ratings, highest first."""
    position = served.users.position(user)
    items, ratings = served.data.ratings.row(position)
    total, feedback = float(ratings.sum()), served.feedback
    order = np.lexsort((items, -ratings))[offset : offset + limit]
    given = feedback.given(ratings[order]).tolist()
    return responses.UserDetailsOut(
        **served.users.facts(position),
        mean_rating=float(ratings.mean()) if len(items) and feedback.kind == "ratings" else None,
        offset=offset,
        limit=limit,
        ratings=[
            responses.RatedItemOut(
                **served.items.titled(item), rating=rating, share=value / total if total else 0.0
            )
            for item, rating, value in zip(items[order].tolist(), given, ratings[order].tolist(), strict=True)
        ],
    )


def find_items(
    served: ServedModel, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> responses.ItemsOut:
    """Return a page of the items whose title or id contains a text, those with most ratings first."""
    hits = served.items.search(q)
    page = [responses.ItemOut(**served.items.facts(k)) for k in hits[offset : offset + limit]]
    return responses.ItemsOut(total=len(hits), offset=offset, limit=limit, items=page)


def search(served: ServedModel, q: Text = "", limit: Limit = 6) -> responses.SearchOut:
    """Return the first items and users whose title or id contains a text, without case and punctuation."""
    items, users = find_items(served, q, 0, limit), find_users(served, q, 0, limit)
    return responses.SearchOut(n_items=items.total, items=items.items, n_users=users.total, users=users.users)


def get_item(served: ServedModel, item: ItemPath) -> responses.ItemDetailsOut:
    """Return an item, how often it got each rating, and who liked it."""
    position, catalog, users = served.items.position(item), served.data.catalog, served.users
    raters, ratings = served.items.raters(position)
    above = ratings - users.means[raters]
    likes_it = served.data.ratings.implicit | (above > 0)
    order = np.lexsort((raters, -ratings, -above))
    fans = order[likes_it[order]][:FANS]
    return responses.ItemDetailsOut(
        **served.items.facts(position),
        year=int(catalog.years[position]) or None,
        genres=list(catalog.genres[position]),
        ratings=[
            responses.RatingCountOut(rating=rating, highest=highest, count=count)
            for rating, highest, count in served.feedback.bars(ratings)
        ],
        n_fans=int(likes_it.sum()),
        fans=[
            responses.FanOut(user=users.texts[user], rating=rating, taste=users.taste(user))
            for user, rating in zip(
                raters[fans].tolist(), served.feedback.given(ratings[fans]).tolist(), strict=True
            )
        ],
    )


def get_near_items(served: ServedModel, item: ItemPath, k: K = 10) -> responses.NearItemsOut:
    """Return the items nearest to an item, by the distances that the model uses."""
    position = served.items.position(item)
    geometry = served.data.require_geometry("the search for near items")
    near = geometry.near(served.items.ids[position], k)
    positions = [geometry.item_position(other) for other, _ in near]
    similarities = geometry.similarity([position], positions)[0].tolist()
    return responses.NearItemsOut(
        **served.items.titled(position),
        near=[
            responses.NearItemOut(**served.items.titled(other), distance=distance, similarity=similarity)
            for other, (_, distance), similarity in zip(positions, near, similarities, strict=True)
        ],
    )


def list_items(served: ServedModel, body: requests.ItemIds) -> responses.ListedItemsOut:
    """Return items by their ids. Unknown ids are no error: they are listed apart."""
    found, unknown = [], []
    for item in body.ids:
        try:
            found.append(responses.ItemOut(**served.items.facts(served.items.position(item))))
        except UnknownIdError:
            unknown.append(item)
    return responses.ListedItemsOut(items=found, unknown=unknown)


def import_ratings(served: ServedModel, body: requests.Export) -> responses.ImportOut:
    """Return the ratings in an export of Letterboxd or IMDb, matched by title and year. Nothing is stored."""
    with reading():
        return read_export(body.csv, served.data, served.titles, check_cancelled)
