"""Modules of kernels, which bring Numba with them: imported when one of their kernels is first used.

``lazy_loader.load`` would do, but two threads that use a module first may get one that is half loaded (before
Python 3.11.8 and 3.12.2). ``import_module`` takes the module's lock.
"""

from importlib import import_module
from typing import Any

__all__ = ["LazyModule"]


class LazyModule:
    """A module that is imported at the first use of one of its names.

    >>> fractions = LazyModule("fractions")
    >>> fractions.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
