"""The library over HTTP: a JSON API, and pages to explore a model.

::

    request → connection → middleware → routes → service → workers → handlers → schemas → response
              speed        host, token  ids,     cache     queue,    library    JSON
                           size, type   numbers            time      calls

A model is loaded once and does not change, so responses can be cached. The event loop only reads and
writes; all computing happens on worker threads, whose kernels release the GIL. Every error is a problem as
in RFC 9457 (:mod:`prefmover.server.problems`).

Needs the extra ``server``.
"""
