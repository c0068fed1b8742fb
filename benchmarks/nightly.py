"""The speed next to POT on made-up data, as one line of JSON at the end of a file: a series over nights.

``python benchmarks/nightly.py series.jsonl`` (``make nightly``) compares, in one run on one thread, single distances
with POT's C++ entry and with ``ot.emd2``, and the exact 10 nearest of all users with ``ot.emd2`` on all pairs. Only
ratios of one run are comparable between nights: the machine of a night is anybody's.
"""

import datetime
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench import machine
from bench_pair import compare
from bench_search import pot_seconds, timed
from prefmover import NeighborIndex, datasets

USERS, ITEMS, RATINGS = 900, 2000, (20, 120)
PAIRS = 1000


def measure() -> dict[str, float]:
    """Return how many times as fast as POT; an error if the values differ."""
    data = datasets.synthetic(USERS, ITEMS, ratings=RATINGS)
    index = NeighborIndex(data)
    timed(index, data.ratings.users[:2], 10, 1)  # compiles the kernels
    pairs = np.array([np.random.default_rng(k).choice(USERS, 2, replace=False) for k in range(PAIRS)])
    compare(data, pairs[:2], emd2=True)
    pair = compare(data, pairs, emd2=True)
    if pair["error"] > 1e-6:
        raise SystemExit(f"nightly: a distance differs from POT's by {pair['error']:.0e}")
    emd2, _ = pot_seconds(data, PAIRS)
    seconds, _ = timed(index, None, 10, 1)
    return {
        "pair to emd_c": pair["raw"] / pair["ours"],
        "pair to emd2": pair["emd2"] / pair["ours"],
        "nearest to emd2": emd2 * USERS * (USERS - 1) / 2 / seconds,
    }


def main(file: Path) -> None:
    """Append tonight's line to a file and print it."""
    processor, versions = machine()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    line = {
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": processor,
        "versions": versions,
        "times as fast as POT": {name: round(ratio, 2) for name, ratio in measure().items()},
    }
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "series.jsonl"))
