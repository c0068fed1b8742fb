"""``prefmover serve`` as a process: what it says, how it stops, and when it refuses to start."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from prefmover.errors import InputError
from prefmover.server import loading as models
from prefmover.server.settings import Settings
from tests.server.conftest import wait_until_ready


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
def folder(model, labels, tmp_path_factory):
    from prefmover import datasets
    from prefmover.model.catalog_file import write_catalog

    made = tmp_path_factory.mktemp("served") / "some-films"
    model.save(made)
    write_catalog(made, datasets.load("cinema").items)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_starts_and_stops(folder, sent, code):
    process = subprocess.Popen(
        command(folder, "--port", 0), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with httpx.Client(base_url=address, timeout=60) as client:
            if code == 0:  # the other one is stopped while it still warms up
                wait_until_ready(client)
                found = client.get("/api/v1/items", params={"q": "fargo"}).json()["items"]
                assert found[0]["title"] == "Fargo (1996)"
                assert client.get("/api/v1/model").json()["name"] == "some-films"
            process.send_signal(sent)
            told = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code, told
    assert "Traceback" not in told[1]


def test_nothing_or_too_much_to_serve(folder):
    assert "--dataset" in refused()
    assert "--dataset" in refused(folder, "--dataset", "cinema")


def test_not_a_model(tmp_path):
    assert "header.json" in refused(tmp_path, "--port", 0)


def test_not_on_loopback_without_a_token(folder):
    told = refused(folder, "--host", "0.0.0.0", "--port", 0, PREFMOVER_TOKEN="")
    assert "token" in told
    assert "127.0.0.1" in told


def test_a_port_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "--port" in refused(folder, "--port", taken.getsockname()[1])


@pytest.mark.parametrize("token", ["short", "with a blank in it, long", "ümläutümläutümläut", ""])
def test_tokens_that_will_not_do(token):
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
    "wrong",
    [
        {"port": -1},
        {"port": 65536},
        {"seconds": 0},
        {"queue": -1},
        {"workers": 0},
        {"host": "no such host.invalid"},
    ],
    ids=str,
)
def test_settings_that_will_not_do(wrong):
    with pytest.raises(InputError, match=str(next(iter(wrong))).replace("workers", "n_jobs")):
        Settings(**wrong)


def test_a_data_set_is_fitted_once(monkeypatch, tmp_path):
    """The second start loads what the first has kept."""
    import numpy as np
    import platformdirs

    from prefmover import UserKNN, datasets
    from prefmover.datasets import cinema

    data = cinema.load()
    few = type(data)(
        "few", data.ratings.take(users=np.arange(0, 800, 40)), data.items, "", "", lambda: data.geometry
    )
    monkeypatch.setattr(datasets, "load", lambda name: few)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: Path(tmp_path))
    first = models.of_dataset("few")
    monkeypatch.setattr(UserKNN, "fit", None)
    second = models.of_dataset("few")
    assert first.names.items.labels == second.names.items.labels
    assert "Alien (1979)" in second.names.items.labels
    user = few.ratings.users[0]
    assert first.model.recommend(user, 3)[0].rating == second.model.recommend(user, 3)[0].rating


def test_a_folder_that_cannot_be_written_does_not_matter(monkeypatch, tmp_path):
    import numpy as np
    import platformdirs

    from prefmover import datasets
    from prefmover.datasets import cinema

    data = cinema.load()
    few = type(data)(
        "few", data.ratings.take(users=np.arange(0, 800, 100)), data.items, "", "", lambda: data.geometry
    )
    (tmp_path / "models").write_text("a file where the folder should be")
    monkeypatch.setattr(datasets, "load", lambda name: few)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: Path(tmp_path))
    assert "Alien (1979)" in models.of_dataset("few").names.items.labels
