"""Neighbors of somebody who has rated three films.

nadia-l has rated three films. Most of the 799 other viewers have none of them in common with her: a measure
of co-rated ratings can say nothing about those, and with the rest it has one film to go by. PMD compares her
with everybody. Left: all distances, by films in common. Right: her ten nearest, and whether they are of her
own taste group, which nobody told the measure.

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
    mine = data.ratings.of(VIEWER)
    taste = dict(zip(cinema.viewers().ids, cinema.viewers().tastes, strict=True))

    others = [user for user in data.ratings.users if user != VIEWER]
    distance = pm.distances(data.ratings, data.geometry, users=[VIEWER], others=others)[0]
    common = np.array([len(mine.keys() & data.ratings.of(user).keys()) for user in others])
    nearest = pm.nearest(data.ratings, data.geometry, k=10, users=[VIEWER]).of(VIEWER)

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(1, 1.1))
    bins = np.linspace(distance.min(), distance.max(), 31)
    parts = [distance[common == 0], distance[common == 1], distance[common > 1]]
    names = [f"none ({len(parts[0])} viewers)", f"one ({len(parts[1])})", f"two or three ({len(parts[2])})"]
    left.hist(parts, bins, stacked=True, color=[NONE, ONE, MORE], label=names)
    left.legend(title=f"films in common with {VIEWER}", frameon=False, loc="upper left")
    left.set(xlabel=f"distance from {VIEWER} (PMD)", ylabel="viewers")
    rated = "\n".join(
        f"{stars:g}  {data.items.label(film)}" for film, stars in sorted(mine.items(), key=lambda p: -p[1])
    )
    left.set_title(f"{VIEWER} rated\n{rated}", fontsize=10, loc="left")

    shades = {0: NONE, 1: ONE}
    for row, (user, d) in enumerate(nearest):
        n = len(mine.keys() & data.ratings.of(user).keys())
        right.barh(row, d, color=shades.get(n, MORE), height=0.72)
        same = taste[user] == taste[VIEWER]
        says = f"{taste[user]}" + ("  ✓" if same else "")
        right.text(
            d + 0.012, row, says, va="center", fontsize=9, color=INK, weight="bold" if same else "normal"
        )
    right.set_yticks(range(len(nearest)), [user for user, _ in nearest])
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
