import numpy as np
import pytest
from hypothesis import given, settings

from prefmover import Dataset, Ratings
from prefmover.errors import InputError
from prefmover.measures import Measure, pairwise
from prefmover.measures.breakdown import breakdown
from tests.measures.conftest import ROWS, small_worlds
from tests.messages import names


@pytest.mark.parametrize(("measure", "convention"), ROWS)
@given(small_worlds())
@settings(max_examples=15, deadline=None)
def test_value_is_that_of_the_kernel(measure, convention, case):
    data, rows = case
    values = pairwise(data, measure, convention=convention, n_threads=1)
    for u, v in ((0, 1), (1, 0), (0, 0)):
        if measure == "pmd" and (u == v or convention == "table-1"):  # the latter is slow
            continue
        pair = breakdown(data, u, v, measure, convention)
        assert pair.value == pytest.approx(values[u, v], rel=1e-9, abs=1e-12, nan_ok=True)
        assert (pair.reason is not None) == np.isnan(values[u, v])
        assert pair.co_rated == {i: (a, rows[v][i]) for i, a in rows[u].items() if i in rows[v]}
        total = sum(flow.share for flow in pair.flows)
        assert total == pytest.approx(1) or not any(flow.value for flow in pair.flows)
        sizes = [abs(flow.value) for flow in pair.flows]
        assert sizes == sorted(sizes, reverse=True)
        for flow in pair.flows:
            assert flow.source_rating == rows[u][flow.source]
            assert flow.target_rating == rows[v][flow.target]
            assert 0 <= flow.similarity <= 1


def test_factors_make_the_value(big_world):
    data, _ = big_world

    def of(measure):
        return breakdown(data, 3, 7, measure)

    jmsd = of("jmsd")
    assert jmsd.value == pytest.approx(jmsd.factor("J") * (1 - jmsd.factor("MSD")))
    nhsm = of("nhsm")
    assert nhsm.value == pytest.approx(nhsm.factor("ΣPSS") * nhsm.factor("J'") * nhsm.factor("URP"))
    assert nhsm.factor("ΣPSS") == pytest.approx(sum(flow.value for flow in nhsm.flows))
    nbcf = of("n-bcf")
    assert nbcf.value == pytest.approx(nbcf.factor("J") + nbcf.factor("Σs·loc") / nbcf.factor("|I_u||I_v|"))
    husm = of("husm")
    product = husm.factor("Σs·PSS") * husm.factor("sig(n/|I_u|)") * husm.factor("URP")
    assert husm.value == pytest.approx(product)
    assert len(husm.flows) == of("n-husm").factor("|I_u||I_v|")
    pmd = of("pmd")
    assert pmd.value == pytest.approx(sum(flow.value for flow in pmd.flows))
    assert all(flow.value == flow.mass * flow.distance for flow in pmd.flows)
    assert pmd.factor("stays") + pmd.factor("moves") == pytest.approx(1)
    assert pmd.certificate.valid
    with pytest.raises(InputError, match=names("'K'", "n", "J", "MSD")):
        jmsd.factor("K")


def test_reasons():
    data = Dataset(Ratings.from_arrays(["ann", "bob"], ["x", "y"], [5, 3]))
    assert breakdown(data, 0, 1, "cos").reason
    assert breakdown(data, 0, 0, "pcc").reason
    undefined = Measure.from_function("none", lambda u, v: None)
    assert "none" in breakdown(data, 0, 1, undefined).reason
    assert breakdown(data, 0, 1, Measure.from_function("two", lambda u, v: 2)).value == 2
