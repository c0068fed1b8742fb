"""The recipes in ``deploy/``, which docs/howto/deploy.md shows.

nginx is run, systemd checks its unit, and the commands of the container are run outside of one.
"""

import io
import json
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import httpx
import pytest

from prefmover import Recommender
from prefmover.server import logs
from tests.server.conftest import is_problem, listening, small_data, wait_until_ready
from tests.server.deployed import DEPLOY, NAME, free_port, nginx

pytestmark = pytest.mark.slow

ROOT = DEPLOY.parent
PROGRAM = [sys.executable, "-m", "prefmover.cli"]
ID = "a/b c"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deployed") / "model"
    users, items = [ID, ID, "ann", "ann"], ["x", "y", "y", "z"]
    Recommender(n_threads=1).fit(small_data(users, items, [5, 3, 4, 1], [[1, 0], [1, 1], [0, 1]])).save(
        folder
    )
    return folder


def served(command, port, environment=None):
    """Start a command of a recipe, and return the process once it answers."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout.readline().strip().endswith(f":{port}/")
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        wait_until_ready(client)
    return process


def stopped(process):
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(30)
    finally:
        process.kill()
        process.stdout.close()


def unit():
    text = (DEPLOY / "prefmover.service").read_text()
    return re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)


def test_nginx_in_front_of_the_unit(model_folder, tmp_path):
    """The command of the systemd unit, and the real nginx before it: TLS, names, paths, clients, ids."""
    port, token = free_port(), "a-token-of-some-length"
    (tmp_path / "token").write_text(token)
    words = shlex.split(dict(unit())["ExecStart"].replace("%d/token", str(tmp_path / "token")))
    assert words[1:4] == ["serve", "--model", "/srv/prefmover-model"]
    command = [*PROGRAM, *words[1:3], str(model_folder), *words[4:], "--port", str(port)]
    process = served(command, port)
    try:
        with nginx(port, tmp_path) as (address, authority):
            trust = ssl.create_default_context(cafile=str(authority))
            headers = {"Host": NAME, "Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=address, verify=trust, headers=headers, timeout=30) as client:
                assert client.get("/films").headers["location"] == "/films/"
                assert "prefmover" in client.get("/films/").text
                assert client.get("/films/assets/main.js").status_code == 200
                assert client.get("/films/docs").status_code == 200
                assert client.get("/films/metrics").status_code == 404
                assert client.get("/").status_code == 404
                user = client.get("/films/api/v1/users/a%2Fb%20c").json()
                assert user["id"] == ID
                body = {"ratings": [{"item": "x", "rating": 5}], "n": 1}
                best = client.post("/films/api/v1/recommendations", json=body)
                assert len(best.json()["recommendations"]) == 1
                assert re.fullmatch("[0-9a-f]{32}", best.headers["x-request-id"])  # nginx's
                problem = client.get("/films/api/v1/users/nobody")
                is_problem(problem, 404)
                assert problem.json()["instance"] == "/films/api/v1/users/nobody"
                is_problem(client.get("/films/api/v1/users", headers={"Authorization": ""}), 401)
                is_problem(client.get("/films/api/v1/users", headers={"Host": "evil.example"}), 421)
                schema = client.get("/films/api/v1/openapi.json")
                assert schema.json()["servers"][0]["url"] == "/films"
                assert schema.headers["content-encoding"] == "gzip"
                known = {"If-None-Match": client.get("/films/api/v1/users/ann").headers["etag"]}
                assert client.get("/films/api/v1/users/ann", headers=known).status_code == 304
                assert client.head("/films/healthz").status_code == 200
    finally:
        assert stopped(process) == 0


def test_the_client_that_nginx_reports(handlers, tmp_path):
    stream = io.StringIO()
    settings = {"allowed_hosts": (NAME,), "root_path": "/films", "proxies": ("127.0.0.1",)}
    with (
        logs.log_to(stream, access=True),
        listening(handlers, **settings) as client,
        nginx(client.base_url.port, tmp_path) as (address, authority),
    ):
        trust = ssl.create_default_context(cafile=str(authority))
        sent = {"Host": NAME, "X-Forwarded-For": "6.6.6.6"}  # a client may write what it likes
        transport = httpx.HTTPTransport(verify=trust, local_address="127.0.0.9")
        with httpx.Client(base_url=address, headers=sent, transport=transport, timeout=60) as another:
            response = another.get("/films/api/v1/model")
            assert response.status_code == 200
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    line = next(one for one in lines if one.get("path") == "/films/api/v1/model")
    assert line["client"] == "127.0.0.9"
    assert line["request"] == response.headers["x-request-id"]


def test_the_unit_is_valid(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze on this machine; it is part of systemd")
    copy = tmp_path / "prefmover.service"
    program = dict(unit())["ExecStart"].split()[0]
    copy.write_text((DEPLOY / "prefmover.service").read_text().replace(program, "/bin/true"))
    done = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_gives_requests_the_time_they_need():
    settings = dict(unit())
    words = settings["ExecStart"].split()
    notice = float(words[words.index("--notice") + 1])
    assert (
        float(settings["TimeoutStopSec"]) > notice + 8 + 2
    )  # the default of --grace, and the last responses
    assert int(settings["LimitNOFILE"]) >= 1200  # the connections, and some more


def instructions():
    """Return the instructions of the container file."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)
    return [line.split(maxsplit=1) for line in text.replace("\\\n", " ").splitlines() if line]


def test_the_container_gets_what_it_needs():
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text().split()
    kept = [line[1:] for line in ignored if line.startswith("!")]
    for name, rest in instructions():
        if name == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, pattern) for pattern in kept), source
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (install,) = [rest for name, rest in instructions() if name == "RUN" and "pip" in rest]
    assert re.search(r"\[(\w+)\]", install)[1] in extras
    users = [rest for name, rest in instructions() if name == "USER"]
    assert users
    assert users[-1] not in ("0", "root")


def test_the_container_starts_is_healthy_and_stops(model_folder, tmp_path):
    """Its commands, run here: the process is the service itself, and ends in time."""
    final = dict(instructions())
    port = free_port()
    (tmp_path / "token").write_text("a-token-of-some-length")
    places = {"/model": str(model_folder), "/run/secrets/token": str(tmp_path / "token")}
    words = [*json.loads(final["ENTRYPOINT"]), *json.loads(final["CMD"])]
    assert words[:2] == ["prefmover", "serve"]
    command = [*PROGRAM, *(places.get(word, word) for word in words[1:]), "--port", str(port)]
    environment = dict(pair.split("=") for pair in final["ENV"].split())
    assert environment.keys() == {"XDG_CACHE_HOME", "PYTHONUNBUFFERED"}
    process = served([word.replace("0.0.0.0", "127.0.0.1") for word in command], port)
    try:
        check = json.loads(final["HEALTHCHECK"].partition("CMD ")[2])
        check = [sys.executable, *(word.replace(":8000/", f":{port}/") for word in check[1:])]
        assert subprocess.run(check).returncode == 0
    finally:
        code = stopped(process)
    assert code == 0
    assert subprocess.run(check, stderr=subprocess.DEVNULL).returncode == 1
    notice, grace = (float(words[words.index(option) + 1]) for option in ("--notice", "--grace"))
    assert notice + grace + 2 <= 10  # what docker stop waits


def test_the_page_shows_the_files():
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text()
    shown = re.findall(r"\{literalinclude\} (\S+)", page)
    assert {Path(path).name for path in shown} == {"Containerfile", "prefmover.service", "nginx.conf"}
    for path in shown:
        assert (ROOT / "docs" / "howto" / path).resolve().is_file()
