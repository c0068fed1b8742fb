"""The addresses of the service: they check the parameters and hand the work to a worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from pydantic import BaseModel, BeforeValidator
from starlette.exceptions import HTTPException

from prefmover.server import schemas
from prefmover.server.problems import MEDIA_TYPE, ProblemError
from prefmover.server.service import Service

__all__ = ["api", "health"]

PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _problems(**meanings: str) -> dict[int | str, dict[str, Any]]:
    return {int(code[1:]): {"description": text, **PROBLEM} for code, text in meanings.items()}


UNREADABLE = _problems(_400="The request cannot be read.", _421="The host name is not one of the service.")
LOOKUP = UNREADABLE | _problems(
    _401="The token is missing or wrong.",
    _404="The user or item does not exist.",
    _422="A parameter is wrong.",
    _503="There are too many requests, or this one took too long; see `Retry-After`.",
)
POSTED = LOOKUP | _problems(
    _408="The body did not arrive in time.", _413="The body is too large.", _415="The body is not JSON."
)


class _StrictRequest(Request):
    """A request whose JSON has no NaN and no field twice."""

    async def json(self) -> Any:
        try:
            text = (await self.body()).decode()
            return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
        except UnicodeDecodeError as error:
            raise HTTPException(400, f"the body is not UTF-8 (byte {error.start:,})") from None
        except RecursionError:
            raise HTTPException(400, "the body is nested too deeply") from None
        except ValueError as error:  # not JSON, or a number with thousands of digits
            raise HTTPException(400, f"the body is not JSON: {error}") from None


class _StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"the field {name[:20]!r} occurs twice")
        fields[name] = value
    return fields


def _known_parameters_only(request: Request) -> None:
    """Refuse parameters that do not exist or occur twice: a misspelled one would silently do nothing."""
    known = {p.alias: p for p in request.scope["route"].dependant.query_params}
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise ProblemError(422, f"There is no parameter {name!r}; this address {takes}.")
        if name in seen and name != "items":
            raise ProblemError(422, f"The parameter {name!r} occurs twice; give it once.")
        seen.add(name)


def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


def _id(example: str) -> Any:
    limits = {"min_length": 1, "max_length": schemas.LONGEST_ID}
    return Path(description="Id.", examples=[example], **limits)  # type: ignore[arg-type]


def _decoded(value: Any) -> Any:
    return unquote(value) if isinstance(value, str) else value


Served = Annotated[Service, Depends(_service)]
UserPath = Annotated[str, BeforeValidator(_decoded), _id("ada-b")]
ItemPath = Annotated[str, BeforeValidator(_decoded), _id("alien-1979")]
Text = Annotated[str, Query(max_length=200, description="Part of a title or id.", examples=["alien"])]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of entries to skip.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Number of entries.")]
K = Annotated[int, Query(ge=1, le=schemas.MOST_NEIGHBORS, description="Number of neighbors.")]
N = Annotated[int, Query(ge=1, le=schemas.MOST_RECOMMENDATIONS, description="Number of recommendations.")]
UserQuery = Annotated[
    str, Query(min_length=1, max_length=schemas.LONGEST_ID, description="Id of a user.", examples=["ada-b"])
]
ItemsQuery = Annotated[
    list[schemas.Id],
    Query(min_length=1, max_length=schemas.MOST_ITEMS, description="Ids of items; repeat the parameter."),
]

api = APIRouter(
    prefix="/api/v1",
    dependencies=[Depends(_known_parameters_only)],
    responses=LOOKUP,
    route_class=_StrictRoute,
)
health = APIRouter(tags=["service"], responses=UNREADABLE)


@health.get("/healthz", summary="Whether the service is alive")
async def healthz() -> schemas.StatusOut:
    return schemas.StatusOut(status="ok")


@health.get(
    "/readyz",
    summary="Whether the service is ready",
    responses=_problems(_503="Kernels are being compiled."),
)
async def readyz(service: Served) -> schemas.StatusOut:
    service.check_ready()
    return schemas.StatusOut(status="ready")


@health.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **_problems(_401="The token is missing or wrong."),
    },
)
async def metrics(service: Served) -> Response:
    return Response(generate_latest(service.metrics), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _get(path: str, tag: str, model: type[BaseModel], summary: str) -> Callable[..., Any]:
    return api.get(path, tags=[tag], response_model=model, summary=summary)


def _post(path: str, model: type[BaseModel], summary: str) -> Callable[..., Any]:
    return api.post(path, tags=["guest"], response_model=model, summary=summary, responses=POSTED)


@_get("/model", "model", schemas.ModelOut, "The model and its data")
async def model(request: Request, service: Served) -> Response:
    return await service.respond(request, ("model",), lambda h: h.model_info())


@_get("/users", "users", schemas.UsersOut, "Search for users")
async def users(
    request: Request, service: Served, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> Response:
    return await service.respond(request, ("users", q, offset, limit), lambda h: h.users(q, offset, limit))


@_get("/users/{user}", "users", schemas.UserDetailsOut, "A user's ratings")
async def user_details(
    request: Request, service: Served, user: UserPath, offset: Offset = 0, limit: Limit = 50
) -> Response:
    return await service.respond(
        request, ("user", user, offset, limit), lambda h: h.user_details(user, offset, limit)
    )


@_get("/users/{user}/neighbors", "users", schemas.NeighborsOut, "A user's neighbors")
async def neighbors(request: Request, service: Served, user: UserPath, k: K = 10) -> Response:
    return await service.respond(request, ("neighbors", user, k), lambda h: h.neighbors(h.user(user), k))


@_get("/users/{user}/recommendations", "users", schemas.RecommendationsOut, "Recommendations, with reasons")
async def recommendations(request: Request, service: Served, user: UserPath, n: N = 10) -> Response:
    return await service.respond(
        request, ("recommendations", user, n), lambda h: h.recommendations(h.user(user), n)
    )


@_get(
    "/users/{user}/recommendations/{item}",
    "users",
    schemas.RecommendationExplanationOut,
    "The parts of a predicted rating",
)
async def recommendation(request: Request, service: Served, user: UserPath, item: ItemPath) -> Response:
    return await service.respond(
        request,
        ("recommendation", user, item),
        lambda h: h.recommendation_explanation(h.user(user), item),
    )


@_get("/users/{user}/predictions", "users", schemas.PredictionsOut, "Predicted ratings")
async def predictions(request: Request, service: Served, user: UserPath, items: ItemsQuery) -> Response:
    return await service.respond(
        request, ("predictions", user, *items), lambda h: h.predictions(h.user(user), items)
    )


@_get("/explanations", "pairs", schemas.UserExplanationOut, "Why two users are near")
async def explanations(request: Request, service: Served, user: UserQuery, other: UserQuery) -> Response:
    return await service.respond(
        request, ("explanation", user, other), lambda h: h.user_explanation(h.user(user), other)
    )


@_get("/comparison", "pairs", schemas.ComparisonOut, "Two users under all measures")
async def comparison(request: Request, service: Served, user: UserQuery, other: UserQuery) -> Response:
    return await service.respond(
        request, ("comparison", user, other), lambda h: h.comparison(h.user(user), other)
    )


@_get("/items", "items", schemas.ItemsOut, "Search for items")
async def items(
    request: Request, service: Served, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> Response:
    return await service.respond(request, ("items", q, offset, limit), lambda h: h.items(q, offset, limit))


@_get("/items/{item}/near", "items", schemas.NearItemsOut, "The nearest items")
async def near_items(request: Request, service: Served, item: ItemPath, k: K = 10) -> Response:
    return await service.respond(request, ("near", item, k), lambda h: h.near_items(item, k))


@_post("/guest/neighbors", schemas.NeighborsOut, "A guest's neighbors")
async def guest_neighbors(request: Request, service: Served, body: schemas.GuestNeighbors) -> Response:
    guest, k = body.key, body.k
    return await service.respond(request, ("neighbors", guest, k), lambda h: h.neighbors(h.guest(guest), k))


@_post("/guest/recommendations", schemas.RecommendationsOut, "Recommendations for a guest, with reasons")
async def guest_recommendations(
    request: Request, service: Served, body: schemas.GuestRecommendations
) -> Response:
    guest, n = body.key, body.n
    return await service.respond(
        request, ("recommendations", guest, n), lambda h: h.recommendations(h.guest(guest), n)
    )


@_post(
    "/guest/recommendations/explain",
    schemas.RecommendationExplanationOut,
    "The parts of a guest's predicted rating",
)
async def guest_recommendation(request: Request, service: Served, body: schemas.GuestItem) -> Response:
    guest, item = body.key, body.item
    return await service.respond(
        request,
        ("recommendation", guest, item),
        lambda h: h.recommendation_explanation(h.guest(guest), item),
    )


@_post("/guest/predictions", schemas.PredictionsOut, "Predicted ratings of a guest")
async def guest_predictions(request: Request, service: Served, body: schemas.GuestPredictions) -> Response:
    guest, items = body.key, body.items
    return await service.respond(
        request, ("predictions", guest, *items), lambda h: h.predictions(h.guest(guest), items)
    )


@_post("/guest/explanations", schemas.UserExplanationOut, "Why a guest is near a user")
async def guest_explanations(request: Request, service: Served, body: schemas.GuestOther) -> Response:
    guest, other = body.key, body.other
    return await service.respond(
        request, ("explanation", guest, other), lambda h: h.user_explanation(h.guest(guest), other)
    )


@_post("/guest/comparison", schemas.ComparisonOut, "A guest and a user under all measures")
async def guest_comparison(request: Request, service: Served, body: schemas.GuestOther) -> Response:
    guest, other = body.key, body.other
    return await service.respond(
        request, ("comparison", guest, other), lambda h: h.comparison(h.guest(guest), other)
    )
