"""A split that others have published: a file with one code for each rating, in the order of their rows.

The codes are 0 for a training rating, 1 for one of the validation part, and 2 for a test rating. Such a file
is either an ``.npz`` with one array, or text with one code per line.
"""

from __future__ import annotations

import zipfile
import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from prefmover._typing import Ints
from prefmover.data.ratings import Ratings
from prefmover.data.splits import Split, masked_split, rating_times
from prefmover.errors import InputError

__all__ = ["public_split", "read_codes"]

REMEDY = "give 0 (training), 1 (validation) or 2 (test) for each rating, in the order of its row"


def read_codes(path: str | PathLike[str]) -> Ints:
    r"""Return the codes in a file: an ``.npz`` with one array, or text with one code per line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "split.txt")
    ...     _ = path.write_text("0\n2\n1\n")
    ...     read_codes(path)
    array([0, 2, 1])
    """
    path = Path(path)
    try:
        if zipfile.is_zipfile(path):
            with np.load(path, allow_pickle=False) as arrays:
                if len(arrays.files) != 1:
                    names = ", ".join(arrays.files) or "none"
                    raise InputError(f"{path} has {len(arrays.files)} arrays ({names}); give a file with one")
                codes = np.asarray(arrays[arrays.files[0]])
        else:
            codes = np.array(path.read_text(encoding="utf-8").split()).astype(np.float64)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", argument="split") from None
    except (ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        problem = f"{path} is no split ({error}); {REMEDY}"
        raise InputError(problem, argument="split") from None
    valid = codes.ndim == 1 and codes.dtype.kind in "biuf" and np.isin(codes, (0, 1, 2)).all()
    if not valid:
        wrong = codes[~np.isin(codes, (0, 1, 2))][:1].tolist() if codes.ndim == 1 else f"shape {codes.shape}"
        raise InputError(f"{path} has {wrong}; {REMEDY}", argument="split")
    return codes.astype(np.int64)


def public_split(ratings: Ratings, codes: Ints, rows: Ratings | None = None) -> Split:
    """Return the split in the codes of ratings.

    Parameters
    ----------
    codes
        One for each row: 0, 1 or 2.
    rows
        The row of each rating, from 0, as a table; by default, rows are in the order of
        ``ratings.matrix.data``.

    Training and validation ratings are trained on. Choices may look at these only, and their validation part
    is the one of the file (:func:`~prefmover.data.splits.validation_split`).

    >>> ratings = Ratings.from_arrays([1, 1, 2, 2], list("abab"), [5, 4, 3, 2])
    >>> split = public_split(ratings, np.array([0, 2, 1, 0]))
    >>> split.train.n_ratings, split.test_pairs()
    (3, [(1, 'b')])
    """
    n = ratings.n_ratings if rows is None else rows.n_ratings
    codes = np.asarray(codes)
    if len(codes) != n:
        raise InputError(f"the split has {len(codes):,} codes for {n:,} ratings; {REMEDY}", argument="split")
    own = codes if rows is None else codes[rating_times(ratings, rows).astype(np.int64)]
    for code, what in ((0, "training rating (0)"), (2, "test rating (2)")):
        if not (own == code).any():
            raise InputError(f"the split has no {what}; {REMEDY}", argument="split")
    test = own == 2
    held = own[~test] == 1
    return masked_split(ratings, ~test, "split of a file", held=held if held.any() else None)
