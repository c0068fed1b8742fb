"""Links and pictures of the pages exist, and every page is in a table of contents."""

import re
from collections import Counter

import pytest

from tests.docs.blocks import ROOT, pages

PICTURES = ROOT / "docs" / "pictures"
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(page):
    """Return a page without blocks and inline code, which may contain brackets."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_exist(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"https?://|#", target):
            continue
        file, _, heading = target.partition("#")
        path = (page.parent / file).resolve()
        assert path.exists(), f"{page.name} links to {target}"
        if heading and path.suffix == ".md":
            assert heading in set(headings(path)), f"{page.name} links to {target}"


def headings(page):
    """Yield the anchors of a page, as GitHub and MyST form them: repeated ones get a number."""
    seen = Counter()
    for line in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-")
        yield f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor
        seen[anchor] += 1


def test_pictures_are_small_and_shown():
    shown = {
        (page.parent / target).resolve()
        for page in pages()
        for target in LINK.findall(prose(page))
        if target.endswith((".png", ".svg"))
    }
    drawn = sorted(p for p in PICTURES.iterdir() if p.suffix in (".png", ".svg"))
    assert drawn
    for picture in drawn:
        assert picture.stat().st_size < 200_000, f"{picture.name} is too large for a repository"
        assert picture.resolve() in shown, f"no page shows {picture.name}"


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in pages():
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for entry in block.splitlines():
                if entry.strip() and not entry.startswith(":"):
                    listed |= set(page.parent.glob(f"{entry.strip()}.md"))
    docs = {page for page in pages() if "docs" in page.relative_to(ROOT).parts}
    assert docs - listed == {ROOT / "docs" / "index.md"}
