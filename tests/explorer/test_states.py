"""Waiting, errors and tokens."""

import re

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.explorer.conftest import TOKEN
from tests.server.conftest import listening

pytestmark = pytest.mark.slow

BUSY = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": "Too much at once."}


def test_requests_to_a_busy_server_are_repeated(visiting):
    with visiting() as visitor:
        page, times = visitor.page, []

        def busy(route):
            times.append(route.request.url)
            if len(times) < 3:
                seconds = "60" if len(times) == 1 else "1"  # not before the button is used; then by itself
                route.fulfill(status=503, json=BUSY, headers={"Retry-After": seconds})
            else:
                route.continue_()

        page.route("**/neighbors", busy)
        page.goto(f"{visitor.home}/#/like-minded/petra-h")
        expect(page.locator(".notice")).to_have_count(1)
        page.get_by_role("button", name="Try now").click()
        page.locator(".near li").first.wait_for()
        assert len(times) == 3


def test_an_unknown_user(visiting):
    with visiting() as visitor:
        page = visitor.open("#/like-minded/nobody-at-all")
        expect(page.locator(".notice.bad").first).to_contain_text("nobody-at-all")
        expect(page.locator("#pick-person")).to_have_count(1)  # and can choose another
        expect(page.locator(".notice.bad button").first).to_have_text("Try again")


def test_no_server(visiting):
    with visiting() as visitor:
        page = visitor.open("#/like-minded/petra-h")
        page.route("**/api/**", lambda route: route.abort())
        page.get_by_role("link", name="Recommended").click()
        expect(page.locator(".notice.bad")).to_have_count(1)
        page.unroute("**/api/**")
        page.get_by_role("button", name="Try again").click()
        page.locator(".recommended > li").first.wait_for()


def test_the_page_is_busy_before_it_asks(visiting):
    """With the route, before the first request, until everything is there."""
    with visiting() as visitor:
        page = visitor.open("#/like-minded/petra-h")
        page.evaluate(
            """() => {
              const [ask, main] = [window.fetch, document.getElementById("main")];
              window.asked = [];
              window.fetch = (...given) => {
                asked.push([main.dataset.shows === location.hash, main.ariaBusy]);
                return ask(...given);
              };
            }"""
        )
        page.get_by_role("link", name="Recommended", exact=True).click()
        page.locator(".recommended > li").first.wait_for()
        expect(page.locator("#main")).not_to_have_attribute("aria-busy", re.compile(""))
        asked = page.evaluate("asked")
        assert asked
        assert all(one == [True, "true"] for one in asked)


def test_skeletons_keep_the_space(visiting):
    """A skeleton as tall as the content is there while the content is loaded."""
    with visiting() as visitor:
        page = visitor.open("#/like-minded/petra-h")
        late = []
        page.route("**/recommendations", lambda route: late.append(route))
        page.get_by_role("link", name="Recommended").click()
        expect(page.locator(".skeleton")).to_have_count(1)
        expect(page.locator(".region")).to_have_attribute("aria-busy", "true")
        assert page.locator(".region").bounding_box()["height"] > 600
        visitor.arrives(late)
        late[0].continue_()
        page.locator(".recommended > li").first.wait_for()


def test_a_token_is_asked_for_once(visiting, handlers):
    """Again after "Not now", again after a wrong one, and not after a reload."""
    with listening(handlers, token=TOKEN) as client, visiting(client) as visitor:
        page = visitor.page
        page.goto(f"{visitor.home}/#/like-minded/petra-h")
        page.get_by_role("button", name="Not now").click()
        expect(page.locator(".notice.bad")).to_contain_text(re.compile("token", re.IGNORECASE))
        page.get_by_role("button", name="Try again").click()
        dialog = page.get_by_role("dialog", name="This server asks for a token")
        field = dialog.get_by_label("Token")
        expect(field).to_be_focused()
        field.fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("not accepted")
        field.fill(TOKEN)
        page.keyboard.press("Enter")
        page.locator(".near li").first.wait_for()
        expect(dialog).to_have_count(0)
        page.reload()
        page.locator(".near li").first.wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert not any("Security Policy" in text for text in visitor.complaints)
