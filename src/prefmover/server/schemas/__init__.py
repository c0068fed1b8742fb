"""Requests and responses; ``/api/v1/openapi.json`` is made from these classes.

Each module has the schemas of one subject. A value of the model's measure is called ``distance`` or
``similarity``, whichever it is; the other is absent.
"""
