"""The transport plan of two viewers: what of mine corresponds to what of yours.

petra-h and bianca-b have not rated one film in common. The plan moves petra-h's preference onto bianca-b's
with the least work: Aliens to Alien, The Lion King to The Jungle Book. The darker a ribbon, the nearer its
two films; the thicker, the more preference it carries.

    python examples/plot_transport_plan.py [--out FOLDER]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import prefmover as pm
from prefmover.predict.explanations import explain_users


def main(out: Path) -> list[Path]:
    """Draw transport-plan.png."""
    data = pm.datasets.load("cinema")  # built in: real films, simulated viewers
    titles = data.items.labels()
    why = explain_users(data.ratings, data.geometry, "petra-h", "bianca-b", titles)
    print(why)
    figure = why.plot().figure
    path = out / "transport-plan.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return [path]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path())
    for written in main(parser.parse_args().out):
        print(written)
