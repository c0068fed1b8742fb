"""A short soak, and the second opinions themselves: they must be able to say no."""

from dataclasses import replace

import numpy as np
import pytest

from prefmover.ot import transport
from prefmover.ot.certificate import Prices
from tools.soak.__main__ import main, one_round
from tools.soak.run import KINDS, batch
from tools.soak.second import by_pot, flaw, normalized
from tools.soak.tally import Tally


@pytest.mark.slow
def test_thousands_of_problems_without_a_failure():
    tally = Tally()
    for number in range(5):
        for found in one_round(seed=1, number=number, largest=120):
            tally.add(found)
    assert not tally.failures
    assert tally.failed == 0
    assert tally.problems > 2000
    assert tally.by_pot > 0.99 * tally.problems
    assert tally.proofs > 1000
    assert tally.searches == 330  # 90 of users, 240 of histograms
    assert tally.worst_error < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_can_be_run_again(kind):
    assert batch(kind, 3, 1, 20) == batch(kind, 3, 1, 20)


@pytest.mark.parametrize("number", [176, 464])
def test_ties_at_tiny_distances(number):
    """Dual prices of 2^28 that cancel to a distance of one grid unit: rounding once broke a tie."""
    assert batch("search", 7, number).failures == []


def test_the_command_line_says_where_it_stopped(capsys):
    assert main(["--problems", "300", "--minutes", "0.0001"]) == 0
    said = capsys.readouterr().out
    assert "0 failures" in said
    assert main(["--problems", "300", "--minutes", "0"]) == 0
    assert "--start 0 goes on" in capsys.readouterr().out


def test_failures_are_counted_and_shown(capsys, monkeypatch):
    def wrong(p, q, cost):
        return transport(p, q, cost[::-1])

    monkeypatch.setattr("tools.soak.run.transport", wrong)
    assert main(["--problems", "1"]) == 1
    assert "FAILED costs 0:" in capsys.readouterr().out


COST = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0]])


def solved():
    return transport([2, 1], [1, 1, 1], COST)


def test_a_right_proof_has_no_flaw():
    assert flaw(solved()) is None
    assert by_pot(normalized([2, 1]), normalized([1, 1, 1]), COST) == pytest.approx(solved().cost)


def test_flaws_are_seen():
    right = solved()
    f, g, unit = right.prices
    plan, units = right.plan, right.units
    one = round(1 / unit)

    def priced(f, unit=unit):
        prices = Prices(f, g, unit)
        return replace(right, prices=prices, potentials=prices.floats())

    worse = plan._replace(columns=plan.columns[::-1].copy())
    for wrong, why in (
        (priced(f + one), "exceed"),
        (priced(f - one), "do not meet"),
        (priced(f, unit=3.0), "unit"),
        (replace(right, potentials=(right.potentials[0] + 1, right.potentials[1])), "rounded"),
        (replace(right, cost=1.0), "cost"),
        (replace(right, units=units * 2), "add up"),
        (replace(right, units=units - units.max()), "nothing"),
        (replace(right, plan=worse), "do not meet"),
    ):
        assert why in flaw(wrong)
