"""Programs outside of the project: ``make test`` names them, ``make test-setup`` installs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import programs

ROOT = Path(__file__).parents[2]
SKIPPING = """
import pytest
from tools.programs import MISSING, MISSING_NGINX

@pytest.fixture(scope="session")
def browser():
    pytest.skip(MISSING)

@pytest.mark.parametrize("n", range(3))
def test_page(browser, n): ...

def test_another_place():
    pytest.skip(MISSING)

def test_proxy():
    pytest.skip(MISSING_NGINX)

def test_other_reason():
    pytest.skip("the moon is full")

def test_here(): ...
"""


@pytest.fixture
def nothing_here(monkeypatch):
    monkeypatch.setattr(programs, "find_chromium", lambda: None)
    monkeypatch.setattr(programs, "find_nginx", lambda: None)


@pytest.fixture
def apt(monkeypatch):
    """Calls of apt-get, which is not run."""
    calls = []
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: f"/usr/bin/{name}")
    monkeypatch.setattr(programs.subprocess, "run", lambda command, **_: calls.append(command))
    return calls


@pytest.mark.usefixtures("nothing_here")
def test_tests_say_what_is_missing_and_install_nothing(apt, capsys):
    assert programs.main() == 0
    told = capsys.readouterr().err
    assert told == (
        "no Chromium and nginx on this machine: tests that need them are skipped; "
        "`make test-setup` installs them (as root, Debian's chromium and nginx-light)\n"
    )
    assert apt == []


def test_nothing_is_said_where_nothing_is_missing(monkeypatch, apt, capsys):
    monkeypatch.setattr(programs, "find_chromium", lambda: "/usr/bin/chromium")
    monkeypatch.setattr(programs, "find_nginx", lambda: "/usr/sbin/nginx")
    assert programs.main() == 0
    assert capsys.readouterr() == ("", "")
    assert programs.main("install") == 0
    assert capsys.readouterr().out == "test-setup: Chromium and nginx are here, nothing to install\n"
    assert apt == []


@pytest.mark.usefixtures("nothing_here")
def test_root_installs_what_is_missing(monkeypatch, apt, capsys):
    monkeypatch.setattr(programs.os, "geteuid", lambda: 0)
    monkeypatch.setattr(programs, "find_nginx", lambda: "/usr/sbin/nginx")
    assert programs.main("install") == 0
    assert [call[1] for call in apt] == ["update", "install"]
    assert "chromium" in apt[1]
    assert "nginx-light" not in apt[1]
    assert capsys.readouterr().out.splitlines() == [
        "test-setup: installing Debian's chromium with apt-get",
        "test-setup: installed chromium",
    ]


@pytest.mark.usefixtures("nothing_here")
@pytest.mark.parametrize("why", ["only root", "no apt-get", "could not be installed"])
def test_one_line_where_nothing_can_be_installed(monkeypatch, apt, capsys, why):
    def broken(command, **_):
        raise subprocess.CalledProcessError(100, command)

    monkeypatch.setattr(programs.os, "geteuid", lambda: 1000 if why == "only root" else 0)
    if why == "no apt-get":
        monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: None)
    if why == "could not be installed":
        monkeypatch.setattr(programs.subprocess, "run", broken)
    assert programs.main("install") == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1
    assert apt == []


def test_an_unknown_word(apt):
    assert programs.main("instal") == 2
    assert apt == []


@pytest.mark.parametrize(
    ("skipped", "told"),
    [
        ({"nginx": 1}, "1 test: no nginx on this machine; `make test-setup` installs it"),
        ({"Chromium": 143}, "143 tests: no Chromium on this machine; `make test-setup` installs it"),
        (
            {"Chromium": 143, "nginx": 2},
            "145 tests: no Chromium (143) and no nginx (2) on this machine; `make test-setup` installs them",
        ),
    ],
)
def test_what_is_told_last(skipped, told):
    assert programs.told_after(skipped) == f"skipped {told}"


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 2])
def test_one_line_at_the_end(tmp_path, processes):
    """Skips for want of a program share a line, wherever they come from; others are listed as always."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    (tmp_path / "test_some.py").write_text(SKIPPING)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -ra\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", str(processes)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, other, told, last = done.stdout.splitlines()
    assert other.startswith("SKIPPED [1] ")
    assert other.endswith("the moon is full")
    assert told == programs.told_after({"Chromium": 4, "nginx": 1})
    assert "1 passed, 6 skipped" in last
    assert done.stdout.count("SKIPPED") == 1
