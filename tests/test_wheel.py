"""The wheel has what it needs, nothing else, and works in an environment of its own.

The environment is new and has nothing of this project in it. Its dependencies are those that the tests run
with, reached through a ``.pth`` file: installing NumPy, Numba and Arrow once more would take minutes and test
pip. (A ``.pth`` file of another folder is not read, so that an editable installation there does not show.)
"""

import email
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

pytest.importorskip("hatchling", reason="the extra test has it")
pytest.importorskip("hatch_fancy_pypi_readme", reason="the extra test has it")


def pip(*args):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source distribution."""
    folder = tmp_path_factory.mktemp("source")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / f"prefmover-{PROJECT['version']}.tar.gz"


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    """The wheel that the source distribution makes."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (path,) = folder.glob("*.whl")
    assert path.name == f"prefmover-{PROJECT['version']}-py3-none-any.whl"
    return path


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {item.filename: item.file_size for item in archive.infolist()}


def test_all_of_the_package_is_in_it(names):
    files = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "prefmover").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= names.keys()
    for needed in (
        "py.typed",
        "datasets/cinema_films.csv",
        "datasets/cinema_tastes.csv",
        "paper/figure_3.toml",
        "paper/table_1.toml",
        "explain/templates/page.css",
        "server/explorer/index.html",
    ):
        assert f"prefmover/{needed}" in files


def test_nothing_else_is_in_it(names):
    """No tests, no docs, and nothing of MovieLens or the Tag Genome, which may not be passed on."""
    about = f"prefmover-{PROJECT['version']}.dist-info"
    assert {name.split("/")[0] for name in names} == {"prefmover", about}
    data = {Path(name).name for name in names if name.endswith((".csv", ".dat", ".data", ".parquet", ".zip"))}
    assert data == {"cinema_films.csv", "cinema_tastes.csv"}
    assert max(names.values()) < 300_000
    assert sum(names.values()) < 3_000_000


def test_the_source_distribution_is_small_and_has_the_tests(source):
    """Its tests do without pages, programs and records: what they need is in it, and nobody else's data."""
    assert source.stat().st_size <= 1_000_000
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = (
        "Makefile",
        "constraints.txt",
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "PKG-INFO",
    )
    assert {*needed, "tests/conftest.py", "tests/ot/test_solve.py", "tools/programs.py"} <= names
    assert {name.partition("/")[0] for name in names if "/" in name} == {"src", "tests", "tools"}
    data = {name for name in names if name.endswith((".dat", ".data", ".gz", ".parquet", ".zip"))}
    assert data == set()


def test_the_page_of_an_index_needs_no_files(wheel):
    """The README in the metadata has absolute links and pictures."""
    with zipfile.ZipFile(wheel) as archive:
        inside = f"prefmover-{PROJECT['version']}.dist-info"
        page = email.message_from_bytes(archive.read(f"{inside}/METADATA")).get_payload()
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)\s]*)\)", prose)
    assert len(links) > 20
    assert all(link.startswith("https://") for link in links)
    pictures = re.findall(r"!\[[^\]]*\]\((\S+)\)", prose)
    assert len(pictures) >= 3
    assert all(picture.startswith("https://raw.githubusercontent.com/") for picture in pictures)


def test_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = f"prefmover-{PROJECT['version']}.dist-info"
        metadata = email.message_from_bytes(archive.read(f"{inside}/METADATA"))
        assert b"prefmover = prefmover.cli:main" in archive.read(f"{inside}/entry_points.txt")
        assert f"{inside}/licenses/LICENSE" in archive.namelist()
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert "# prefmover" in metadata.get_payload()  # the README


@pytest.fixture(scope="module")
def run(wheel, tmp_path_factory):
    """Run a command of a new environment, in an empty folder."""
    folder = tmp_path_factory.mktemp("clean")
    home, work = folder / "venv", folder / "work"
    venv.create(home, with_pip=False)
    work.mkdir()
    python = home / "bin" / "python"
    pip("--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    (packages,) = (home / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    environment = {**kept, "NUMBA_CACHE_DIR": str(folder / "cache"), "MPLBACKEND": "agg"}
    environment["PREFMOVER_DATA"] = ""

    def run(command, *args):
        call = [str(home / "bin" / command), *args]
        done = subprocess.run(call, capture_output=True, text=True, cwd=work, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.work, run.home = work, home
    return run


def test_it_is_the_wheel_that_runs(run):
    assert run("prefmover", "--version") == f"prefmover {PROJECT['version']}\n"
    where = run("python", "-c", "import prefmover; print(prefmover.__file__)")
    assert Path(where.strip()).is_relative_to(run.home)


RATINGS = """user,item,rating
ann,Alien,5
ann,Heat,3
bob,Aliens,4
bob,Heat,2
cai,Alien,4
cai,Aliens,5
cai,Clueless,1
"""
ITEMS = """item,genres
Alien,Horror|Sci-Fi
Aliens,Action|Sci-Fi
Heat,Action|Crime
Clueless,Comedy
"""


def test_a_first_job(run):
    """On data so small that nothing is compiled: all of it would be compiled anew here."""
    (run.work / "ratings.csv").write_text(RATINGS)
    (run.work / "items.csv").write_text(ITEMS)
    files = "--ratings", "ratings.csv", "--items", "items.csv"
    assert "cai" in run("prefmover", "neighbors", *files, "--user", "ann")
    run("prefmover", "fit", *files, "--out", "model")
    assert "Aliens" in run("prefmover", "recommend", "--model", "model", "--user", "ann")


def test_built_in_data(run):
    found = json.loads(run("prefmover", "paper", "table-1", "--json"))
    assert found
    assert "cinema" in run("prefmover", "data", "list")
