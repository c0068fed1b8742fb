"""The reference lists modules that document every public name, and the glossary is in order."""

import re
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

import prefmover
from tests.docs.blocks import ROOT

MODULES = re.findall(r"^   (prefmover[\w.]+)$", (ROOT / "docs/reference/index.md").read_text(), re.MULTILINE)


def test_every_public_name_is_documented():
    listed = [import_module(name) for name in MODULES]
    for name in prefmover.__all__:
        value = getattr(prefmover, name)
        modules = [module for module in listed if name in module.__all__ and getattr(module, name) is value]
        assert modules or (isinstance(value, ModuleType) and value.__name__ in MODULES), name
        assert value.__doc__ or isinstance(value, Mapping)  # a table has its text below it


def test_the_modules_say_what_is_public():
    for name in MODULES:
        module = import_module(name)
        assert module.__doc__
        assert module.__all__


def test_the_glossary_has_one_line_for_each_word():
    page = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    glossary = page.partition("## Glossary")[2]
    words = re.findall(r"^\| ([a-z][^|]*?) \| [^|]+ \|$", glossary, re.MULTILINE)[1:]
    assert len(words) == len(set(words)) >= 40
    assert words == sorted(words)
