"""``prefmover serve`` as a process: start, stop, and refusals."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from prefmover import Recommender
from prefmover.errors import InputError
from prefmover.execution.jit import kernel_folder
from prefmover.server.settings import Settings
from tests.server.conftest import wait_until_ready

pytestmark = pytest.mark.slow


def command(*arguments):
    return [sys.executable, "-m", "prefmover.cli", "serve", *map(str, arguments)]


def refused(*arguments, **environment):
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "some-films"
    Recommender().fit(data).save(path)
    return path


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_starts_and_stops(folder, sent, code):
    process = subprocess.Popen(
        command("--model", folder, "--port", 0), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with httpx.Client(base_url=address, timeout=60) as client:
            if code == 0:  # the other one is stopped during the warm-up
                wait_until_ready(client)
                items = client.get("/api/v1/items", params={"q": "fargo"}).json()["items"]
                assert items[0]["title"] == "Fargo (1996)"
                model = client.get("/api/v1/model").json()
                assert (model["name"], model["item_noun"]) == ("some-films", "film")
            process.send_signal(sent)
            output = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code, output
    assert "Traceback" not in output[1]


def test_the_end_under_load(folder):
    """Sixteen clients, and SIGTERM: every request is answered or not accepted, and nothing is a 500."""
    command_line = command("--model", folder, "--port", 0, "--notice", 5, "--grace", 1, "--threads", 2)
    process = subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, answers, over = [], [], threading.Event()
    reader = threading.Thread(target=lambda: lines.extend(process.stderr))
    reader.start()
    try:
        address = process.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=60) as client:
            wait_until_ready(client)
            films = [one["id"] for one in client.get("/api/v1/items", params={"limit": 200}).json()["items"]]

        def work(seed):
            dice = random.Random(seed)
            while not over.is_set():
                chosen = dice.sample(films, 90)
                body = {"ratings": [{"item": film, "rating": dice.randint(1, 5)} for film in chosen]}
                try:
                    answers.append(httpx.post(f"{address}api/v1/recommendations", json=body, timeout=120))
                except httpx.TransportError as error:
                    answers.append(error)
                    return

        with ThreadPoolExecutor(17) as pool, httpx.Client(base_url=address, timeout=60) as client:
            crowd = [pool.submit(work, seed) for seed in range(16)]
            while len(answers) < 20:
                time.sleep(0.02)
            assert client.get("/readyz").status_code == 200
            process.send_signal(signal.SIGTERM)
            while (ready := client.get("/readyz")).status_code == 200:
                pass
            assert process.wait(120) == 0
            over.set()
            for one in crowd:
                one.result(120)
    finally:
        over.set()
        process.kill()
        process.wait()
        reader.join(30)
        process.stdout.close()
        process.stderr.close()
    assert ready.status_code == 503
    answered = [one for one in answers if isinstance(one, httpx.Response)]
    assert {one.status_code for one in answered} <= {200, 503}
    for one in answered:
        if one.status_code == 503:
            assert int(one.headers["retry-after"]) >= 1
            assert one.json()["status"] == 503
    lost = [one for one in answers if isinstance(one, httpx.TransportError)]
    assert all(
        isinstance(one, httpx.ConnectError | httpx.ReadError | httpx.RemoteProtocolError) for one in lost
    )
    logged = [json.loads(line) for line in lines]
    assert not [line for line in logged if "traceback" in line]
    posts = [line["status"] for line in logged if line.get("method") == "POST"]
    assert set(posts) <= {200, 503}
    assert len(posts) == len(answered)


def test_sigterm_before_the_service_listens():
    code = (
        "import time; from prefmover.cli.serve import _ends_on_sigterm\n"
        "with _ends_on_sigterm():\n"
        "    print(1, flush=True)\n"
        "    for _ in range(600): time.sleep(.1)"  # a signal right before a sleep is handled after it
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"1\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_files(tmp_path):
    (tmp_path / "stars.csv").write_text("user,item,rating\nann,x,5\nann,y,3\nbob,y,4\nbob,z,1\n")
    (tmp_path / "tags.csv").write_text("item,title,tags\nx,Ex,a b\ny,Why,a\nz,Zed,c\n")
    arguments = ["--ratings", tmp_path / "stars.csv", "--items", tmp_path / "tags.csv", "--port", 0]
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": str(kernel_folder().parent)},
    )
    try:
        address = process.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=60) as client:
            wait_until_ready(client)
            assert client.get("/api/v1/items", params={"q": "zed"}).json()["items"][0]["id"] == "z"
            model = client.get("/api/v1/model").json()
            assert (model["n_users"], model["item_noun"]) == (2, "item")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_nothing_or_too_much_to_serve(folder):
    assert "--dataset" in refused()
    assert "--dataset" in refused("--model", folder, "--dataset", "cinema")


def test_not_a_model(tmp_path):
    assert "header.json" in refused("--model", tmp_path, "--port", 0)


def test_not_on_loopback_without_a_token(folder):
    message = refused("--model", folder, "--host", "0.0.0.0", "--port", 0, PREFMOVER_TOKEN="")
    assert "token" in message
    assert "127.0.0.1" in message


def test_a_port_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "--port" in refused("--model", folder, "--port", taken.getsockname()[1])


@pytest.mark.parametrize("token", ["short", "with a blank in it, long", "ümläutümläutümläut", ""])
def test_bad_tokens(token):
    with pytest.raises(InputError, match="token"):
        Settings(host="0.0.0.0", token=token or None)


def test_a_token_from_a_file(tmp_path):
    from prefmover.cli.serve import _token

    path = tmp_path / "token"
    path.write_text("a-token-of-some-length\n")
    assert _token(None, str(path)) == "a-token-of-some-length"
    with pytest.raises(InputError):
        _token("x", str(path))
    with pytest.raises(InputError, match="nothing"):
        _token(None, str(tmp_path / "nothing"))


def test_a_token_from_the_environment(monkeypatch):
    from prefmover.cli.serve import _token

    monkeypatch.setenv("PREFMOVER_TOKEN", "a-token-of-some-length")
    assert _token(None, None) == "a-token-of-some-length"


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0}, {"notice": -1}, {"n_threads": 0}, {"host": "no such host.invalid"}], ids=str
)
def test_bad_settings(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Settings(**wrong)
