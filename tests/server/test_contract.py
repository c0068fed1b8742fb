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


@schema.parametrize()
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)
def test_the_api_keeps_its_contract(case, service):
    response = case.call(base_url=str(service.base_url).rstrip("/"))
    # JSON Schema cannot say that each item may be rated only once, that conditions
    # must leave an item, or what texts are conditions and exports.
    rated = case.body.get("ratings") if isinstance(case.body, dict) else None
    listed = rated if isinstance(rated, list) else []
    items = [str(one.get("item")) for one in listed if isinstance(one, dict)]
    twice = response.status_code == 422 and len(set(items)) < len(items)
    none_left = response.status_code == 422 and "No item is left" in response.json()["detail"]
    sent = {**(case.query or {}), **(case.body if isinstance(case.body, dict) else {})}
    no_text = response.status_code == 422 and bool(sent.get("csv") or sent.get("where"))
    excluded = [positive_data_acceptance] if twice or none_left or no_text else []
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
