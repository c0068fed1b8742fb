"""Tests of search are about the cascade, also on few users."""

import importlib

import pytest


@pytest.fixture(autouse=True, scope="package")
def cascade_for_few_pairs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("prefmover.search.nearest"), "FEW_PAIRS", 0)
        yield
