"""The explorer in a real browser, with a real server of some of the cinema data."""

import json
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from prefmover import Dataset, Ratings, Recommender, datasets
from prefmover.server.served import ServedModel
from tests.model.conftest import with_title
from tests.server.conftest import listening
from tools.programs import FLAGS, MISSING, find_chromium

AUDIT = (Path(__file__).parent / "audit.js").read_text()
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"  # `make test` asks npm for it
FILM = "<script>alert(1)</script>"
VIEWER = '"><img src=x onerror=alert(1)>'
STILL = """async () => {
  const ends = (one) => one.effect.getComputedTiming().endTime < Infinity;
  await Promise.allSettled(document.getAnimations().filter(ends).map((one) => one.finished));
}"""
TOKEN = "sixteen-letters-or-more"
SECONDS = 300  # for what comes in a moment unless the machine is busy
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}


def some_of_cinema():
    """Return every fourth viewer, one with a hostile name, and the films, one with a hostile title."""
    data = datasets.load("cinema")
    keep = np.arange(0, data.ratings.n_users, 4)
    named = data.ratings.user_positions(["petra-h", "bianca-b", "noor-r", "ada-b"])
    some = data.ratings.take(users=np.union1d(keep, named))
    users = np.array([VIEWER if user == "ada-b" else user for user in some.users.tolist()])
    matrix = some.matrix
    ratings = Ratings.from_arrays(
        users[some.rows()], some.items[matrix.indices], matrix.data, scale=some.scale
    )
    nouns = {"user_noun": data.user_noun, "item_noun": data.item_noun}
    renamed = Dataset(ratings, data.geometry, data.catalog, name=data.name, **nouns)
    return with_title(renamed, "alien-1979", FILM)


@pytest.fixture(scope="session")
def handlers():
    return ServedModel(Recommender(n_threads=1).fit(some_of_cinema()), "some of cinema")


@pytest.fixture(scope="session")
def browser():
    """Chromium, one for all tests; each test has its own profile."""
    path = find_chromium()
    if path is None:
        pytest.skip(MISSING)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def site(browser, handlers):
    """The server, as a client. The browser comes first: without it, no server is needed."""
    with listening(handlers) as client:
        yield client


def encoded(name):
    """Return an id as it stands in addresses: like ``encodeURIComponent``."""
    return quote(name, safe="!*'()")


def settled(page):
    """Wait until the page shows what its address names, and nothing is loaded any more."""
    from playwright.sync_api import expect

    page.locator("main h1").wait_for()
    page.wait_for_function("document.getElementById('main').dataset.shows === location.hash")
    expect(page.locator("[aria-busy]")).to_have_count(0)
    return page


def still(page):
    """Wait until everything is loaded and nothing fades or moves any more."""
    settled(page).evaluate(STILL)
    return page


class Visitor:
    """A page of the explorer, with the errors and warnings of its console.

    What a test looks for may come later than what it did: it waits for that, by ``expect``, ``shows`` or
    ``at``. ``settled`` is for what cannot be waited for: the look of a page, or that something is absent.
    """

    def __init__(self, page, client):
        self.page, self.client = page, client
        self.home = str(client.base_url).rstrip("/")
        self.complaints = []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else 0)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))

    def open(self, route):
        """Go to an address, and wait until everything is loaded."""
        self.page.goto(f"{self.home}/{route}")
        return self.settled()

    def settled(self):
        return settled(self.page)

    def still(self):
        return still(self.page)

    def at(self, route):
        """Wait until the browser is at an address, and everything there is loaded."""
        from playwright.sync_api import expect

        expect(self.page).to_have_url(f"{self.home}/{route}")
        return self.settled()

    def shows(self, selector, texts):
        """Wait until the elements have these texts, as many as there are."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_text(texts, use_inner_text=True)

    def texts(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def arrives(self, held, n=1):
        """Wait until a list to which events of the browser are added has ``n`` of them."""
        end = time.monotonic() + SECONDS
        while len(held) < n:
            assert time.monotonic() < end, f"{len(held)} of {n} arrived"
            self.page.wait_for_timeout(5)  # events are handled meanwhile

    def api(self, path, **query):
        answer = self.client.get(f"/api/v1/{path}", params=query)
        assert answer.status_code == 200
        return answer.json()

    def ask(self, path, **body):
        answer = self.client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def guest(self, path, **body):
        ratings = json.loads(self.page.evaluate("sessionStorage.getItem('prefmover.ratings')"))
        listed = [{"item": one["id"], "rating": one["rating"]} for one in ratings]
        return self.ask(path, ratings=listed, **body)

    def audit(self):
        return self.page.evaluate(AUDIT)

    def look(self):
        """Return what is wrong with the look of the page in light and in dark, by our rules and axe's."""
        found = []
        for scheme, rules in (("light", "{}"), ("dark", "{ runOnly: 'color-contrast' }")):
            self.page.emulate_media(color_scheme=scheme)
            self.still()
            found += [(scheme, one) for one in [*self.audit(), *self._axe(rules)]]
        return found

    def _axe(self, rules):
        """Return what axe-core finds; nothing where it is not installed."""
        if not AXE.is_file():
            return []
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        found = self.page.evaluate(f"axe.run({rules}).then((result) => result.violations)")
        return [(one["id"], node["html"][:120]) for one in found for node in one["nodes"][:3]]


@pytest.fixture(scope="session")
def visiting(browser, site):
    """Return a function that opens a new profile."""

    @contextmanager
    def visit(client=None, size=None, **options):
        context = browser.new_context(viewport=size or DESKTOP, **options)
        context.set_default_timeout(1000 * SECONDS)
        try:
            yield Visitor(context.new_page(), client or site)
        finally:
            context.close()

    return visit


@pytest.fixture
def visitor(visiting):
    """A visitor who meets no errors, no warnings, and nothing that the security policy forbids."""
    with visiting() as someone:
        yield someone
        assert someone.complaints == []
