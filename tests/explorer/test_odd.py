"""Odd addresses, odd data, and a server that is not ready yet."""

import re
import threading

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from prefmover import Recommender
from prefmover.server.served import ServedModel
from tests.explorer.conftest import DESKTOP, PHONE, VIEWER
from tests.model.conftest import with_title
from tests.server.conftest import listening, small_data

pytestmark = pytest.mark.slow

WIDTH = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_visitor_without_ratings_is_invited_to_rate(visitor):
    """As in a new tab: nothing is requested, and no message of a library appears."""
    requested = []
    page = visitor.page
    page.on("request", lambda request: requested.append(request.post_data or ""))
    routes = ["like-minded/@you", "why/@you", "why/@you/petra-h", "why/petra-h/@you"]
    for route in [*routes, "recommended/@you", "measures/@you/petra-h", "measures/petra-h/@you"]:
        visitor.open(f"#/{route}")
        page.get_by_role("link", name="try it yourself", exact=True).wait_for()
        assert not [body for body in requested if '"ratings"' in body]
        expect(page.locator(".notice.bad")).to_have_count(0)
        page.get_by_role("link", name="try it yourself", exact=True).click()
        expect(page.locator("h1")).to_have_text("Try it yourself")


def test_the_visitor_may_be_the_second_of_two(visitor):
    page = visitor.open("#/try")
    page.get_by_role("slider").first.press("5")
    page.locator(".near li").first.wait_for()
    for route in ("#/why/petra-h/@you", "#/measures/petra-h/@you"):
        visitor.open(route)
        expect(page.locator("h1")).to_have_text(re.compile("(?=.*[Yy]ou)(?=.*petra-h)"))
        expect(page.locator(".notice.bad")).to_have_count(0)


def test_the_button_of_open_parts_says_what_it_does(visitor):
    page = visitor.open("#/recommended/petra-h")
    button = page.locator(".recommended .acts button[aria-expanded]").first
    title = page.locator(".recommended h3").first.inner_text()
    expect(button).to_have_attribute("aria-label", f"All parts of the prediction for {title}")
    button.click()
    expect(button).to_have_text("Close")
    expect(button).to_have_attribute("aria-label", f"Close the parts of the prediction for {title}")
    page.locator(".waterfall").wait_for()
    visitor.still()
    assert visitor.audit() == []
    button.click()
    expect(button).to_have_attribute("aria-label", f"All parts of the prediction for {title}")


def test_the_reference(visiting):
    """Nothing is missing, and code is shown as code."""
    with visiting() as visitor:
        page, failed = visitor.page, []
        page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else 0)
        page.goto(f"{visitor.home}/docs")
        page.locator("details").first.wait_for()
        page.wait_for_load_state()
        icon = visitor.client.get("/favicon.ico")
        assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
        assert (failed, visitor.complaints) == ([], [])
        schema = visitor.client.get("/api/v1/openapi.json").json()
        expect(page.locator("details")).to_have_count(sum(map(len, schema["paths"].values())))
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert "`" not in page.locator("body").inner_text()
        assert page.evaluate(WIDTH) <= 0


LONG_TITLE = "An endless title " * 40
LONG_WORD = "Donaudampfschifffahrtsgesellschaft" * 30
LONG_USER = "u" * 700


@pytest.fixture(scope="module")
def odd(browser):
    """Users and items with long names; the items are no films."""
    users = [LONG_USER, LONG_USER, LONG_USER, "ann", "ann", "bob", "bob", "bob"]
    items = ["x", "y", "z", "x", "w", "y", "z", "v"]
    data = small_data(users, items, [5, 3, 2, 4, 1, 2, 5, 4], [[1, 0], [1, 0.5], [0, 1], [1, 2], [2, 1]])
    data = with_title(with_title(data, "x", LONG_TITLE), "v", LONG_WORD)
    with listening(ServedModel(Recommender(n_threads=1).fit(data))) as client:
        yield client


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_long_names_do_not_widen_the_page(visiting, odd, size):
    routes = ["like-minded", f"like-minded/{LONG_USER}", f"why/{LONG_USER}/bob", f"why/{LONG_USER}", "try"]
    routes += [f"measures/bob/{LONG_USER}", f"recommended/{LONG_USER}", "recommended/ann/v", "nowhere"]
    with visiting(odd, size=size) as visitor:
        for route in routes:
            page = visitor.open(f"#/{route}")
            for details in page.locator("summary").all():
                details.click()
            assert page.evaluate(WIDTH) <= 0, route[:20]
        visitor.open("#/try")
        page.locator("#pick-item, #pick-person").first.click()
        page.get_by_role("option").first.wait_for()
        assert page.evaluate(WIDTH) <= 0
        page.keyboard.press("Escape")
        page.get_by_role("slider").first.press("5")
        page.locator(".plan").wait_for()
        visitor.settled()
        assert page.evaluate(WIDTH) <= 0


def test_long_titles_in_a_plan_keep_their_ratings(visiting, odd):
    with visiting(odd) as visitor:
        page = visitor.open(f"#/why/{LONG_USER}/bob")
        page.locator(".plan .node").first.wait_for()
        visitor.still()
        for node in page.locator(".plan .node").all():
            box, gave = node.bounding_box(), node.locator(".gave").bounding_box()
            assert gave["width"] > 5
            assert box["y"] <= gave["y"] + gave["height"] / 2 <= box["y"] + box["height"]
            assert box["x"] <= gave["x"] <= box["x"] + box["width"]
        name = page.locator(".left .name").filter(has_text="endless").first
        cut = name.evaluate("(e) => [e.scrollHeight > e.clientHeight, getComputedStyle(e).webkitLineClamp]")
        assert cut[0]
        assert int(cut[1]) >= 1  # which ends in an ellipsis


def test_the_article_fits_the_noun(visiting, odd):
    with visiting(odd) as visitor:
        page = visitor.open("#/try")
        page.get_by_label("Find an item", exact=True).first.wait_for()
        page = visitor.open("#/recommended")
        expect(page.locator(".notice")).to_contain_text("a user")
        nouns = ["film", "item", "user", "album", "unit", "umbrella", "book"]
        got = page.evaluate(
            """async (nouns) => {
              const { withArticle } = await import("./assets/lib/format.js");
              return nouns.map(withArticle);
            }""",
            nouns,
        )
        assert got == ["a film", "an item", "a user", "an album", "a unit", "an umbrella", "a book"]


def test_the_page_waits_for_a_server_that_starts(visiting, handlers):
    """With what it does and how far it is, for as long as it takes, and then continues by itself."""
    fitted, report = threading.Event(), []

    def load(tell):
        report.append(tell)
        tell("comparing users", 40, 200)
        assert fitted.wait(600)
        return handlers

    with listening(load, wait=False) as client, visiting(client) as visitor:
        page = visitor.page
        looks = []
        page.on("response", lambda answer: looks.append(answer) if answer.url.endswith("/readyz") else 0)
        page.clock.install()  # minutes pass in a moment
        page.goto(f"{visitor.home}/#/like-minded/petra-h")
        expect(page.locator("h1")).to_have_text("The server is starting")
        expect(page.locator(".starting")).to_contain_text("Comparing users: 40 of 200")
        assert page.locator("progress").evaluate("(e) => [e.value, e.max]") == [40, 200]
        assert visitor.audit() == []
        report[0]("comparing users", 150, 200)
        while len(looks) < 12:  # a busy server is asked five times
            page.clock.run_for(1000)
            page.evaluate("fetch('healthz')")  # a moment for the response
        expect(page.locator(".starting")).to_contain_text("150 of 200")
        expect(page.locator(".notice.bad")).to_have_count(0)
        fitted.set()
        page.clock.resume()
        page.locator(".near li").first.wait_for()
        expect(page.locator(".starting")).to_have_count(0)
        assert [text for text in visitor.complaints if "503" not in text] == []


def test_a_start_that_fails_is_told(visiting, handlers):
    with visiting() as visitor:
        page = visitor.page
        problem = {"status": 503, "title": "Service Unavailable", "detail": "The model does not answer."}
        starting = {**problem, "state": "starting", "progress": {"doing": "x", "done": 0, "total": 0}}
        page.route("**/api/v1/model", lambda route: route.fulfill(status=503, json=starting))
        page.route("**/readyz", lambda route: route.fulfill(status=503, json={**problem, "state": "failed"}))
        page.goto(visitor.home)
        expect(page.locator(".notice.bad")).to_contain_text("The model does not answer.")


def test_templates(visitor):
    """Values become text, attributes, properties, styles and listeners, never markup."""
    got = visitor.open("#/try").evaluate(
        """async (evil) => {
          const { html } = await import("/assets/lib/html.js");
          const seen = [];
          const one = html`
            <p class=${evil} title=${null} hidden=${true} .lang=${"en"} style=${{ "--k": 2 }}
              @click=${() => seen.push("clicked")}>
              <b>${[evil, [null, 0, false]]}</b> ${html`<i>x</i>y`}${undefined}
              z
            </p>`;
          one.click();
          try { html`<a href="x${evil}"></a>`; } catch { seen.push("refused"); }
          const tags = [...one.querySelectorAll("*")].map((e) => e.localName);
          return [one.className, one.getAttributeNames().sort(), one.textContent, tags, seen];
        }""",
        VIEWER,
    )
    attributes = ["class", "hidden", "lang", "style"]
    assert got == [VIEWER, attributes, f"{VIEWER}0 xy z", ["b", "i"], ["clicked", "refused"]]
