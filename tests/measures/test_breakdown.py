import json

import numpy as np
import pytest
from hypothesis import given, settings

from prefmover.errors import InputError
from prefmover.measures import Measure, compare, similarities
from tests.measures.conftest import ROWS, small_worlds
from tests.messages import names


@pytest.mark.parametrize(("measure", "convention"), ROWS)
@given(small_worlds())
@settings(max_examples=15, deadline=None)
def test_value_is_that_of_the_kernel(measure, convention, case):
    ratings, geometry, twin = case
    values = similarities(ratings, measure, geometry=geometry, convention=convention, n_threads=1)
    for u, v in ((0, 1), (1, 0), (0, 0)):
        if measure == "pmd" and (u == v or convention == "table-1"):  # the latter is slow
            continue
        pair = compare(ratings, u, v, measure, geometry=geometry, convention=convention)
        assert pair.value == pytest.approx(values[u, v], rel=1e-9, abs=1e-12, nan_ok=True)
        assert (pair.reason is not None) == np.isnan(values[u, v])
        both = {i: (a, twin.rows[v][i]) for i, a in twin.rows[u].items() if i in twin.rows[v]}
        assert pair.co_rated == both
        assert str(pair)
        json.dumps(pair.to_dict(), allow_nan=False)


def test_parts_make_the_value(big_world):
    ratings, geometry, _ = big_world

    def parts(measure, **options):
        return compare(ratings, 3, 7, measure, geometry=geometry, n_terms=10_000, **options)

    jmsd = parts("jmsd")
    assert jmsd.value == pytest.approx(jmsd.part("J") * (1 - jmsd.part("MSD")))
    nhsm = parts("nhsm")
    assert nhsm.value == pytest.approx(nhsm.part("ΣPSS") * nhsm.part("J'") * nhsm.part("URP"))
    assert nhsm.part("ΣPSS") == pytest.approx(sum(term.value for term in nhsm.terms))
    nbcf = parts("n-bcf")
    assert nbcf.value == pytest.approx(nbcf.part("J") + nbcf.part("Σs·loc") / nbcf.part("|I_u||I_v|"))
    husm = parts("husm")
    assert husm.value == pytest.approx(husm.part("Σs·PSS") * husm.part("sig(n/|I_u|)") * husm.part("URP"))
    assert len(husm.terms) == parts("n-husm").part("|I_u||I_v|")
    pmd = parts("pmd")
    assert pmd.value == pytest.approx(sum(term.value for term in pmd.terms))
    assert pmd.part("stays") + pmd.part("moves") == pytest.approx(1)
    with pytest.raises(InputError, match=names("'K'", "n", "J", "MSD")):
        jmsd.part("K")


def test_terms_largest_first_and_as_many_as_asked(big_world):
    ratings, geometry, _ = big_world
    pair = compare(ratings, 3, 7, "bcf", geometry=geometry, n_terms=3)
    sizes = [abs(term.value) for term in pair.terms]
    assert len(sizes) == 3
    assert sizes == sorted(sizes, reverse=True)


def test_reasons():
    from prefmover.data.ratings import Ratings

    ratings = Ratings.from_arrays(["ann", "bob"], ["x", "y"], [5, 3])
    assert compare(ratings, "ann", "bob", "cos").reason
    assert compare(ratings, "ann", "ann", "pcc").reason
    own = Measure.from_function("none", lambda u, v: None)
    assert "none" in compare(ratings, "ann", "bob", own).reason
    assert compare(ratings, "ann", "bob", Measure.from_function("two", lambda u, v: 2)).value == 2
