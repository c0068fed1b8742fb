"""The addresses of the service: each has a handler, whose parameters are checked, and which a worker calls.

``GET`` looks things up that have an address of their own: users, items, maps. ``POST`` asks questions about a
person, who is a user or a guest.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from prefmover.server.handlers import lookup, neighbors, overview, pairs, recommend
from prefmover.server.problems import MEDIA_TYPE, ProblemError
from prefmover.server.schemas.requests import Person
from prefmover.server.schemas.responses import JobOut, StatusOut
from prefmover.server.service import Service
from prefmover.server.workers import LaneName

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
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise ProblemError(422, f"There is no parameter {name!r}; this address {takes}.")
        if name in seen:
            raise ProblemError(422, f"The parameter {name!r} occurs twice; give it once.")
        seen.add(name)


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

posts: set[str] = set()
"""The paths that take a body."""
Handler = Callable[..., BaseModel]
LARGE_GUEST = 100  # ratings; finding the place of a guest takes time in proportion


@health.get("/healthz", summary="Whether the service is alive")
async def get_health() -> StatusOut:
    """Return 200 as long as the process can answer, also while it starts or stops."""
    return StatusOut(status="ok")


@health.get(
    "/readyz",
    summary="Whether the service is ready",
    responses=_problems(_503="The service is starting, with `progress`; or it is stopping."),
)
async def get_readiness(request: Request) -> StatusOut:
    """Return 200 if requests will be answered. Send no traffic to the service while this is 503."""
    request.app.state.service.check_ready()
    return StatusOut(status="ready")


@health.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **_problems(_401="The token is missing or wrong."),
    },
)
async def get_metrics(request: Request) -> Response:
    """Return requests, latencies, queues, the cache and the work of searches, in Prometheus' text format."""
    return Response(request.app.state.service.metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _serve(path: str, tag: str, summary: str, work: Handler, lane: LaneName | None = None) -> None:
    """Give a handler an address.

    Its parameters after the model are those of the request: a ``body`` is posted. With ``progress``, it is
    called once for everybody, when somebody first asks. Otherwise it is called on a lane: by default the
    light one, or the heavy one if it is posted.
    """
    signature = inspect.signature(work, eval_str=True)
    _, *given = (one.replace(kind=one.KEYWORD_ONLY) for one in signature.parameters.values())
    responses: dict[int | str, dict[str, Any]] = {}
    if "body" in signature.parameters:
        responses = POSTED
        posts.add(api.prefix + path)
    elif "progress" in signature.parameters:
        given = []
        responses = {202: {"model": JobOut, "description": "It is being computed; ask again in a second."}}

    async def endpoint(request: Request, **given: Any) -> Response:
        service: Service = request.app.state.service
        body = given.get("body")
        if "progress" in signature.parameters:
            return await service.compute_once(request, path.strip("/").replace("/", "-"), work)
        large = isinstance(body, Person) and len(body.key) > LARGE_GUEST
        where = "large" if large else lane or ("light" if body is None else "heavy")
        return await service.respond(
            request, (work.__name__, *given.values()), lambda served: work(served, **given), where
        )

    asked = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    endpoint.__signature__ = inspect.Signature([asked, *given])  # type: ignore[attr-defined]
    api.add_api_route(
        path,
        endpoint,
        methods=["POST" if "body" in signature.parameters else "GET"],
        name=work.__name__,
        tags=[tag],
        summary=summary,
        description=work.__doc__,
        response_model=signature.return_annotation,
        responses=responses,
    )


_serve("/model", "model", "The model and its data", overview.get_model)
_serve("/search", "model", "Search for items and users", lookup.search)
_serve("/common-ground", "model", "How often near users have nothing in common", neighbors.get_common_ground)
_serve("/users", "users", "Search for users", lookup.find_users)
_serve("/users/{user}", "users", "A user's ratings", lookup.get_user)
_serve("/map/users", "users", "A map of the users", overview.get_user_map)
_serve("/items", "items", "Search for items", lookup.find_items)
_serve("/items/{item}", "items", "An item", lookup.get_item)
_serve("/items/{item}/near", "items", "The nearest items", lookup.get_near_items)
_serve("/map/items", "items", "A map of the items", overview.get_item_map)
_serve("/lookup", "items", "Some items by id", lookup.list_items, "light")
_serve("/import", "items", "Ratings exported from another site", lookup.import_ratings, "large")
_serve("/neighbors", "people", "The nearest users", neighbors.get_neighbors)
_serve("/neighbors/lists", "people", "Neighbors by several measures", neighbors.get_neighbor_lists, "large")
_serve("/recommendations", "people", "Recommendations, with reasons", recommend.get_recommendations)
_serve("/recommendations/why", "people", "Why an item is recommended", recommend.explain_recommendation)
_serve(
    "/recommendations/counterfactual", "people", "What would change a recommendation",
    recommend.get_counterfactual, "large",
)  # fmt: skip
_serve("/predictions", "people", "Predicted ratings", recommend.get_predictions)
_serve("/predictions/why", "people", "The parts of a predicted rating", recommend.explain_prediction)
_serve("/explanations", "pairs", "Why two users are near", pairs.explain_users)
_serve("/comparison", "pairs", "Two users under all measures", pairs.compare_users)
_serve("/batch/recommendations", "groups", "What suits several users each", recommend.recommend_each, "large")
_serve("/group/recommendations", "groups", "What suits several users", recommend.recommend_group, "large")
_serve("/group/neighbors", "groups", "Who is near several users", neighbors.get_group_neighbors)
