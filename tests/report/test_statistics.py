"""The bootstrap and Holm's correction, against slow twins and what must hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_rel

from prefmover.data.splits import hashed
from prefmover.report import statistics
from prefmover.report.statistics import bootstrap, holm, paired_p

chances = st.lists(st.floats(0, 1), max_size=12)
values = arrays(np.float64, (2, 7), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan]))


def slow_holm(p):
    """Return the adjusted p-values: the largest of all that are as small or smaller, times those left."""
    order = sorted(range(len(p)), key=lambda k: p[k])
    scaled = [min(1.0, p[k] * (len(p) - rank)) for rank, k in enumerate(order)]
    return [max(scaled[: order.index(k) + 1]) for k in range(len(p))]


@given(chances)
def test_holm_matches_its_definition(p):
    assert holm(p).tolist() == pytest.approx(slow_holm(p))


@given(chances)
def test_holm_is_monotone(p):
    """Adjusted values are no smaller and keep the order; the smallest is as after Bonferroni."""
    found = holm(p)
    assert (found >= np.array(p)).all()
    assert (found <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    if p:
        assert found.min() == pytest.approx(min(1.0, len(p) * min(p)))


@given(values, values)
def test_the_bootstrap_matches_its_definition(a, b):
    """Drawing users one by one, with the mean of each split."""
    a[:, 0], b[:, 0] = [1.0, 0.5], 0.5  # somebody is judged in every split
    a[np.isnan(b)], b[np.isnan(a)] = np.nan, np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "RESAMPLES", 30)
        statistics._resamples.cache_clear()
        found = bootstrap(a, b)
        statistics._resamples.cache_clear()
    D = (a - b)[:, ~np.isnan(a - b).all(axis=0)]
    n, means = D.shape[1], []
    for row in range(30):
        drawn = [int(hashed(statistics.SEED, np.array([row * n + k]))[0] % np.uint64(n)) for k in range(n)]
        splits = [[x for x in split[drawn].tolist() if x == x] for split in D]
        means.append(np.mean([np.mean(some) if some else 0.0 for some in splits]))
    means = np.round(means, 12)
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]))
    assert found.p == min(1.0, 2 * (min((means <= 0).sum(), (means >= 0).sum()) + 1) / 31)


@given(st.integers(0, 10**6))
def test_the_interval_contains_the_mean_difference(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 3, 40))
    a[rng.random((3, 40)) < 0.2] = np.nan
    found = bootstrap(a, b)
    mean = np.nanmean(a - b, axis=1).mean()
    assert found.low <= mean <= found.high
    assert bootstrap(a, a) == (0.0, 0.0, 1.0)
    other = bootstrap(b, a)
    assert (other.low, other.high, other.p) == pytest.approx((-found.high, -found.low, found.p))


def test_p_values_agree_where_theory_says_so():
    """With many users, the bootstrap is close to a t-test over users; its draws do not change."""
    rng = np.random.default_rng(1)
    a = rng.random((1, 800))
    b = a + rng.normal(0.012, 0.2, a.shape)
    assert bootstrap(a, b).p == pytest.approx(float(ttest_rel(a[0], b[0]).pvalue), abs=0.02)
    assert bootstrap(a, b) == bootstrap(a, b)
    assert paired_p(a, a).tolist() == [1.0]
