"""How long the pages of the explorer take in Chromium, on a network with latency."""

import shutil
from typing import Any

from bench import table

LATENCY, BYTES_PER_SECOND = 100, 1_250_000  # ms, and 10 Mbit/s: a phone outside
FIRST, LATER = 1_000, 400  # ms, the targets
PHONE = {"width": 360, "height": 740}
WATCH = """
  const seen = new MutationObserver(() => {
    if (!document.querySelector("main h1")) return;
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => (window.useful = performance.now())));
  });
  seen.observe(document, { childList: true, subtree: true });
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
  const asked = performance.getEntriesByType("resource").filter((one) => one.startTime >= begin);
  const answered = Math.max(begin, ...asked.map((one) => one.responseEnd));
  return [performance.now() - begin, answered - begin];
}""".replace("DRAWN", DRAWN)


def paint(address: tuple[str, int], users: list[str], item: str) -> list[list[str]]:
    """Return a row for each page: until it is useful as the first, and as a later page; [] without Chromium."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        return []
    from playwright.sync_api import sync_playwright

    one, other, *_ = users
    routes = [
        *("like-minded", f"like-minded/{one}", f"why/{one}/{other}", f"recommended/{one}"),
        *(f"measures/{one}/{other}", "try", f"item/{item}"),
    ]
    home, rows = f"http://{address[0]}:{address[1]}/", []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for route in routes:
            first = _first(browser, f"{home}#/{route}")
            later = _later(browser, home, f"#/{route}")
            rows.append([route.split("/")[0], *(f"{value:,.0f}" for value in (*first, *later))])
        browser.close()
    return rows


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
    found: tuple[float, float] = page.evaluate("[window.useful, performance.now()]")
    page.context.close()
    return found


def _later(browser: Any, home: str, route: str) -> tuple[float, float]:
    """Return the ms until everything of a later page is drawn, and those after the last answer."""
    page = _page(browser)
    page.goto(f"{home}#/nowhere")
    page.wait_for_function(DRAWN, timeout=120_000)
    whole, answered = page.evaluate(GO, route)
    page.context.close()
    return whole, whole - answered


def painted(rows: dict[str, list[list[str]]]) -> list[Any]:
    """Return the parts of a section, for rows by model."""
    lead = (
        f"The explorer on a phone-sized Chromium, {LATENCY} ms of latency, {BYTES_PER_SECOND * 8 // 1_000_000} "
        f"Mbit/s. Targets: a first page useful in {FIRST:,} ms; a later page in {LATER} ms plus the answer. ms:"
    )
    names = ["model", "page", "first: useful", "first: all", "later: all", "of it after the answer"]
    lines = [[model, *row] for model, some in rows.items() for row in some]
    return [lead, table(names, lines)] if lines else []
