"""A catalogue as a file beside a model, so that its answers have titles."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path

from prefmover.errors import InputError
from prefmover.execution import atomic
from prefmover.items.catalog import Catalogue

__all__ = ["read_catalogue", "write_catalogue"]

NAME = "catalogue.parquet"


def write_catalogue(folder: str | PathLike[str], catalogue: Catalogue) -> None:
    """Write a catalogue into the folder of a model, after the model."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table(
        {
            "item": pa.array(catalogue.ids.tolist()),
            "title": pa.array(catalogue.titles, pa.string()),
            "year": pa.array(catalogue.years.tolist(), pa.int64()),
            "genres": pa.array([list(some) for some in catalogue.genres], pa.list_(pa.string())),
        }
    )
    buffer = BytesIO()
    parquet.write_table(table, buffer)
    atomic.write(Path(folder) / NAME, buffer.getvalue())


def read_catalogue(folder: str | PathLike[str]) -> Catalogue | None:
    """Return the catalogue in the folder of a model; None if there is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_catalogue(folder, Catalogue([7], ["Alien"], [1979], [["Horror"]]))
    ...     read_catalogue(folder).label(7)
    'Alien (1979)'
    """
    import pyarrow as pa
    from pyarrow import parquet

    path = Path(folder) / NAME
    if not path.is_file():
        return None
    try:
        columns = parquet.read_table(path, columns=["item", "title", "year", "genres"]).to_pydict()
        return Catalogue(columns["item"], columns["title"], columns["year"], columns["genres"])
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); fit the model again, or delete the file") from None
