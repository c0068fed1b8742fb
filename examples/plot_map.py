"""A map of viewers: t-SNE on the sparse graph of nearest neighbors.

There is no table of all distances. ``nearest`` finds the 91 nearest of every viewer, ``to_graph`` returns the
sparse matrix that scikit-learn takes as ``metric="precomputed"``, and t-SNE draws the map. The colors are the
taste groups of the simulation, which neither the search nor the map has seen.

    python examples/plot_map.py [--out FOLDER]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import TSNE

import prefmover as pm
from prefmover.datasets import cinema

COLORS = (
    "#4e79a7", "#a0cbe8", "#f28e2b", "#59a14f", "#f1a7b5", "#e15759",
    "#b6992d", "#79706e", "#b3b7c4", "#b07aa1", "#17becf", "#7b4a2d",
)  # fmt: skip


def main(out: Path, viewers: int = 800, perplexity: int = 30) -> list[Path]:
    """Draw map.png."""
    data, tastes = pm.datasets.load("cinema"), np.array(cinema.viewers().tastes[:viewers])
    data = data.with_ratings(data.ratings.take(users=np.arange(viewers)))
    n_neighbors = 3 * perplexity + 1  # as many as t-SNE needs
    graph = pm.nearest(data, k=n_neighbors).to_graph()
    tsne = TSNE(perplexity=perplexity, metric="precomputed", init="random", random_state=4)
    x, y = tsne.fit_transform(graph).T
    n_rated = np.diff(data.ratings.matrix.indptr)

    figure, ax = plt.subplots(figsize=(9, 6.4), layout="constrained")
    for taste, color in zip(sorted(set(tastes)), COLORS, strict=False):
        group = tastes == taste
        size = 8 + 1.6 * n_rated[group]
        ax.scatter(x[group], y[group], s=size, color=color, label=taste, alpha=0.85, linewidths=0)
    legend = ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, title="simulated taste")
    for dot in legend.legend_handles:
        dot.set_sizes([60])
    title = f"{viewers} viewers by their {n_neighbors} nearest; larger dots have rated more films"
    ax.set_title(title, fontsize=11, loc="left")
    ax.axis("off")
    path = out / "map.png"
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return [path]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path())
    for written in main(parser.parse_args().out):
        print(written)
