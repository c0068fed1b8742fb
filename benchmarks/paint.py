"""How long the pages of the explorer take in Chromium, on a network with latency."""

import shutil
from collections import defaultdict
from statistics import median
from typing import Any
from urllib.parse import quote

from bench import table

LATENCY, BYTES_PER_SECOND = 100, 1_250_000  # ms, and 10 Mbit/s: a phone outside
FIRST, LATER = 1_000, 400  # ms, the targets
VISITS = 3
ROUTES = {
    "start": "like-minded",
    "like-minded": "like-minded/{one}",
    "why": "why/{one}/{other}",
    "recommended": "recommended/{one}",
    "together": "together/{one},{other}",
    "measures": "measures/{one}/{other}",
    "try": "try",
    "item": "item/{item}",
}
PHONE = {"width": 360, "height": 740}
WATCH = """
  const seen = new MutationObserver(() => {
    if (!document.querySelector("main h1")?.textContent.trim()) return;
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => (window.useful = performance.now())));
  });
  seen.observe(document, { childList: true, subtree: true, characterData: true });
"""
DRAWN = """() => document.getElementById("main")?.dataset.shows === location.hash
  && !document.querySelector("[aria-busy]")"""
GO = """async (hash) => {
  const begin = performance.now();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const drawn = DRAWN;
  location.hash = hash;
  do await frame(); while (!drawn());
  await frame();
  return performance.now() - begin;
}""".replace("DRAWN", DRAWN)


def paint(address: tuple[str, int], users: list[str], items: list[str]) -> list[list[str]]:
    """Return a row for each page, with medians of several visits; [] without Chromium.

    Each visit is about other users and another item, and the last of its three asks what the service has
    answered before: what is left is the network and the page.
    """
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        return []
    from playwright.sync_api import sync_playwright

    home, people, times = f"http://{address[0]}:{address[1]}/", iter(users), defaultdict(list)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for visit in range(VISITS):
            for name, route in ROUTES.items():
                first, later = (
                    route.format(one=quote(next(people)), other=quote(next(people)), item=quote(item))
                    for item in items[2 * visit : 2 * visit + 2]
                )
                known = _later(browser, home, later), _later(browser, home, later)
                times[name].append((*_first(browser, f"{home}#/{first}"), *known))
        browser.close()
    return [[name, *(f"{median(some):,.0f}" for some in zip(*times[name], strict=True))] for name in ROUTES]


def _page(browser: Any) -> Any:
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    limits = {"offline": False, "latency": LATENCY, "downloadThroughput": BYTES_PER_SECOND}
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", limits | {"uploadThroughput": BYTES_PER_SECOND})
    return page


def _first(browser: Any, address: str) -> tuple[float, float]:
    """Return the ms until the heading and the form of a page are painted, and until everything is."""
    page = _page(browser)
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_function(DRAWN, timeout=120_000)
    whole: float = page.evaluate("performance.now()")
    page.wait_for_function("() => window.useful", timeout=120_000)  # two frames after the heading
    useful: float = page.evaluate("window.useful")
    page.context.close()
    return useful, whole


def _later(browser: Any, home: str, route: str) -> float:
    """Return the ms until everything of a later page is drawn."""
    page = _page(browser)
    page.goto(f"{home}#/nowhere")
    page.wait_for_function(DRAWN, timeout=120_000)
    whole: float = page.evaluate(GO, f"#/{route}")
    page.context.close()
    return whole


def painted(rows: dict[str, list[list[str]]]) -> list[Any]:
    """Return the parts of a section, for rows by model."""
    lead = (
        f"The explorer on a phone-sized Chromium, {LATENCY} ms of latency, {BYTES_PER_SECOND * 8 // 1_000_000} "
        f"Mbit/s, medians of {VISITS} visits. Targets: a first page useful in {FIRST:,} ms; a later page, whose "
        f"answers the service has ready, in {LATER} ms. ms:"
    )
    names = ["model", "page", "first: useful", "first: all", "later: all", "later: all, answers ready"]
    lines = [[model, *row] for model, some in rows.items() for row in some]
    return [lead, table(names, lines)] if lines else []
