"""The targets of the fuzzer on their seeds and some fixed variants: a short form of ``make fuzz``."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "fuzz"
TARGETS = sorted(path.stem for path in FOLDER.glob("fuzz_*.py"))
FEWER = {"fuzz_model": 40, "fuzz_http": 60}


@pytest.fixture(autouse=True)
def _find_targets(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def test_every_reader_has_a_target():
    assert len(TARGETS) == 12
    assert "fuzz_http" in TARGETS


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_only_our_errors_escape(name):
    oracle, target = importlib.import_module("oracle"), importlib.import_module(name)
    results = [
        oracle.judge(target.target, data) for data in oracle.mutations(target.seeds(), FEWER.get(name, 150))
    ]
    assert "" in results  # at least one was accepted
    if name != "fuzz_http":  # which answers where others raise
        assert "refused" in results
    else:
        target.client().__exit__(None, None, None)
        target.client.cache_clear()
    for module in [m for m in sys.modules if m == "oracle" or m.startswith("fuzz_")]:
        del sys.modules[module]
