"""What the repository promises about itself: versions, exports, import direction, lightness."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

import prefmover
from prefmover.errors import install_command

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "prefmover"
FILES = sorted(PACKAGE.rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def module_of(file):
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_one_version():
    version = PYPROJECT["project"]["version"]
    changelog = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    citation = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert changelog[1] == version
    assert citation[1] == version
    assert json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["version"] == version


def test_one_address():
    """Where the source is going to be stands in several files, for readers and for a package index."""
    source = PYPROJECT["project"]["urls"]["Source"]
    hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    raw = source.replace("//github.com", "//raw.githubusercontent.com")
    assert [f"({raw}/v$" in hook[0]["replacement"], f"({source}/blob/v$" in hook[1]["replacement"]] == [
        True,
        True,
    ]
    names = ["SECURITY.md", "CODE_OF_CONDUCT.md", "codemeta.json", ".github/ISSUE_TEMPLATE/config.yml"]
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", text)) == {source}, name


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_take_actions_by_digest_and_may_only_read(file):
    yaml = pytest.importorskip("yaml")
    text = file.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 60 for job in workflow["jobs"].values())
    assert not re.findall(r"uses: (?!\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$).*", text, re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"\bmake (?:--\S+ \S+ )?([a-z-]+)", text)} <= {*targets, "test-setup", "test"}


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: file.name)
def test_files_of_the_host_are_yaml(file):
    assert isinstance(pytest.importorskip("yaml").safe_load(file.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("file", [f for f in FILES if f.name != "__main__.py"], ids=module_of)
def test_exports_are_sorted_and_there(file):
    module = importlib.import_module(module_of(file))
    exported = getattr(module, "__all__", [])
    # CONSTANTS, then Classes, then functions, as ruff sorts them; lazy_loader sorts by character.
    assert module is prefmover or list(exported) == sorted(
        exported, key=lambda n: (not n.isupper(), not n[0].isupper(), n)
    )
    for name in exported:
        assert getattr(module, name) is not None


def test_the_package_exports_something():
    assert len(prefmover.__all__) > 5
    assert set(prefmover.__all__) <= set(dir(prefmover))


def import_order():
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = re.search(r"<!-- order of imports -->\n```text\n(.*?)```", page, re.DOTALL)
    return block[1].split()


def imports(file):
    """Yield the modules of this package that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("prefmover"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno}: a relative import"
            if node.module == "prefmover":
                yield from (f"prefmover.{alias.name}" for alias in node.names)
            elif node.module.startswith("prefmover."):
                yield node.module


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.parent != PACKAGE or f.name != "__init__.py"], ids=module_of
)
def test_imports_go_one_way(file):
    order = import_order()
    room = module_of(file).split(".")[1]
    assert room in order, f"{room} has no place in the order of docs/architecture.md"
    for imported in imports(file):
        other = imported.split(".")[1]
        assert other in order, f"{imported}: import from the module that defines it"
        assert order.index(other) <= order.index(room), f"{room} may not import {imported}"


def test_mypy_knows_the_kernels():
    """Only modules of kernels may be without annotations, and all of them are listed."""
    uses = re.compile(r"jit import (\w+, )?kernel\n")
    kernels = {module_of(f) for f in FILES if f.name != "jit.py" and uses.search(f.read_text())}
    assert all(name.split(".")[-1].startswith("_") for name in kernels)
    listed = [o["module"] for o in PYPROJECT["tool"]["mypy"]["overrides"] if "disallow_untyped_defs" in o]
    assert set(*listed) == kernels


RUNTIME_EXTRAS = ("plot", "server", "peers", "ray", "text")
DISTRIBUTION = {"ot": "pot", "surprise": "scikit-surprise", "sklearn": "scikit-learn"}  # others: as imported


def third_party(file):
    """Yield the distributions whose modules a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":  # of the extra "peers"
            names = [one.value for one in node.args if isinstance(getattr(one, "value", None), str)]
            names = [name for name in names if re.fullmatch(r"[a-z.]+", name)]
        else:
            continue
        for name in (full.split(".")[0] for full in names):
            if name != "prefmover" and name not in sys.stdlib_module_names:
                yield DISTRIBUTION.get(name, name.replace("_", "-").lower())


def test_what_is_imported_is_declared():
    """A package that only comes along with another one may stop coming along."""
    project = PYPROJECT["project"]
    extras = [project["optional-dependencies"][extra] for extra in RUNTIME_EXTRAS]
    wanted = [*project["dependencies"], *(line for extra in extras for line in extra)]
    declared = {re.match(r"[\w.-]+", line)[0].lower() for line in wanted}
    imported = {name: module_of(file) for file in FILES for name in third_party(file)}
    missing = {name: where for name, where in imported.items() if name not in declared}
    assert not missing, f"not in pyproject.toml: {missing}"
    assert not declared - imported.keys() - {"scikit-learn"}, "declared, and imported nowhere"


@pytest.mark.parametrize(
    "statement",
    [
        "import prefmover",
        "from prefmover.cli import main\ntry:\n  main(['--help'])\nexcept SystemExit:\n  pass",
    ],
    ids=["import", "help"],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    heavy = "{'numpy', 'numba', 'scipy', 'pandas', 'polars', 'pyarrow', 'matplotlib', 'sklearn', 'ot'}"
    probe = f"{statement}\nimport sys\nprint('heavy:', *sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == ["heavy:"]


def test_help_of_verbs_computes_nothing():
    """``evaluate`` alone derives its options from the settings of an experiment."""
    from prefmover.cli import VERBS

    verbs = [name for name in VERBS if name != "evaluate"]
    probe = (
        "import importlib, sys\nfrom prefmover.cli import _load\n"
        f"for verb in {verbs}:\n  _load(verb)\n"
        "print(*sorted({'numpy', 'numba', 'scipy', 'pyarrow', 'prefmover.dataset'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_nobody_is_told_to_install_the_name_from_an_index():
    """Until it is ours there, the name may be anybody's; see CONTRIBUTING.md, Releases."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *FILES, *(ROOT / "deploy").glob("*")]
    files += [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
    for file in files:
        found = re.search(
            r"pip install\b[^\n`]*[\s\"']prefmover\b(?![^\s\"']* @)", file.read_text(encoding="utf-8")
        )
        assert not found, f"{file}: {found[0]}"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, 'pip install ".[plot]", in a clone'),
        ("no json", 'pip install ".[plot]", in a clone'),
        (
            '{"dir_info": {"editable": true}, "url": "file:///home/me/a%20b"}',
            'pip install --editable "/home/me/a b[plot]"',
        ),
        ('{"dir_info": {}, "url": "file:///x/y"}', 'pip install "prefmover[plot] @ file:///x/y"'),
        (
            '{"url": "https://x.org/y", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            'pip install "prefmover[plot] @ git+https://x.org/y@c0ffee"',
        ),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths have drives there")
def test_an_extra_is_installed_from_where_this_copy_came_from(origin, command, monkeypatch):
    found = types.SimpleNamespace(read_text=lambda name: origin)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: found)
    assert install_command("plot") == command


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "constraints.txt",
        "Makefile",
        "pyproject.toml",
        ".pre-commit-config.yaml",
        *(str(file.relative_to(ROOT)) for file in sorted((ROOT / ".github").rglob("*.yml"))),
    ],
)
def test_no_addresses_of_indexes_or_of_this_machine(name):
    text = (ROOT / name).read_text()
    assert not re.search(r"index-url|file://|(^|\s)-e |/root/|/home/|/work/", text, re.MULTILINE)


PROGRAMS = [
    file for folder in ("benchmarks", "examples", "fuzz", "tools") for file in (ROOT / folder).rglob("*.py")
]


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: str(file.relative_to(ROOT)))
def test_programs_import_names_that_exist(file):
    """Benchmarks and other programs are not run by the tests: a name that is gone would go unnoticed."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "prefmover":
            module = importlib.import_module(node.module)
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}"), name
