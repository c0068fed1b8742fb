"""docs/architecture.md shows the tree as it is, and the walk that the interpreter takes."""

import re

import pytest

from tests.docs.blocks import ROOT
from tools.walk import walk_elsewhere

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_MODULES, MOST_CHANGES = 51, 115


@pytest.mark.slow
def test_the_walk_is_short(capsys):
    walk = walk_elsewhere()
    with capsys.disabled():
        print(f"\nthe walk: {len(walk.modules)} modules, {len(walk.changes)} changes of file")
    assert len(walk.modules) <= MOST_MODULES
    assert len(walk.changes) <= MOST_CHANGES


@pytest.mark.slow
def test_the_page_shows_the_walk():
    shown = re.findall(r"^\| (\d+) \| `([\w.]+):([\w.]+)` \| (.+) \|$", PAGE, re.MULTILINE)
    stops = walk_elsewhere().main_stops()
    assert [(module, name, text) for _, module, name, text in shown] == stops, "run `make figures`"
    assert 20 <= len(stops) <= 25


def test_the_tree_names_every_module():
    tree = re.search(r"<!-- the tree -->\n```text\nsrc/prefmover/\n(.*?)```", PAGE, re.DOTALL)[1]
    entries = re.findall(r"^  (\w+)(/?)(.*(?:\n   .*)*)", tree, re.MULTILINE)
    for name, is_package, text in entries:
        path = ROOT / "src" / "prefmover" / name
        modules = path.glob("[!_]*.py") if is_package else []
        missing = [m.stem for m in modules if not re.search(rf"\b{m.stem}\b", text)]
        assert not missing, f"{name}: the tree lacks {missing}"
        assert path.is_dir() if is_package else path.with_suffix(".py").is_file(), f"there is no {name}"
    shown = {name for name, *_ in entries}
    folders = (ROOT / "src" / "prefmover").iterdir()
    assert shown == {p.stem for p in folders if p.suffix in ("", ".py") and not p.stem.startswith("__")}
