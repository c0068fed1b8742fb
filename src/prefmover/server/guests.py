"""States of guests, each computed once: the pages send several requests with the same ratings."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import TypeAlias

from cachetools import LRUCache

from prefmover.predict.predictor import UserState

__all__ = ["GuestKey", "GuestStates"]

MOST_STATES = 128

GuestKey: TypeAlias = tuple[tuple[str, float], ...]
"""The ratings of a guest, (item, rating) sorted by item."""


class GuestStates:
    """A cache of the states of the last guests, for requests on several threads.

    Parameters
    ----------
    compute
        Returns the state of a guest. Requests about the same guest, at the same time, call it once.
    """

    def __init__(self, compute: Callable[[GuestKey], UserState]) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._states: LRUCache[bytes, UserState] = LRUCache(MOST_STATES)
        self._computing: dict[bytes, threading.Lock] = {}

    def get(self, ratings: GuestKey) -> UserState:
        """Return the state of a guest, from the cache if it is there."""
        key = hashlib.blake2b(repr(ratings).encode(errors="surrogatepass"), digest_size=16).digest()
        with self._lock:
            computing = self._computing.setdefault(key, threading.Lock())
        try:
            with computing:
                with self._lock:
                    state = self._states.get(key)
                if state is None:
                    state = self._compute(ratings)
                    with self._lock:
                        self._states[key] = state
                return state
        finally:
            with self._lock:
                self._computing.pop(key, None)
