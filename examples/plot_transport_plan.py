"""The transport plan of two viewers: which films of one correspond to which films of the other.

petra-h and bianca-b have no rated film in common. The plan moves the preference of petra-h onto that of
bianca-b at the least cost: Aliens to Alien, The Lion King to The Jungle Book. A ribbon is as thick as the
preference it carries, and dark if its two films are similar.

    python examples/plot_transport_plan.py [--out FOLDER]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import prefmover as pm
from prefmover.explain import explain_users


def main(out: Path) -> list[Path]:
    """Draw transport-plan.png."""
    data = pm.datasets.load("cinema")  # built in: real films, simulated viewers
    explanation = explain_users(data, data.user_position("petra-h"), data.user_position("bianca-b"))
    print(explanation)
    figure = explanation.plot().figure
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
