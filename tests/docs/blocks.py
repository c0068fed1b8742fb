"""The fenced blocks of a Markdown page, and the two comments that may precede a block.

``<!-- not run: why -->``
    The block is parsed and checked, but not run.
``<!-- file: name.csv -->``
    The block is the content of a file, which is written to the folder where the page's other blocks run.
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
    """A fenced block: its position, its language and code, and the comment before it."""

    page: Path
    line: int  # the first line of code, from 1
    language: str
    code: str
    not_run: str | None = None
    file: str | None = None

    @property
    def location(self) -> str:
        """The page and the line, for messages."""
        name = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{name}, line {self.line}"


def pages() -> list[Path]:
    """Return all pages: README, CONTRIBUTING and docs/."""
    docs = sorted(p for p in (ROOT / "docs").rglob("*.md") if not {"_build", "api"} & set(p.parts))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs]


def blocks_of(page: Path, text: str | None = None) -> list[Block]:
    """Return the blocks of a page in order."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    blocks, comments, k = [], {}, 0
    while k < len(lines):
        start = FENCE.match(lines[k])
        if start is None:
            comment = COMMENT.match(lines[k])
            if comment:
                comments[comment["key"].replace(" ", "_")] = comment["value"]
            elif lines[k].strip():
                comments = {}  # a comment applies to the next block only
            k += 1
            continue
        end = k + 1
        while end < len(lines) and not re.match(rf"^ *{start['fence']}\s*$", lines[end]):
            end += 1
        if end == len(lines):
            raise ValueError(f"{page}, line {k + 1}: the block is never closed")
        code = "\n".join(line.removeprefix(start["indent"]) for line in lines[k + 1 : end]) + "\n"
        blocks.append(Block(page, k + 2, start["language"], code, **comments))
        comments, k = {}, end + 1
    return blocks
