"""Table 1(c), cell by cell, next to the values of the published definitions."""

import json
import re
from math import isnan

import pytest

from prefmover.items.geometry import ItemGeometry
from prefmover.measures import pairwise
from prefmover.paper.table_1 import agreement, table_1

TABLE = table_1()
PAIRS = [("u1", "u2"), ("u2", "u3"), ("u4", "u5"), ("u5", "u6")]
TRUNCATED = {("bcf", 0), ("husm", 1), ("n-husm", 0), ("pmd", 0)}

# Values of the published definitions; the other measures agree with the printed ones.
PUBLISHED = {
    "nhsm": [0.03420, 0.03420, None, None],
    "bcf": [0.81429, 0.45714, 0.0, 0.0],
    "n-bcf": [0.53492, 0.49524, 0.0, 0.0],
    "pmd": [0.678, 0.367, -0.266, 0.356],
}


def test_48_cells():
    assert len(TABLE.cells) == 48
    assert [cell.users for cell in TABLE.cells[:4]] == PAIRS


@pytest.mark.parametrize("cell", TABLE.cells, ids=lambda c: f"{c.label} {'-'.join(c.users)}")
def test_reconstruction_gives_the_printed_cell(cell):
    expected = "truncated" if (cell.measure, PAIRS.index(cell.users)) in TRUNCATED else "rounded"
    assert cell.agreement("table-1") == expected


def test_counts():
    assert TABLE.counts("table-1") == {"rounded": 44, "truncated": 4, "differs": 0}
    assert TABLE.counts("published") == {"rounded": 32, "truncated": 2, "differs": 14}


@pytest.mark.parametrize("cell", TABLE.cells, ids=lambda c: f"{c.label} {'-'.join(c.users)}")
def test_published_definitions(cell):
    if cell.measure in PUBLISHED:
        value = PUBLISHED[cell.measure][PAIRS.index(cell.users)]
        if value is None:
            assert isnan(cell.computed["published"])
        else:
            assert cell.computed["published"] == pytest.approx(
                value, abs=6e-4 if cell.measure == "pmd" else 6e-6
            )
            assert cell.agreement("published") == "differs"
    else:
        assert cell.agreement("published") != "differs"


def test_item_means_over_all_six_users_would_not_agree():
    data = TABLE.data()
    values = [pairwise(data, "husm", [u], [v]).item() for u, v in PAIRS]
    assert values == pytest.approx([0.15827, 0.11922, 0.02853, 0.03151], abs=6e-6)


def test_exact_transport_on_one_minus_similarity():
    settings = TABLE.settings
    geometry = ItemGeometry.from_similarity(settings["items"], settings["similarity"]["rows"], "one-minus")
    data = TABLE.data().with_geometry(geometry)
    values = [1 - pairwise(data, "pmd", [u], [v]).item() for u, v in PAIRS]
    assert values == pytest.approx([0.9, 0.65, 0.3, 0.8], abs=1e-6)


def test_agreement_marks():
    assert agreement("0.0769", 0.07694) == "rounded"
    assert agreement("0.0769", 0.07696) == "truncated"
    assert agreement("0.0769", 0.0768) == "differs"
    assert agreement("0.3", 0.3004) == "rounded"
    assert agreement("0.3", 0.34) == "differs"
    assert agreement("1", 0.9994) == "differs"
    assert agreement("---", 0.0) == agreement("0", float("nan")) == "differs"
    assert agreement("-0.5", -0.5006) == "truncated"
    assert agreement("-0.5", 0.5) == "differs"


@pytest.mark.slow
def test_command():
    from typer.testing import CliRunner

    from prefmover.cli import app

    result = CliRunner().invoke(app, ["paper", "table-1"])
    assert result.exit_code == 0
    assert re.search(r"48\D+48\D+44\D+4\D+0\b", result.output)
    assert re.search(r"34\D+48\D+32\D+2\D+14\b", result.output)
    assert "1-PMD     u1 & u2      0.892" in result.output


@pytest.mark.slow
def test_command_json():
    from typer.testing import CliRunner

    from prefmover.cli import app

    result = CliRunner().invoke(app, ["paper", "table-1", "--json"])
    data = json.loads(result.stdout)
    assert data["counts"]["table-1"] == {"rounded": 44, "truncated": 4, "differs": 0}
    cell = data["cells"][47]
    assert (cell["measure"], cell["users"], cell["printed"]) == ("pmd", ["u5", "u6"], 0.8)
    assert data["cells"][2]["table-1"] == {"value": None, "agreement": "rounded"}
    assert set(data["doubts"]) == {"nhsm", "bcf", "n-bcf", "husm", "n-husm", "pmd"}
