import pytest

from prefmover import Dataset
from tests.explain.films import five_films


@pytest.fixture(scope="session")
def data() -> Dataset:
    return five_films()
