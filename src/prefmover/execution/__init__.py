"""Threads, executors, memory checks, atomic files, and the compiler's settings.

::

    search, model, evaluation ─ tasks ─► Executor ─┬─ LocalExecutor  threads of this process
                              ◄─ done ─            └─ RayExecutor    cores of a Ray cluster

This package does not know what a task computes.

Names are imported when they are first used, as those of :mod:`prefmover` are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
