import pytest

from prefmover import datasets


@pytest.fixture(scope="session")
def cinema():
    return datasets.load("cinema")
