"""A map of viewers: t-SNE on the sparse graph of nearest neighbors.

No table of all distances is made. The search gives everybody's 91 nearest, ``to_graph`` the sparse matrix
that scikit-learn takes as ``metric="precomputed"``, and t-SNE the map. Colors are the taste groups that the
viewers were simulated from; neither search nor map has seen them.

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
    ratings = data.ratings.select(users=np.arange(viewers))
    k = 3 * perplexity + 1  # so many neighbors does t-SNE ask for
    graph = pm.nearest(ratings, data.geometry, k=k).to_graph()
    tsne = TSNE(perplexity=perplexity, metric="precomputed", init="random", random_state=4)
    x, y = tsne.fit_transform(graph).T
    n_rated = np.diff(ratings.matrix.indptr)

    figure, ax = plt.subplots(figsize=(9, 6.4), layout="constrained")
    for k, taste in enumerate(sorted(set(tastes))):
        of = tastes == taste
        size = 8 + 1.6 * n_rated[of]
        ax.scatter(x[of], y[of], s=size, color=COLORS[k], label=taste, alpha=0.85, linewidths=0)
    names = ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, title="simulated taste")
    for dot in names.legend_handles:
        dot.set_sizes([60])
    ax.set_title(
        f"{viewers} viewers by their {k} nearest; a larger dot has rated more films", fontsize=11, loc="left"
    )
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
