"""Behind a proxy: names, the root path, and the addresses of clients."""

import pytest

from prefmover.errors import InputError
from prefmover.server.clients import Clients
from prefmover.server.pages import read_assets
from prefmover.server.settings import Settings
from tests.messages import unnamed
from tests.server.conftest import is_problem, listening

NAME = "films.example.org"


@pytest.fixture(scope="module")
def proxied(handlers):
    with listening(
        handlers, allowed_hosts=(NAME,), root_path="/apps/films", proxies=("127.0.0.1",)
    ) as client:
        yield client


@pytest.mark.parametrize("host", [NAME, f"{NAME}:443", NAME.upper(), "localhost", "127.0.0.1:80"])
def test_names_that_are_allowed(proxied, host):
    assert proxied.get("/api/v1/model", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", f"{NAME}.evil.example", f"x{NAME}", f"{NAME}:80:80", ""])
def test_names_that_are_not(proxied, host):
    assert "--allowed-host" in is_problem(proxied.get("/api/v1/model", headers={"Host": host}), 421)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_may_use_any_name(proxied, path):
    assert proxied.get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200


@pytest.mark.parametrize("root", ["", "/apps/films"], ids=["removed by the proxy", "left in place"])
def test_the_root_path(proxied, root):
    for path in ("/", "/docs", "/assets/main.js", "/healthz", "/api/v1/users/ada-b", "/api/v1/openapi.json"):
        assert proxied.get(root + path).status_code == 200
    problem = proxied.get(f"{root}/api/v1/users/nobody")
    is_problem(problem, 404)
    assert problem.json()["instance"] == f"{root}/api/v1/users/nobody"


def test_the_folder_without_its_slash(proxied):
    response = proxied.get("/apps/films")
    assert response.status_code == 308
    assert response.headers["location"] == "/apps/films/"
    assert proxied.get("/apps/filmsx").status_code == 404


def test_ids_with_slashes_under_a_root_path(proxied):
    assert "'a/b'" in is_problem(proxied.get("/apps/films/api/v1/users/a%2Fb"), 404)


def test_generated_clients_learn_the_root_path(proxied, client):
    servers = [one.get("/api/v1/openapi.json").json()["servers"][0]["url"] for one in (proxied, client)]
    assert servers == ["/apps/films", "/"]


def test_every_path_in_the_pages_is_relative():
    """So the pages work under any root path, and no page needs to know it."""
    import re

    for path, asset in read_assets().items():
        if asset.media_type.startswith("text/"):
            text = asset.body.decode()
            named = re.findall(r"""(?:src|href|from|import\(|fetch\(|url\()=?\s*["'](/[^"']*)""", text)
            assert (path, named) == (path, [])
            assert "/api/v1" not in text.replace("../api/v1", "") or path.startswith("/docs"), path


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("198.51.100.1", ["203.0.113.7"], "198.51.100.1"),  # not a proxy
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["6.6.6.6, 203.0.113.7"], "203.0.113.7"),  # the client wrote the first one
        ("10.0.0.1", ["203.0.113.7, 10.0.0.2"], "203.0.113.7"),  # two proxies in a row
        ("10.0.0.1", ["203.0.113.7", "10.0.0.2"], "203.0.113.7"),  # a header each
        ("10.0.0.1", ["203.0.113.7:1234"], "203.0.113.7"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7, <script>, 10.0.0.2"], "10.0.0.2"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        (None, ["203.0.113.7"], "unknown"),
    ],
)
def test_the_address_of_the_client(peer, forwarded, client):
    assert Clients(["10.0.0.0/8"]).address(peer, forwarded) == client


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"allowed_hosts": ("https://films.example.org",)}, "https://films.example.org"),
        ({"allowed_hosts": ("films.example.org:443",)}, "films.example.org:443"),
        ({"allowed_hosts": ("",)}, "allowed host"),
        ({"proxies": ("localhost",)}, "'localhost'"),
        ({"proxies": ("10.0.0.1/8",)}, "'10.0.0.1/8'"),
        ({"root_path": "films"}, "'films'"),
        ({"root_path": "/films/../x"}, "'/films/../x'"),
        ({"root_path": "/api"}, "'/api'"),
        ({"root_path": "/docs/films"}, "'/docs/films'"),
        ({"grace": -1}, "grace"),
    ],
    ids=str,
)
def test_bad_settings(wrong, named):
    with pytest.raises(InputError) as error:
        Settings(**wrong)
    assert not unnamed(str(error.value), named)
