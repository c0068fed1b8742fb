"""The API keeps to its schema: schemathesis makes valid and invalid requests from it."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from prefmover.data.scale import Scale
from prefmover.server.app import openapi_schema
from tests.server.conftest import listening

pytestmark = pytest.mark.slow

promised = openapi_schema(Scale(1.0, 5.0, 0.5))
schema = schemathesis.openapi.from_dict(promised)


@pytest.fixture(scope="module")
def service(handlers):
    with listening(handlers) as client:
        yield client


def beyond_the_schema(case, response):
    """Return whether a request was refused for a reason that JSON Schema cannot express.

    Each item may be rated only once, which is found with the schema, and listed in ``errors``. Whatever else
    is listed there breaks the schema, and has no excuse. Other refusals have a ``reason``.
    """
    if response.status_code != 422:
        return False
    problem, sent = response.json(), case.body if isinstance(case.body, dict) else {}
    listed = problem.get("errors", [])
    if listed:
        rated = sent.get("ratings") if isinstance(sent.get("ratings"), list) else []
        items = [str(one.get("item")) for one in rated if isinstance(one, dict)]
        return [one["where"] for one in listed] == ["body"] and len(set(items)) < len(items)
    given = {"nothing-left": True, "not-listed": "item" in sent or "without" in sent}
    given["unreadable"] = bool(sent.get("csv") or sent.get("where"))
    return given.get(problem.get("reason"), False)


@schema.parametrize()
@settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
def test_the_api_keeps_its_contract(case, service):
    response = case.call(base_url=str(service.base_url).rstrip("/"))
    excluded = [positive_data_acceptance] if beyond_the_schema(case, response) else []
    case.validate_response(response, excluded_checks=excluded)


def test_the_schema_that_is_served_is_the_one_tested(service):
    assert service.get("/api/v1/openapi.json").json() == promised


def test_every_operation_tells_its_problems():
    for path, methods in promised["paths"].items():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                kinds = set(response["content"])
                assert kinds == ({"application/problem+json"} if status >= "400" else kinds), path
            if path.startswith("/api/"):
                assert {"200", "401", "422", "503"} <= set(operation["responses"]), path
            assert operation["summary"]
