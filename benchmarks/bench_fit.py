"""Fit, load and answers of the default model: seconds and memory of each stage, and the accuracy that speed costs.

``python benchmarks/bench_fit.py [--write] [--datasets ml-100k ml-1m] [--answers 100]``: some three minutes. Every data set has
its own process; kernels are compiled beforehand. ``--accuracy 0`` leaves out the comparison with an exact fit, which
takes two minutes more. ``--busy 0`` leaves out the fits beside another job, and ``--commands 0`` the first minute of the
command line.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import Recommender, datasets
from prefmover.data.splits import Split, random_split
from prefmover.predict import low_rank, similarity, solver
from prefmover.rank.tuning import ndcg, relevant

SYNTHETIC = "synthetic"  # 900 users, 9,000 items, 100,000 half-star ratings

CHILD = """
import json, re, sys, time
from pathlib import Path
import numpy as np
import prefmover as pm
import prefmover.model.recommender as recommender
from prefmover.predict import gaussian_process

name, answers, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
seconds = {}
def timed(owner, attribute, label):
    function = getattr(owner, attribute)
    def wrapper(*arguments, **options):
        start = time.perf_counter()
        result = function(*arguments, **options)
        seconds[label] = seconds.get(label, 0) + time.perf_counter() - start
        return result
    setattr(owner, attribute, wrapper)

if name == "synthetic":
    data = pm.datasets.synthetic(900, 9000, ratings=(22, 200))
else:
    data = pm.datasets.load(name)
data.geometry
few = pm.datasets.load("cinema")
pm.Recommender().fit(few.with_ratings(few.ratings.take(users=range(200))))
timed(recommender, "choose_settings", "settings of the ranking")
timed(recommender.UserSimilarity, "compared", "distances to landmarks")
timed(gaussian_process, "solve", "rating side")
timed(recommender.TwoSidedRanker, "fit", "ranking side")
start, cpu = time.perf_counter(), time.process_time()
model = pm.Recommender().fit(data)
seconds |= {"fit": time.perf_counter() - start, "fit, CPU": time.process_time() - cpu}
mb = peak()
model.save(folder)
start = time.perf_counter()
model = pm.Recommender.load(folder)
seconds["load"] = time.perf_counter() - start
rng, ratings = np.random.default_rng(0), data.ratings
def each(function, some):
    function(some[0])
    took = []
    for one in some:
        start = time.perf_counter()
        function(one)
        took.append(time.perf_counter() - start)
    return float(np.median(took))
seconds["known"] = each(lambda user: model.recommend(user), rng.choice(ratings.users, answers).tolist())
rows = [ratings.row(u) for u in rng.choice(ratings.n_users, answers).tolist()]
guests = [{ratings.items[i].item(): float(r) for i, r in zip(items[:20], values)} for items, values in rows]
seconds["guest"] = each(lambda one: model.recommend(model.guest(one)), guests)
start, cpu = time.perf_counter(), time.process_time()
model.recommend_all(10)
seconds |= {"everybody": time.perf_counter() - start, "everybody, CPU": time.process_time() - cpu}
calibration = model.calibration_
print(json.dumps({"about": str(data), "mb": mb, "seconds": seconds, "calibration": str(calibration)}))
"""


def measured(name: str, answers: int) -> dict:
    """Return the figures of one data set, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", "-c", CHILD, name, str(answers), str(Path(folder) / "m")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def busy(name: str, repeats: int) -> str:
    """Return the CPU time of a fit alone, and beside a process that keeps one core busy."""
    fit = (
        "import sys, time, prefmover as pm; data = pm.datasets.load(sys.argv[1]); data.geometry; "
        "start = time.process_time(); pm.Recommender().fit(data); print(time.process_time() - start)"
    )

    def seconds() -> float:
        done = subprocess.run(
            [sys.executable, "-c", fit, name], stdout=subprocess.PIPE, text=True, check=True
        )
        return float(done.stdout)

    seconds()  # compiles the kernels
    alone, beside = [], []
    for _ in range(repeats):
        alone.append(seconds())
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            beside.append(seconds())
        finally:
            other.kill()
            other.wait()
    return (
        f"A fit of {name} takes {min(alone):.1f} CPU s alone, and {min(beside):.1f} beside a process that keeps one "
        f"core busy: **{min(beside) / min(alone):.2f}x** (the least of {repeats} each, in turn)."
    )


def commands() -> dict:
    """Return a table of ``prefmover recommend`` on a file: the first on a machine, the first of a file, the second."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ratings = datasets.synthetic(5000, 7000, ratings=(20, 2000), mean=80, seed=1).ratings
        file, matrix = Path(folder) / "ratings.csv", ratings.matrix.tocoo()
        lines = (f"{u},{i},{v:g}" for u, i, v in zip(matrix.row, matrix.col, matrix.data, strict=True))
        file.write_text("\n".join(["user,item,rating", *lines, ""]))
        command = [sys.executable, "-m", "prefmover.cli", "recommend", "--ratings", str(file), "--user", "17"]
        caches = {"NUMBA_CACHE_DIR": f"{folder}/kernels", "PREFMOVER_CACHE": f"{folder}/cache"}
        runs = {"the first on a machine": [], "compiled before": ["--refit"], "fitted before": []}
        for label, more in runs.items():
            before, start, silence = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0.0
            child = subprocess.Popen(
                [*command, *more], env=os.environ | caches, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
            told = start
            for _ in child.stderr:
                told, silence = time.perf_counter(), max(silence, time.perf_counter() - told)
            if child.wait():
                raise SystemExit(f"{command} failed")
            end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            silence = max(silence, end - told)
            rows.append([label, f"{end - start:.1f}", f"{cpu:.1f}", f"{silence:.1f}"])
    head = [
        f"`prefmover recommend`, {ratings.n_ratings:,} ratings x {ratings.n_items:,} items, CSV",
        "s",
        "CPU s",
    ]
    return table([*head, "longest silence, s"], rows)


def accuracy(split: Split, name: str) -> tuple[float, float]:
    """Return MAE and nDCG@10 of a fit to the training part."""
    model = Recommender().fit(dataset(name).with_ratings(split.train))
    mae = float(np.abs(model.predict(split).ratings - split.ratings).mean())
    users = np.arange(split.train.n_users)
    scores = model.ranker_.block(users).total
    scores[split.train.matrix.nonzero()] = -np.inf
    hits = np.zeros(scores.shape, bool)
    liked = relevant(split.ratings, split.train.scale)
    hits[split.users[liked], split.items[liked]] = True
    return mae, float(ndcg(scores, hits).mean())


def compared(name: str) -> str:
    """Return a table of the default fit next to an exact one."""
    rows = []
    for share in (0.8, 0.1):
        split = random_split(dataset(name).ratings, share, 0)
        ours = accuracy(split, name)
        before = similarity.EXACT_PAIRS, low_rank.MAX_EXACT, solver.TOLERANCE
        similarity.EXACT_PAIRS, low_rank.MAX_EXACT, solver.TOLERANCE = 10**12, 10**6, 1e-5
        exact = accuracy(split, name)
        similarity.EXACT_PAIRS, low_rank.MAX_EXACT, solver.TOLERANCE = before
        for label, a, b in zip(("MAE", "nDCG@10"), ours, exact, strict=True):
            rows.append([f"{share:g}", label, f"{a:.4f}", f"{b:.4f}", f"{a - b:+.4f}"])
    return table(["training share", "", "default", "exact", "difference"], rows)


def main() -> None:
    options = arguments(__doc__, answers=100, accuracy=1, busy=3, commands=1)
    stages = ["distances to landmarks", "settings of the ranking", "rating side", "ranking side"]
    rows, notes = [], []
    for name in [*options.datasets, SYNTHETIC]:
        found = measured(name, options.answers)
        seconds = found["seconds"]
        fit = [f"{seconds[key]:.1f}" for key in ("fit", "fit, CPU", *stages)]
        answers = [f"{1e3 * seconds[key]:.1f}" for key in ("known", "guest")]
        answers += [f"{seconds[key]:.1f}" for key in ("everybody", "everybody, CPU")]
        rows.append([name, *fit, f"{found['mb']:,.0f}", f"{seconds['load']:.2f}", *answers])
        notes.append(f"- {found['about']}; {found['calibration']}")
    head = ["data", "fit, s", "CPU s", *stages, "peak MB", "load, s", "known user, ms", "guest, ms"]
    head += ["ten items for all users, s", "its CPU s"]
    parts = ["\n".join(notes), table(head, rows)]
    parts.append(
        "The peak is that of the process, with libraries, data and item distances. Answers are medians; a guest has up to 20 ratings."
    )
    if options.busy and "ml-100k" in options.datasets:
        parts.append(busy("ml-100k", options.busy))
    if options.commands:
        parts.append(commands())
    if options.accuracy and "ml-100k" in options.datasets:
        parts.append(
            "The same fit with all distances exact, all items as landmarks and a residual of 1e-5, on "
            "MovieLens-100K, one random split for each share:"
        )
        parts.append(compared("ml-100k"))
    publish("fit", "Fit, load and answers of the default model", parts, options)


if __name__ == "__main__":
    main()
