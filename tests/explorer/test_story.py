"""Pages of items and people, one search, groups, lists, maps, imports, links and filters."""

import json
import re
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from prefmover import KNNRecommender
from prefmover.server.served import ServedModel
from tests.explorer.conftest import encoded
from tests.server.conftest import listening

pytestmark = pytest.mark.slow

EXPORT = """Date,Name,Year,Letterboxd URI,Rating
2021-03-02,Jaws,1975,https://boxd.it/1,5
2023-01-01,The Thing,1982,https://boxd.it/2,4.5
2022-01-01,No Such Film,1999,https://boxd.it/3,3.5
"""


def pick(page, field, text, name):
    """Type into a field, and choose the first option once it is there."""
    field.click()
    page.keyboard.type(text)
    page.locator("[role=option].active", has_text=name).wait_for()
    page.keyboard.press("Enter")


def test_a_film_and_the_way_there(visitor):
    page = visitor.open("#/like-minded/petra-h")
    title = page.locator(".best a.item").first.inner_text()
    page.locator(".best a.item").first.click()
    expect(page.locator("h1")).to_have_text(title)
    expect(page).to_have_title(re.compile("^" + re.escape(title)))
    one = visitor.api("items/" + visitor.settled().url.split("/")[-1])
    expect(page.locator(".histogram .times")).to_have_count(9)  # 1 to 5 in half stars
    given = {row["rating"]: row["count"] for row in one["ratings"]}
    steps = [float(text) for text in visitor.texts(".histogram th[scope=row]")]
    counts = [int(text) for text in visitor.texts(".histogram .times")]
    assert dict(zip(steps, counts, strict=True)) == given
    visitor.shows(".fans li > a", [fan["user"] for fan in one["fans"]])
    near = visitor.api(f"items/{one['id']}/near", k=12)["near"]
    visitor.shows(".near-items a", [other["title"] for other in near])
    page.get_by_role("slider").press("5")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuenow", "5")
    page.locator(".fans li > a").first.click()
    visitor.at(f"#/like-minded/{encoded(one['fans'][0]['user'])}")
    visitor.open("#/try")
    expect(page.locator(".tally")).to_have_text("1 film rated")
    assert json.loads(page.evaluate("sessionStorage.getItem('prefmover.ratings')"))[0]["id"] == one["id"]


def test_one_search_for_films_and_viewers(visitor):
    page = visitor.open("#/measures")
    field = page.get_by_role("combobox", name="Search films and viewers")
    pick(page, field, "petra h", "petra-h")
    visitor.at("#/like-minded/petra-h")
    pick(page, field, "jaws", "Jaws")
    visitor.at("#/item/jaws-1975")


def test_the_start_shows_people_with_nothing_in_common(visitor):
    page = visitor.open("")
    ground = visitor.api("common-ground")
    expect(page.locator(".chips a")).to_have_text(
        [re.compile("^" + re.escape(one["id"])) for one in ground["examples"] if one["n_without"]]
    )
    assert ground["examples"][0]["n_without"] > 0
    for share in ("pairs_without", "neighbors_without", "light_neighbors_without"):
        expect(page.locator(".opening .loaded p")).to_contain_text(f"{100 * ground[share]:.1f}%")
    expect(page.locator(".card .soft").first).to_contain_text("no film in common")
    page.locator(".card .node").first.wait_for()
    expect(page.locator(".card .node.common")).to_have_count(0)


def test_the_nearest_of_those_with_nothing_in_common(visitor):
    page = visitor.open("#/like-minded/petra-h")
    page.get_by_role("button", name="Nothing in common").click()
    near = visitor.ask("neighbors", user="petra-h", k=10, without_common_items=True)["neighbors"]
    expect(page.locator(".near .who a")).to_have_text([one["user"] for one in near])
    expect(page.locator(".near .common.none")).to_have_count(len(near))
    page.get_by_role("button", name="Everybody").click()
    near = visitor.ask("neighbors", user="petra-h", k=10)["neighbors"]
    without = sum(one["n_common"] == 0 for one in near)
    assert without < 10
    expect(page.locator(".near .common.none")).to_have_count(without)


def test_measures_side_by_side(visitor):
    page = visitor.open("#/like-minded/petra-h")
    answer = visitor.ask("neighbors/lists", user="petra-h")["lists"]
    visitor.shows(".lists h3", [one["label"] for one in answer])
    found = [f"{one['test']['hits']} of {one['test']['n_hidden']}" for one in answer]
    visitor.shows(".score strong", found)
    for k, one in enumerate(answer):
        column = page.locator(".lists section").nth(k)
        expect(column.locator("li a")).to_have_text([near["user"] for near in one["neighbors"]])
        others = {n["user"] for other in answer if other is not one for n in other["neighbors"]}
        alone = [near["user"] for near in one["neighbors"] if near["user"] not in others]
        expect(column.locator("li.alone a")).to_have_text(alone)


@pytest.mark.parametrize("kind", ["users", "items"])
def test_maps(visitor, kind):
    page = visitor.open(f"#/map/{kind}")
    drawn = visitor.api(f"map/{kind}")
    visitor.shows(".groups li", [*drawn["groups"], "others"])
    page.wait_for_function(  # it is drawn in the next frame
        """(least) => {
          const c = document.querySelector("canvas");
          const ink = c.getContext("2d").getImageData(0, 0, c.width, c.height).data
            .filter((x, k) => k % 4 === 3 && x);
          return ink.length > least;
        }""",
        arg=2 * len(drawn["points"]) ** 0.5,
    )
    target = next(one for one in drawn["points"] if "<" not in one["name"])
    pick(page, page.locator("#pick-point"), target["name"][:12], target["name"])
    at = f"{kind}/{encoded(target['id'])}"
    visitor.at(f"#/map/{at}")
    if kind == "items":
        near = [one["title"] for one in visitor.api(f"{at}/near", k=12)["near"]]
    else:
        near = [one["user"] for one in visitor.ask("neighbors", user=target["id"], k=12)["neighbors"]]
    visitor.shows(".near-items a", near)
    page.get_by_role("button", name="Zoom in").click()
    page.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("-")


def test_a_point_is_chosen_with_a_click(visitor):
    page = visitor.open("#/map/items")
    point = visitor.api("map/items")["points"][7]
    box = page.locator("canvas").bounding_box()
    side = 0.94 * min(box["width"], box["height"])
    x = box["width"] / 2 + (point["x"] - 0.5) * side
    y = box["height"] / 2 + (0.5 - point["y"]) * side
    page.locator("canvas").hover(position={"x": x, "y": y})
    expect(page.locator(".tip")).to_be_visible()
    pointed_at = page.locator(".tip").inner_text()
    page.locator("canvas").click(position={"x": x, "y": y})
    expect(page.locator(".aside h2")).to_have_text(pointed_at)
    expect(page.locator(".near-items li")).to_have_count(12)


def test_a_map_of_thousands_stays_smooth(visitor):
    """Drawing 6,040 points again and again takes a small part of a frame's time of a slow machine."""
    page = visitor.open("#/like-minded")
    frames = page.evaluate(
        """async () => {
          const { scatter } = await import("/assets/lib/scatter.js");
          const canvas = document.createElement("canvas");
          canvas.className = "map";
          document.querySelector("main").append(canvas);
          const points = Array.from({ length: 6040 }, (_, k) => (
            { x: (k * 0.618) % 1, y: (k * 0.414) % 1, group: k % 8 }));
          const stop = new AbortController();
          const listeners = { hover() {}, choose() {}, signal: stop.signal };
          const picture = scatter(canvas, points, listeners);
          let n = 0;
          for (let k = 0; k < 20; k += 1) {
            picture.zoomBy(k % 2 ? 1.1 : 1 / 1.1);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            n += 1;
          }
          stop.abort();
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          canvas.remove();
          return [n, pixels.some((x) => x > 0)];
        }"""
    )
    assert frames == [20, True]


def test_import_share_and_not_interested(visitor, visiting):
    page = visitor.open("#/try")
    page.get_by_text("Import from Letterboxd or IMDb").click()
    page.locator("#import-file").set_input_files(
        {"name": "ratings.csv", "mimeType": "text/csv", "buffer": EXPORT.encode()}
    )
    expect(page.locator(".imported strong")).to_have_text("2 ratings imported")
    page.get_by_text("1 title without a match").click()
    expect(page.locator(".unmatched li")).to_have_text(["No Such Film (1999)"])
    jaws = page.get_by_role("slider", name="Your rating of Jaws (1975)")
    expect(jaws).to_have_attribute("aria-valuenow", "5")
    best = [one["title"] for one in visitor.guest("recommendations", n=6)["recommendations"]]
    visitor.shows(".recommended h3", best[:5])
    page.get_by_role("button", name=f"Not interested in {best[0]}").click()
    visitor.shows(".recommended h3", best[1:])
    code = page.evaluate("import('/assets/lib/guest.js').then((guest) => guest.shareCode())")
    assert set(code.split(",")) == {"jaws-1975:5", "the-thing-1982:4.5"}
    with visiting() as friend:
        other = friend.open(f"#/try/{code}")
        expect(other.locator(".tally")).to_have_text("2 films rated")
        friend.open("#/try/alien-1979:3")
        other.get_by_role("button", name="Keep mine").click()
        expect(other.locator(".tally")).to_have_text("2 films rated")
        friend.open("#/try/jaws-1975:2,no-such-film:3,%E0%A4%A:4,x")
        other.get_by_role("button", name="Use the ratings of the link").click()
        expect(other.locator(".tally")).to_have_text("1 film rated")
        expect(other.locator(".split .soft", has_text="low rating")).to_be_visible()
        assert friend.complaints == []


def test_what_is_no_export(visiting):
    with visiting() as visitor:
        page = visitor.open("#/try")
        page.get_by_text("Import from Letterboxd or IMDb").click()
        page.locator("#import-file").set_input_files(
            {"name": "x.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
        )
        expect(page.locator(".imported .wrong")).to_contain_text("Rating")
        visitor.settled()
        assert [text for text in visitor.complaints if "422" not in text] == []


def test_a_link_with_ratings_that_cannot_be_loaded(visiting):
    """The page says so, and nothing stays busy."""
    with visiting() as visitor:
        page = visitor.page
        page.route("**/lookup", lambda route: route.abort())
        visitor.open("#/try/jaws-1975:5")
        expect(page.locator("main > .notice")).to_be_visible()
        expect(page.locator(".tally")).to_have_text("Nothing rated yet")


def test_filters(visitor):
    page = visitor.open("#/recommended/petra-h")
    page.get_by_text("Filters").click()
    page.get_by_label("Genre").select_option("Comedy")
    page.get_by_label("From").fill("1990")
    page.get_by_label("From").press("Tab")
    page.get_by_label("Known").select_option("Less known")
    wanted = {"where": ["genre=Comedy", "year=1990.."], "novelty": 0.5, "n": 10}
    best = visitor.ask("recommendations", user="petra-h", **wanted)["recommendations"]
    expect(page.locator(".recommended h3")).to_have_text([one["title"] for one in best])


def test_together_and_agreement(visiting, handlers):
    """A group by its page, and the agreement of two of its members by a model that measures it."""
    data = handlers.data.with_ratings(handlers.data.ratings.take(users=range(40)))
    users = data.ratings.users[:3].tolist()
    model = KNNRecommender("pmd-agreement", n_threads=1).fit(data)
    with visiting() as visitor, listening(ServedModel(model, "some")) as other:
        page = visitor.open(f"#/together/{quote(users[0], safe='')}")
        page.locator("#add-person").fill(users[1])
        page.get_by_role("option", name=re.compile(re.escape(users[1]))).first.click()
        visitor.at(f"#/together/{encoded(users[0])},{encoded(users[1])}")  # one name is hostile
        for combine, button in (("mean", None), ("least", "Nobody left out")):
            if button:
                page.get_by_role("button", name=button).click()
            found = visitor.client.post(
                "/api/v1/group/recommendations", json={"users": users[:2], "combine": combine}
            ).json()["recommendations"]
            visitor.shows(".recommended h3", [one["title"] for one in found])
            ratings = [f"{member['rating']:.2f}" for one in found for member in one["members"]]
            visitor.shows(".for-each .number", ratings)
        near = visitor.client.post("/api/v1/group/neighbors", json={"users": users[:2]}).json()["neighbors"]
        visitor.shows(".near .who a", [one["user"] for one in near])
        page.get_by_role("link", name=f"Add {near[0]['user']}", exact=True).click()
        left = f"{encoded(users[1])},{encoded(near[0]['user'])}"
        visitor.at(f"#/together/{encoded(users[0])},{left}")
        page.get_by_role("button", name=f"Remove {users[0]}").click()
        visitor.at(f"#/together/{left}")
        assert visitor.complaints == []

        visitor = type(visitor)(page, other)
        (first, rest), *_ = [
            (user, one["user"])
            for user in users
            for one in visitor.ask("neighbors", user=user, k=30)["neighbors"]
            if one["n_common"] > 2
        ]
        page = visitor.open(f"#/why/{quote(first)}/{quote(rest)}")
        agreement = visitor.ask("explanations", user=first, other=rest)["agreement"]
        agreed = [flow for flow in agreement if flow["value"] > 0]
        page.locator(".facts .big").get_by_text(f"{len(agreed)} of {len(agreement)}", exact=True).wait_for()
        listed = page.locator("dl.factors dd")
        expect(listed.first).to_have_text(re.compile("^" + re.escape(agreed[0]["source_label"])))
        least = sum(flow["value"] < 0 for flow in agreement)
        expect(listed).to_have_count(min(len(agreed), 5) + min(least, 5))
