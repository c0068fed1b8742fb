"""The exact solver against POT, SciPy and permutations; its proofs, checked in fractions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover.errors import InputError, NotOptimalError
from prefmover.ot import TransportProblem, _simplex, transport
from prefmover.ot.solve import solve
from tests.messages import names
from tests.oracles.transport import (
    by_assignment,
    by_linear_program,
    by_permutations,
    by_pot,
    check_proof,
    is_feasible,
)
from tests.ot.problems import chain, problems


def same(value, reference, cost):
    return value == pytest.approx(reference, rel=0, abs=1e-9 * cost.max())


@settings(max_examples=150)
@given(problems())
def test_cost_is_that_of_two_other_solvers_and_proved(problem):
    result = transport(*problem)
    check_proof(result)
    assert result.certificate.valid
    assert result.status == "optimal"
    assert len(result.units) <= len(problem[0]) + len(problem[1]) - 1
    assert result.plan.mass.sum() == pytest.approx(1)
    if problem[2].max() > 1e-290:  # theirs stop at denormal numbers
        assert same(result.cost, by_linear_program(*problem), problem[2])
        assert same(result.cost, by_pot(*problem), problem[2])


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n)))
def test_equal_masses_are_an_assignment(entries):
    n = round(len(entries) ** 0.5)
    cost = np.reshape(entries, (n, n))
    assert transport(np.ones(n, int), np.ones(n, int), cost).cost == pytest.approx(by_permutations(cost))


@pytest.mark.parametrize("levels", [2, 3, 1000])
@pytest.mark.parametrize("n", [40, 120])
def test_degenerate_problems_end(n, levels):
    """Equal masses: almost every basic arc is without flow, and most pivots move nothing."""
    rng = np.random.default_rng(n + levels)
    for _ in range(5):
        cost = rng.integers(0, levels, (n, n))
        result = transport(np.ones(n, int), np.ones(n, int), cost)
        assert result.cost == pytest.approx(by_assignment(cost), rel=1e-12)
        assert result.gap == 0
        check_pivots_are_few(result)


@pytest.mark.parametrize(("n", "m"), [(1, 300), (300, 1), (40, 200), (200, 37), (90, 90)])
@pytest.mark.parametrize("kind", ["fixed point", "floats", "zero or one", "a plane"])
def test_sizes(n, m, kind):
    rng = np.random.default_rng(n * m)
    cost = {
        "fixed point": rng.integers(0, 2**26, (n, m)) * 2.0**-25,
        "floats": rng.random((n, m)) ** 4,
        "zero or one": rng.integers(0, 2, (n, m)).astype(float),
        "a plane": np.linalg.norm(rng.random((n, 1, 2)) - rng.random((1, m, 2)), axis=2),
    }[kind]
    p, q = rng.integers(1, 11, n) / 2, rng.integers(1, 6, m)
    result = transport(p, q, cost)
    assert result.certificate.valid
    assert same(result.cost, by_pot(p, q, cost), cost)
    check_pivots_are_few(result)


def test_600_by_500():
    rng = np.random.default_rng(0)
    p, q = rng.integers(1, 6, 600), rng.integers(1, 6, 500)
    cost = np.arccos(np.clip(rng.random((600, 8)) @ rng.random((8, 500)) / 8, 0, 1))
    result = transport(p, q, cost)
    assert result.certificate.valid
    assert same(result.cost, by_pot(p, q, cost), cost)


def check_pivots_are_few(result):
    """No assertion about time, but a solver that wanders would show here."""
    assert result.pivots <= 20 * sum(result.problem.whole.shape)


@given(problems(), st.integers(-200, 200), st.integers(1, 9))
def test_units_of_cost_and_mass_do_not_matter(problem, exponent, factor):
    p, q, cost = problem
    if cost.max() > 1e200 or cost[cost > 0].min(initial=1) < 1e-200:
        return  # products would be infinite, or lose digits
    scaled = transport(p, q, np.ldexp(cost, exponent))
    assert scaled.cost == pytest.approx(np.ldexp(transport(p, q, cost).cost, exponent), rel=1e-15, abs=0)
    if isinstance(p[0], int) and isinstance(q[0], int):
        again = transport([factor * x for x in p], q, cost)
        assert again.cost == pytest.approx(transport(p, q, cost).cost, rel=1e-12, abs=0)


@given(problems(), st.randoms(use_true_random=False))
def test_order_and_direction_do_not_matter(problem, random):
    p, q, cost = problem
    rows, columns = list(range(len(p))), list(range(len(q)))
    random.shuffle(rows)
    random.shuffle(columns)
    value = transport(p, q, cost).cost
    shuffled = transport([p[i] for i in rows], [q[j] for j in columns], cost[np.ix_(rows, columns)])
    assert same(shuffled.cost, value, cost)
    assert same(transport(q, p, cost.T).cost, value, cost)


def test_masses_are_exact_where_they_are_whole():
    result = transport([1, 2], [3, 4], [[0, 1], [1, 0]])
    assert result.problem.p.tolist() == [7, 14]
    assert result.problem.q.tolist() == [9, 12]
    assert result.problem.total == 21
    huge = transport([2**62, 2**62 + 2], [1, 3], [[0, 1], [1, 0]])  # the common total would not fit
    assert huge.cost == pytest.approx(0.25, abs=1e-15)
    assert huge.problem.total == 2**52
    unsigned = transport(np.array([2**64 - 1, 1], np.uint64), [True, True], [[0, 1], [1, 0]])
    assert unsigned.cost == pytest.approx(0.5, abs=1e-15)


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=40).filter(any))
def test_rounded_masses_add_up_and_spare_zeros(mass):
    problem = TransportProblem.from_arrays(mass, [1.0], np.zeros((len(mass), 1)))
    assert problem.total == 2**52
    exact = np.array(mass) / max(mass) / (np.array(mass) / max(mass)).sum()
    assert np.abs(problem.p / 2**52 - exact).max() < 1e-15
    assert not problem.p[np.array(mass) == 0].any()


def test_narrow_costs_where_they_fit():
    assert TransportProblem.from_arrays([1], [1], [[0.75]]).whole.dtype == np.int32
    assert TransportProblem.from_arrays([1], [1], [[0.1]]).whole.dtype == np.int64
    assert TransportProblem.from_arrays([1, 1], [1], [[1.0], [2.0**-30]]).whole.dtype == np.int64
    exact = TransportProblem.from_arrays([1, 1], [1], [[1.0], [2.0**-25]])
    assert exact.whole.dtype == np.int32
    assert exact.cost is None
    assert exact.costs.tolist() == [[1.0], [2.0**-25]]


def test_zero_masses_are_priced_too():
    result = transport([0, 1, 0], [1, 0], [[1, 2], [3, 4], [5, 0]])
    assert result.cost == 3
    f, g = result.potentials
    assert (f[:, None] + g <= result.problem.costs).all()
    assert result.plan.toarray((3, 2)).tolist() == [[0, 0], [1, 0], [0, 0]]


def test_64_bits_where_prices_outgrow_32():
    """The kernel notices, before the first pivot, and the answer does not change."""
    for n in (9, 33, 150):
        p, q, cost = chain(n)
        w = _simplex.workspace(n, n)
        w.f[:n] = w.g[:n] = 0
        assert _simplex.finish(cost, p, q, n, n, w)[0] == _simplex.OVERFLOW
        w = _simplex.workspace(n, n, np.int64)
        w.f[:n] = w.g[:n] = 0
        status, _, high, low = _simplex.finish(cost.astype(np.int64), p, q, n, n, w)
        assert status == _simplex.OPTIMAL
        exact = high * 2**_simplex.LIMB_BITS + low
        result = transport(p, q, cost)
        assert exact == sum(result.units * cost[result.plan.rows, result.plan.columns].astype(int))
        assert same(result.cost, by_pot(p, q, cost), cost)


def test_overflow_is_solved_again(monkeypatch):
    widths = []

    def report_overflow(c, p, q, n, m, w):
        widths.append(c.dtype)
        if c.dtype == np.int32:
            return _simplex.OVERFLOW, 3, 0, 0
        return original(c, p, q, n, m, w)

    original = _simplex.solve
    monkeypatch.setattr(_simplex, "solve", report_overflow)
    assert transport([1, 1], [1, 3], [[0, 1], [1, 0]]).cost == 0.25
    assert widths == [np.int32, np.int64]


def test_not_optimal_raises(monkeypatch):
    monkeypatch.setattr(_simplex, "solve", lambda *_: (_simplex.STALLED, 77, 0, 0))
    with pytest.raises(NotOptimalError, match=names(2, 77)):
        transport([1, 1], [1, 3], [[0, 1], [1, 0]])


@pytest.mark.parametrize("field", ["flow", "price"])
def test_a_kernel_that_lies_is_caught(monkeypatch, field):
    """Status optimal, but a flow or a price in the workspace is wrong."""
    original = _simplex.solve

    def lie(c, p, q, n, m, w):
        answer = original(c, p, q, n, m, w)
        getattr(w, field)[: n + m] += 1
        return answer

    monkeypatch.setattr(_simplex, "solve", lie)
    with pytest.raises(NotOptimalError):
        transport([1, 1], [1, 3], [[0, 1], [1, 0]])


def test_a_suboptimal_plan_is_caught(monkeypatch):
    """The greedy start, not improved: marginals hold, but the prices do not."""
    rng = np.random.default_rng(1)
    p, q, cost = rng.integers(1, 9, 12), rng.integers(1, 9, 12), rng.integers(0, 99, (12, 12))

    def stop_early(c, p, q, n, m, w):
        root = _simplex.start_greedily(c, p, q, n, m, w)
        _simplex.hang_tree(c, n, m, root, w)
        return _simplex.OPTIMAL, 0, 0, 0

    monkeypatch.setattr(_simplex, "solve", stop_early)
    with pytest.raises(NotOptimalError):
        transport(p, q, cost)


def test_costs_of_two_sizes():
    """A cost of 10^12 for what is forbidden leaves too few bits for the others; inf does not."""
    for many in (1e12, 1e300):
        with pytest.raises(InputError, match=names("inf", f"{many:g}")):
            transport([1, 1, 1], [1, 1, 1], [[0.9, 0.1, many], [0.1, 0.9, many], [many, many, 0]])
    many = np.inf
    result = transport([1, 1, 1], [1, 1, 1], [[0.9, 0.1, many], [0.1, 0.9, many], [many, many, 0]])
    assert result.cost == pytest.approx(0.2 / 3, rel=1e-15)
    check_proof(result)
    whole = transport([1, 1], [1, 1], [[3, 1e12], [1e12 + 1, 3]])  # whole numbers below 2^50 are exact
    assert (whole.cost, whole.gap) == (3, 0)
    paid = transport([1, 1], [1, 1], [[1e12, 1e12], [0.1, 0.3]])  # a part of any plan
    assert paid.cost == pytest.approx((1e12 + 0.1) / 2, rel=1e-15)
    check_proof(paid)


@pytest.mark.parametrize(("bits", "exact"), [(49, True), (50, True), (51, False), (52, False)])
def test_costs_of_50_bits_are_exact(bits, exact):
    """The least bit of the largest cost decides which of two plans is better, up to 2^-50."""
    most, least = 2.0**bits - 1, 1.0
    result = transport([1, 1], [1, 1], [[most, most - least], [most, most]])
    check_proof(result)
    assert (result.problem.cost is None) == exact
    assert exact == (result.gap == 0)
    if exact:
        assert result.plan.columns.tolist() == [1, 0]


@settings(max_examples=60)
@given(problems(largest=9), st.data())
def test_costs_over_many_orders_of_magnitude(problem, data):
    """Refused, or proved in fractions to 10^-9 of the cost of the plan."""
    p, q, cost = problem
    width = data.draw(st.sampled_from([1, 3, 12, 290]))
    powers = st.lists(st.floats(-width, width), min_size=cost.size, max_size=cost.size)
    cost = 10.0 ** np.array(data.draw(powers)).reshape(cost.shape)
    result, message = None, ""
    try:
        result = transport(p, q, cost)
    except InputError as error:
        message = str(error)
    if result is None:
        assert "inf" in message
        assert width > 1
        return
    check_proof(result)
    if width <= 3:
        assert same(result.cost, by_linear_program(p, q, cost), cost)


@settings(max_examples=150)
@given(problems(), st.data())
def test_forbidden_arcs(problem, data):
    """The best plan that avoids them is that of HiGHS without these variables; or there is none, for both."""
    p, q, cost = problem
    chosen = data.draw(st.lists(st.booleans(), min_size=cost.size, max_size=cost.size))
    cost = np.where(np.reshape(chosen, cost.shape), np.inf, cost)
    if not is_feasible(p, q, np.isfinite(cost)):
        with pytest.raises(InputError, match=names("infinite", "rows")):
            transport(p, q, cost)
        return
    result = transport(p, q, cost)
    assert result.certificate.valid
    finite = cost[np.isfinite(cost)]
    if finite.max() > 1e-290:  # else a unit of the prices is subnormal, and has few digits
        check_proof(result)
        assert result.cost == pytest.approx(by_linear_program(p, q, cost), rel=0, abs=1e-9 * finite.max())


@given(problems())
def test_forbidden_arcs_change_nothing_if_the_best_plan_avoids_them(problem):
    p, q, cost = problem
    used = np.zeros(cost.shape, bool)
    first = transport(p, q, cost)
    used[first.plan.rows, first.plan.columns] = True
    again = transport(p, q, np.where(used, cost, np.inf))
    assert again.cost == pytest.approx(first.cost, rel=1e-9, abs=0)
    check_proof(again)


def test_forbidden_arcs_by_hand():
    inf = np.inf
    # Row 0 can only go to column 1, so row 1 has to take the expensive column 0.
    result = transport([1, 1], [1, 1], [[inf, 1], [5, 0]])
    assert (result.cost, result.gap) == (3, 0)
    assert result.plan.toarray((2, 2)).tolist() == [[0, 0.5], [0.5, 0]]
    # Rows 0 and 2 have 3 of 4 units, and share a column of 2.
    with pytest.raises(InputError, match=names("rows [0, 2]", "0.75", "0.5")):
        transport([1, 1, 2], [2, 2], [[1, inf], [0, 0], [1, inf]])
    with pytest.raises(InputError, match=names("rows [1]", "0.5", "0")):
        transport([1, 1], [1, 1], [[0, 0], [inf, inf]])
    # Nobody has to go to a point without mass, however far it is.
    assert transport([1, 0], [1, 0], [[2, inf], [inf, inf]]).cost == 2
    # Degenerate: the tree must use forbidden arcs, without flow.
    n = 30
    diagonal = np.where(np.eye(n, dtype=bool), 0.1, inf)
    result = transport([1] * n, [1] * n, diagonal)
    check_proof(result)
    assert result.cost == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_forbidden_arcs_of_larger_problems(share):
    rng = np.random.default_rng(7)
    n, m = 60, 50
    cost = rng.integers(0, 2**26, (n, m)) * 2.0**-26
    cost[1:, 1:][rng.random((n - 1, m - 1)) < share] = np.inf
    p, q = rng.integers(1, 6, n), rng.integers(1, 6, m)
    p[0] = q[0] = 500  # from here to everywhere, and from everywhere to there
    result = transport(p, q, cost)
    assert result.gap == 0
    assert result.cost == pytest.approx(by_linear_program(p, q, cost), rel=1e-9)


BAD = {
    "no masses": ([], [1], np.zeros((0, 1)), names("p")),
    "text": (["a"], [1], [[0]], names("p", "<U1")),
    "two-dimensional": ([[1]], [1], [[0]], names("p")),
    "negative mass": ([1, 2], [1, -2.5], np.zeros((2, 2)), names("q[1]", -2.5)),
    "missing mass": ([1, np.nan], [1], np.zeros((2, 1)), names("p[1]", "nan")),
    "infinite mass": ([1, np.inf], [1], np.zeros((2, 1)), names("p[1]", "inf")),
    "all zero": ([0, 0], [1], np.zeros((2, 1)), names("p")),
    "shape": ([1, 1], [1], [[0, 0]], names("cost", "(1, 2)", 2, 1)),
    "complex": ([1], [1], [[1j]], names("cost", "complex128")),
    "negative cost": ([1, 1], [1], [[0], [-1]], names("cost[1, 0]", "-1.0", "1e+300", "inf")),
    "missing cost": ([1, 1], [1], [[0], [np.nan]], names("cost[1, 0]", "nan")),
    "minus infinity": ([1, 1], [1], [[0], [-np.inf]], names("cost[1, 0]", "-inf")),
    "all infinite": ([1], [1], [[np.inf]], names("rows [0]", "infinite")),
    "too large a cost": ([1], [1], [[1.1e300]], names("cost[0, 0]", "1.1e+300")),
}


@pytest.mark.parametrize(("p", "q", "cost", "message"), BAD.values(), ids=BAD)
def test_bad_input(p, q, cost, message):
    with pytest.raises(InputError, match=message):
        transport(p, q, cost)


WHOLE = np.zeros((2, 2), np.int32)
UNSOUND = {
    "shape": ([1, 1, 1], [1, 2], WHOLE, names("(2, 2)", 3, 2)),
    "negative cost": ([1, 1], [1, 1], WHOLE - 1, names()),
    "large cost": ([1, 1], [1, 1], WHOLE + 2**27, names()),
    "negative mass": ([3, -1], [1, 1], WHOLE, names()),
    "sums differ": ([1, 2], [1, 1], WHOLE, names(3, 2)),
    "nothing": ([0, 0], [0, 0], WHOLE, names(0)),
}


@pytest.mark.parametrize(("p", "q", "whole", "message"), UNSOUND.values(), ids=UNSOUND)
def test_unsound_problems_never_reach_a_kernel(p, q, whole, message):
    with pytest.raises(InputError, match=message):
        TransportProblem(np.array(p), np.array(q), whole, 1.0)


@given(st.data())
def test_mass_that_both_sides_have_stays(data):
    """On a metric, canceling at the same points changes neither the cost nor the proof."""
    n_points = data.draw(st.integers(1, 7))
    points = data.draw(st.lists(st.integers(0, 9), min_size=n_points, max_size=n_points))
    metric = np.abs(np.subtract.outer(points, points)).astype(np.int32)
    weights = st.lists(st.integers(1, 4), min_size=n_points, max_size=n_points)
    i, j = (np.array(sorted(data.draw(st.sets(st.integers(0, n_points - 1), min_size=1)))) for _ in range(2))
    p, q = np.array(data.draw(weights))[i], np.array(data.draw(weights))[j]
    p, q = p * q.sum(), q * p.sum()
    _, at_i, at_j = np.intersect1d(i, j, return_indices=True)
    whole = metric[np.ix_(i, j)]
    canceled = solve(TransportProblem(p, q, whole, 1.0, same=(at_i, at_j)))
    check_proof(canceled)
    assert canceled.cost == solve(TransportProblem(p, q, whole, 1.0)).cost
    stay = canceled.plan.toarray(whole.shape)[at_i, at_j]
    assert (stay >= np.minimum(p[at_i], q[at_j]) / p.sum() - 1e-15).all()


def test_canceling_where_it_is_not_allowed_is_caught():
    """Without the triangle inequality a detour over the shared point may be cheaper: 1 + 1 < 9."""
    whole = np.array([[0, 1], [1, 9]], np.int32)  # rows s, a; columns s, b
    p = q = np.array([1, 1])
    assert solve(TransportProblem(p, q, whole, 1.0)).cost == 1
    first = np.array([0])
    with pytest.raises(NotOptimalError):
        solve(TransportProblem(p, q, whole, 1.0, same=(first, first)))
