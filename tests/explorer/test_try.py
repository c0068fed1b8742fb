"""Try it yourself: ratings in, results out, at once."""

import json
import re

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.explorer.conftest import encoded

pytestmark = pytest.mark.slow


def rated(page):
    return {
        one["title"]: one["rating"]
        for one in json.loads(page.evaluate("sessionStorage.getItem('prefmover.ratings') ?? '[]'"))
    }


def test_rate_by_keyboard_and_pointer(visitor):
    page = visitor.open("#/try")
    expect(page.locator(".notice")).to_have_count(3)  # one for each result
    sliders = page.get_by_role("slider")
    title = page.locator(".mine .title").first.inner_text()
    expect(sliders.first).to_have_attribute("aria-label", f"Your rating of {title}")
    expect(sliders.first).to_have_attribute("aria-valuetext", "not rated")
    sliders.first.focus()
    for key in ("ArrowRight", "ArrowRight", "PageUp", "ArrowLeft"):
        page.keyboard.press(key)
    expect(sliders.first).to_have_attribute("aria-valuetext", "4 of 5")  # 3, 3.5, 4.5, 4
    page.keyboard.press("End")
    second = sliders.nth(1)
    box = second.bounding_box()
    second.click(position={"x": box["width"] * 0.66, "y": box["height"] / 2})
    expect(second).to_have_attribute("aria-valuetext", "3.5 of 5")
    second.click(position={"x": 1, "y": box["height"] / 2})
    expect(second).to_have_attribute("aria-valuetext", "1 of 5")  # where the scale begins
    second.click(position={"x": box["width"] - 1, "y": box["height"] / 2})
    expect(second).to_have_attribute("aria-valuetext", "5 of 5")
    assert list(rated(page).values()) == [5, 5]
    near = visitor.guest("neighbors", k=5)["neighbors"]
    expect(page.locator(".near .who a")).to_have_text([one["user"] for one in near])
    best = visitor.guest("recommendations", n=5)["recommendations"]
    expect(page.locator(".recommended h3")).to_have_text([one["title"] for one in best])
    expect(page.get_by_role("heading", name=f"Why {near[0]['user']} is near you")).to_have_count(1)
    plan = visitor.guest("explanations", other=near[0]["user"])
    page.locator(".plan .ribbon").first.wait_for()
    visitor.settled()
    assert 0 < page.locator(".plan .ribbon").count() <= len(plan["flows"])
    page.keyboard.press("Shift+Tab")
    sliders.first.focus()
    page.keyboard.press("Delete")
    expect(page.locator(".tally")).to_have_text("1 film rated")
    assert list(rated(page).values()) == [5]
    page.get_by_role("button", name="Start over").click()
    expect(page.locator(".notice")).to_have_count(3)
    assert rated(page) == {}


def test_find_a_film_and_come_back(visitor):
    page = visitor.open("#/try")
    page.locator("#pick-item").focus()
    page.keyboard.type("metropo")
    page.locator("[role=option].active", has_text="Metropolis (1927)").wait_for()
    page.keyboard.press("Enter")
    star = page.get_by_role("slider", name="Your rating of Metropolis (1927)")
    expect(star).to_be_focused()
    page.keyboard.press("5")
    page.locator(".near li").first.wait_for()
    page.reload()  # the ratings stay in this tab
    expect(star).to_have_attribute("aria-valuetext", "5 of 5")
    assert rated(page) == {"Metropolis (1927)": 5}
    expect(page.locator(".mine .title").first).to_have_text("Metropolis (1927)")
    other = encoded(visitor.guest("neighbors", k=5)["neighbors"][0]["user"])
    page.locator(".near .ask").first.click()
    visitor.at(f"#/why/@you/{other}")
    expect(page.locator(".sides")).to_have_text(re.compile("^Your 1 rating"), use_inner_text=True)
    page.get_by_role("link", name="Measures", exact=True).click()
    visitor.at(f"#/measures/@you/{other}")
    expect(page.locator(".measures tbody tr")).to_have_count(12)
    page.get_by_role("link", name="Recommended", exact=True).click()
    visitor.at("#/recommended/@you")
    expect(page.locator(".recommended > li")).to_have_count(10)
    page.get_by_role("button", name="All parts").first.click()
    expect(page.locator(".waterfall")).to_have_count(1)
    page.get_by_role("link", name="Like-minded", exact=True).click()
    visitor.at("#/like-minded/@you")
    expect(page.locator(".near li")).to_have_count(10)


def test_only_the_newest_answer_counts(visitor):
    """The response to the first star is held back until that to the third has been shown."""
    page = visitor.open("#/try")
    held, requested = [], []

    def slow(route):
        ratings = route.request.post_data_json["ratings"]
        requested.append(len(ratings))
        if len(ratings) == 1:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/v1/neighbors", slow)
    page.get_by_role("slider").first.press("5")
    visitor.arrives(held)
    page.evaluate(
        """() => {
          for (const star of [...document.querySelectorAll("[role=slider]")].slice(1, 3))
            star.dispatchEvent(new KeyboardEvent("keydown", { key: "5" }));
        }"""
    )  # at once: one request for both
    page.locator(".near li").first.wait_for()
    for route in held:
        route.fulfill(json={"user": "guest", "measure": "pmd", "neighbors": []})
    page.evaluate("fetch('healthz').then((answer) => answer.text())")  # a moment for the response
    near = visitor.guest("neighbors", k=5)["neighbors"]
    visitor.settled()
    visitor.shows(".near .who a", [one["user"] for one in near])
    assert requested == [1, 3]


@pytest.mark.parametrize(
    ("scale", "stars", "said"),
    [
        ({"lowest": 1, "highest": 5, "step": 1}, 5, "4 of 5"),
        ({"lowest": 0.5, "highest": 5, "step": 0.5}, 5, "3.5 of 5"),
        ({"lowest": 1, "highest": 10, "step": 1}, 10, "7 of 10"),
        ({"lowest": -10, "highest": 10, "step": 0}, 0, "0.2 of 10"),
    ],
)
def test_stars_of_other_scales(visitor, scale, stars, said):
    page = visitor.open("#/like-minded")
    got = page.evaluate(
        """async (scale) => {
          const { starInput } = await import("/assets/parts/stars.js");
          const changes = [];
          const change = (x) => changes.push(x);
          const input = starInput({ label: "Your rating of X", value: undefined, scale, change });
          const press = (key) => input.control.dispatchEvent(new KeyboardEvent("keydown", { key }));
          press("ArrowUp"); press("ArrowUp");
          const text = input.control.getAttribute("aria-valuetext");
          press("End"); press("ArrowUp"); press("Home"); press("ArrowDown"); press("Delete");
          return [input.control.querySelectorAll(".filled svg").length, text, changes];
        }""",
        scale,
    )
    assert got[:2] == [stars, said]
    assert got[2][2:] == [scale["highest"], scale["highest"], scale["lowest"], scale["lowest"], None]
