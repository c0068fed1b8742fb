"""Peak memory of whole jobs, each in its own process, next to a bound that it must keep.

``python benchmarks/bench_memory.py [--write] [--datasets ml-100k ml-1m] [--users 200] [--only TEXT] [--model FOLDER]``:
some minutes for MovieLens-1M, most of them for fitting, which ``--model`` skips if it names a fitted model. A peak is
that of the process (VmHWM), with Python and libraries; the first row is that of the libraries alone. Fails if a peak
is above its bound.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import arguments, publish, table

MB = 2**20

# Job, its code, and the bound for MovieLens-1M in MB.
START = "from bench import dataset\nimport prefmover as pm\n"
LOAD = "data = pm.datasets.load(NAME)\nusers, items = data.ratings.users, data.ratings.items\n"
GEOMETRY = LOAD + "geometry = data.geometry\n"
JOBS = (
    ("libraries alone", "import prefmover.execution.jit, prefmover.search, prefmover.model, scipy.sparse.linalg, pyarrow.parquet\n", 300),
    ("load the ratings", LOAD, 500),
    ("and the item geometry", GEOMETRY, 800),
    ("nearest, k = 10, of some users", LOAD + "pm.nearest(data, 10, users=users[:USERS])\n", 1000),
    ("nearest, k = 10, of all users, two threads", LOAD + "pm.nearest(data, 10, n_threads=2)\n", 600),
    ("nearest raters of 20 items, of some users", LOAD + "import numpy as np\nfrom prefmover.search import nearest_raters\n"
     "queries = np.repeat(users[:USERS], 20)\n"
     "nearest_raters(data, queries, np.tile(items[:20], len(queries) // 20), 40)\n", 1000),
    ("all distances of some users to all users", LOAD + "pm.pairwise(data, 'pmd', users[:USERS // 4])\n", 1000),
    ("jaccard between all users", LOAD + "pm.pairwise(data, 'jaccard')\n", 1500),
    ("fit", LOAD + "pm.Recommender().fit(data).save(MODEL)\n", 2000),
    ("load the model", "model = pm.Recommender.load(MODEL)\n", 600),
    ("and recommend to 20 users", ("model = pm.Recommender.load(MODEL)\n"
     "for user in model.data_.ratings.users[:20].tolist():\n    model.recommend(user)\n"), 1000),
)  # fmt: skip
PEAK = "\nimport re\nprint('peak', re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"


def peak(code: str, name: str, users: int, model: str) -> tuple[float, float]:
    """Return the peak of a new process in MB, and the seconds that it took."""
    head = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    settings = f"NAME, USERS, MODEL = {name!r}, {users}, {model!r}\n"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + settings + START + code + PEAK],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout.split("peak ")[1]) * 1024 / MB, time.perf_counter() - start


def main() -> None:
    options = arguments(__doc__, users=200, only="", model="")
    jobs = [job for job in JOBS if options.only in job[0] and not (options.model and job[0] == "fit")]
    parts, over = [], []
    for name in options.datasets or ["cinema"]:
        rows, alone = [], 0.0
        with tempfile.TemporaryDirectory() as folder:
            model = options.model or f"{folder}/model"
            for what, code, bound in jobs:
                megabytes, seconds = peak(code, name, options.users, model)
                alone = alone or megabytes
                rows.append(
                    [
                        what,
                        f"{megabytes:,.0f} MB",
                        f"{max(megabytes - alone, 0):,.0f} MB",
                        f"{bound:,} MB",
                        f"{seconds:.0f} s",
                    ]
                )
                print(f"{name}: {what}: {megabytes:,.0f} MB, {seconds:.0f} s", flush=True)
                if megabytes > bound:
                    over.append(f"{name}, {what}: {megabytes:,.0f} MB, above {bound:,}")
            size = sum(file.stat().st_size for file in Path(model).glob("*.*")) / MB
        rows.append(["the folder of the model", f"{size:,.0f} MB", "", "", ""])
        parts.append(f"**{name}**; some users: {options.users}")
        parts.append(table(["job", "peak", "beyond the libraries", "bound", "took"], rows))
    publish(
        "memory",
        "Peak memory",
        ["Each job in its own process, all threads; the bounds are for MovieLens-1M.", *parts],
        options,
    )
    if over:
        raise SystemExit("\n".join(["too much memory:", *over]))


if __name__ == "__main__":
    main()
