"""Input from memory: ids, ratings, sparse matrices and geometries with odd values and types."""

import oracle

oracle.load()

import contextlib

import numpy as np
from scipy import sparse

from prefmover import ItemGeometry, Ratings
from prefmover.data.preferences import check_rows, preferences
from prefmover.data.scale import Scale

IDS = (
    0,
    1,
    2,
    -1,
    2**63,
    -(2**63),
    10**30,
    "a",
    "b",
    "",
    " ",
    "\ud800",
    "é",
    None,
    1.5,
    b"x",
    True,
    np.int8(3),
    (1,),
)
NUMBERS = (
    0,
    1,
    2.5,
    5,
    -1,
    5e-324,
    1e308,
    1e-300,
    float("nan"),
    float("inf"),
    None,
    "3",
    True,
    10**400,
    np.float16(2),
    1j,
)
ORDINARY = (1, 2, 3, 4, 5, 0.5)
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
TYPES = (np.float64, np.float32, np.float16, np.int64, np.uint8, np.bool_, object, np.complex128, "U3")


def some(choices: oracle.Choices, pool, n: int) -> list:  # type: ignore[type-arg,no-untyped-def]
    return [choices.pick(pool) for _ in range(n)]


def from_arrays(choices: oracle.Choices) -> None:
    n = choices.below(8)
    users = some(choices, IDS if choices.byte() % 2 else ("a", "b", "c"), n)
    items = some(choices, IDS if choices.byte() % 2 else (1, 2, 3, 4), n)
    values = some(choices, NUMBERS if choices.byte() % 2 else ORDINARY, n)
    scale = Scale(*some(choices, NUMBERS, 3)) if not choices.byte() % 6 else None
    ratings = Ratings.from_arrays(
        users, items, values, duplicates=choices.pick(("error", "last", "mean")), scale=scale
    )
    check_rows(ratings.matrix)
    preferences(ratings)
    for user in some(choices, IDS, 2):
        with contextlib.suppress(LookupError):
            ratings.user_position(user)


def from_matrix(choices: oracle.Choices) -> None:
    kind = choices.pick(FORMATS)
    rows, columns = 1 + choices.below(4), 1 + choices.below(4)
    dense = np.array(some(choices, (*ORDINARY, 0, 0), rows * columns)).reshape(rows, columns)
    matrix = sparse.coo_array(dense).asformat(kind)
    for name in ("indices", "indptr", "row", "col", "data"):
        array = getattr(matrix, name, None)
        if isinstance(array, np.ndarray) and array.size and array.ndim == 1 and not choices.byte() % 3:
            array[choices.below(len(array))] = choices.pick((0, 1, -1, 7, 2**31 - 1, -(2**31)))
    check_rows(Ratings.from_csr(matrix).matrix)


def geometry(choices: oracle.Choices) -> None:
    n, d = choices.below(5), choices.below(4)
    pool = NUMBERS[:10] if choices.byte() % 2 else ORDINARY
    values = np.array(some(choices, pool, n * d), dtype=object).reshape(n, d)
    try:
        with np.errstate(all="ignore"):
            values = values.astype(choices.pick(TYPES))
    except (TypeError, ValueError, OverflowError):
        return  # NumPy has no such array
    make = choices.below(3)
    ids = list(range(n))
    if make == 0:
        item_geometry = ItemGeometry.from_vectors(
            ids, values, zero=choices.pick(("error", "far")), budget=choices.pick((0, 2**20))
        )
    else:
        with np.errstate(all="ignore"):
            square = values @ values.T if make == 1 and values.dtype.kind in "fiu" else values
        build = ItemGeometry.from_similarity if choices.byte() % 2 else ItemGeometry.from_distance
        item_geometry = build(ids, square)
    D = item_geometry.block()
    assert np.isfinite(D).all()
    assert (D >= 0).all()
    assert (D == D.T).all()
    assert not np.diagonal(D).any()


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    choices.pick((from_arrays, from_matrix, geometry))(choices)


def seeds() -> list[bytes]:
    return [
        bytes((kind, *((k * 37 + j * 11) % 256 for j in range(60)))) for kind in range(3) for k in range(8)
    ]


if __name__ == "__main__":
    oracle.main("arrays", target, seeds())
