"""Measures against sparsity: which still work when there are hardly any ratings.

250 simulated viewers keep 2, 3, 5, 8, 13 and 20 of their ratings, at random. Each time, the ten nearest are
looked up by several measures: how many of them are of the viewer's own taste group? Measures of co-rated
ratings start at chance, since hardly any two viewers share a film; those that look at the films themselves
do not.

The viewers are simulated and their tastes are made of film tags, which measures that see tags profit from
(docs/guide/cinema.md); accuracy on real ratings is in docs/benchmarks.md.

    python examples/plot_sparsity.py [--out FOLDER]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import prefmover as pm
from prefmover.datasets import cinema

KEPT = (2, 3, 5, 8, 13, 20)
SHOWN = {  # measure: color, width
    "pmd": ("#1d3f8f", 3),
    "bcf": ("#3b9ac4", 1.6),
    "n-husm": ("#7fc4bb", 1.6),
    "nhsm": ("#c2452d", 1.6),
    "jmsd": ("#e08a4f", 1.6),
    "pcc": ("#a9a9a9", 1.6),
}


def main(out: Path) -> list[Path]:
    """Draw sparsity.png."""
    data, truth = pm.datasets.load("cinema"), np.array(cinema.viewers().tastes)
    busy = np.flatnonzero(np.diff(data.ratings.matrix.indptr) >= max(KEPT))[:250]
    truth = truth[busy]
    found: dict[str, list[float]] = {name: [] for name in SHOWN}
    for n in KEPT:
        few = sample(data.ratings.select(users=busy), n)
        for name, values in found.items():
            row = pm.MEASURES[name]
            closeness = pm.similarities(few, row, geometry=data.geometry if row.needs_geometry else None)
            right = cinema.recovery(
                closeness, np.arange(len(busy)), truth, larger_is_closer=row.larger_is_closer
            )
            values.append(right.mean())

    figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for name, values in found.items():
        color, width = SHOWN[name]
        ax.plot(KEPT, values, "o-", color=color, lw=width, ms=width + 2.5, label=pm.MEASURES[name].label)
    by_chance = np.mean([(truth == taste).sum() - 1 for taste in truth]) / (len(truth) - 1)
    ax.axhline(by_chance, color="#26323f", lw=1, ls=":")
    ax.text(KEPT[0], by_chance + 0.008, "chance", fontsize=9)
    for name, height in spaced({name: values[-1] for name, values in found.items()}).items():
        label, weight = pm.MEASURES[name].label, "bold" if name == "pmd" else "normal"
        ax.text(KEPT[-1] * 1.04, height, label, color=SHOWN[name][0], va="center", weight=weight)
    ax.text(10.2, 0.60, "see the films: tags", color="#1d3f8f", ha="right", fontsize=10)
    ax.text(14.5, 0.25, "see co-rated films only", color="#c2452d", fontsize=10)
    ax.set_xscale("log")
    ax.set_xticks(KEPT, [str(n) for n in KEPT])
    ax.minorticks_off()
    ax.set(xlabel="ratings kept of each viewer", ylim=(0, 0.7), xlim=(1.9, 25))
    ax.set_title("Of the ten nearest viewers, how many share the viewer's taste?", loc="left", fontsize=11)
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    path = out / "sparsity.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return [path]


def sample(ratings: pm.Ratings, n: int) -> pm.Ratings:
    """Return n random ratings of each user."""
    rng, table = np.random.default_rng(1), ratings.to_frame().to_pydict()
    rows = np.arange(ratings.n_ratings)
    order = rng.permutation(rows)
    user = np.array(table["user"], dtype=object)[order]
    seen: dict[str, int] = {}
    kept = []
    for row, who in zip(order, user, strict=True):
        if seen.setdefault(who, 0) < n:
            seen[who] += 1
            kept.append(row)
    columns = ([table[name][row] for row in kept] for name in ("user", "item", "rating"))
    return pm.Ratings.from_arrays(*columns, scale=ratings.scale)


def spaced(heights: dict[str, float], gap: float = 0.03) -> dict[str, float]:
    """Move labels apart that would overlap."""
    out: dict[str, float] = {}
    for name, height in sorted(heights.items(), key=lambda pair: pair[1]):
        out[name] = max([height, *(other + gap for other in out.values())])
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path())
    for written in main(parser.parse_args().out):
        print(written)
