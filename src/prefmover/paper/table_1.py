"""Table 1 of the paper: printed and computed values, cell by cell.

>>> table = table_1()
>>> table.counts("table-1")
{'rounded': 44, 'truncated': 4, 'differs': 0}
"""

import tomllib
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from functools import cached_property
from importlib.resources import files
from math import isnan, nan
from typing import Any, Literal

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, pairwise

__all__ = ["PRESETS", "Agreement", "Cell", "Table1", "agreement", "table_1"]

Agreement = Literal["rounded", "truncated", "differs"]
PRESETS = ("published", "table-1")

GRID = 1e-6
"""Item distances lie on a grid of 2⁻²⁵; computed values are off by less than this."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of Table 1(c): the printed value, and the computed values by preset; NaN if undefined."""

    measure: str
    label: str
    users: tuple[str, str]
    printed: str
    computed: dict[str, float]

    def agreement(self, preset: str) -> Agreement:
        """Return how the computed value agrees with the printed one."""
        return agreement(self.printed, self.computed[preset])

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain Python, undefined values as None."""
        return {
            "measure": self.measure,
            "column": self.label,
            "users": list(self.users),
            "printed": None if self.printed == "---" else float(self.printed),
            **{
                preset: {"value": None if isnan(value) else value, "agreement": self.agreement(preset)}
                for preset, value in self.computed.items()
            },
        }


@dataclass(frozen=True)
class Table1:
    """The data of the table, as in ``table_1.toml``, and its 48 cells."""

    settings: dict[str, Any]

    @cached_property
    def geometry(self) -> ItemGeometry:
        """Table 1(b), d = arccos s."""
        rows = self.settings["similarity"]["rows"]
        return ItemGeometry.from_similarity(self.settings["items"], rows, name="Table 1(b)")

    def data(self, users: list[str] | None = None) -> Dataset:
        """Return the ratings of Table 1(a), all or those of some users, with the geometry of Table 1(b)."""
        from scipy.sparse import csr_array

        items, rows = self.settings["items"], self.settings["ratings"]
        chosen = list(rows) if users is None else users
        dense = np.array([[rows[user].get(item, 0) for item in items] for user in chosen], dtype=float)
        scale = Scale(**self.settings["scale"])
        ratings = Ratings.from_csr(csr_array(dense), users=chosen, items=items, scale=scale)
        return Dataset(ratings, self.geometry)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, column by column."""
        pairs = [
            (self.data(case["users"]), *pair) for case in self.settings["cases"] for pair in case["pairs"]
        ]
        return tuple(
            Cell(name, self.label(name), (u, v), printed, _compute(data, name, u, v))
            for name, column in (
                (column["measure"], column["printed"]) for column in self.settings["columns"]
            )
            for (data, u, v), printed in zip(pairs, column, strict=True)
        )

    def label(self, measure: str) -> str:
        """Return the heading of a column; a distance is shown as 1 - distance."""
        row = MEASURES[measure]
        return row.label if row.larger_is_closer else f"1-{row.label}"

    def doubts(self) -> dict[str, str]:
        """Return the assumptions, by measure, that the printed values need and the definitions lack."""
        return {c["measure"]: c["doubt"] for c in self.settings["columns"] if "doubt" in c}

    def counts(self, preset: str) -> dict[Agreement, int]:
        """Return how many cells agree by rounding, by truncation only, or not."""
        agreements = [cell.agreement(preset) for cell in self.cells]
        kinds: tuple[Agreement, ...] = ("rounded", "truncated", "differs")
        return {kind: agreements.count(kind) for kind in kinds}

    def to_dict(self) -> dict[str, Any]:
        """Return cells, counts and doubts as plain Python, ready for JSON."""
        return {
            "title": self.settings["title"],
            "cells": [cell.to_dict() for cell in self.cells],
            "counts": {preset: self.counts(preset) for preset in PRESETS},
            "conventions": {
                name: {preset: MEASURES[name].conventions[preset].summary for preset in PRESETS}
                for name in (column["measure"] for column in self.settings["columns"])
            },
            "doubts": self.doubts(),
        }


def _compute(data: Dataset, measure: str, u: str, v: str) -> dict[str, float]:
    row = MEASURES[measure]
    values = {
        preset: pairwise(data, row, [u], [v], convention=preset, n_threads=1).item() for preset in PRESETS
    }
    return values if row.larger_is_closer else {preset: 1.0 - value for preset, value in values.items()}


def table_1() -> Table1:
    """Return the paper's Table 1."""
    text = files("prefmover.paper").joinpath("table_1.toml").read_text(encoding="utf-8")
    return Table1(tomllib.loads(text))


def agreement(printed: str, value: float) -> Agreement:
    """Return whether a value agrees with the printed one when it is rounded, or only when truncated.

    Short numbers ("1", "0.5") count as printed to three digits, like most of the table: 0.6 does not agree
    with "1".

    Examples
    --------
    >>> agreement("0.892", 0.89257), agreement("0.892", 0.8922), agreement("1", 0.6)
    ('truncated', 'rounded', 'differs')
    >>> agreement("---", float("nan"))
    'rounded'
    """
    target = nan if printed == "---" else float(printed)
    if isnan(target) or isnan(value):
        return "rounded" if isnan(target) and isnan(value) else "differs"
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)
    unit = Decimal(1).scaleb(-max(3, -exponent))
    if abs(value - target) <= float(unit) / 2 + GRID:
        return "rounded"
    for near in (value - GRID, value, value + GRID):
        if Decimal(near).quantize(unit, ROUND_DOWN) == Decimal(printed):
            return "truncated"
    return "differs"
