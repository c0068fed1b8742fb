"""The addresses of the service: parameters checked, work handed to the pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator

from prefmover.server import metrics, schemas
from prefmover.server.problems import MEDIA_TYPE, ProblemError
from prefmover.server.service import Service

__all__ = ["api", "health"]

PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _problems(**meanings: str) -> dict[int | str, dict[str, Any]]:
    return {int(code[1:]): {"description": text, **PROBLEM} for code, text in meanings.items()}


USUAL = _problems(
    _400="The request cannot be read.",
    _401="A token is set, and is missing or wrong.",
    _421="The service was asked under a name that is not its own.",
    _422="A parameter is wrong.",
    _503="Too many requests, or the time of this one is over; `Retry-After` says when to try again.",
)
LOOKUP = USUAL | _problems(_404="There is no such user or item.")
POSTED = LOOKUP | _problems(
    _408="The body did not come in time.", _413="The body is too large.", _415="The body is not JSON."
)


def _decoded(value: Any) -> Any:
    return unquote(value) if isinstance(value, str) else value


def _known_parameters_only(request: Request) -> None:
    """Refuse parameters that do not exist or come twice: a misspelt one would silently do nothing."""
    known = {p.alias: p for p in request.scope["route"].dependant.query_params}
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise ProblemError(422, f"There is no parameter {name!r}; this address {takes}.")
        if name in seen and name != "items":
            raise ProblemError(422, f"The parameter {name!r} is given twice.")
        seen.add(name)


def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


Served = Annotated[Service, Depends(_service)]
InPath = Annotated[
    str,
    BeforeValidator(_decoded),
    Path(min_length=1, max_length=schemas.LONGEST_ID, description="An id.", examples=["ada-b"]),
]
ItemInPath = Annotated[
    str,
    BeforeValidator(_decoded),
    Path(min_length=1, max_length=schemas.LONGEST_ID, description="An id.", examples=["alien-1979"]),
]
Text = Annotated[str, Query(max_length=200, description="Part of a name or of an id.", examples=["alien"])]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="How many to pass over.")]
Limit = Annotated[int, Query(ge=1, le=200, description="How many to list.")]
HowMany = Annotated[int, Query(ge=1, le=schemas.MOST_NEIGHBORS, description="How many.")]
HowManyBest = Annotated[int, Query(ge=1, le=schemas.MOST_RECOMMENDATIONS, description="How many.")]
UserQuery = Annotated[
    str, Query(min_length=1, max_length=schemas.LONGEST_ID, description="A user.", examples=["ada-b"])
]

api = APIRouter(prefix="/api/v1", dependencies=[Depends(_known_parameters_only)], responses=LOOKUP)
health = APIRouter(tags=["service"])


@health.get(
    "/healthz",
    summary="Is the service alive?",
    responses=_problems(_400="The request cannot be read.", _421="Asked under another name."),
)
async def healthz() -> schemas.Status:
    return schemas.Status(status="ok")


@health.get(
    "/readyz",
    summary="Is it ready to answer?",
    responses=_problems(
        _503="Not yet: kernels are being compiled.",
        _400="The request cannot be read.",
        _421="Asked under another name.",
    ),
)
async def readyz(service: Served) -> schemas.Status:
    service.check_ready()
    return schemas.Status(status="ready")


@health.get(
    "/metrics",
    summary="What it has done, for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **_problems(
            _401="A token is needed.", _400="The request cannot be read.", _421="Asked under another name."
        ),
    },
)
async def metrics_text(service: Served) -> Response:
    return Response(service.metrics_text(), media_type=metrics.MEDIA_TYPE)


def _get(path: str, tag: str, model: type[BaseModel], summary: str, **more: Any) -> Callable[..., Any]:
    return api.get(path, tags=[tag], response_model=model, summary=summary, **more)


def _post(path: str, model: type[BaseModel], summary: str) -> Callable[..., Any]:
    return api.post(path, tags=["guest"], response_model=model, summary=summary, responses=POSTED)


@_get("/model", "model", schemas.ModelInfo, "What is served")
async def model(request: Request, service: Served) -> Response:
    return await service.answer(request, ("model",), lambda ask, _: ask.info())


@_get("/users", "users", schemas.Users, "Find users")
async def users(
    request: Request, service: Served, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> Response:
    key = ("users", q, offset, limit)
    return await service.answer(request, key, lambda ask, _: ask.users(q, offset, limit))


@_get("/users/{user}", "users", schemas.UserDetails, "A user and their ratings")
async def user_details(
    request: Request, service: Served, user: InPath, offset: Offset = 0, limit: Limit = 50
) -> Response:
    key = ("user", user, offset, limit)
    return await service.answer(request, key, lambda ask, _: ask.user(user, offset, limit))


@_get("/users/{user}/neighbors", "users", schemas.Neighbors, "Like-minded users")
async def neighbors(request: Request, service: Served, user: InPath, k: HowMany = 10) -> Response:
    return await service.answer(request, ("neighbors", user, k), lambda ask, b: ask.neighbors(user, k, b))


@_get("/users/{user}/recommendations", "users", schemas.Recommendations, "What to recommend, and why")
async def recommendations(request: Request, service: Served, user: InPath, n: HowManyBest = 10) -> Response:
    key = ("recommendations", user, n)
    return await service.answer(request, key, lambda ask, b: ask.recommendations(user, n, b))


@_get("/users/{user}/recommendations/{item}", "users", schemas.Explanation, "What a rating is made of")
async def recommendation(request: Request, service: Served, user: InPath, item: ItemInPath) -> Response:
    return await service.answer(
        request, ("recommendation", user, item), lambda ask, b: ask.explanation(user, item, b)
    )


@_get("/users/{user}/predictions", "users", schemas.Predictions, "Predicted ratings of items")
async def predictions(
    request: Request,
    service: Served,
    user: InPath,
    items: Annotated[
        list[schemas.Id],
        Query(min_length=1, max_length=schemas.MOST_ITEMS, description="Items; repeat the parameter."),
    ],
) -> Response:
    key = ("predictions", user, *items)
    return await service.answer(request, key, lambda ask, b: ask.predictions(user, items, b))


@_get("/explanations", "pairs", schemas.PairExplanation, "Why two users are as near as they are")
async def explanations(request: Request, service: Served, user: UserQuery, other: UserQuery) -> Response:
    return await service.answer(request, ("pair", user, other), lambda ask, b: ask.pair(user, other, b))


@_get("/comparison", "pairs", schemas.Comparison, "Two users under all measures")
async def comparison(request: Request, service: Served, user: UserQuery, other: UserQuery) -> Response:
    key = ("comparison", user, other)
    return await service.answer(request, key, lambda ask, b: ask.comparison(user, other, b))


@_get("/items", "items", schemas.Items, "Find items")
async def items(
    request: Request, service: Served, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> Response:
    key = ("items", q, offset, limit)
    return await service.answer(request, key, lambda ask, _: ask.items(q, offset, limit))


@_get("/items/{item}/near", "items", schemas.NearItems, "Items near an item")
async def near(request: Request, service: Served, item: ItemInPath, k: HowMany = 10) -> Response:
    return await service.answer(request, ("near", item, k), lambda ask, _: ask.near(item, k))


@_post("/guest/neighbors", schemas.Neighbors, "Like-minded users of a new user")
async def guest_neighbors(request: Request, service: Served, body: schemas.GuestNeighbors) -> Response:
    who, k = body.by_item, body.k
    return await service.answer(request, ("neighbors", who, k), lambda ask, b: ask.neighbors(who, k, b))


@_post("/guest/recommendations", schemas.Recommendations, "What to recommend to a new user, and why")
async def guest_recommendations(
    request: Request, service: Served, body: schemas.GuestRecommendations
) -> Response:
    who, n = body.by_item, body.n
    key = ("recommendations", who, n)
    return await service.answer(request, key, lambda ask, b: ask.recommendations(who, n, b))


@_post("/guest/recommendations/explain", schemas.Explanation, "What a new user's rating is made of")
async def guest_recommendation(request: Request, service: Served, body: schemas.GuestItem) -> Response:
    who, item = body.by_item, body.item
    key = ("recommendation", who, item)
    return await service.answer(request, key, lambda ask, b: ask.explanation(who, item, b))


@_post("/guest/predictions", schemas.Predictions, "Predicted ratings of a new user")
async def guest_predictions(request: Request, service: Served, body: schemas.GuestPredictions) -> Response:
    who, asked = body.by_item, body.items
    key = ("predictions", who, *asked)
    return await service.answer(request, key, lambda ask, b: ask.predictions(who, asked, b))


@_post("/guest/explanations", schemas.PairExplanation, "Why a new user is near to another")
async def guest_explanations(request: Request, service: Served, body: schemas.GuestOther) -> Response:
    who, other = body.by_item, body.other
    return await service.answer(request, ("pair", who, other), lambda ask, b: ask.pair(who, other, b))


@_post("/guest/comparison", schemas.Comparison, "A new user and another under all measures")
async def guest_comparison(request: Request, service: Served, body: schemas.GuestOther) -> Response:
    who, other = body.by_item, body.other
    key = ("comparison", who, other)
    return await service.answer(request, key, lambda ask, b: ask.comparison(who, other, b))
