"""Exactness at scale: random problems until somebody is wrong.

``make soak`` solves a million of them. POT gives a second opinion on every distance, and proofs are checked
once more in whole numbers, without the library's own check; searches that prune are compared, bit for bit,
with searches that compute every pair.

::

    problems.py   masses and costs of every kind
    people.py     small data sets: ratings and item geometries of every kind
    second.py     the second opinions: POT, and a proof read cell by cell
    tally.py      how many, the worst error, the worst gap, what failed
    run.py        batches, each from a seed of its own
    __main__.py   the command line

``tests/tools/test_soak.py`` does the same for a few seconds.
"""
