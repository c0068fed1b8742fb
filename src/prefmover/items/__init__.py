"""Items: from descriptions to vectors, from vectors to distances; titles.

::

    files ─ files.py, cells.py ─ table.py ─┬─ Catalog: titles, years, genres (catalog.py, where.py)
                                           │
    tags, genres, texts, ratings ──────────┴─ features.py ─ ItemVectors ─ ItemGeometry (geometry.py)
    vectors from outside ─ blocks.py ───────  terms.py      vectors.py    _angles.py
    sentence encoders ─ encoders.py           tag_profiles.py

``weighting.py`` chooses the weights of several feature blocks on ratings that ``held_out.py`` holds out, and
``contribution.py`` says what each block adds. ``coverage.py`` compares rated items with described ones.
"""
