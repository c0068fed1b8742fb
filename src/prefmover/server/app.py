"""The ASGI application: routes, pages, errors and the guard in front of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from prefmover.data.scale import SMALLEST, Scale
from prefmover.server.answers import Answer
from prefmover.server.middleware import OPENAPI, Guard
from prefmover.server.pages import read_assets
from prefmover.server.problems import Problem
from prefmover.server.routes import api, health, posts
from prefmover.server.service import Service

ABOUT = (
    "Like-minded users by exact optimal transport between their ratings. Ids are text, even if they are "
    "integers in the data. Errors are problem details (RFC 9457)."
)
TAGS = {
    "service": "State of the service.",
    "model": "What is served.",
    "users": "Users of the data.",
    "items": "Items of the data.",
    "people": "Questions of one person: a user of the data, or a guest with ratings. Nothing is stored.",
    "pairs": "A person and a user of the data.",
    "groups": "Several users of the data.",
}


def create_app(service: Service) -> ASGIApp:
    """Return a service as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.opening.start()
        yield
        service.stop()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.service = service
    app.include_router(health)
    app.include_router(api)
    for kind in (Exception, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _raise)

    @cache
    def schema() -> Answer:
        content = openapi_schema(service.served.data.ratings.scale, service.settings.root_path)
        return Answer.of(json.dumps(content).encode())

    async def openapi(request: Request) -> Response:
        return await schema().response(request)

    app.add_route(OPENAPI, openapi, methods=["GET"])
    for path, asset in read_assets().items():
        app.add_route(path, asset.response, methods=["GET"])
    return Guard(app, service, posts)


async def _raise(_: Request, error: Exception) -> Response:
    raise error  # the guard answers with a problem


def openapi_schema(scale: Scale, root_path: str = "") -> dict[str, Any]:
    """Return the OpenAPI schema of a service whose ratings are on a scale, with problems as the errors."""
    schema = get_openapi(
        title="prefmover",
        version=version("prefmover"),
        description=ABOUT,
        routes=[*health.routes, *api.routes],
        servers=[{"url": root_path or "/", "description": "This service"}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    models = schema["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        models.pop(name, None)
    given = models["GuestRating"]
    number, nothing = given["properties"]["rating"].pop("anyOf")
    if scale.implicit:  # the scale is that of strengths, and guests give counts
        given["properties"]["rating"]["anyOf"] = [{**number, "minimum": SMALLEST}, nothing]
    else:
        given["properties"]["rating"] |= {**number, "minimum": scale.lowest, "maximum": scale.highest}
        given["required"] = ["item", "rating"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    models |= problem.pop("$defs")
    models["Problem"] = problem
    schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            if path.startswith("/api/") or path == "/metrics":
                operation["security"] = [{}, {"token": []}]
    return schema
