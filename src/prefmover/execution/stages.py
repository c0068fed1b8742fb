"""One progress for work in several stages."""

from collections.abc import Mapping

from prefmover._typing import Progress

__all__ = ["Stages"]


class Stages:
    """Reports the progress of stages, one after the other, as one progress.

    Parameters
    ----------
    progress
        Called with (steps done, steps in all) when a stage begins, within stages that report progress, and
        at the end; None for nothing.
    shares
        How many of the steps each stage is, by name, in order.

    Examples
    --------
    >>> stages = Stages(lambda done, total: print(f"{done} of {total}"), {"reading": 10, "solving": 30})
    >>> stages.begin("reading")  # doctest: +ELLIPSIS
    0 of 40
    <...>
    >>> solved = stages.begin("solving")
    10 of 40
    >>> solved(1, 2)
    25 of 40
    >>> stages.end()
    40 of 40
    """

    def __init__(self, progress: Progress | None, shares: Mapping[str, int]) -> None:
        self._progress, self._shares, self._total = progress, shares, sum(shares.values())

    def begin(self, name: str) -> Progress | None:
        """Begin a stage; return its own progress, which is called with steps of the stage."""
        if self._progress is None:
            return None
        names = list(self._shares)
        share, progress, total = self._shares[name], self._progress, self._total
        before = sum(self._shares[one] for one in names[: names.index(name)])

        def part(done: int, steps: int) -> None:
            progress(before + (share * done // steps if steps else share), total)

        progress(before, total)
        return part

    def end(self) -> None:
        """End the last stage."""
        if self._progress is not None:
            self._progress(self._total, self._total)
