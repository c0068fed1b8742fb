"""Like-minded users by exact optimal transport, even when they have rated nothing in common.

::

    Ratings → ItemGeometry → preferences → TransportProblem → Transport → Neighbors → Prediction
    who rated   how far      a user as a    move one user's     least      who is     what they
    what, how   items are    distribution   onto another's      work       near       would say

>>> import prefmover as pm
>>> ratings = pm.Ratings.from_arrays(
...     ["ann", "ann", "bob", "cid"], ["Alien", "Heat", "Aliens", "Emma"], [5, 2, 5, 4]
... )
>>> geometry = pm.ItemGeometry.from_vectors(
...     ["Alien", "Aliens", "Emma", "Heat"], [[9, 1, 0], [8, 3, 0], [0, 0, 9], [1, 8, 1]]
... )
>>> pm.nearest(ratings, geometry, k=1).of("ann")  # nothing in common with anybody
[Neighbor(id='bob', distance=0.4891255...)]
>>> [(f.source, f.target, round(f.share, 2)) for f in pm.pmd(ratings, geometry, "ann", "bob").flows]
[('Heat', 'Aliens', 0.64), ('Alien', 'Aliens', 0.36)]

Names are loaded when they are first used: ``import prefmover`` is quick, and so is ``prefmover --help``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prefmover import datasets
    from prefmover.data.ratings import Ratings, Scale
    from prefmover.errors import InputError, NotOptimalError, PrefmoverError
    from prefmover.items.geometry import ItemGeometry, align
    from prefmover.measures import MEASURES, Measure, compare, register, similarities
    from prefmover.measures.pmd import distances, pmd
    from prefmover.model import UserKNN
    from prefmover.ot import Transport, sinkhorn
    from prefmover.search import NeighborIndex, Neighbors, nearest, nearest_raters, within

__version__ = "0.1.0"

_HOME = {
    "InputError": "errors",
    "ItemGeometry": "items.geometry",
    "MEASURES": "measures",
    "Measure": "measures",
    "NeighborIndex": "search",
    "Neighbors": "search",
    "NotOptimalError": "errors",
    "PrefmoverError": "errors",
    "Ratings": "data.ratings",
    "Scale": "data.ratings",
    "Transport": "ot",
    "UserKNN": "model",
    "align": "items.geometry",
    "compare": "measures",
    "distances": "measures.pmd",
    "nearest": "search",
    "nearest_raters": "search",
    "pmd": "measures.pmd",
    "register": "measures",
    "similarities": "measures",
    "sinkhorn": "ot",
    "within": "search",
}

__all__ = [
    "MEASURES",
    "InputError",
    "ItemGeometry",
    "Measure",
    "NeighborIndex",
    "Neighbors",
    "NotOptimalError",
    "PrefmoverError",
    "Ratings",
    "Scale",
    "Transport",
    "UserKNN",
    "align",
    "compare",
    "datasets",
    "distances",
    "nearest",
    "nearest_raters",
    "pmd",
    "register",
    "similarities",
    "sinkhorn",
    "within",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("prefmover.datasets")
    if name in _HOME:
        return getattr(import_module(f"prefmover.{_HOME[name]}"), name)
    raise AttributeError(f"module 'prefmover' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
