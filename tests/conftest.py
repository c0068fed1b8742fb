"""Settings and fixtures that all tests share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

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


@pytest.fixture
def write(tmp_path):
    """A function that writes text or bytes to a file and returns its path."""

    def write(content, name="input.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


LONGEST = {"test_wheel.py", "test_kills.py"}


def pytest_collection_modifyitems(items):
    """The longest go first, so that no process works on one of them alone at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)
