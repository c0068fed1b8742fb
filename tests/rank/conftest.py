from tests.predict.conftest import data

__all__ = ["data"]
