"""Like-minded users by exact optimal transport, even when they have rated nothing in common.

::

    Ratings, ItemGeometry  ->  Dataset  ->  pmd, nearest  ->  Recommender  ->  evaluate
    who rated what,            aligned      distances and     predictions,     accuracy on
    how far items are          once         neighbors         explanations     test ratings

>>> import prefmover as pm
>>> ratings = pm.Ratings.from_arrays(
...     ["ann", "ann", "bob", "cid"], ["Alien", "Heat", "Aliens", "Emma"], [5, 2, 5, 4]
... )
>>> geometry = pm.ItemGeometry.from_vectors(
...     ["Alien", "Aliens", "Emma", "Heat"], [[9, 1, 0], [8, 3, 0], [0, 0, 9], [1, 8, 1]]
... )
>>> data = pm.Dataset(ratings, geometry)
>>> neighbor = pm.nearest(data, k=1)["ann"][0]  # ann has no item in common with anybody
>>> neighbor.user, round(neighbor.distance, 4)
('bob', 0.4891)
>>> [(f.source, f.target, round(f.share, 2)) for f in pm.pmd(data, "ann", "bob").flows]
[('Heat', 'Aliens', 0.64), ('Alien', 'Aliens', 0.36)]

The public names are listed in ``__init__.pyi``. Each is imported when it is first used, so that
``import prefmover`` and ``prefmover --help`` are quick.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
