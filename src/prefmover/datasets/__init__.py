"""Data sets by name: MovieLens, books, music and tweets, and two that are built in.

>>> from prefmover import datasets
>>> films = datasets.load("cinema")
>>> films.catalog.label(films.item_position("alien-1979"))
'Alien (1979)'

``load`` reads a data set; ``get`` downloads it from the publisher first, and ``add`` installs a copy that
you have.

Names are imported when they are first used, as those of :mod:`prefmover` are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
