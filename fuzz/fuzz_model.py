"""Model folders from strangers: a real one whose header, arrays and ids were tampered with.

Checksums are made to fit afterward, as a stranger would: what must hold then is that nothing out of range
reaches compiled code.
"""

import hashlib
import json
import shutil
import struct
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import oracle

oracle.load()

import numpy as np

from prefmover import ItemGeometry, Ratings, UserKNN

VALUES: tuple[Any, ...] = (
    *(
        None,
        0,
        -1,
        1,
        2,
        7,
        2**31,
        2**63,
        -(2**63),
        10**30,
        1e308,
        float("nan"),
        float("inf"),
        "",
        "x",
        "pmd",
    ),
    *([], [0], [-1, 5], [2**40, 2**40], {}, {"a": 1}, True, "F64", "I64", "I32", "BOOL", "../../etc/passwd"),
)

BROKEN = (ValueError, LookupError, TypeError, AttributeError, OSError, ArithmeticError, struct.error)


@cache
def models() -> tuple[Path, ...]:
    """Return folders of small models, one of each kind."""
    home = Path(tempfile.mkdtemp(prefix="fuzz-model-"))
    users = ["a", "a", "a", "b", "b", "c", "c", "d"]
    ratings = Ratings.from_arrays(users, [1, 2, 3, 1, 4, 2, 3, 4], [5, 3, 1, 4, 4, 2, 5, 1])
    vectors = [[1, 0], [1, 1], [0, 1], [1, 3]]
    dense = ItemGeometry.from_vectors([1, 2, 3, 4], vectors)
    lazy = ItemGeometry.from_vectors([1, 2, 3, 4], vectors, budget=0)
    UserKNN(n_jobs=1).fit(ratings, dense).save(home / "kernel")
    UserKNN(n_jobs=1).fit(ratings, lazy).save(home / "lazy")
    UserKNN("pmd", 2, predictor="average", n_jobs=1).fit(ratings, dense).save(home / "average")
    UserKNN("jaccard", 2, predictor="average", n_jobs=1).fit(ratings).save(home / "plain")
    return tuple(home / name for name in ("kernel", "lazy", "average", "plain"))


def tampered(value: Any, choices: oracle.Choices) -> Any:
    """Return JSON with one value somewhere in it replaced, removed or added."""
    if isinstance(value, dict) and value and choices.byte() % 5:
        key = choices.pick(sorted(value))
        rest = {k: v for k, v in value.items() if k != key}
        return rest if not choices.byte() % 8 else {**rest, key: tampered(value[key], choices)}
    if isinstance(value, list) and value and choices.byte() % 5:
        at = choices.below(len(value))
        return [*value[:at], tampered(value[at], choices), *value[at + 1 :]]
    return choices.pick(VALUES)


def change_header(folder: Path, choices: oracle.Choices) -> None:
    path = folder / "header.json"
    path.write_text(json.dumps(tampered(json.loads(path.read_bytes()), choices)))


def change_arrays(folder: Path, choices: oracle.Choices) -> None:
    """Change the table of a safetensors file, or numbers in its arrays."""
    path = next(folder.glob("arrays-*"))
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    table, data = json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])
    if choices.byte() % 2:
        table = tampered(table, choices)
    else:
        name = choices.pick(sorted(set(table) - {"__metadata__"}))
        begin, end = table[name]["data_offsets"]
        whole = np.frombuffer(bytes(data[begin:end]), np.uint8).copy()
        width = int(table[name]["dtype"][1:]) // 8
        kind = {"I": "i", "F": "f", "U": "u"}[table[name]["dtype"][0]]
        numbers = whole.view(f"{kind}{width}")
        if len(numbers):
            pool = (
                (0, 1, -1, 3, 4, 5, 100, 2**31 - 1, -(2**31))
                if kind != "f"
                else (0, -1, 1e30, np.nan, np.inf, 5)
            )
            numbers[choices.below(len(numbers))] = choices.pick(pool)
        data[begin:end] = whole.tobytes()
    head = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def change_bytes(folder: Path, choices: oracle.Choices) -> None:
    path = choices.pick(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    for _ in range(1 + choices.below(4)):
        if content:
            content[choices.below(len(content))] = choices.byte()
    path.write_bytes(content[: len(content) - choices.below(300)] if not choices.byte() % 4 else content)


def mend_checksums(folder: Path) -> None:
    """Make names, sizes and checksums fit what is there now."""
    try:
        header = json.loads((folder / "header.json").read_bytes())
        for about in header["files"].values():
            content = (folder / about["name"]).read_bytes()
            about["size"], about["sha256"] = len(content), hashlib.sha256(content).hexdigest()
        (folder / "header.json").write_text(json.dumps(header))
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "model")
        shutil.copytree(choices.pick(models()), place)
        for _ in range(1 + choices.below(2)):
            with suppress(*BROKEN):
                # A second change may find a folder that the first has broken.
                choices.pick((change_header, change_arrays, change_arrays, change_bytes))(place, choices)
        mend_checksums(place)
        model = UserKNN.load(place, n_jobs=1, verify=bool(choices.byte() % 2))
        users, items = model.ratings_.users.tolist(), model.ratings_.items.tolist()
        model.predict([(users[0], items[-1]), (users[-1], items[0]), ("nobody", 99)])
        model.recommend(users[0], n=2)
        model.neighbors(users[0], k=2)
        if model.geometry_ is not None and len(users) > 1:
            model.explain(users[0], users[1])
        model.for_ratings({items[0]: model.ratings_.scale.highest}, name="guest-of-ours").recommend(2)


def seeds() -> list[bytes]:
    return [
        bytes((kind, 0, change, *range(k, k + 12)))
        for kind in range(4)
        for change in range(4)
        for k in (0, 40, 90)
    ]


if __name__ == "__main__":
    models()
    oracle.main("model", target, seeds())
