"""Ratings: any input in, one checked table out.

::

    CSV, TSV ─ text.py ─ delimited.py ─┐
    Parquet ─ parquet.py ──────────────┼─ columns.py ─ Columns ─ build.py ─ Ratings
    data frame ─ frames.py ────────────┘   names.py    origin.py  ids.py     ratings.py, scale.py
                                                                                │
            preferences (integer masses) ─ preferences.py, mixture.py ──────────┤
            training and test ratings ─ splits.py ──────────────────────────────┤
            times of ratings ─ times.py ────────────────────────────────────────┘

``file_options.py`` has the choices of a caller, ``feedback.py`` says whether values are ratings or counts,
and ``bad_lines.py`` what happens to lines that cannot be used.
"""
