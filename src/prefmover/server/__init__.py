"""The same functions over HTTP: a JSON API, and pages to play with.

::

    request → guards → routes → pool of threads → answers → schemas → response
              size,    checks   bounded queue,   library    JSON
              token,   of ids   time budget,     calls
              host              cancellation

A model is loaded once and never changed, so answers may be kept. The event loop only reads and writes;
whatever computes runs in :mod:`prefmover.server.workers`, whose kernels release the GIL. Every error is a
problem in the shape of RFC 9457 (:mod:`prefmover.server.problems`).

Needs the extra ``server``.
"""
