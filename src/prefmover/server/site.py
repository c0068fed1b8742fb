"""The explorer as a folder of files, which needs no server: for up to some 2,000 users.

::

    index.html, assets/       the pages, as the service has them
    data/site.js              the model, the users and items, what is worth seeing, and the maps
    data/users/0.js, ...      what the pages ask about a user, the ten nearest, and the ten recommended items
    data/items/0.js, ...      what they ask about 40 items

Answers are those of the handlers, as the service sends them. A page that is opened from a file must not read
files, but it may run scripts. So a file of data is a script, which hands gzipped JSON in base64 to the page
(``lib/site.js``).
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.execution import atomic
from prefmover.server.handlers import lookup, neighbors, overview, pairs, recommend
from prefmover.server.pages import explorer, read_assets
from prefmover.server.schemas import requests
from prefmover.server.served import ServedModel

__all__ = ["MOST_USERS", "export_site"]

MOST_USERS = 2_500
NEAREST, MORE = 10, 40  # users who are explained, and users in a list, as on the pages
RECOMMENDED, RATINGS, NEAR_ITEMS = 10, 200, 12
ITEMS = 40  # in one file
FOOTER = '<p><a href="docs">HTTP API</a></p>'
EXPORTED = "<p>A static export: what is not in it needs the service.</p>"


def export_site(served: ServedModel, folder: Path, progress: Progress = lambda done, total: None) -> int:
    """Write the explorer of a model into a folder, and return the number of bytes.

    The folder is replaced if it holds an export, and must be empty otherwise.
    """
    data = served.data
    if data.n_users > MOST_USERS:
        raise InputError(
            f"an export holds up to {MOST_USERS:,} users, and the data have {data.n_users:,}; for more, "
            "start the service with `prefmover serve`"
        )
    if folder.exists() and any(folder.iterdir()) and not (folder / "data" / "site.js").is_file():
        raise InputError(f"{folder} has other files; give a new folder")
    files = [*_items(served), *_users(served)]
    total, size = len(files) + 1, 0
    shutil.rmtree(folder / "data", ignore_errors=True)
    for done, (name, content) in enumerate([("site", lambda: _site(served)), *files]):
        progress(done, total)
        size += _write(folder / "data" / f"{name}.js", _script(name, content()))
    for name, body in _pages():
        size += _write(folder / name, body)
    return size


def _write(file: Path, body: bytes) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(file, body)
    return len(body)


def _pages() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the pages; the page says that it is an export."""
    found = explorer()
    yield "index.html", found.page.replace("<html ", "<html data-site ").replace(FOOTER, EXPORTED).encode()
    yield "assets/explorer.js", found.script.encode()
    yield "assets/explorer.css", found.style.encode()
    yield "assets/favicon.svg", read_assets()["/assets/favicon.svg"].body


def _script(name: str, content: Any) -> bytes:
    r"""Return JSON as a script.

    >>> _script("users/0", {"id": "ada-b"}).startswith(b'prefmover("users/0","')
    True
    """
    zipped = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0)
    return f'prefmover("{name}","{base64.b64encode(zipped).decode()}")\n'.encode()


def _answer(work: Callable[..., BaseModel], served: ServedModel, *given: Any) -> Any:
    """Return what a handler answers; None if it has no answer, for example without distances of items."""
    with suppress(InputError):
        return work(served, *given).model_dump(mode="json", exclude_unset=True)
    return None


def _site(served: ServedModel) -> dict[str, Any]:
    none: Progress = lambda done, total: None  # noqa: E731
    return {
        "model": _answer(overview.get_model, served),
        "users": [served.users.facts(k) for k in range(served.data.n_users)],
        "items": [served.items.facts(k) for k in range(served.data.n_items)],
        "common-ground": _answer(neighbors.get_common_ground, served, none),
        "map/users": _answer(overview.get_user_map, served, none),
        "map/items": _answer(overview.get_item_map, served, none),
    }


def _items(served: ServedModel) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each file of items, and a function that returns its content."""

    def content(names: list[str]) -> Any:
        return {
            name: {
                "details": _answer(lookup.get_item, served, name),
                "near": _answer(lookup.get_near_items, served, name, NEAR_ITEMS),
            }
            for name in names
        }

    texts = served.items.texts
    for first in range(0, len(texts), ITEMS):
        yield f"items/{first // ITEMS}", lambda first=first: content(texts[first : first + ITEMS])  # type: ignore[misc]


def _users(served: ServedModel) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each file of a user, and a function that returns its content."""
    for k, user in enumerate(served.users.texts):
        yield f"users/{k}", lambda user=user: _about(served, user)  # type: ignore[misc]


def _about(served: ServedModel, user: str) -> dict[str, Any]:
    """Return the answers to what the pages ask about a user."""

    def about(work: Callable[..., BaseModel], body: type[requests.Person], **more: Any) -> Any:
        return _answer(work, served, body(user=user, **more))

    near = about(neighbors.get_neighbors, requests.NeighborsOf, k=MORE)
    others = [one["user"] for one in near["neighbors"][:NEAREST]] if near else []
    best = about(recommend.get_recommendations, requests.RecommendationsFor, n=RECOMMENDED)
    items = [one["item"] for one in best["recommendations"]] if best else []
    rated = served.feedback.kind == "ratings"
    return {
        "details": _answer(lookup.get_user, served, user, 0, RATINGS),
        "near": near,
        "apart": about(neighbors.get_neighbors, requests.NeighborsOf, k=MORE, without_common_items=True),
        "lists": about(neighbors.get_neighbor_lists, requests.Person),
        "best": best,
        "why": {
            item: about(recommend.explain_recommendation, requests.PersonAndItem, item=item) for item in items
        },
        "predicted": {
            item: about(recommend.explain_prediction, requests.PersonAndItem, item=item)
            for item in (items if rated else [])
        },
        "explained": {
            other: about(pairs.explain_users, requests.PersonAndUser, other=other) for other in others
        },
        "compared": {
            other: about(pairs.compare_users, requests.PersonAndUser, other=other) for other in others
        },
    }
