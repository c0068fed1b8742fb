"""The paper as data: its settings, its printed numbers, and the gaps in its description.

``table_1.toml`` is read by :mod:`prefmover.paper.table_1`, ``figure_3.toml`` by
:mod:`prefmover.paper.figure_3`.
"""
