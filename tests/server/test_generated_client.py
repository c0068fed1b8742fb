"""A client generated from the OpenAPI document, called with the examples in it.

Generators take the names of methods from ``operationId``, arguments from the parameters, their documentation
from the descriptions, and classes from the schemas. Here a small one does the same.
"""

import keyword
from urllib.parse import quote

import httpx
import jsonschema
import pytest

from prefmover.data.scale import Scale
from prefmover.server.app import openapi_schema

DOCUMENT = openapi_schema(Scale(1.0, 5.0, 0.5))
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


class ServiceError(Exception):
    """An error of the service."""


def generate(document, base_url):
    """Return a class whose methods are the operations of a document."""

    def method_of(verb, path, operation):
        def call(self, body=None, **arguments):
            named = {one["name"]: one for one in operation.get("parameters", [])}
            assert arguments.keys() <= named.keys(), f"there is no argument {arguments.keys() - named.keys()}"
            missing = {name for name, one in named.items() if one["required"]} - arguments.keys()
            assert not missing, f"{missing} must be given"
            filled, query = path, {}
            for name, value in arguments.items():
                if named[name]["in"] == "path":
                    filled = filled.replace(f"{{{name}}}", quote(value, safe=""))
                else:
                    query[name] = value
            response = httpx.request(verb, base_url + filled, params=query, json=body, timeout=60)
            answers = operation["responses"]
            assert str(response.status_code) in answers, f"{response.status_code} is not documented"
            ((kind, content),) = answers[str(response.status_code)]["content"].items()
            assert response.headers["content-type"].partition(";")[0] == kind
            if not kind.endswith("json"):
                return response.text
            whole = {**content["schema"], "components": document["components"]}
            jsonschema.Draft202012Validator(whole).validate(response.json())
            if response.is_error:
                raise ServiceError(response.json()["detail"])
            return response.json()

        call.__doc__ = operation["description"]
        return call

    return type("Client", (), {name: method_of(*one) for name, one in OPERATIONS.items()})()


def resolved(schema):
    name = schema.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name] if name else schema


def example(schema):
    """Return the example of a schema: its own, or made of those of its fields."""
    schema = resolved(schema)
    for key in ("example", "default"):
        if key in schema:
            return schema[key]
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("type") == "array":
        return [example(schema["items"])]
    left_out = {name for other in schema.get("oneOf", [])[1:] for name in other["required"]}
    return {name: example(one) for name, one in schema["properties"].items() if name not in left_out}


@pytest.fixture(scope="module")
def generated(client):
    return generate(DOCUMENT, str(client.base_url).rstrip("/"))


def test_names_are_names():
    listed = [o["operationId"] for methods in DOCUMENT["paths"].values() for o in methods.values()]
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert len(name) <= 30
    assert {"get_neighbors", "get_item", "recommend_each", "get_recommendations"} <= set(listed)


@pytest.mark.parametrize("name", OPERATIONS)
def test_everything_is_described(name):
    _, _, operation = OPERATIONS[name]
    assert operation["description"].endswith(".")
    assert "``" not in operation["description"]
    assert operation["summary"]
    assert operation["tags"][0] in [tag["name"] for tag in DOCUMENT["tags"]]
    for parameter in operation.get("parameters", []):
        assert parameter["description"], parameter["name"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_works_with_its_examples(generated, name):
    _, _, operation = OPERATIONS[name]
    arguments = {
        one["name"]: example(one["schema"]) for one in operation.get("parameters", []) if one["required"]
    }
    body = operation.get("requestBody")
    content = None if body is None else example(body["content"]["application/json"]["schema"])
    assert getattr(generated, name)(content, **arguments)


def test_the_client_in_use(generated, model):
    near = generated.get_neighbors({"user": "ada-b", "k": 3})["neighbors"]
    assert [one["user"] for one in near] == [one.user for one in model.neighbors("ada-b", 3)]
    with pytest.raises(ServiceError, match="nobody"):
        generated.get_user(user="nobody")
    with pytest.raises(AssertionError, match="user"):
        generated.get_user(limit=3)
