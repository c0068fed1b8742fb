"""A wrong plan or wrong prices are told from right ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prefmover.errors import NotOptimalError
from prefmover.ot import transport
from prefmover.ot.certificate import certificate
from tests.ot.problems import problems


def check(result, **changed):
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
    assert check(result).valid


@given(problems(), st.data())
def test_one_price(problem, data):
    """Raised, it is too high for an arc; lowered, the dual falls behind, if there is mass behind it."""
    result = transport(*problem)
    assume(result.cost > 1e-290)
    scale = result.certificate.scale
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
    f, g = result.potentials
    shift = 3 * result.certificate.scale
    assert check(result, f=f + shift, g=g - shift).valid


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
