"""docs/measures.md shows the table that the code has."""

import re
from math import inf, pi
from pathlib import Path

from prefmover.measures import MEASURES, WEIGHTS

PAGE = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")


def properties():
    """Return the table of properties in Markdown."""

    def yes(flag):
        return "yes" if flag else "no"

    def end(x):
        named = {
            inf: "∞",
            -inf: "-∞",
            pi / 2: "π/2",
            5 * pi / 8: "5π/8",
            1 / 8: "1/8",
            MEASURES["n-husm"].range[1]: "sig(1)/8",
            MEASURES["pmd-agreement"].range[1]: "π/2 + 3.73",
            0.5: "1/2",
        }
        return named.get(x, f"{x:g}")

    head = ["measure", "name", "closer is", "range", "symmetric", "metric", "item geometry"]
    head += ["without a co-rated item", "conventions (default first)", "weight"]
    lines = [head, ["---"] * len(head)]
    lines += [
        [
            row.label,
            f"`{row.name}`",
            "larger" if row.larger_is_closer else "smaller",
            f"{end(row.range[0])} to {end(row.range[1])}",
            yes(row.symmetric),
            yes(row.metric),
            "needed" if row.needs_geometry else "no",
            "undefined" if row.needs_overlap else "defined",
            ", ".join(f"`{name}`" for name in sorted(row.conventions, key=lambda n: n != row.default)),
            f"`{row.weight}`",
        ]
        for row in MEASURES.values()
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def test_properties_are_those_of_the_code():
    shown = re.search(r"<!-- properties:begin -->\n(.*?)\n<!-- properties:end -->", PAGE, re.DOTALL)[1]
    assert shown == properties(), f"paste this into docs/measures.md:\n{properties()}"


def test_every_measure_convention_and_weight_is_explained():
    for row in MEASURES.values():
        assert re.search(rf"\b{row.label}\b", PAGE)
        for convention in row.conventions:
            assert f"`{convention}`" in PAGE
    for name in WEIGHTS:
        assert f"`{name}`" in PAGE
