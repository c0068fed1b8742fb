"""Measures that still work with hardly any ratings.

Each of 250 simulated viewers has 2, 3, 5, 8, 13 or 20 random ratings. The picture shows, for several
measures, how many of the ten nearest viewers belong to the viewer's taste group. Measures of co-rated items
start at chance, since hardly any two viewers share a film. Measures that compare the films themselves do not.

The simulated tastes are made of film tags, which favors measures that see tags (docs/guide/cinema.md).
docs/benchmarks.md has the accuracy on real ratings.

    python examples/plot_sparsity.py [--out FOLDER]
"""

import argparse
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import prefmover as pm
from prefmover.datasets import cinema

COUNTS = (2, 3, 5, 8, 13, 20)
K = 10
LINES = {  # measure: color, width
    "pmd": ("#1d3f8f", 3),
    "bcf": ("#3b9ac4", 1.6),
    "n-husm": ("#7fc4bb", 1.6),
    "nhsm": ("#c2452d", 1.6),
    "jmsd": ("#e08a4f", 1.6),
    "pcc": ("#a9a9a9", 1.6),
}


def main(out: Path) -> list[Path]:
    """Draw sparsity.png."""
    data = pm.datasets.load("cinema")
    taste = dict(zip(cinema.viewers().ids, cinema.viewers().tastes, strict=True))
    active = np.flatnonzero(np.diff(data.ratings.matrix.indptr) >= max(COUNTS))[:250]
    shares: dict[str, list[float]] = {name: [] for name in LINES}
    for n in COUNTS:
        sparse = data.with_ratings(sample(data.ratings.take(users=active), n))
        for name, values in shares.items():
            nearest = pm.nearest(sparse, k=K, measure=name).to_arrow().to_pydict()
            pairs = zip(nearest["user"], nearest["neighbor"], strict=True)
            values.append(sum(taste[u] == taste[v] for u, v in pairs) / (K * sparse.n_users))

    figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for name, values in shares.items():
        color, width = LINES[name]
        ax.plot(COUNTS, values, "o-", color=color, lw=width, ms=width + 2.5, label=pm.MEASURES[name].label)
    sizes = Counter(taste[user] for user in data.ratings.users[active])
    chance = sum(size * (size - 1) for size in sizes.values()) / (len(active) * (len(active) - 1))
    ax.axhline(chance, color="#26323f", lw=1, ls=":")
    ax.text(COUNTS[0], chance + 0.008, "chance", fontsize=9)
    for name, height in spaced({name: values[-1] for name, values in shares.items()}).items():
        label, weight = pm.MEASURES[name].label, "bold" if name == "pmd" else "normal"
        ax.text(COUNTS[-1] * 1.04, height, label, color=LINES[name][0], va="center", weight=weight)
    ax.text(10.2, 0.60, "compare all films, by tags", color="#1d3f8f", ha="right", fontsize=10)
    ax.text(24.5, 0.25, "compare co-rated films only", color="#c2452d", ha="right", fontsize=10)
    ax.set_xscale("log")
    ax.set_xticks(COUNTS, [str(n) for n in COUNTS])
    ax.minorticks_off()
    ax.set(xlabel="ratings of each viewer", ylim=(0, 0.7), xlim=(1.9, 25))
    ax.set_title("Share of the ten nearest viewers with the viewer's taste", loc="left", fontsize=11)
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    path = out / "sparsity.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return [path]


def sample(ratings: pm.Ratings, n: int) -> pm.Ratings:
    """Return n random ratings of each user."""
    order = np.random.default_rng(1).permutation(ratings.n_ratings)
    by_user = order[np.argsort(ratings.rows()[order], kind="stable")]
    chosen = np.concatenate([some[:n] for some in np.split(by_user, ratings.matrix.indptr[1:-1])])
    return pm.Ratings.from_frame(ratings.to_arrow().take(chosen), scale=ratings.scale)


def spaced(heights: dict[str, float], gap: float = 0.03) -> dict[str, float]:
    """Return the heights of labels, moved so that no two overlap."""
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
