"""No pickle, no eval, no shell, nothing over plain HTTP, and archives and models that cannot reach out."""

import ast
import os
import re
import stat
from pathlib import Path

import pytest

import prefmover
from prefmover import Dataset, InputError, ItemGeometry, Ratings, Recommender

SOURCE = Path(prefmover.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

FORBIDDEN_IMPORTS = {
    "pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "xml", "commands",
    "telnetlib", "ftplib", "imp",
}  # fmt: skip
FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.execvp", "os.spawnl",
    "tempfile.mktemp", "yaml.load", "pickle.load", "pickle.loads", "torch.load", "pd.read_pickle",
    "shutil.unpack_archive", "ZipFile.extractall", "tarfile.open", "ssl._create_unverified_context",
}  # fmt: skip


def name_of(node):
    """Return a dotted name, as far as it is one."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_dangerous_call(path):
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [name for name in names if name.split(".")[0] in FORBIDDEN_IMPORTS]
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            options = {k.arg: k.value for k in node.keywords}
            if name in FORBIDDEN_CALLS or name.endswith((".extractall", ".extract")):
                found.append(name)
            for option, bad in (("shell", True), ("allow_pickle", True), ("verify", False)):
                value = options.get(option)
                if (
                    isinstance(value, ast.Constant)
                    and value.value is bad
                    and not name.endswith(("load", "read"))
                ):
                    found.append(f"{name}({option}={bad})")
            if name in ("np.load", "numpy.load") and "allow_pickle" not in options:
                found.append(f"{name} without allow_pickle=False")
    assert not found


def test_the_scan_finds_what_it_looks_for(tmp_path):
    bad = tmp_path / "bad.py"
    for line in ("import pickle", "eval('1')", "run('ls', shell=True)", "np.load('x')", "z.extractall()"):
        bad.write_text(line)
        with pytest.raises(AssertionError):
            test_no_dangerous_call(bad)


def test_nothing_is_fetched_over_plain_http():
    for path in MODULES:
        for address in re.findall(r"http://[^\s\"'`)>]+", path.read_text(encoding="utf-8")):
            assert re.match(r"http://(localhost|127\.0\.0\.1|\[?::1|\[?\{|www\.w3\.org/)", address), (
                path,
                address,
            )
    from prefmover.datasets.registry import SOURCES

    assert all(not source.url or source.url.startswith("https://") for source in SOURCES.values())


def test_pages_put_no_data_into_markup():
    templates = "html.js"  # parses templates, which are constants; values become text nodes
    for path in (one for one in SOURCE.rglob("*.js") if one.name != templates):
        text = re.sub(r"/\*.*?\*/|^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        used = re.search(r"(inner|outer|insertAdjacent)HTML|document\.write|eval\(|new Function", text)
        assert not used, f"{path.name} uses {used}"
    for path in [*SOURCE.rglob("*.html"), *SOURCE.rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<script[^>]+src=[\"']?(https?:)?//", text), (
            f"{path.name} loads a script from elsewhere"
        )
        assert not re.search(r"\son\w+=[\"']", text), f"{path.name} has a handler in its markup"


@pytest.fixture(scope="module")
def model():
    ratings = Ratings.from_arrays(["a", "a", "b", "b", "c"], [1, 2, 1, 3, 2], [5, 3, 4, 4, 2])
    geometry = ItemGeometry.from_vectors([1, 2, 3], [[1, 0], [1, 1], [0, 1]])
    return Recommender(n_threads=1).fit(Dataset(ratings, geometry))


def test_a_model_folder_runs_nothing_and_is_data_only(model, tmp_path):
    model.save(tmp_path / "model")
    files = sorted(path.name.split("-")[0] for path in (tmp_path / "model").iterdir())
    assert files == ["arrays", "header.json", "items", "users"]
    assert all(not path.stat().st_mode & stat.S_IXUSR for path in (tmp_path / "model").iterdir())


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_saving_does_not_write_through_links(model, tmp_path):
    model.save(tmp_path / "model")
    precious = tmp_path / "precious"
    precious.write_text("mine")
    header = tmp_path / "model" / "header.json"
    content = header.read_text()
    header.unlink()
    header.symlink_to(precious)
    precious.write_text(content)
    model.save(tmp_path / "model")
    assert precious.read_text() == content
    assert not header.is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="no devices of this name")
def test_devices_are_not_read_for_ever(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "header.json").symlink_to("/dev/zero")
    with pytest.raises(InputError):
        Recommender.load(folder)


def test_a_header_too_large_is_not_read(model, tmp_path):
    model.save(tmp_path / "model")
    with (tmp_path / "model" / "header.json").open("r+b") as stream:
        stream.truncate(1 << 33)  # sparse: takes no room
    with pytest.raises(InputError):
        Recommender.load(tmp_path / "model")
