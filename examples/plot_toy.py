"""The toy example of the paper, whole: six users, five films, and every distance between them.

u1 to u3 have films in common; u4 to u6 have next to none, which is the case that co-rated measures cannot
judge. PMD needs only two things: what each user rated (left) and how alike the films are (middle).

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
    table = table_1()
    ratings, geometry = table.ratings(), table.geometry
    films = [str(film) for film in ratings.items]
    users = [str(user) for user in ratings.users]

    given = np.where(ratings.matrix.toarray() > 0, ratings.matrix.toarray(), np.nan)
    similar = geometry.similarity()
    apart = pm.distances(ratings, geometry)

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    show(axes[0], given, users, films, "Ratings", "{:.0f}", "YlGnBu", (0, 6))
    show(axes[1], similar, films, films, "How alike the films are", "{:.1f}", "YlGnBu", (0, 1.25))
    show(axes[2], apart, users, users, "How far apart the users are (PMD)", "{:.2f}", "YlGnBu_r", (-0.3, 1.4))
    for pair in ((3, 4), (4, 5)):  # u4 & u5, u5 & u6: no film in common
        for x, y in (pair, pair[::-1]):
            axes[2].add_patch(
                plt.Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="#c2452d", lw=2)
            )
    axes[2].set_xlabel("framed: nothing in common, yet a distance", color="#c2452d")
    path = out / "toy.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return [path]


def show(ax, values, rows, columns, title, form, colors, limits):
    """Draw a matrix with its numbers in it."""
    drawn = ax.imshow(values, cmap=colors, vmin=limits[0], vmax=limits[1])
    for i, j in np.ndindex(values.shape):
        if not np.isnan(values[i, j]):
            dark = sum(drawn.cmap(drawn.norm(values[i, j]))[:3]) < 1.5
            ink = "white" if dark else "#16202b"
            ax.text(j, i, form.format(values[i, j]), ha="center", va="center", fontsize=11, color=ink)
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
