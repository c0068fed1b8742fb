"""Accessibility: labels, contrast, targets, headings, focus, motion."""

from itertools import pairwise

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.explorer.conftest import DESKTOP, PHONE

pytestmark = pytest.mark.slow

ROUTES = {
    "start": "#/like-minded",
    "like-minded": "#/like-minded/petra-h",
    "why": "#/why/petra-h/noor-r",
    "recommended": "#/recommended/petra-h",
    "measures": "#/measures/petra-h/bianca-b",
    "together": "#/together/petra-h,noor-r",
    "try": "#/try",
    "item": "#/item/jaws-1975",
    "users": "#/map/users/petra-h",
    "items": "#/map/items",
    "nowhere": "#/nowhere",
    "unchosen": "#/why/petra-h",
}
WATCH = """
  let sum = 0;
  const add = (entries) => entries.forEach((one) => (sum += one.value));
  const watching = new PerformanceObserver((list) => add(list.getEntries()));
  watching.observe({ type: "layout-shift", buffered: true });
  window.shifts = () => (add(watching.takeRecords()), sum);
"""
SHIFTS = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => done(shifts())));  // the last change has been drawn
})"""
BOTH = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])


@BOTH
def test_every_page(visiting, size):
    with visiting(size=size) as visitor:
        for route in ROUTES.values():
            page = visitor.open(route)
            if route.startswith("#/why/petra-h/"):
                page.get_by_text("The plan as a table").click()
            elif route.startswith("#/recommended"):
                page.get_by_role("button", name="All parts").first.click()
            elif route == "#/try":
                for k in range(3):
                    page.get_by_role("slider").nth(k).press("5")
                expect(page.locator(".tally")).to_have_text("3 films rated")
                page.locator(".plan").wait_for()
            assert (route, visitor.look()) == (route, [])
        field = page.locator("#pick-person")
        field.click()
        page.get_by_role("option").first.wait_for()
        assert visitor.look() == []
        assert [text for text in visitor.complaints if "404" not in text] == []


def test_tab_goes_through_the_page_in_order(visitor):
    page = visitor.open("#/like-minded/petra-h")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    tops, names = [], []
    for _ in range(14):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e);
              const outline = [style.outlineStyle, parseFloat(style.outlineWidth)];
              return [box.top + scrollY, box.left, e.textContent || e.id, ...outline];
            }"""
        )
        tops.append(at[0])
        names.append(at[2])
        assert at[3] != "none", at
        assert at[4] >= 2, at
    pages = ["Like-minded", "Why", "Recommended", "Together", "Try it yourself", "Map", "Measures"]
    assert [name.strip() for name in names[: len(pages) + 3]] == ["prefmover", *pages, "find", "pick-person"]
    # links of one row differ a little
    assert all(below > above - 20 for above, below in pairwise(tops)), tops
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()
    visitor.at("#/like-minded/petra-h")


@BOTH
def test_nothing_jumps(visiting, size):
    """The sum of layout shifts while a page loads; 0.1 is what browsers call good."""
    for name in ("like-minded", "why", "recommended", "measures", "try"):
        with visiting(size=size) as visitor:
            visitor.page.add_init_script(WATCH)
            page = visitor.open(ROUTES[name])
            visitor.still()
            assert (name, page.evaluate(SHIFTS)) <= (name, 0.1)


def test_less_motion(visiting):
    with visiting(reduced_motion="reduce") as visitor:
        page = visitor.open("#/like-minded/petra-h")
        moving = page.evaluate(
            "[...document.all].filter((e) => getComputedStyle(e).animationName !== 'none').length"
        )
        assert moving == 0
