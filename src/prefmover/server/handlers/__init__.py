"""The answers to requests: calls of the library, in the shape of the schemas.

A handler is a function of the served model and the parameters of a request; :mod:`~prefmover.server.routes`
gives it an address. Its name is the ``operationId`` and its docstring the description in the OpenAPI
document. Handlers run on worker threads, and compute nothing that the library does not compute.
"""
