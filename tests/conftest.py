"""Settings and fixtures that all tests share."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from tools.programs import SKIPS, told_after

# No deadline: the first example may compile a kernel, and a busy machine is no defect.
settings.register_profile("prefmover", deadline=None, print_blob=True)
settings.load_profile("prefmover")

# A shell has what it starts in the background ignore Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with the MovieLens files; tests that ask for it are marked ``real_data``."""
    folder = os.environ.get("PREFMOVER_DATA")
    if not folder:
        pytest.skip("PREFMOVER_DATA is not set: it names a folder that has ml-100k/ and ml-1m/")
    return Path(folder)


LONGEST = {"test_wheel.py", "test_kills.py"}


def pytest_collection_modifyitems(items):
    """The longest go first, so that no process works on one of them alone at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Tests without their program share one line at the end, instead of one for each place that skips."""
    everything = terminalreporter.stats.get("skipped", [])
    programs = [SKIPS.get(reason_of(report)) for report in everything]
    if not any(programs):
        return (yield)
    others = [report for report, program in zip(everything, programs, strict=True) if program is None]
    terminalreporter.stats["skipped"] = others
    try:
        return (yield)
    finally:
        terminalreporter.stats["skipped"] = everything  # the last line counts them
        terminalreporter.write_line(told_after(Counter(filter(None, programs))), yellow=True)


def reason_of(report):
    """Return the reason of a skip, as it was given."""
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else None
