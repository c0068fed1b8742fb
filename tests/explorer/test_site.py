"""The explorer as a folder of files, opened from the disk."""

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from prefmover import InputError, Recommender, datasets
from prefmover.server import site
from prefmover.server.handlers import neighbors, recommend
from prefmover.server.schemas.requests import NeighborsOf, RecommendationsFor
from prefmover.server.served import ServedModel
from tests.explorer.conftest import AUDIT, settled

pytestmark = pytest.mark.slow

USER, PAGES = "petra-h", ("like-minded", "like-minded/petra-h", "recommended/petra-h", "try", "map/items")


@pytest.fixture(scope="module")
def served(browser):
    data = datasets.load("cinema")
    named = data.ratings.user_positions([USER])
    some = data.ratings.take(users=np.union1d(np.arange(0, 800, 32), named))
    return ServedModel(Recommender(n_threads=1).fit(data.with_ratings(some)))


@pytest.fixture(scope="module")
def folder(served, tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    assert site.export_site(served, place) == sum(
        one.stat().st_size for one in place.rglob("*") if one.is_file()
    )
    return place


@pytest.fixture
def opened(browser, folder):
    """Return a function that opens a page from its file; the page has no network and complains of nothing."""
    context, complaints = browser.new_context(offline=True), []
    page = context.new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def go(route):
        page.goto(f"{(folder / 'index.html').as_uri()}#/{route}")
        return settled(page)

    yield go
    context.close()
    assert complaints == []


def test_pages_are_those_of_the_service(opened, served):
    page = opened(f"like-minded/{USER}")
    near = neighbors.get_neighbors(served, NeighborsOf(user=USER, k=10)).neighbors
    expect(page.locator(".near .who a")).to_have_text([one.user for one in near])
    page.get_by_role("link", name=f"Why {near[0].user}?").click()
    expect(page.locator(".whole")).to_have_text(f"{near[0].distance:.6f}")
    opened(f"measures/{USER}/{near[0].user}")
    expect(page.locator(".measures tbody tr")).to_have_count(12)
    best = recommend.get_recommendations(served, RecommendationsFor(user=USER, n=10)).recommendations
    opened(f"recommended/{USER}")
    expect(page.locator(".recommended h3 a")).to_have_text([one.title for one in best])
    page.get_by_role("button", name="All parts").first.click()
    expect(page.locator(".waterfall")).to_have_count(1)
    page.locator(".recommended h3 a").first.click()
    expect(page.locator("h1")).to_have_text(best[0].title)
    expect(page.locator(".near-items li")).to_have_count(site.NEAR_ITEMS)
    page.locator("#find").fill("petra H")
    page.get_by_role("option").first.click()
    expect(page.locator("h1")).to_contain_text(USER)
    for route in PAGES:
        page = opened(route)
        assert (route, page.evaluate(AUDIT)) == (route, [])
        expect(page.locator(".notice.bad")).to_have_count(0)


def test_what_needs_the_service_says_so(opened):
    page = opened("try")
    page.get_by_role("slider").first.press("5")
    expect(page.locator(".notice", has_text="This needs the service.").first).to_be_visible()
    opened(f"together/{USER},ada-b")
    expect(page.locator(".notice", has_text="This needs the service.")).to_have_count(2)


def test_an_export_replaces_an_export_and_nothing_else(served, folder, tmp_path, monkeypatch):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="other files"):
        site.export_site(served, tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]
    before = {one: one.read_bytes() for one in folder.rglob("*.js")}
    site.export_site(served, folder)
    assert before == {one: one.read_bytes() for one in folder.rglob("*.js")}
    monkeypatch.setattr(site, "MOST_USERS", 3)
    with pytest.raises(InputError, match="3 users"):
        site.export_site(served, folder)
