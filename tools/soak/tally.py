"""What a soak has found so far: how many, the worst, and what failed."""

from dataclasses import dataclass, field

SHOWN = 20  # failures


@dataclass
class Tally:
    """Counts and extremes; two of them add up."""

    problems: int = 0
    by_pot: int = 0
    gave_up: int = 0
    proofs: int = 0
    searches: int = 0
    largest: int = 0
    worst_error: float = 0.0
    failed: int = 0
    failures: list[str] = field(default_factory=list)

    def fail(self, what):
        """Note a failure; the first ones in words."""
        self.failed += 1
        if len(self.failures) < SHOWN:
            self.failures.append(what)

    def add(self, other):
        """Add what another one has found."""
        for name in ("problems", "by_pot", "gave_up", "proofs", "searches", "failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("largest", "worst_error"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        self.failures = (self.failures + other.failures)[:SHOWN]

    def __str__(self):
        return (
            f"{self.problems:,} problems (largest {self.largest}), {self.by_pot:,} compared with POT: "
            f"worst error {self.worst_error:.1e}; {self.proofs:,} proofs read; "
            f"{self.searches:,} pruned searches; {self.failed:,} failures"
        )
