"""Counts and durations as text."""

__all__ = ["counted", "duration"]


def counted(n: int, thing: str) -> str:
    """Return a number with its noun, in the singular or plural.

    >>> counted(1, "neighbor"), counted(1200, "neighbor")
    ('1 neighbor', '1,200 neighbors')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def duration(seconds: float) -> str:
    """Return a duration in a unit that suits it.

    >>> [duration(s) for s in (4.26, 45, 600, 9000, 400_000)]
    ['4.3 s', '45 s', '10 min', '2.5 h', '4.6 days']
    """
    for limit, unit, digits, name in (
        (10, 1, 1, "s"),
        (100, 1, 0, "s"),
        (6000, 60, 0, "min"),
        (2 * 86400, 3600, 1, "h"),
    ):
        if seconds < limit:
            return f"{seconds / unit:.{digits}f} {name}"
    return f"{seconds / 86400:,.1f} days"
