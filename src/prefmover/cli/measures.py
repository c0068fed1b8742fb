"""``prefmover measures``: the measures between users."""

from __future__ import annotations

from typing import Any

from prefmover.cli.terminal import Output

EXAMPLES = ("prefmover measures", "prefmover measures --json")


def measures() -> Output:
    """List the measures between users (--measure) and their variants (--convention)."""
    from prefmover.measures import MEASURES

    rows: list[dict[str, Any]] = [
        {
            "name": one.name, "label": one.label, "summary": one.summary, "conventions": [*one.conventions],
            "needs_geometry": one.needs_geometry, "reference": one.reference,
        }
        for one in MEASURES.values()
    ]  # fmt: skip
    lines = []
    for row in rows:
        lines.append(f"{row['name']:<14} {row['summary']}")
        if len(row["conventions"]) > 1:
            lines.append(f"{'':<14} conventions: {', '.join(row['conventions'])}")
    return Output(rows, lines)
