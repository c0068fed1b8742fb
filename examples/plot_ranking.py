"""Quality of lists over density: the default model, tuned peers, and controls without a transport.

Each record in docs/results/ranking is one method on one split. The picture shows nDCG@10 over the share of
ratings used for training, as the mean over all splits of a share. docs/results/ranking.md has the protocol.

    python examples/plot_ranking.py [--out FOLDER]
"""

import argparse
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt

from prefmover.evaluation import RunFolder

RECORDS = Path(__file__).parents[1] / "docs" / "results" / "ranking"
TITLES = {  # folders, in the order of the panels
    "ml-100k": "MovieLens-100K",
    "ml-1m": "MovieLens-1M",
    "goodbooks": "goodbooks (sample)",
    "lastfm": "Last.fm",
    "movietweetings": "MovieTweetings",
}
LINES = {  # method: label, color, dash, width
    "default": ("prefmover's default", "#1d3f8f", "-", 3),
    "irspack:slim": ("SLIM (irspack), tuned", "#b05fa8", "-", 1.6),
    "ease": ("EASE, tuned", "#c2452d", "-", 1.6),
    "implicit:als": ("ALS (implicit), tuned", "#e08a4f", "-", 1.6),
    "cease": ("CEASE, which knows content, tuned", "#3b9ac4", "-", 1.6),
    "irspack:ials-content": ("iALS with content, tuned", "#7fc4bb", "-", 1.6),
    "kernel:mean-vector": ("kernel ridge, mean item vectors", "#5b8c3a", "--", 1.6),
    "liked-popularity": ("the most liked items", "#8a8a8a", "--", 1.6),
}


def read(folder: Path) -> dict[str, dict[float, float]]:
    """Return the mean nDCG@10 of each method at each share."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in RunFolder(folder).records().values():
        found[record.method][record.share].append(record.main[record.cuts.index(10)])
    return {
        method: {share: sum(some) / len(some) for share, some in sorted(shares.items())}
        for method, shares in found.items()
    }


def main(out: Path) -> list[Path]:
    """Draw ranking.png."""
    found = {name: read(RECORDS / name) for name in TITLES}
    # The others are not computed yet.
    folders = [name for name in TITLES if "default" in found[name]]
    size = (max(3.1 * len(folders), 8.5), 3.6)
    figure, axes = plt.subplots(
        1, len(folders), figsize=size, sharey=True, layout="constrained", squeeze=False
    )
    for ax, name in zip(axes[0], folders, strict=True):
        methods = found[name]
        for method, (label, color, dash, width) in LINES.items():
            points = methods.get(method, {})
            shares = [100 * share for share in points]
            ax.plot(
                shares, list(points.values()), dash, marker="o", ms=3.5, color=color, lw=width, label=label
            )
        ax.set_title(TITLES[name], fontsize=10, loc="left")
        ax.set_xlabel("% of the ratings trained on")
        ax.set_xlim(0, 85)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("nDCG@10")
    axes[0, 0].set_ylim(bottom=0)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    path = out / "ranking.png"
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
