"""The neighbors of a viewer with three ratings.

nadia-l has rated three films. Most of the 799 other viewers have rated none of them, so a measure of co-rated
items is undefined for those viewers. For most others, it has a single film to go by. PMD compares her with
everyone. The left panel shows all distances, by the number of films in common. The right panel shows her ten
nearest viewers, and whether they belong to her taste group, which the measure does not know.

    python examples/plot_sparse_user.py [--out FOLDER]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import prefmover as pm
from prefmover.datasets import cinema

VIEWER = "nadia-l"
NONE, ONE, MORE, INK = "#2c5aa0", "#7fc4bb", "#d9e8a8", "#26323f"


def main(out: Path) -> list[Path]:
    """Draw sparse-user.png."""
    data = pm.datasets.load("cinema")
    rated = data.ratings[VIEWER]
    taste = dict(zip(cinema.viewers().ids, cinema.viewers().tastes, strict=True))

    others = [user for user in data.ratings.users if user != VIEWER]
    distance = pm.pairwise(data, users=[VIEWER], others=others)[0]
    n_common = {user: len(rated.keys() & data.ratings[user].keys()) for user in others}
    common = np.array([n_common[user] for user in others])
    nearest = pm.nearest(data, k=10, users=[VIEWER])[VIEWER]

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(1, 1.1))
    bins = np.linspace(distance.min(), distance.max(), 31)
    parts = [distance[common == 0], distance[common == 1], distance[common > 1]]
    names = [f"none ({len(parts[0])} viewers)", f"one ({len(parts[1])})", f"two or three ({len(parts[2])})"]
    left.hist(parts, bins, stacked=True, color=[NONE, ONE, MORE], label=names)
    left.legend(title=f"films in common with {VIEWER}", frameon=False, loc="upper left")
    left.set(xlabel=f"distance from {VIEWER} (PMD)", ylabel="viewers")
    lines = [
        f"{stars:g}  {data.catalog.label(data.item_position(film))}"
        for film, stars in sorted(rated.items(), key=lambda pair: -pair[1])
    ]
    left.set_title("\n".join([f"{VIEWER} rated", *lines]), fontsize=10, loc="left")

    colors = {0: NONE, 1: ONE}
    for row, neighbor in enumerate(nearest):
        right.barh(row, neighbor.distance, color=colors.get(n_common[neighbor.user], MORE), height=0.72)
        same = taste[neighbor.user] == taste[VIEWER]
        text = taste[neighbor.user] + ("  ✓" if same else "")
        weight = "bold" if same else "normal"
        right.text(neighbor.distance + 0.012, row, text, va="center", fontsize=9, color=INK, weight=weight)
    right.set_yticks(range(len(nearest)), [neighbor.user for neighbor in nearest])
    right.invert_yaxis()
    right.set(xlim=(0, 1.6), xlabel="distance")
    right.set_title(f"The ten nearest, and their taste ({VIEWER}: {taste[VIEWER]})", fontsize=10, loc="left")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    path = out / "sparse-user.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return [path]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path())
    for written in main(parser.parse_args().out):
        print(written)
