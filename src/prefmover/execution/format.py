"""Words for people that fit their numbers."""

__all__ = ["counted"]


def counted(n: int, thing: str) -> str:
    """Return how many there are of something.

    >>> counted(1, "neighbor"), counted(1200, "neighbor")
    ('1 neighbor', '1,200 neighbors')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"
