"""docs/architecture.md shows the tree as it is, and a walk of at most 25 stops that exist."""

import re
from functools import reduce
from importlib import import_module

import pytest

from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STOPS = re.findall(r"^\| (\d+) \| `([\w.]+):([\w.]+)` \|", PAGE, re.MULTILINE)


def test_the_walk_is_short():
    assert [int(number) for number, *_ in STOPS] == list(range(1, len(STOPS) + 1))
    assert 15 <= len(STOPS) <= 25


@pytest.mark.parametrize(("number", "module", "name"), STOPS)
def test_the_stop_exists(number, module, name):
    assert callable(reduce(getattr, name.split("."), import_module(f"prefmover.{module}")))


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
