"""Ratings: any input in, one checked table out.

::

    CSV, TSV ─ delimited.py ─┐
    Parquet, JSON Lines ─────┼─ columns.py ─ Columns ─ ratings.py ─ Ratings
    data frame ──────────────┘            ids.py, scale.py, preferences.py
                                                          │
            preferences (integer masses) ─ preferences.py ┤
            training and test ratings ─ splits.py ────────┘

``file_options.py`` has the choices of a caller.
"""
