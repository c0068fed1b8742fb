"""Ratings: any input in, one checked table out.

::

    CSV, TSV ─ raw_files.py ─ delimited.py ─┐
    Parquet ─ raw_files.py ─────────────────┼─ columns.py ─ Columns ─ ratings.py ─ Ratings
    data frame ─────────────────────────────┘            ids.py, scale.py, preferences.py
                                                                         │
            preferences (integer masses) ─ preferences.py ───────────────┤
            training and test ratings ─ splits.py, times.py ─────────────┘

``file_options.py`` has the choices of a caller.
"""
