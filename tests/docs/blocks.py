"""The fenced blocks of a Markdown page, and the two comments that a page may put before one.

``<!-- not run: why -->``
    The block is checked as far as that goes without running it.
``<!-- file: name.csv -->``
    The block is the content of a file, written to the folder in which the page's other blocks run.
"""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Block", "blocks_of", "pages"]

ROOT = Path(__file__).parents[2]

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>\S*)[^\n]*$")
COMMENT = re.compile(r"^\s*<!-- (?P<key>not run|file): (?P<value>.+?) -->\s*$")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, what it is, and what a comment says about it."""

    page: Path
    line: int  # of its first line of code, from 1
    language: str
    code: str
    not_run: str | None = None
    file: str | None = None

    @property
    def place(self) -> str:
        name = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{name}, line {self.line}"


def pages() -> list[Path]:
    """Return every page for readers: the README, the guide for contributors and all of docs/."""
    docs = sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs]


def blocks_of(page: Path, text: str | None = None) -> list[Block]:
    """Return the blocks of a page in order."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    found, said, k = [], {}, 0
    while k < len(lines):
        start = FENCE.match(lines[k])
        if start is None:
            comment = COMMENT.match(lines[k])
            if comment:
                said[comment["key"].replace(" ", "_")] = comment["value"]
            elif lines[k].strip():
                said = {}  # a comment speaks for the very next block only
            k += 1
            continue
        end = k + 1
        while end < len(lines) and not re.match(rf"^ *{start['fence']}\s*$", lines[end]):
            end += 1
        if end == len(lines):
            raise ValueError(f"{page}, line {k + 1}: a block that is never closed")
        code = "\n".join(line.removeprefix(start["indent"]) for line in lines[k + 1 : end]) + "\n"
        found.append(Block(page, k + 2, start["language"], code, **said))
        said, k = {}, end + 1
    return found
