"""Exactness at scale: a million random problems.

``make soak`` solves them. POT gives a second opinion on every distance. Proofs are checked again in whole
numbers, without the library's own check. Pruned searches are compared, bit for bit, with searches that
compute every pair.

::

    problems.py   masses and costs of every kind
    data.py       small data sets: ratings and item geometries of every kind
    second.py     the second opinions: POT, and a proof read cell by cell
    tally.py      counts, the worst error, failures
    run.py        batches, each with its own seed
    __main__.py   the command line

``tests/tools/test_soak.py`` does the same for a few seconds.
"""
