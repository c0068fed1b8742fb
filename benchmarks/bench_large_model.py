"""The default model and the readers on data of the size that people have: fit, load, answers, CSV and Parquet.

``python benchmarks/bench_large_model.py [--write] [--share S] [--rows N]``. The data are ``"160k x 60k"`` of
:mod:`bench_large`; ``--share .02`` makes them smaller, so that a trial takes a minute. The files of the readers have the layout of
MovieLens-25M and ``--rows`` rows. Every job has a process of its own.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench import arguments, publish, table

START = """
import json, re, sys, time
from pathlib import Path
import numpy as np
import prefmover as pm

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**20
def timed(function):
    start, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - start, time.process_time() - cpu
def median_ms(function, some):
    function(some[0])
    return 1e3 * float(np.median([timed(lambda: function(one))[1] for one in some[1:]]))
"""

FIT = """
sys.path.insert(0, sys.argv[3])
from bench_large import large
data = large("160k x 60k", float(sys.argv[1]))
data.geometry
few = pm.datasets.load("cinema")
pm.Recommender().fit(few.with_ratings(few.ratings.take(users=range(200))))
model, wall, cpu = timed(lambda: pm.Recommender().fit(data))
found = {"about": repr(data.ratings), "fit": wall, "cpu": cpu, "gb": peak(), "calibration": str(model.calibration_)}
model.save(sys.argv[2])
print(json.dumps(found))
"""

ANSWERS = """
_, quick, _ = timed(lambda: pm.Recommender.load(sys.argv[1]))
model, whole, _ = timed(lambda: pm.Recommender.load(sys.argv[1], verify=True))
model, _, _ = timed(lambda: pm.Recommender.load(sys.argv[1]))
rng, ratings = np.random.default_rng(0), model.data_.ratings
users = rng.choice(ratings.users, 30).tolist()
rated = [dict.fromkeys(rng.choice(ratings.items, 20, replace=False).tolist(), 4.0) for _ in range(30)]
found = {"load": quick, "verified": whole}
found["known"] = median_ms(lambda user: model.recommend(user, reasons=False), users)
found["guest"] = median_ms(lambda some: model.recommend(model.guest(some), reasons=False), rated)
found["reasons"] = median_ms(lambda user: model.recommend(user), users)
print(json.dumps(found))
"""

READ = """
ratings, wall, cpu = timed(lambda: pm.Ratings.read(sys.argv[1]))
print(json.dumps({"about": repr(ratings), "wall": wall, "cpu": cpu, "gb": peak()}))
"""


def child(code: str, *options: str) -> dict:
    """Return what a program prints."""
    command = [sys.executable, "-c", START + code, *options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def write_files(n_rows: int, folder: Path) -> list[Path]:
    """Write ratings in the layout of MovieLens-25M, in the order of users, as CSV and as Parquet."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    n_users, n_items = max(1, n_rows // 154), 59_047
    step = max(1, n_items // 170)  # items of a user ascend: no item twice
    counts = np.full(n_users, n_rows // n_users)
    users = np.repeat(np.arange(1, n_users + 1), counts)
    at = np.arange(len(users)) % counts[0]
    movies = 3 * (at * step + rng.integers(0, step, len(users))) + 1
    stars, times = rng.integers(1, 11, len(users)) / 2, rng.integers(789652009, 1574327703, len(users))
    rows = pa.table({"userId": users, "movieId": movies, "rating": stars, "timestamp": times})
    csv.write_csv(rows, folder / "ratings.csv", csv.WriteOptions(quoting_style="none"))
    parquet.write_table(rows, folder / "ratings.parquet")
    return [folder / "ratings.csv", folder / "ratings.parquet"]


def main() -> None:
    options = arguments(__doc__, share=1.0, rows=25_000_000)
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "model"))
        print(f"fitting {options.share:g} of 160k x 60k", flush=True)
        fit = child(FIT, str(options.share), model, str(Path(__file__).parent))
        size = sum(file.stat().st_size for file in Path(model).iterdir()) / 2**30
        print(f"fitted: {fit}; answers", flush=True)
        answers = child(ANSWERS, model)
        print(f"{answers}; files of {options.rows:,} ratings", flush=True)
        readers = []
        for file in write_files(options.rows, Path(folder)):
            readers.append((file.suffix, child(READ, str(file))))
            print(*readers[-1], flush=True)
    rows = [
        ["fit", f"{fit['fit']:.0f} s ({fit['cpu']:.0f} CPU s), {fit['gb']:.1f} GiB"],
        ["size of the saved model", f"{size:.2f} GiB"],
        ["load", f"{answers['load']:.2f} s"],
        ["load, every byte verified", f"{answers['verified']:.2f} s"],
        ["ten items for a user", f"{answers['known']:.0f} ms"],
        ["a guest with 20 ratings, and ten items", f"{answers['guest']:.0f} ms"],
        ["ten items with reasons", f"{answers['reasons']:,.0f} ms"],
    ]
    parts = [f"Synthetic: {fit['about']}; {fit['calibration']}.", table(["default model", ""], rows)]
    read = [
        [kind, found["about"], f"{found['wall']:.1f}", f"{found['cpu']:.1f}", f"{found['gb']:.2f}"]
        for kind, found in readers
    ]
    parts.append(table(["file", "content", "s", "CPU s", "peak GiB"], read))
    parts.append("Answers are medians of 29. Peaks are those of the process, with libraries and data.")
    publish("large-model", "The default model and the readers on large data", parts, options)


if __name__ == "__main__":
    main()
