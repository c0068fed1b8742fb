"""Try it yourself: ratings in, results out, at once."""

import json

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def rated(page):
    return {
        one["title"]: one["rating"]
        for one in json.loads(page.evaluate("sessionStorage.getItem('prefmover.ratings') ?? '[]'"))
    }


def test_rate_by_keyboard_and_pointer(visitor):
    page = visitor.open("#/try")
    assert page.locator(".notice").count() == 3  # one for each result
    sliders = page.get_by_role("slider")
    title = page.locator(".mine .title").first.inner_text()
    assert sliders.first.get_attribute("aria-label") == f"Your rating of {title}"
    assert sliders.first.get_attribute("aria-valuetext") == "not rated"
    sliders.first.focus()
    for key in ("ArrowRight", "ArrowRight", "PageUp", "ArrowLeft"):
        page.keyboard.press(key)
    assert sliders.first.get_attribute("aria-valuetext") == "4 of 5"  # 3, 3.5, 4.5, 4
    page.keyboard.press("End")
    second = sliders.nth(1)
    box = second.bounding_box()
    second.click(position={"x": box["width"] * 0.66, "y": box["height"] / 2})
    assert second.get_attribute("aria-valuetext") == "3.5 of 5"
    second.click(position={"x": 1, "y": box["height"] / 2})
    assert second.get_attribute("aria-valuetext") == "1 of 5"  # where the scale begins
    second.click(position={"x": box["width"] - 1, "y": box["height"] / 2})
    page.locator(".near li").first.wait_for()
    visitor.settled()
    assert list(rated(page).values()) == [5, 5]
    near = visitor.guest("neighbors", k=5)["neighbors"]
    expect(page.locator(".near .who a")).to_have_text([one["user"] for one in near])
    best = visitor.guest("recommendations", n=5)["recommendations"]
    expect(page.locator(".recommended h3")).to_have_text([one["title"] for one in best])
    visitor.settled()
    assert page.get_by_role("heading", name=f"Why {near[0]['user']} is near you").count() == 1
    plan = visitor.guest("explanations", other=near[0]["user"])
    assert 0 < page.locator(".plan .ribbon").count() <= len(plan["flows"])
    page.keyboard.press("Shift+Tab")
    sliders.first.focus()
    page.keyboard.press("Delete")
    assert list(rated(page).values()) == [5]
    page.get_by_role("button", name="Start over").click()
    assert rated(page) == {}
    expect(page.locator(".notice")).to_have_count(3)


def test_find_a_film_and_come_back(visitor):
    page = visitor.open("#/try")
    page.locator("#pick-item").focus()
    page.keyboard.type("metropo")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    star = page.get_by_role("slider", name="Your rating of Metropolis (1927)")
    expect(star).to_be_focused()
    page.keyboard.press("5")
    page.locator(".near li").first.wait_for()
    visitor.settled()
    page.reload()  # the ratings stay in this tab
    visitor.settled()
    assert rated(page) == {"Metropolis (1927)": 5}
    assert star.get_attribute("aria-valuetext") == "5 of 5"
    assert page.locator(".mine .title").first.inner_text() == "Metropolis (1927)"
    page.locator(".near .ask").first.click()
    visitor.settled()
    assert "/why/@you/" in page.url
    assert page.locator(".sides").inner_text().startswith("Your 1 rating")
    page.get_by_role("link", name="Measures", exact=True).click()
    visitor.settled()
    assert page.locator(".measures tbody tr").count() == 12
    page.get_by_role("link", name="Recommended", exact=True).click()
    visitor.settled()
    assert page.locator(".recommended > li").count() == 10
    page.get_by_role("button", name="All parts").first.click()
    visitor.settled()
    assert page.locator(".waterfall").count() == 1
    page.get_by_role("link", name="Like-minded", exact=True).click()
    visitor.settled()
    assert page.locator("h1").inner_text()


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

    page.route("**/guest/neighbors", slow)
    stars = page.get_by_role("slider")
    stars.nth(0).press("5")
    page.wait_for_timeout(400)
    assert requested == [1]
    stars.nth(1).press("5")
    stars.nth(2).press("5")  # at once: one request for both
    page.locator(".near li").first.wait_for()
    for route in held:
        route.fulfill(json={"user": "guest", "measure": "pmd", "neighbors": []})
    page.wait_for_timeout(300)
    assert requested == [1, 3]
    near = visitor.guest("neighbors", k=5)["neighbors"]
    expect(page.locator(".near .who a")).to_have_text([one["user"] for one in near])


@pytest.mark.parametrize(
    ("scale", "stars", "said"),
    [
        ({"lowest": 1, "highest": 5, "step": 1}, 5, "4 of 5"),
        ({"lowest": 0.5, "highest": 5, "step": 0.5}, 5, "3.5 of 5"),
        ({"lowest": 1, "highest": 10, "step": 1}, 10, "7 of 10"),
        ({"lowest": -10, "highest": 10, "step": None}, 0, "1 of 10"),
    ],
)
def test_stars_of_other_scales(visitor, scale, stars, said):
    page = visitor.open("#/like-minded")
    got = page.evaluate(
        """async (scale) => {
          const { starInput } = await import("/assets/parts/stars.js");
          const changes = [];
          const change = (x) => changes.push(x);
          const input = starInput({ label: "Your rating of X", value: null, scale, change });
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
