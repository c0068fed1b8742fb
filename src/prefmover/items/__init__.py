"""Items: from descriptions to vectors, from vectors to distances; titles.

::

    files ─ files.py ─ table.py ─┬─ Catalog: titles, years, genres (catalog.py)
                                 │
    tags, genres, texts, ratings ┴─ features.py ───── ItemVectors ─ ItemGeometry (geometry.py)
    vectors, encoders ─ blocks.py   tag_profiles.py                 _angles.py

``weighting.py`` leaves out feature blocks that gain nothing by held-out ratings.
"""
