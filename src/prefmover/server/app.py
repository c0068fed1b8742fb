"""The application: routes, pages, errors and guards put together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from prefmover.data.scale import Scale
from prefmover.server import problems, schemas
from prefmover.server.assets import Asset, read_assets
from prefmover.server.handlers import Answers
from prefmover.server.middleware import OPENAPI, App, Guards
from prefmover.server.routes import api, health
from prefmover.server.service import Service
from prefmover.server.settings import Settings
from prefmover.server.workers import StoppedError

__all__ = ["create_app", "openapi_schema"]

ABOUT = (
    "Like-minded users by exact optimal transport between their ratings. Ids are text, whatever they are in "
    "the data. Errors are problem details (RFC 9457)."
)


def create_app(answers: Answers, settings: Settings | None = None) -> App:
    """Return the service of a model as an ASGI application."""
    service = Service(answers, settings or Settings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(service.warm_up())
        yield
        warming.cancel()
        service.pool.close()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.include_router(health)
    app.include_router(api)
    app.add_exception_handler(StoppedError, _left)
    problems.install(app)
    schema = json.dumps(openapi_schema(answers.model.ratings_.scale)).encode()

    async def openapi(_: Request) -> Response:
        return Response(schema, media_type="application/json")

    app.add_route(OPENAPI, openapi, methods=["GET"])
    for path, asset in read_assets().items():
        app.add_route(path, _sender(asset), methods=["GET"])
    return Guards(app, service.settings, service.metrics)


def _sender(asset: Asset) -> Any:
    headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, headers=headers, media_type=asset.media_type)

    return send


async def _left(_: Request, __: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it; the metrics show it


def openapi_schema(scale: Scale) -> dict[str, Any]:
    """Return the OpenAPI schema of a service whose ratings are on a scale.

    Errors are described as they are: problems, not FastAPI's own.
    """
    schema = get_openapi(
        title="prefmover",
        version=version("prefmover"),
        description=ABOUT,
        routes=[*health.routes, *api.routes],
    )
    models = schema["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        models.pop(name, None)
    models["GivenRating"]["properties"]["rating"] |= {"minimum": scale.lowest, "maximum": scale.highest}
    problem = schemas.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    models |= problem.pop("$defs")
    models["Problem"] = problem
    schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            if path.startswith("/api/") or path == "/metrics":
                operation["security"] = [{}, {"token": []}]
    return schema
