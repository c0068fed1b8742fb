"""What a run took: tasks, tasks that were lost and run again, and seconds by node and stage."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Summary"]


@dataclass(slots=True)
class Summary:
    """What a run took.

    Attributes
    ----------
    tasks
        Finished tasks.
    retries
        Tasks that were lost, with a process or with a node, and run again.
    resumed
        Results that were there from before.
    solved
        Pairs of users whose distance was computed.
    seconds
        By node, then by stage.
    nodes_lost
        Nodes that were there at some time and are not any more.

    Examples
    --------
    >>> summary = Summary()
    >>> summary.record("node-a", {"bounds": 2.0, "exact": 1.0}, solved=10)
    >>> summary.record("node-a", {"exact": 0.5}, solved=5)
    >>> print(summary)
    2 tasks, 0 run again, 15 pairs solved
      node-a: 3.5 s (bounds 2.0, exact 1.5)
    """

    tasks: int = 0
    retries: int = 0
    resumed: int = 0
    solved: int = 0
    nodes_lost: int = 0
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic, repr=False)

    def record(self, node: str, stages: Mapping[str, float], solved: int = 0) -> None:
        """Add a finished task."""
        self.tasks += 1
        self.solved += solved
        there = self.seconds.setdefault(node, {})
        for stage, seconds in stages.items():
            there[stage] = there.get(stage, 0.0) + seconds

    def __str__(self) -> str:
        before = f", {self.resumed} parts from before" if self.resumed else ""
        lost = f", {self.nodes_lost} nodes lost" if self.nodes_lost else ""
        again = f"{self.retries:,} run again{lost}"
        lines = [f"{self.tasks:,} tasks, {again}, {self.solved:,} pairs solved{before}"]
        for node, stages in sorted(self.seconds.items()):
            told = ", ".join(f"{stage} {seconds:,.1f}" for stage, seconds in stages.items())
            lines.append(f"  {node}: {sum(stages.values()):,.1f} s ({told})")
        return "\n".join(lines)
