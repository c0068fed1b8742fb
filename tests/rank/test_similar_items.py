"""Items without ratings are mixtures of similar ones."""

import numpy as np
import pytest

from prefmover.items.geometry import ItemGeometry
from prefmover.rank.similar_items import SHARE, SimilarItems


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_weights_of_far_items_are_numbers(scale):
    distance = scale * np.array([[0, 1, 3.0], [1, 0, 2.0], [3.0, 2.0, 0]])
    weights = SimilarItems.fit(np.array([0, 1]), ItemGeometry.from_distance(list("abc"), distance)).weights
    expected = np.exp(-3.0 * scale * np.array([1.0, 0.0]))
    assert weights[[2], :2].toarray()[0] == pytest.approx(SHARE * expected / expected.sum(), rel=1e-3)
