"""Answers that are kept: the least recently used go first, and there is a bound in bytes."""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["KeptAnswers"]


class KeptAnswers:
    """A mapping from requests to answers that never grows beyond ``most`` bytes.

    Used from the event loop only.

    >>> kept = KeptAnswers(most=2500)
    >>> for name in "abc":
    ...     kept.put(name, b"x" * 600)
    >>> kept.get("a") is None, kept.get("c") is None
    (True, False)
    """

    OVERHEAD = 512  # what an entry costs besides its bytes, roughly

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = self.hits = self.misses = 0
        self._answers: OrderedDict[object, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: object) -> bytes | None:
        """Return an answer, or None."""
        found = self._answers.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._answers.move_to_end(key)
        return found

    def put(self, key: object, answer: bytes) -> None:
        """Keep an answer; one that would take more than half the room is not kept."""
        cost = len(answer) + self.OVERHEAD
        if cost > self.most // 2 or key in self._answers:
            return
        self._answers[key] = answer
        self.size += cost
        while self.size > self.most:
            _, gone = self._answers.popitem(last=False)
            self.size -= len(gone) + self.OVERHEAD
