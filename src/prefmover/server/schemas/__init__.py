"""Requests and responses; ``/api/v1/openapi.json`` is made from these classes.

A value of the model's measure is called ``distance`` or ``similarity``, whichever it is; the other is absent.
"""
