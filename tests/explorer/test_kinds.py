"""Every page with counts, with choices, and with ratings on a fine scale, as with stars."""

import re
from contextlib import ExitStack

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from prefmover import Dataset, RankingSettings, Ratings, Recommender, datasets
from prefmover.data.scale import Scale
from prefmover.server.served import ServedModel
from tests.explorer.conftest import encoded
from tests.explorer.test_for_everybody import BOTH
from tests.server.conftest import listening

pytestmark = pytest.mark.slow

LASTFM = "lastfm"
MADE = ("plays", "choices", "tenths")
RARE = {"k": 10, "n_sampled": 60, "pairs_without": 0.01, "neighbors_without": 0.0, "users_with": 0.0}
RARE |= {"common_share": 0.2, "n_light": 60, "light_ratings": 30, "light_neighbors_without": 0.0}
RARE |= {"examples": [{"id": "ada-b", "n_ratings": 8, "taste": [], "n_without": 0, "common_share": 0.125}]}
SPOILED = re.compile(r"NaN|\bnull\b|\[object|bug in the page|Something went wrong")


def made(kind):
    """Return some of cinema as plays of songs, as books that readers chose, or on a 0-10 scale in tenths."""
    data = datasets.load("cinema")
    some = data.ratings.take(users=np.arange(0, 800, 20))
    users, items = some.users[some.rows()], some.items[some.matrix.indices]
    stars, noise = some.matrix.data, np.random.default_rng(0).uniform(0, 1, some.n_ratings)
    if kind == "tenths":
        values = np.round(np.clip(2 * stars - noise, 0, 10), 1)
        ratings, words = Ratings.from_arrays(users, items, values, scale=Scale(0, 10, 0.1)), {}
    else:
        counts = np.round(2 ** (2 * stars + noise)) if kind == "plays" else np.ones_like(stars)
        ratings = Ratings.from_arrays(users, items, counts, feedback="implicit")
        words = {"user_noun": "listener", "item_noun": "song", "verb": "played"}
        if kind == "choices":
            words = {"user_noun": "reader", "item_noun": "book"}
    return Dataset(ratings, data.geometry, data.catalog, name=kind, **words)


@pytest.fixture(scope="module")
def kinds(browser):
    """Return a function that serves a kind of data, as long as the module's tests run."""
    with ExitStack() as stack:
        known = {}

        def serve(kind):
            if kind not in known:
                model = Recommender(ranking=RankingSettings(), n_threads=1)  # not searched for
                data = datasets.load(LASTFM) if kind == LASTFM else made(kind)
                known[kind] = stack.enter_context(listening(ServedModel(model.fit(data))))
            return known[kind]

        yield serve


def routes_of(client):
    """Return the addresses of all pages, with users and an item that many know."""
    users = client.get("/api/v1/users", params={"limit": 2}).json()["users"]
    (item,) = client.get("/api/v1/items", params={"limit": 1}).json()["items"]
    one, other = (encoded(user["id"]) for user in users)
    pair = f"{one}/{other}"
    return [
        *("#/like-minded", f"#/like-minded/{one}", f"#/why/{pair}", f"#/measures/{pair}", f"#/why/{one}"),
        *(f"#/recommended/{one}", f"#/together/{one},{other}", "#/try", f"#/item/{encoded(item['id'])}"),
        *(f"#/map/users/{one}", f"#/map/items/{encoded(item['id'])}"),
        *("#/recommended/@you", "#/like-minded/@you", f"#/why/@you/{one}", f"#/measures/@you/{one}"),
    ]


@BOTH
@pytest.mark.parametrize("kind", MADE)
def test_every_page(visiting, kinds, kind, size):
    look_at_every_page(visiting, kinds(kind), size)


@BOTH
@pytest.mark.real_data
def test_every_page_of_lastfm(visiting, kinds, real_data, size):
    look_at_every_page(visiting, kinds(LASTFM), size)


def look_at_every_page(visiting, client, size):
    with visiting(client, size=size) as visitor:
        for route in routes_of(client):
            page = visitor.open(route)
            for details in page.locator("main summary").all():
                details.click()
            if route.startswith("#/recommended"):
                page.get_by_role("button", name="All parts").first.click()
            elif route == "#/try":
                rate_some(page)
            assert (route, visitor.look()) == (route, [])
            assert (route, SPOILED.findall(page.locator("body").inner_text())) == (route, [])
        assert visitor.complaints == []


def rate_some(page):
    """Give something to three items."""
    likes = page.get_by_role("button", name="Liked it:")
    for k in range(3):
        if likes.count():
            likes.nth(k).click()
        else:
            page.get_by_role("slider").nth(k).click()
    page.locator(".plan, .near").nth(1).wait_for()


def test_a_like_is_one_click_and_a_count_can_stand_for_it(visiting, kinds):
    with visiting(kinds("plays")) as visitor:
        page = visitor.open("#/try")
        likes, fields = page.get_by_role("button", name="Liked it:"), page.get_by_role("spinbutton")
        expect(fields).to_have_count(0)
        likes.first.click()
        expect(likes.first).to_have_attribute("aria-pressed", "true")
        expect(fields).to_have_count(1)
        near = visitor.guest("neighbors", k=5)["neighbors"]
        visitor.shows(".near .who a", [one["user"] for one in near])
        fields.first.fill("40")
        fields.first.fill("0")  # which is none
        likes.nth(1).click()
        expect(fields).to_have_count(2)
        expect(page.locator(".plan .left .gave")).to_have_text(["40"])  # a like is nobody's count
        expect(page.get_by_text("Import from")).to_have_count(0)
        best = visitor.guest("recommendations", n=5)["recommendations"]
        visitor.shows(".recommended h3", [one["title"] for one in best])
        code = page.evaluate("import('/assets/lib/guest.js').then((guest) => guest.shareCode())")
        assert re.fullmatch(r"[^:,]+:40,[^:,]+", code)
        page.reload()
        expect(fields.first).to_have_value("40")
        expect(fields.nth(1)).to_have_value("")
        page = visitor.open("#/recommended/@you")
        page.get_by_role("button", name="All parts").first.click()
        page.locator(".scores").wait_for()
        own = visitor.guest("recommendations/why", item=best[0]["item"])["own"]
        counted = [f"{one['label']}, 40 times" for one in own if f"{one['item']}:40" in code]
        said = visitor.texts(".scores tbody th")
        assert [text for text in said if text.endswith(", 40 times")] == counted
        visitor.open("#/try")
        likes.first.click()
        expect(fields).to_have_count(1)
        assert visitor.complaints == []
    with visiting(kinds("plays")) as friend:
        friend.open(f"#/try/{code}")
        expect(friend.page.get_by_role("spinbutton").first).to_have_value("40")
        assert friend.page.get_by_role("spinbutton").count() == 2


def test_what_if_stands_behind_the_whole_count(visiting, kinds):
    with visiting(kinds("plays")) as visitor:
        (user,) = visitor.api("users", limit=1)["users"]
        page = visitor.open(f"#/recommended/{encoded(user['id'])}")
        page.locator(".if-not").first.wait_for()
        told = " ".join(visitor.texts(".because li"))
        assert re.findall(r"(\S+)\s+without it", told) == ["times"] * page.locator(".if-not").count()
        assert re.search(r"\d,\d{3} times\s+without it", told)
        assert visitor.complaints == []


def test_the_start_tells_another_story_where_near_people_share_something(visiting, kinds):
    """Nobody in these data has near people with nothing in common."""
    with visiting(kinds("tenths")) as visitor:
        page = visitor.page
        page.route("**/common-ground", lambda route: route.fulfill(json=RARE))
        page = visitor.open("#/like-minded")
        expect(page.locator("#example")).to_have_text("Alike, with little in common")
        expect(page.locator(".chips .soft").first).to_have_text("12.5% in common")
        expect(page.locator(".opening")).to_contain_text("20.0%")
        page.locator(".card .node").first.wait_for()
        assert visitor.complaints == []


def test_a_slider_in_tenths(visiting, kinds):
    with visiting(kinds("tenths")) as visitor:
        page = visitor.open("#/try")
        slider = page.get_by_role("slider").first
        for key in ("ArrowRight", "ArrowRight", "PageUp"):
            slider.press(key)
        expect(slider).to_have_attribute("aria-valuetext", "6.1 of 10")
        (one,) = page.evaluate("JSON.parse(sessionStorage.getItem('prefmover.ratings'))")
        assert one["rating"] == 6.1
        page.locator(".near li").first.wait_for()
        assert visitor.complaints == []
