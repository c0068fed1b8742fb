"""Clients that real generators make of the OpenAPI document, used against the running service."""

import inspect
import json
import keyword
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from prefmover.data.scale import Scale
from prefmover.server.app import openapi_schema

DOCUMENT = openapi_schema(Scale(1.0, 5.0, 0.5))
OPERATIONS = {
    operation["operationId"]: operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
}
GENERATORS = Path(sys.prefix) / "clients" / "bin"
NODE = Path(__file__).parents[2] / "node_modules" / ".bin"


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
    left_out = schema.get("else", {}).get("required", [])  # a person is a user here
    return {name: example(one) for name, one in schema["properties"].items() if name not in left_out}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The document as a file, in a folder of its own."""
    file = tmp_path_factory.mktemp("client") / "openapi.json"
    file.write_text(json.dumps(DOCUMENT))
    return file


@pytest.fixture(scope="module")
def package(document):
    """The package that openapi-python-client makes."""
    generator = GENERATORS / "openapi-python-client"
    if not generator.exists():
        pytest.skip("no openapi-python-client here; make test installs it")
    settings, out = document.with_name("settings.json"), document.with_name("prefmover_client")
    settings.write_text('{"post_hooks": []}')
    options = ["--config", settings, "--meta", "none", "--output-path", out, "--fail-on-warning"]
    run(generator, "generate", "--path", document, *options)
    sys.path.insert(0, str(out.parent))
    yield import_module(out.name)
    sys.path.remove(str(out.parent))


def run(*command):
    """Return what a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def call(package, client, name, **given):
    """Call an operation of the generated package; a body is given as JSON."""
    operation = import_module(f"{package.__name__}.api.{OPERATIONS[name]['tags'][0]}.{name}")
    if "body" in given:
        body = inspect.signature(operation.sync_detailed).parameters["body"].annotation
        given["body"] = body.from_dict(given["body"])
    with package.Client(base_url=str(client.base_url).rstrip("/"), timeout=600) as opened:
        return operation.sync_detailed(**given, client=opened)


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
    operation = OPERATIONS[name]
    assert operation["description"].endswith(".")
    assert "``" not in operation["description"]
    assert operation["summary"]
    assert operation["tags"][0] in [tag["name"] for tag in DOCUMENT["tags"]]
    for parameter in operation.get("parameters", []):
        assert parameter["description"], parameter["name"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_works_with_its_examples(package, client, model, name):
    given = {
        one["name"]: example(one["schema"])
        for one in OPERATIONS[name].get("parameters", [])
        if one["required"]
    }
    if body := OPERATIONS[name].get("requestBody"):
        given["body"] = example(body["content"]["application/json"]["schema"])
    if name == "get_counterfactual":  # the item must be one that is recommended
        given["body"]["item"] = model.recommend(given["body"]["user"], 1)[0].item
    answer = call(package, client, name, **given)
    assert answer.status_code in (200, 202)
    if not isinstance(answer.parsed, str):
        assert answer.parsed.to_dict() == json.loads(answer.content)


@pytest.mark.slow
def test_the_python_client_in_use(package, client, model):
    near = call(package, client, "get_neighbors", body={"user": "ada-b", "k": 3}).parsed.neighbors
    assert [(one.user, one.distance) for one in near] == [
        (one.user, one.distance) for one in model.neighbors("ada-b", 3)
    ]
    problem = call(package, client, "get_user", user="nobody")
    assert problem.status_code == 404
    assert problem.parsed.status == 404
    assert "nobody" in problem.parsed.detail


@pytest.mark.slow
def test_the_typescript_client_in_use(document, client, model):
    generator, compiler = NODE / "openapi-typescript", NODE / "tsc"
    if not (generator.exists() and compiler.exists() and shutil.which("node")):
        pytest.skip("no openapi-typescript here; npm ci installs it")
    folder = document.parent
    (folder / "package.json").write_text('{"type": "module"}')
    source = shutil.copy(Path(__file__).with_name("typed_client.ts"), folder)
    run(generator, document, "-o", folder / "api.ts", "--default-non-nullable", "false")
    options = ["--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"]
    run(compiler, *options, source)
    printed = json.loads(run("node", source.replace(".ts", ".js"), str(client.base_url).rstrip("/")))
    guest = model.guest({"alien-1979": 5})
    assert printed["users"] == [one.user for one in model.neighbors("ada-b", 3)]
    assert printed["items"] == [one.item for one in model.recommend(guest, 2, novelty=0.5)]
    assert "nobody" in printed["problem"]
    assert "field" in printed["refused"]
