"""The toy example of the paper: six users, five films, and all distances between the users.

u1 to u3 have films in common; u4 to u6 have almost none, so measures of co-rated items cannot compare them.
PMD needs only two things: the ratings (left) and the similarities of the films (middle).

    python examples/plot_toy.py [--out FOLDER]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import prefmover as pm
from prefmover.paper.table_1 import table_1


def main(out: Path) -> list[Path]:
    """Draw toy.png: ratings, similarities and distances."""
    data = table_1().data()
    users, films = data.ratings.users.tolist(), data.ratings.items.tolist()
    dense = data.ratings.matrix.toarray()
    ratings = np.where(dense > 0, dense, np.nan)
    similarity = data.geometry.similarity()
    distance = pm.pairwise(data)

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    show(axes[0], ratings, users, films, "Ratings", "{:.0f}", "YlGnBu", (0, 6))
    show(axes[1], similarity, films, films, "Similarity of the films", "{:.1f}", "YlGnBu", (0, 1.25))
    show(axes[2], distance, users, users, "Distance between users (PMD)", "{:.2f}", "YlGnBu_r", (-0.3, 1.4))
    for pair in ((3, 4), (4, 5)):  # u4 and u5, u5 and u6: no film in common
        for x, y in (pair, pair[::-1]):
            axes[2].add_patch(
                plt.Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="#c2452d", lw=2)
            )
    axes[2].set_xlabel("framed: no film in common, yet a distance", color="#c2452d")
    path = out / "toy.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return [path]


def show(ax, values, rows, columns, title, number_format, colors, limits):
    """Draw a matrix as colored cells with numbers."""
    image = ax.imshow(values, cmap=colors, vmin=limits[0], vmax=limits[1])
    for i, j in np.ndindex(values.shape):
        if not np.isnan(values[i, j]):
            dark = sum(image.cmap(image.norm(values[i, j]))[:3]) < 1.5
            ink = "white" if dark else "#16202b"
            ax.text(
                j, i, number_format.format(values[i, j]), ha="center", va="center", fontsize=11, color=ink
            )
    ax.set_xticks(range(len(columns)), columns, rotation=35, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_title(title, fontsize=11)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path())
    for written in main(parser.parse_args().out):
        print(written)
