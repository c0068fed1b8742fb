"""Ratings: any input in, one checked table out.

::

    CSV, TSV ─ raw_files.py ─ delimited.py ─┐
    Parquet ─ raw_files.py ─────────────────┼─ columns.py ─ Columns ─ build.py ─ Ratings
    data frame ─────────────────────────────┘              ids.py     ratings.py, scale.py
                                                                         │
            preferences (integer masses) ─ preferences.py ───────────────┤
            training and test ratings ─ splits.py, times.py ─────────────┘

``file_options.py`` has the choices of a caller, and ``csr.py`` rows of different lengths in flat arrays.
"""
