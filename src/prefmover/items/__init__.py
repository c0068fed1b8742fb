"""Items: from descriptions to vectors, from vectors to distances; titles.

::

    files ─ files.py ─ table.py ─┬─ Catalog: titles, years, genres (catalog.py, filters.py)
                                 │
    tags, genres, texts, ratings ┴─ features.py ───── ItemVectors ─ ItemGeometry (geometry.py)
    vectors, encoders ─ blocks.py   tag_profiles.py   vectors.py    _angles.py

``weighting.py`` chooses the weights of several feature blocks on ratings that ``held_out.py`` holds out.
"""
