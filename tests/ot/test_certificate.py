"""A wrong plan or wrong prices are told from right ones."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prefmover.errors import InputError, NotOptimalError
from prefmover.ot import TransportProblem, transport
from prefmover.ot.certificate import Prices, certificate
from tests.messages import names
from tests.ot.problems import problems


def check(result, **changed):
    """Return the certificate of some other plan or potentials; these are floats."""
    parts = {
        "rows": result.plan.rows,
        "columns": result.plan.columns,
        "units": result.units,
        "f": result.potentials[0],
        "g": result.potentials[1],
        **changed,
    }
    return certificate(result.problem, **parts)


@given(problems(), st.data())
def test_one_unit_of_mass(problem, data):
    result = transport(*problem)
    k = data.draw(st.integers(0, len(result.units) - 1))
    for change in (1, -1):
        units = result.units.copy()
        units[k] += change
        found = check(result, units=units)
        assert found.marginal_error == 2  # one in a row, one in a column
        assert not found.valid
        with pytest.raises(NotOptimalError, match="marginal_error=2"):
            found.check()
    assert result.certificate.valid


@given(problems(), st.data())
def test_one_price(problem, data):
    """Raised, it is too high for an arc; lowered, the dual falls behind, if there is mass behind it."""
    result = transport(*problem)
    assume(result.cost > 1e-290)
    scale = problem[2].max()
    k = data.draw(st.integers(0, len(problem[0]) - 1))
    shift = np.zeros(len(problem[0]))
    shift[k] = data.draw(st.sampled_from([1e-3, 0.5, 10])) * scale
    f = result.potentials[0]
    used = result.problem.p[k] / result.problem.total
    if used > 1e-5:
        raised, lowered = check(result, f=f + shift), check(result, f=f - shift)
        assert raised.violation > 0
        assert not raised.valid
        assert lowered.gap > 0
        assert not lowered.valid


@given(problems())
def test_prices_may_move_against_each_other(problem):
    result = transport(*problem)
    f, g, unit = result.prices
    moved = Prices(f + 2**60, g - 2**60, unit)
    assert replace(result, prices=moved).certificate == result.certificate


def test_a_worse_plan_with_right_marginals():
    result = transport([1, 1], [1, 1], [[0.0, 1.0], [1.0, 0.0]])
    crossed = check(result, columns=result.plan.columns[::-1])
    assert crossed.marginal_error == 0
    assert (crossed.primal, crossed.dual, crossed.gap) == (1, 0, 1)
    assert not crossed.valid


def test_negative_mass_and_missing_prices():
    result = transport([1, 1], [1, 1], [[0.0, 1.0], [1.0, 0.0]])
    circle = check(
        result,
        rows=np.array([0, 0, 1, 1]),
        columns=np.array([0, 1, 0, 1]),
        units=np.array([2, -1, -1, 2]) * result.units[0],
    )
    assert circle.marginal_error > 0
    assert not circle.valid
    assert not check(result, f=np.array([np.nan, 0.0])).valid
    assert not check(result, f=np.array([-np.inf, 0.0]), g=np.array([0.0, 0.0])).valid


def test_the_result_checks_itself_anew():
    result = transport([1, 2], [2, 1], [[0.0, 1.0], [1.0, 0.0]])
    assert result.certificate.valid
    assert result.certificate.gap == result.gap == 0
    assert result.certificate.primal == result.cost
    broken = replace(result, units=result.units + 1)
    assert not broken.certificate.valid


def test_a_plan_that_is_wrong_beside_forbidden_costs():
    inf = np.inf
    result = transport([1, 1, 1], [1, 1, 1], [[0.9, 0.1, inf], [0.1, 0.9, inf], [inf, inf, 0]])
    assert result.plan.toarray((3, 3)).nonzero()[1].tolist() == [1, 0, 2]
    straight = check(result, rows=np.arange(3), columns=np.arange(3))
    assert straight.marginal_error == 0
    assert straight.primal == pytest.approx(0.6)
    assert not straight.valid
    assert not check(result, f=result.potentials[0] - 1e-6).valid
    around = check(result, rows=np.array([0, 1, 2]), columns=np.array([2, 1, 0]))  # through infinite costs
    assert around.marginal_error == 0
    assert around.primal == around.gap == inf
    assert not around.valid
    assert not check(result, f=result.potentials[0] + [0, 0, 1]).valid  # too much where the cost is 0


@given(st.data())
def test_valid_means_no_other_plan_is_cheaper(data):
    n = data.draw(st.integers(2, 4))
    entry = st.integers(0, 2**50 - 1).map(float) | st.sampled_from([0.0, 1.0, 1e12])
    cost = np.array(data.draw(st.lists(entry, min_size=n * n, max_size=n * n))).reshape(n, n)
    result = transport([1] * n, [1] * n, cost)
    order = {
        columns: sum(Fraction(cost[i, j]) for i, j in enumerate(columns))
        for columns in permutations(range(n))
    }
    least = min(order.values())
    assert result.cost == float(least / n)
    for columns, value in order.items():
        other = replace(result, plan=result.plan._replace(rows=np.arange(n), columns=np.array(columns)))
        other = replace(other, units=np.full(n, result.problem.p[0]))
        proof = other.certificate
        assert proof.gap == float((value - least) / n)
        assert proof.valid == (proof.gap <= 1e-9 * proof.primal)


def test_wrong_lengths_and_places_are_refused():
    problem = TransportProblem.from_arrays([1, 1], [1, 1], [[1, 1], [0, 1]])
    plan = {"rows": [0, 1], "columns": [0, 1], "units": [2, 2]}
    good = {"f": [1.0, 0.0], "g": [0.0, 0.0]}
    assert not certificate(problem, **plan, **good).valid
    for changed, message in (
        ({"f": [1.0]}, names("f", "(1,)", 2)),
        ({"g": [0.0, 0.0, 0.0]}, names("g", "(3,)", 2)),
        ({"f": [[1.0, 0.0]]}, names("f", "(1, 2)")),
        ({"f": ["1", "0"]}, names("f", "<U1")),
        ({"rows": [0]}, names("(1,)", "(2,)")),
        ({"rows": [0, 2]}, names("rows[1]", 2)),
        ({"columns": [-1, 0]}, names("columns[0]", -1)),
        ({"units": [1.0, 3.0]}, names("units", "float64")),
        ({"units": np.array([2**63, 2], np.uint64)}, names("units[0]", 2**63)),
    ):
        with pytest.raises(InputError, match=message):
            certificate(problem, **{**plan, **good, **changed})


def test_masses_that_wrap_around_are_counted():
    problem = TransportProblem.from_arrays([1], [1], [[1]])
    many = np.full(8, 2**61)
    proof = certificate(problem, np.zeros(8, int), np.zeros(8, int), many, [1.0], [0.0])
    assert proof.marginal_error == 2 * (2**64 - 1)


def test_potentials_of_any_size():
    problem = TransportProblem.from_arrays([1], [1], [[1.5]])
    for f, g in ((1e308, 1e308), (-1e308, -1e308), (1e308, 1.5 - 1e308)):  # beyond whole numbers
        proof = certificate(problem, [0], [0], [1], [f], [g])
        assert (proof.dual, proof.gap, proof.violation) == (-np.inf, np.inf, np.inf)
    assert certificate(problem, [0], [0], [1], [2.0**30], [1.5 - 2.0**30]).valid
    assert certificate(problem, [0], [0], [1], [2.0**30], [2.0**30]).violation == 2.0**31 - 1.5
    assert certificate(problem, [0], [0], [1], [1.0], [0.1]).gap == pytest.approx(0.4, abs=2 * problem.unit)
