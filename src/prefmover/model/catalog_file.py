"""A catalog as a file beside a model, so that its answers have titles."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path

from prefmover.errors import InputError
from prefmover.execution import atomic
from prefmover.items.catalog import Catalog

__all__ = ["read_catalog", "write_catalog"]

NAME = "catalog.parquet"


def write_catalog(folder: str | PathLike[str], catalog: Catalog) -> None:
    """Write a catalog into the folder of a model, after the model."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table(
        {
            "item": pa.array(catalog.ids.tolist()),
            "title": pa.array(catalog.titles, pa.string()),
            "year": pa.array(catalog.years.tolist(), pa.int64()),
            "genres": pa.array([list(some) for some in catalog.genres], pa.list_(pa.string())),
        }
    )
    buffer = BytesIO()
    parquet.write_table(table, buffer)
    atomic.write(Path(folder) / NAME, buffer.getvalue())


def read_catalog(folder: str | PathLike[str]) -> Catalog | None:
    """Return the catalog in the folder of a model; None if there is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_catalog(folder, Catalog([7], ["Alien"], [1979], [["Horror"]]))
    ...     read_catalog(folder).label(7)
    'Alien (1979)'
    """
    import pyarrow as pa
    from pyarrow import parquet

    path = Path(folder) / NAME
    if not path.is_file():
        return None
    try:
        columns = parquet.read_table(path, columns=["item", "title", "year", "genres"]).to_pydict()
        return Catalog(columns["item"], columns["title"], columns["year"], columns["genres"])
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); fit the model again, or delete the file") from None
