"""Programs for people who work on prefmover: ``python -m tools.soak``, ``python tools/audit.py`` and others.

Nothing here is in the wheel. Tests import from here; nothing in ``src`` does.
"""
