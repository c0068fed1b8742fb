"""A file of items."""

import pytest


@pytest.fixture
def write(tmp_path):
    """A function that writes text or bytes to a file and returns its path."""

    def write(text, name="items.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
