"""The addresses of the service: they check the parameters and hand the work to a worker.

The name of a function is the ``operationId`` of its address, and its docstring the description: generated
clients name their methods and document them by these.
"""

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
from prefmover.server.workers import LaneName

__all__ = ["api", "health"]

REPEATED = ("items", "exclude", "where")
"""Parameters that are lists."""

PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _problems(**meanings: str) -> dict[int | str, dict[str, Any]]:
    return {int(code[1:]): {"description": text, **PROBLEM} for code, text in meanings.items()}


UNREADABLE = _problems(_400="The request cannot be read.", _421="The host name is not one of the service.")
LOOKUP = UNREADABLE | _problems(
    _401="The token is missing or wrong.",
    _404="The user or item does not exist.",
    _422="A parameter is wrong.",
    _503="The service is starting, busy or stopping, or the request took too long; see `Retry-After`.",
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


async def _known_parameters_only(request: Request) -> None:
    """Refuse parameters that do not exist or occur twice: a misspelled one would silently do nothing."""
    known: list[str] = []
    for parameter in request.scope["route"].dependant.query_params:
        kind = parameter.field_info.annotation
        options = isinstance(kind, type) and issubclass(kind, BaseModel)
        known += kind.model_fields if options else [parameter.alias]
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise ProblemError(422, f"There is no parameter {name!r}; this address {takes}.")
        if name in seen and name not in REPEATED:
            raise ProblemError(422, f"The parameter {name!r} occurs twice; give it once.")
        seen.add(name)


async def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


def _id(example: str) -> Any:
    return Path(description="Id, percent-encoded.", examples=[example], min_length=1)


def _decoded(value: Any) -> Any:
    return unquote(value) if isinstance(value, str) else value


Served = Annotated[Service, Depends(_service)]
UserPath = Annotated[str, BeforeValidator(_decoded), _id("ada-b")]
ItemPath = Annotated[str, BeforeValidator(_decoded), _id("alien-1979")]
Text = Annotated[str, Query(max_length=200, description="Part of a title or id.", examples=["alien"])]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of entries to skip.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Number of entries.")]
K = Annotated[int, Query(ge=1, le=schemas.MOST_NEIGHBORS, description="Number of items.")]
Neighbors = Annotated[schemas.NeighborOptions, Query()]
Recommended = Annotated[schemas.RecommendationOptions, Query()]
UserQuery = Annotated[str, Query(min_length=1, description="Id of a user.", examples=["ada-b"])]
ItemsQuery = Annotated[
    list[schemas.Id],
    Query(min_length=1, max_length=schemas.MOST_ITEMS, description="Ids of items; repeat the parameter."),
]

api = APIRouter(
    prefix="/api/v1",
    dependencies=[Depends(_known_parameters_only)],
    responses=LOOKUP,
    route_class=_StrictRoute,
    generate_unique_id_function=lambda route: route.name,
)
health = APIRouter(
    tags=["service"], responses=UNREADABLE, generate_unique_id_function=lambda route: route.name
)


LARGE_GUEST = 100  # ratings; finding the place of a guest takes time in proportion


def _lane(guest: schemas.Guest) -> LaneName:
    return "large" if len(guest.ratings) > LARGE_GUEST else "heavy"


@health.get("/healthz", summary="Whether the service is alive")
async def get_health() -> schemas.StatusOut:
    """Return 200 as long as the process can answer, also while it starts or stops."""
    return schemas.StatusOut(status="ok")


@health.get(
    "/readyz",
    summary="Whether the service is ready",
    responses=_problems(_503="The service is starting, with `progress`; or it is stopping."),
)
async def get_readiness(service: Served) -> schemas.StatusOut:
    """Return 200 if requests will be answered. Send no traffic to the service while this is 503."""
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
async def get_metrics(service: Served) -> Response:
    """Return requests, latencies, queues, the cache and the work of searches, in Prometheus' text format."""
    return Response(generate_latest(service.metrics), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _get(path: str, tag: str, model: type[BaseModel], summary: str) -> Callable[..., Any]:
    return api.get(path, tags=[tag], response_model=model, summary=summary)


def _job(path: str, tag: str, model: type[BaseModel], summary: str) -> Callable[..., Any]:
    later: dict[int | str, dict[str, Any]] = {
        202: {"model": schemas.JobOut, "description": "It is being computed; ask again in a second."}
    }
    return api.get(path, tags=[tag], response_model=model, summary=summary, responses=later)


def _post(path: str, tag: str, model: type[BaseModel], summary: str) -> Callable[..., Any]:
    return api.post(path, tags=[tag], response_model=model, summary=summary, responses=POSTED)


@_get("/model", "model", schemas.ModelOut, "The model and its data")
async def get_model(request: Request, service: Served) -> Response:
    """Return the sizes of the data, the scale of the ratings, the measure and the model's parameters."""
    return await service.respond(request, ("model",), lambda h: h.model_info(), "light")


@_get("/users", "users", schemas.UsersOut, "Search for users")
async def find_users(
    request: Request, service: Served, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> Response:
    """Return a page of the users whose id contains a text; those whose id begins with it come first."""
    return await service.respond(
        request, ("users", q, offset, limit), lambda h: h.users(q, offset, limit), "light"
    )


@_get("/users/{user}", "users", schemas.UserDetailsOut, "A user's ratings")
async def get_user(
    request: Request, service: Served, user: UserPath, offset: Offset = 0, limit: Limit = 50
) -> Response:
    """Return a user with a page of ratings, highest first."""
    return await service.respond(
        request, ("user", user, offset, limit), lambda h: h.user_details(user, offset, limit), "light"
    )


@_get("/users/{user}/neighbors", "users", schemas.NeighborsOut, "A user's neighbors")
async def get_neighbors(request: Request, service: Served, user: UserPath, options: Neighbors) -> Response:
    """Return the users nearest to a user, with the number of items that both rated."""
    return await service.respond(
        request, ("neighbors", user, options), lambda h: h.neighbors(h.user(user), options)
    )


@_get("/users/{user}/lists", "users", schemas.NeighborListsOut, "A user's neighbors by several measures")
async def get_neighbor_lists(request: Request, service: Served, user: UserPath) -> Response:
    """Return the nearest users by the model's measure and by measures of common items, each list tested."""
    return await service.respond(request, ("lists", user), lambda h: h.neighbor_lists(h.user(user)), "large")


@_get("/users/{user}/recommendations", "users", schemas.RecommendationsOut, "Recommendations, with reasons")
async def get_recommendations(
    request: Request, service: Served, user: UserPath, options: Recommended
) -> Response:
    """Return items that a user has not rated, each with its strongest reasons and what they add."""
    return await service.respond(
        request, ("recommendations", user, options), lambda h: h.recommendations(h.user(user), options)
    )


@_get(
    "/users/{user}/recommendations/{item}",
    "users",
    schemas.RecommendationExplanationOut,
    "Why an item is recommended",
)
async def explain_recommendation(
    request: Request, service: Served, user: UserPath, item: ItemPath
) -> Response:
    """Return what the user's own ratings and those of like-minded users add to an item's score."""
    return await service.respond(
        request,
        ("recommendation", user, item),
        lambda h: h.recommendation_explanation(h.user(user), item),
    )


@_get(
    "/users/{user}/predictions/{item}",
    "users",
    schemas.RatingExplanationOut,
    "The parts of a predicted rating",
)
async def explain_prediction(request: Request, service: Served, user: UserPath, item: ItemPath) -> Response:
    """Return the baseline of a predicted rating and the contributions of neighbors, which add up to it."""
    return await service.respond(
        request, ("prediction", user, item), lambda h: h.rating_explanation(h.user(user), item)
    )


@_get("/users/{user}/predictions", "users", schemas.PredictionsOut, "Predicted ratings")
async def get_predictions(request: Request, service: Served, user: UserPath, items: ItemsQuery) -> Response:
    """Return the predicted ratings of some items, in their order."""
    return await service.respond(
        request, ("predictions", user, *items), lambda h: h.predictions(h.user(user), items)
    )


@_post("/recommendations", "users", schemas.UsersRecommendationsOut, "Recommendations for several users")
async def recommend_to_users(
    request: Request, service: Served, body: schemas.UsersRecommendations
) -> Response:
    """Return the recommendations of several users in one response. An unknown user is an error for all."""
    return await service.respond(
        request, ("several", body), lambda h: h.users_recommendations(body.users, body), "large"
    )


@_post("/group/neighbors", "users", schemas.GroupNeighborsOut, "The users nearest to several users together")
async def get_group_neighbors(request: Request, service: Served, body: schemas.GroupNeighbors) -> Response:
    """Return the users nearest to the mixture of several users' preferences, for a model of PMD."""
    return await service.respond(
        request, ("group neighbors", body), lambda h: h.group_neighbors(body.users, body.k)
    )


@_post(
    "/group/recommendations",
    "users",
    schemas.GroupRecommendationsOut,
    "Recommendations for several users together",
)
async def recommend_to_group(request: Request, service: Served, body: schemas.Group) -> Response:
    """Return what suits several users together, who all count equally, with reasons for each."""
    return await service.respond(
        request, ("group", body), lambda h: h.group_recommendations(body.users, body), "large"
    )


@_get("/explanations", "pairs", schemas.UserExplanationOut, "Why two users are near")
async def explain_users(request: Request, service: Served, user: UserQuery, other: UserQuery) -> Response:
    """Return the value of the model's measure for two users, part by part; for PMD, the plan and a proof."""
    return await service.respond(
        request, ("explanation", user, other), lambda h: h.user_explanation(h.user(user), other)
    )


@_get("/comparison", "pairs", schemas.ComparisonOut, "Two users under all measures")
async def compare_users(request: Request, service: Served, user: UserQuery, other: UserQuery) -> Response:
    """Return the values of all measures for two users, and why some are undefined."""
    return await service.respond(
        request, ("comparison", user, other), lambda h: h.comparison(h.user(user), other)
    )


@_get("/items", "items", schemas.ItemsOut, "Search for items")
async def find_items(
    request: Request, service: Served, q: Text = "", offset: Offset = 0, limit: Limit = 20
) -> Response:
    """Return a page of the items whose title or id contains a text, those with most ratings first."""
    return await service.respond(
        request, ("items", q, offset, limit), lambda h: h.items(q, offset, limit), "light"
    )


@_get("/search", "model", schemas.SearchOut, "Search for items and users")
async def search(request: Request, service: Served, q: Text = "", limit: Limit = 6) -> Response:
    """Return the first items and users whose title or id contains a text, without case and punctuation."""
    return await service.respond(request, ("search", q, limit), lambda h: h.search(q, limit), "light")


@_job("/common-ground", "model", schemas.CommonGroundOut, "How often near users have nothing in common")
async def get_common_ground(request: Request, service: Served) -> Response:
    """Return figures about a sample of users, and users for whom it holds most."""
    return await service.respond_later(request, "common-ground", lambda h, p: h.common_ground(p))


@_job("/map/users", "users", schemas.MapOut, "A map of the users")
async def get_user_map(request: Request, service: Served) -> Response:
    """Return users as points in the plane, by estimated distances: near points are users with like tastes."""
    return await service.respond_later(request, "map-users", lambda h, p: h.user_map(p))


@_job("/map/items", "items", schemas.MapOut, "A map of the items")
async def get_item_map(request: Request, service: Served) -> Response:
    """Return items as points in the plane, by the distances that the model uses."""
    return await service.respond_later(request, "map-items", lambda h, p: h.item_map(p))


@_get("/items/{item}", "items", schemas.ItemDetailsOut, "An item")
async def get_item(request: Request, service: Served, item: ItemPath) -> Response:
    """Return an item, how often it got each rating, and who liked it."""
    return await service.respond(request, ("item", item), lambda h: h.item_details(item), "light")


@_get("/items/{item}/near", "items", schemas.NearItemsOut, "The nearest items")
async def get_near_items(request: Request, service: Served, item: ItemPath, k: K = 10) -> Response:
    """Return the items nearest to an item, by the distances that the model uses."""
    return await service.respond(request, ("near", item, k), lambda h: h.near_items(item, k), "light")


@_post("/guest/neighbors", "guest", schemas.NeighborsOut, "A guest's neighbors")
async def get_guest_neighbors(request: Request, service: Served, body: schemas.GuestNeighbors) -> Response:
    """Return the users nearest to a guest, with the number of items that both rated."""
    guest = body.key
    return await service.respond(
        request,
        ("neighbors", guest, body.k, body.strangers),
        lambda h: h.neighbors(h.guest(guest), body),
        _lane(body),
    )


@_post("/guest/lists", "guest", schemas.NeighborListsOut, "A guest's neighbors by several measures")
async def get_guest_neighbor_lists(request: Request, service: Served, body: schemas.Guest) -> Response:
    """Return the nearest users by the model's measure and by measures of common items, each list tested."""
    guest = body.key
    return await service.respond(
        request, ("lists", guest), lambda h: h.neighbor_lists(h.guest(guest)), "large"
    )


@_post("/guest/items", "guest", schemas.ListedItemsOut, "Some items by id")
async def list_items(request: Request, service: Served, body: schemas.ItemIds) -> Response:
    """Return items by their ids. Unknown ids are no error: they are listed apart."""
    return await service.respond(request, ("listed", *body.ids), lambda h: h.listed_items(body.ids), "light")


@_post("/guest/import", "guest", schemas.ImportOut, "Ratings exported from another site")
async def import_ratings(request: Request, service: Served, body: schemas.Export) -> Response:
    """Return the ratings in an export of Letterboxd or IMDb, matched by title and year. Nothing is stored."""
    return await service.respond(request, ("import", body.csv), lambda h: h.imported(body.csv))


@_post("/guest/recommendations", "guest", schemas.RecommendationsOut, "Recommendations for a guest")
async def get_guest_recommendations(
    request: Request, service: Served, body: schemas.GuestRecommendations
) -> Response:
    """Return items that a guest has not rated, each with its strongest reasons and what they add."""
    guest, options = body.key, body.model_dump(exclude={"ratings"})
    return await service.respond(
        request,
        ("recommendations", guest, options),
        lambda h: h.recommendations(h.guest(guest), body),
        _lane(body),
    )


@_post(
    "/guest/recommendations/explain",
    "guest",
    schemas.RecommendationExplanationOut,
    "Why an item is recommended to a guest",
)
async def explain_guest_recommendation(
    request: Request, service: Served, body: schemas.GuestItem
) -> Response:
    """Return what the guest's own ratings and those of like-minded users add to an item's score."""
    guest, item = body.key, body.item
    return await service.respond(
        request,
        ("recommendation", guest, item),
        lambda h: h.recommendation_explanation(h.guest(guest), item),
        _lane(body),
    )


@_post(
    "/guest/predictions/explain",
    "guest",
    schemas.RatingExplanationOut,
    "The parts of a guest's predicted rating",
)
async def explain_guest_prediction(request: Request, service: Served, body: schemas.GuestItem) -> Response:
    """Return the baseline of a predicted rating and the contributions of neighbors, which add up to it."""
    guest, item = body.key, body.item
    return await service.respond(
        request,
        ("prediction", guest, item),
        lambda h: h.rating_explanation(h.guest(guest), item),
        _lane(body),
    )


@_post("/guest/predictions", "guest", schemas.PredictionsOut, "Predicted ratings of a guest")
async def get_guest_predictions(
    request: Request, service: Served, body: schemas.GuestPredictions
) -> Response:
    """Return the predicted ratings of some items, in their order."""
    guest, items = body.key, body.items
    return await service.respond(
        request, ("predictions", guest, *items), lambda h: h.predictions(h.guest(guest), items), _lane(body)
    )


@_post("/guest/explanations", "guest", schemas.UserExplanationOut, "Why a guest is near a user")
async def explain_guest(request: Request, service: Served, body: schemas.GuestOther) -> Response:
    """Return the value of the model's measure for a guest and a user, part by part."""
    guest, other = body.key, body.other
    return await service.respond(
        request,
        ("explanation", guest, other),
        lambda h: h.user_explanation(h.guest(guest), other),
        _lane(body),
    )


@_post("/guest/comparison", "guest", schemas.ComparisonOut, "A guest and a user under all measures")
async def compare_guest(request: Request, service: Served, body: schemas.GuestOther) -> Response:
    """Return the values of all measures for a guest and a user, and why some are undefined."""
    guest, other = body.key, body.other
    return await service.respond(
        request, ("comparison", guest, other), lambda h: h.comparison(h.guest(guest), other), _lane(body)
    )
