"""What a message must name, whatever its words: the file, line, id, value, and the option that helps."""

import re


def names(*values: object) -> str:
    """Return a pattern that matches a text in which each value stands, in any order, as a word of its own."""
    return r"(?s)\A" + "".join(rf"(?=.*{_word(str(value))})" for value in values)


def unnamed(text: str, *values: object) -> list[str]:
    """Return the values that a text does not name."""
    return [str(value) for value in values if not re.search(names(value), text)]


def _word(value: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", value) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return before + re.escape(value) + after
