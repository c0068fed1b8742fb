"""The same code as on other machines: OpenBLAS, NumPy and Numba are told to be on another processor.

    python -m tools.machines test                      # the numeric tests on all; make test-machines
    python -m tools.machines test Haswell Prescott     # on some
    python -m tools.machines fit                       # what 40 small fits choose, and MovieLens-100K's lists

OpenBLAS has other kernels for each processor, and adds the terms of a product in another order. NumPy takes
other loops for exponentials and logarithms, and Numba other instructions. What a package promises bit for bit
must depend on none of them; what rests on a large solve may differ in the last digits, and nobody may notice.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parent.parent

SIMD = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
"""What NumPy takes from this processor beyond the least that it runs on."""

MACHINES: dict[str, dict[str, str]] = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "Prescott": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NPY_DISABLE_CPU_FEATURES": SIMD,
    },
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "two threads": {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
    "interpreted": {"OPENBLAS_CORETYPE": "Haswell", "NUMBA_DISABLE_JIT": "1"},
}
"""Environments by name. A processor without AVX-512 cannot be told that it has it: SkylakeX falls back."""

NUMERIC = ("tests/measures", "tests/predict", "tests/rank", "tests/model", "tests/search/test_candidates.py")
"""Tests of what rests on BLAS, exponentials or logarithms. The solver and the exact search do not: they use
whole numbers, and ``tests/reliability/test_determinism.py`` compares their bytes on two machines."""

INTERPRETED = ("tests/ot", "tests/measures/test_pmd.py", "-W", "ignore::RuntimeWarning")
"""Tests that end in minutes; whole numbers wrap around there, as they do in compiled code."""

N_SMALL = 40


def environment(name: str) -> dict[str, str]:
    """Return the variables of a process on a machine of this name."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENBLAS_", "NUMBA_CPU"))}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", **MACHINES[name]}


def test(names: list[str], jobs: str) -> int:
    """Run the fast numeric tests on machines; return how many of these failed."""
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        tests = INTERPRETED if name == "interpreted" else NUMERIC
        options = ["-q", "-p", "no:cacheprovider", "-n", jobs, "--dist", "worksteal", "--disable-warnings"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        if subprocess.run(command, cwd=ROOT, env=environment(name), check=False).returncode:
            failed.append(name)
    print(f"failed on {', '.join(failed)}" if failed else f"passed on {', '.join(names)}")
    return len(failed)


def fit(names: list[str]) -> int:
    """Fit the same data on machines, and print what differs from the first; return 0."""
    with TemporaryDirectory() as folder:
        found = {}
        for name in names:
            file = Path(folder) / f"{name}.npz"
            command = [sys.executable, "-m", "tools.machines", "one-fit", str(file)]
            subprocess.run(command, cwd=ROOT, env=environment(name), check=True)
            with np.load(file) as arrays:
                found[name] = dict(arrays)
            print(f"{name}: fitted", file=sys.stderr, flush=True)
    first = found[names[0]]
    size = np.abs(first["scores"]).max()
    columns = ("settings", "the same ten", "in the same order", "difference of scores", "of ratings")
    print(f"| compared with {names[0]} | {' | '.join(columns)} |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names[1:]:
        other = found[name]
        same = (other["settings"] == first["settings"]).sum()
        order = (other["ten"] == first["ten"]).all(axis=1).mean()
        ten = (np.sort(other["ten"]) == np.sort(first["ten"])).all(axis=1).mean()
        score = np.abs(other["scores"] - first["scores"]).max() / size
        rating = np.nanmax(np.abs(other["ratings"] - first["ratings"]))
        both = f"{same} of {len(first['settings'])} | {ten:.2%} | {order:.2%}"
        print(f"| {name} | {both} | {score:.1e} | {rating:.1e} |")
    return 0


def one_fit(file: str) -> int:
    """Write what fits on this machine choose, and the scores, lists and ratings of one."""
    from prefmover import Recommender, datasets

    cinema, films = datasets.load("cinema"), datasets.load("ml-100k")
    chosen = []
    for k in range(N_SMALL):
        data = films if k % 2 else cinema
        random = np.random.default_rng(k)
        users = np.sort(random.choice(data.n_users, int(random.integers(60, min(400, data.n_users))), False))
        model = Recommender().fit(data.with_ratings(data.ratings.take(users=users)))
        chosen.append(str(model.settings_["ranking"]))
    model = Recommender().fit(films)
    chosen.append(str(model.settings_["ranking"]))
    users, items = films.ratings.users.tolist(), films.ratings.items.tolist()
    ten = [[one.item for one in model.recommend(user, n=10, reasons=False)] for user in users]
    pairs = [(user, item) for user in users[:50] for item in items]
    scores = model.ranker_.scores(slice(0, None)).total
    np.savez(file, settings=chosen, ten=ten, scores=scores, ratings=model.predict(pairs).ratings)
    return 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("test", "fit", "one-fit"))
    parser.add_argument("names", nargs="*", metavar="MACHINE", help=", ".join(MACHINES))
    parser.add_argument("-n", "--jobs", default="2", help="test processes")
    given = parser.parse_args()
    if given.what == "one-fit":
        return one_fit(*given.names)
    names = given.names or list(MACHINES)
    if unknown := [name for name in names if name not in MACHINES]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(MACHINES)}")
    if given.what == "fit":
        return fit([name for name in names if name != "interpreted"])
    return test(names, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
