"""Numbers and texts for people: counts, durations, sizes, and text that a terminal can show."""

import re

# Control characters (with which a text could move the cursor or rename the window), ends of lines, and marks
# that turn the direction of writing.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Return one line of text in which control characters are written as Python writes them.

    >>> printable("ann\x1b[31m\nbob")
    'ann\\x1b[31m\\nbob'
    """
    return CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def counted(n: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "neighbor"), counted(1200, "neighbor")
    ('1 neighbor', '1,200 neighbors')
    """
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return a noun in the plural.

    >>> [plural(noun) for noun in ("film", "story", "play", "box")]
    ['films', 'stories', 'plays', 'boxes']
    """
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search("(s|x|z|ch|sh)$", noun) else f"{noun}s"


def duration(seconds: float) -> str:
    """Return a duration with two or three digits.

    >>> [duration(s) for s in (0.004, 1.25, 40, 7200, 400_000, 1e9)]
    ['4.0 ms', '1.2 s', '40 s', '2.0 h', '4.6 days', '32 years']
    """
    for unit, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.{0 if name == 'years' else 1}f} {name}"
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.{1 if 0 < seconds < 10 else 0}f} s"
    return f"{seconds * 1e3:.1f} ms"


def size(n_bytes: float) -> str:
    """Return a number of bytes.

    >>> size(3 * 2**30), size(200 * 2**20), size(1500)
    ('3.0 GB', '200 MB', '1.5 kB')
    """
    if n_bytes < 2**20:
        return f"{n_bytes / 2**10:,.1f} kB"
    if n_bytes < 2**30:
        return f"{n_bytes / 2**20:,.0f} MB"
    return f"{n_bytes / 2**30:,.1f} GB" if n_bytes < 2**37 else f"{n_bytes / 2**30:,.0f} GB"
