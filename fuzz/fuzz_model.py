"""Model folders from strangers: real ones whose header, arrays, ids and titles were tampered with.

Checksums are corrected afterward, as a stranger would do. Even so, nothing out of range may reach compiled
code.
"""

import hashlib
import json
import math
import shutil
import struct
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import oracle

oracle.load()

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.execution import jit
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry
from prefmover.model import KNNRecommender, Recommender, storage
from prefmover.model import folder as model_folder

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
    films = Catalog(
        [1, 2, 3, 4], ["Alien", "Heat", "Emma", "Up"], [1979, 1995, 0, 2009], [["a", "b"], [], ["a"], []]
    )
    with_titles = Dataset(ratings, dense, films, name="fuzz")
    Recommender(n_threads=1).fit(with_titles).save(home / "kernel")
    Recommender(n_threads=1).fit(Dataset(ratings, lazy)).save(home / "lazy")
    KNNRecommender("pmd", 2, n_threads=1).fit(with_titles).save(home / "knn")
    KNNRecommender("jaccard", 2, n_threads=1).fit(Dataset(ratings)).save(home / "plain")
    return tuple(home / name for name in ("kernel", "lazy", "knn", "plain"))


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
        header["sha256"] = model_folder.header_sha256(header)
        (folder / "header.json").write_text(json.dumps(header))
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        shutil.copytree(choices.pick(models()), path)
        for _ in range(1 + choices.below(2)):
            with suppress(*BROKEN):
                # A second change may meet a folder that the first has broken.
                choices.pick((change_header, change_arrays, change_arrays, change_bytes))(path, choices)
        mend_checksums(path)
        model: Any = storage.load(path, n_threads=1, verify=bool(choices.byte() % 2))
        use(model)


def use(model: Any) -> None:
    """Ask a model for everything that reads its arrays."""
    ratings = model.data_.ratings
    users, items = ratings.users.tolist(), ratings.items.tolist()
    model.predict([(users[0], items[-1]), (users[-1], items[0]), ("nobody", 99)])
    model.recommend(users[0], n=2).to_dict()
    model.neighbors(users[0], k=2)
    model.explain_recommendation(users[0], items[-1]).to_dict()
    if len(users) > 1:
        model.explain(users[0], users[1])
    guest = model.guest({items[0]: ratings.scale.highest}, name="guest of the fuzzer")
    model.recommend(guest, 2)


def seeds() -> list[bytes]:
    return [
        bytes((kind, 0, change, *range(k, k + 12)))
        for kind in range(4)
        for change in range(4)
        for k in (0, 40, 90)
    ]


def warm() -> None:
    """Compile before the first input what inputs reach: compiling takes longer than an input may.

    A damaged model can reach a kernel with arrays of another layout, so variants of the seeds run, too. What
    they do not reach is interpreted, where it can be.
    """
    jit._BUDGET.left = 0
    for folder in models():
        use(storage.load(folder, n_threads=1))
    for data in oracle.mutations(seeds(), 300):
        oracle.judge(target, data)
    jit._BUDGET.left = math.inf


if __name__ == "__main__":
    if "--replay" not in sys.argv:
        warm()
    oracle.main("model", target, seeds())
