"""Each page in use, compared with the API."""

import re
from functools import partial

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.explorer.conftest import FILM, VIEWER
from tests.messages import unnamed

pytestmark = pytest.mark.slow


def number(text):
    return float(text.replace("\N{MINUS SIGN}", "-"))


def test_like_minded_by_keyboard(visitor):
    page = visitor.open("")
    expect(page).to_have_title(re.compile("prefmover$"))
    field = page.locator("#pick-person")
    field.focus()
    page.keyboard.type("petr")
    names = [one["id"] for one in visitor.api("users", q="petr", limit=12)["users"]]
    visitor.shows(".pickers [role=option] .option", names)
    visitor.settled()  # the list is that of all letters, not of the first ones
    option = page.locator(".pickers [role=option]").nth(names.index("petra-h"))
    for _ in range(names.index("petra-h")):
        page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", option.get_attribute("id"))
    page.keyboard.press("Enter")
    visitor.at("#/like-minded/petra-h")
    expect(page).to_have_title(re.compile("petra-h"))
    expect(field).to_be_focused()  # it is the same page: the focus stays where it was
    near = visitor.ask("neighbors", user="petra-h", k=10)["neighbors"]
    visitor.shows(".near .who a", [one["user"] for one in near])
    shown = [re.search(r"\d\.\d{3}", text)[0] for text in visitor.texts(".near .far")]
    assert shown == [f"{one['distance']:.3f}" for one in near]
    expect(page.locator(".near .leaning").first).to_have_text(" and ".join(near[0]["taste"][:2]))
    without = sum(one["n_common"] == 0 for one in near)
    expect(page.locator(".near .common.none")).to_have_count(without)
    expect(page.locator(".point .dot.none")).to_have_count(without)
    mine = visitor.api("users/petra-h")["ratings"]
    visitor.shows(".best .title", [one["title"] for one in mine][:8])
    expect(page.locator(".strip > span")).to_have_count(len(mine))
    expect(page.locator("#live")).to_have_text(re.compile(re.escape(near[0]["user"])))


def test_escape_closes_the_list_and_keeps_the_choice(visitor):
    page = visitor.open("#/like-minded/petra-h")
    field = page.locator("#pick-person")
    field.click()
    page.get_by_role("option").first.wait_for()
    page.keyboard.type("zzz")
    expect(page.locator(".pickers .hint")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".pickers .popup")).to_be_hidden()
    expect(field).to_have_value("petra-h")


def test_back_and_forth(visitor):
    page = visitor.open("#/like-minded/petra-h")
    page.get_by_role("link", name="Why noor-r?").click()
    visitor.at("#/why/petra-h/noor-r")
    expect(page.locator("h1")).to_be_focused()
    page.get_by_role("link", name="Measures").first.click()
    visitor.at("#/measures/petra-h/noor-r")
    expect(page).to_have_title(re.compile("petra-h.*noor-r"))
    page.go_back()
    visitor.at("#/why/petra-h/noor-r")
    page.go_back()
    visitor.at("#/like-minded/petra-h")
    expect(page).to_have_title(re.compile("petra-h"))
    page.go_forward()
    visitor.at("#/why/petra-h/noor-r")
    expect(page.locator("h1")).to_have_text(re.compile("petra-h.*noor-r"))


def test_the_page_changes_with_the_address(visitor):
    """At once: no moment has the old page under the new address, or a new page that does not say it loads."""
    page = visitor.open("#/like-minded/petra-h")
    look = """() => {
      const busy = [...document.querySelectorAll("main [aria-busy=true]")];
      return [location.hash, document.querySelector("h1").textContent, busy.length];
    }"""
    before = page.locator("h1").inner_text()
    ways = {
        "#/measures/petra-h/noor-r": "location.hash = '#/measures/petra-h/noor-r'",
        "#/recommended/petra-h": "document.querySelector('#nav a[href^=\"#/recommended\"]').click()",
    }
    for route, go in ways.items():
        at, heading, busy = page.evaluate(f"() => {{ {go}; return ({look})(); }}")
        assert at == route
        assert heading != before
        assert busy > 0
        before = heading
        visitor.at(route)
    back = page.evaluate(
        f"""() => new Promise((done) => {{
          addEventListener("popstate", () => done(({look})()), {{ once: true }});
          history.back();
        }})"""
    )
    assert back[0] == "#/measures/petra-h/noor-r"
    assert back[1] != before
    visitor.at("#/measures/petra-h/noor-r")


def test_a_star_makes_the_results_outdated_at_once(visitor):
    page = visitor.open("#/try")
    busy = page.get_by_role("slider").first.evaluate(
        """(star) => {
          star.dispatchEvent(new KeyboardEvent("keydown", { key: "5" }));
          return [...document.querySelectorAll(".split.try [aria-busy=true]")].length;
        }"""
    )
    assert busy == 2  # people, and films; why they are near follows from the first
    page.locator(".plan").wait_for()
    visitor.settled()
    page.get_by_role("button", name="Start over").click()
    expect(page.locator(".notice")).to_have_count(3)
    visitor.settled()


def numbers(page, user, other):
    return page.evaluate(
        """async ([user, other]) => {
          const headers = { "Content-Type": "application/json" };
          const question = { method: "POST", headers, body: JSON.stringify({ user, other }) };
          const answer = await (await fetch("/api/v1/explanations", question)).json();
          const { layout } = await import("/assets/lib/plan_layout.js");
          const sum = (list, field) => list.reduce((all, one) => all + one[field], 0);
          const open = new Map([["Horror", 5], ["in common", 3]]);
          const ways = [3, 6, 14, Infinity].map((most) => ({ most }));
          ways.push(...["genre", "decade", "cluster"].flatMap((by) => [{ by }, { by, open }]));
          return ways.map((way) => {
            const plan = layout(answer, way);
            const inside = [...plan.left, ...plan.right].every((node) => {
              const end = plan.left.includes(node) ? "from" : "to";
              const mine = plan.ribbons.filter((ribbon) => ribbon[end] === node.id);
              const fits = node.y >= -1e-6 && node.y + node.height <= plan.height + 1e-6;
              return fits && Math.abs(sum(mine, "mass") - node.mass) < 1e-9;
            });
            const sums = Object.fromEntries(["mass", "value", "share"].map((f) => [f, sum(plan.ribbons, f)]));
            const [left, right] = [sum(plan.left, "mass"), sum(plan.right, "mass")];
            return { ...sums, left, right, inside, distance: answer.distance };
          });
        }""",
        [user, other],
    )


def test_parts_add_up_however_they_are_grouped(visitor):
    page = visitor.open("")
    users = [one["id"] for one in visitor.api("users", limit=40)["users"] if one["id"] != VIEWER]
    for user, other in zip(users[:12], users[12:24], strict=True):
        for drawn in numbers(page, user, other):
            assert drawn["value"] == pytest.approx(drawn["distance"], abs=1e-9)
            assert [drawn[k] for k in ("mass", "share", "left", "right")] == pytest.approx([1] * 4, abs=1e-9)
            assert drawn["inside"]


def test_why(visitor):
    page = visitor.open("#/why/petra-h/noor-r")
    answer = visitor.ask("explanations", user="petra-h", other="noor-r")
    expect(page.locator(".facts .big").first).to_have_text(f"{answer['distance']:.3f}")
    share = answer["nearer_than"]
    rank = "nearer than 99" if share >= 0.99 else f"nearer than {int(100 * share)}% of pairs$"
    rank = rank if share >= 0.5 else "farther than"
    expect(page.locator(".facts .soft").first).to_have_text(re.compile(f"^{rank}"))
    expect(page.locator(".whole")).to_have_text(f"{answer['distance']:.6f}")
    expect(page.locator(".total")).to_have_text(f"{answer['distance']:.6f}")
    expect(page.locator(".ribbon")).to_have_count(len(answer["flows"]))
    staying = {flow["source_label"] for flow in answer["flows"] if flow["source"] == flow["target"]}
    assert staying
    expect(page.locator(".ribbon.stays")).to_have_count(len(staying))
    marked = set(page.locator(".left .node.common").evaluate_all("nodes => nodes.map((n) => n.title)"))
    assert staying <= marked
    assert len(marked) == answer["n_common"]
    proof = page.locator(".equation").inner_text().split()
    assert proof[0] == proof[2] == f"{answer['certificate']['primal']:.9f}"
    assert proof[1] == "="
    page.get_by_text("The plan as a table").click()
    expect(page.locator(".more tbody tr")).to_have_count(len(answer["flows"]))
    visitor.shows(".more tfoot td", ["100.0%", f"{answer['distance']:.3f}", "100.0%"])


def test_ribbons_by_pointer_and_by_key(visitor):
    page = visitor.open("#/why/petra-h/bianca-b")
    first, second = page.locator(".ribbon").nth(0), page.locator(".ribbon").nth(1)
    visitor.still()
    label = first.get_attribute("aria-label")
    detail = "[...document.querySelectorAll('.detail strong, .detail span')].map((e) => e.innerText)"
    tells = partial(page.wait_for_function, f"(label) => {detail}.join(': ') === label")
    start, end, bottom = map(
        float, re.match(r"M0 (\S+)C.* 100 (\S+)V(\S+)C", first.get_attribute("d")).groups()
    )
    # Ribbons do not overlap at their ends.
    first.hover(position={"x": 8, "y": start - min(start, end) + (bottom - end) / 2})
    tells(arg=label)
    expect(page.locator(".node.active")).to_have_count(2)
    page.locator("#swap").focus()
    for _ in range(12):
        page.keyboard.press("Tab")  # the other field, titles, then the plan: one stop for all ribbons
        if first.evaluate("e => e === document.activeElement"):
            break
    expect(first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    tells(arg=second.get_attribute("aria-label"))
    page.keyboard.press("End")
    expect(page.locator(".ribbon").last).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(first).to_be_focused()
    page.get_by_role("button", name="Swap the two").click()
    visitor.at("#/why/bianca-b/petra-h")


def test_large_plans_are_in_groups_that_open(visitor):
    busy = sorted(visitor.api("users", limit=100)["users"], key=lambda one: -one["n_ratings"])[:2]
    page = visitor.open("#/why/" + "/".join(one["id"] for one in busy))
    answer = visitor.ask("explanations", user=busy[0]["id"], other=busy[1]["id"])
    groups = {one["item"]: one["groups"] for one in answer["items"]}
    both = {flow["source"] for flow in answer["flows"]} & {flow["target"] for flow in answer["flows"]}
    mine = {flow["source"] for flow in answer["flows"]} - both
    nodes, whole = page.locator(".left .node"), page.locator(".total")
    before = len({groups[item]["genre"] for item in mine}) + 1
    expect(nodes).to_have_count(before)
    both_rated = page.locator(".left .node.common .expand")
    expect(both_rated).to_have_count(1)  # a group of its own
    total = whole.inner_text()
    close = page.get_by_role("button", name="Close the groups")
    expect(close).to_be_hidden()
    page.locator(".left .expand").first.click()
    expect(close).to_be_visible()
    nodes.nth(before).wait_for()  # there are more
    expect(whole).to_have_text(total)
    expect(page.locator(".whole")).to_have_text(total)
    close.click()
    expect(nodes).to_have_count(before)
    page.get_by_role("button", name="By decade").click()
    decades = {groups[item]["decade"] for item in mine}
    expect(nodes).to_have_count(len(decades) + 1)
    one_by_one = page.get_by_role("button", name="Largest one by one")
    one_by_one.click()
    expect(one_by_one).to_have_attribute("aria-pressed", "true")
    assert 13 <= nodes.count() <= 14
    expect(whole).to_have_text(total)


def test_recommended(visitor):
    page = visitor.open("#/recommended/petra-h")
    top = visitor.ask("recommendations", user="petra-h", n=10)["recommendations"]
    visitor.shows(".recommended h3", [one["title"] for one in top])
    visitor.shows(".guess .number", [f"{one['rating']:.2f}" for one in top])
    for k, one in enumerate(top):
        because = page.locator(".recommended > li").nth(k).locator(".because")
        own = [mine["label"] for mine in one["why"]["because"]]
        expect(because.locator("a.item")).to_have_text(own)
        person = one["why"]["person"]
        expect(because.locator("a:not(.item)")).to_have_text([person["user"]] if person else [])
        told = ["".join(part["text"] for part in parts) for parts in one["why"]["told"]]
        shown = [text.replace(" without it?", "") for text in because.locator("li").all_inner_texts()]
        assert [text.casefold() for text in shown] == [text.casefold() for text in told]
    third = top[2]["item"]
    page.get_by_role("button", name=re.compile("^All parts")).nth(2).click()
    visitor.at(f"#/recommended/petra-h/{third}")
    whole = visitor.ask("predictions/why", user="petra-h", item=third)
    visitor.shows(".waterfall tfoot .number", [f"{whole['total']:.3f}"])
    rows = [number(text) for text in visitor.texts(".waterfall tbody .number")]
    assert sum(rows) == pytest.approx(whole["total"], abs=0.0005 * len(rows))
    score = visitor.ask("recommendations/why", user="petra-h", item=third)
    assert number(page.locator(".scores tfoot .number").inner_text()) == pytest.approx(
        score["score"], abs=5e-4
    )
    parts = [number(text) for text in visitor.texts(".scores tbody tr:not(.sum-of) .number")]
    assert sum(parts) == pytest.approx(score["score"], abs=0.0005 * (len(parts) + 1))
    listed = [number(text) for text in visitor.texts(".contributions .adds")]
    neighbors = sum(one["value"] for one in whole["contributions"]) + whole["others"]["value"]
    assert sum(listed) == pytest.approx(neighbors, abs=0.0005 * len(listed))
    page.reload()  # a link to one explanation opens it
    expect(page.locator(".waterfall")).to_have_count(1)


def test_what_if_a_rating_were_not_there(visitor):
    page = visitor.open("#/recommended/petra-h")

    def titles(**more):
        best = visitor.ask("recommendations", user="petra-h", n=10, **more)["recommendations"]
        return [one["title"] for one in best]

    before = titles()
    visitor.shows(".recommended h3 a", before)
    reason = page.locator(".because").first.locator("a.item").first
    item, label = reason.get_attribute("href").split("/")[-1], reason.inner_text()
    page.get_by_role("button", name=f"Without it? The list without {label}", exact=True).first.click()
    after = titles(without=[item])
    visitor.shows(".recommended h3 a", after)
    assert label not in after
    expect(page.locator(".what-if")).to_contain_text(label)
    expect(page.locator(".fresh")).to_have_count(len(set(after) - set(before)))
    assert visitor.settled().locator(".because a.item").filter(has_text=label).count() == 0
    other = page.locator(".if-not").first
    other.click()
    expect(page.get_by_role("button", name="Undo all")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    visitor.shows(".recommended h3 a", after)
    page.get_by_role("button", name="Undo", exact=True).click()
    visitor.shows(".recommended h3 a", before)
    expect(page.locator(".what-if")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^All parts")).first.click()
    page.get_by_role("button", name="What does it depend on?").click()
    first = visitor.ask("recommendations", user="petra-h", n=1)["recommendations"][0]["item"]
    least = visitor.ask("recommendations/counterfactual", user="petra-h", item=first, n=10)
    expect(page.locator(".parts .region p").first).to_contain_text(least["label"])
    if least["without"]:
        page.get_by_role("button", name="Show that list").click()
        visitor.shows(".recommended h3 a", titles(without=[one["item"] for one in least["without"]]))


def test_measures(visitor):
    page = visitor.open("#/measures/petra-h/bianca-b")
    answer = visitor.ask("comparison", user="petra-h", other="bianca-b")
    assert answer["n_common"] == 0
    undefined = [one for one in answer["measures"] if one["value"] is None]
    expect(page.locator(".measures tbody tr")).to_have_count(12)
    visitor.shows(".measures em", ["undefined"] * len(undefined))
    assert {one["name"] for one in undefined} >= {"cos", "pcc", "msd"}
    visitor.shows(".measures .undefined td .soft", [one["reason"] for one in undefined])
    expect(page.locator(".pmd .number")).to_have_text(f"{answer['measures'][-1]['value']:.4f}")
    assert not unnamed(page.locator(".point").inner_text(), len(undefined), 12)


def test_hostile_names_stay_text(visitor):
    page = visitor.open("#/like-minded")
    page.locator("#pick-person").click()
    page.keyboard.type('">')
    expect(page.locator(".pickers [role=option] .option")).to_have_text([VIEWER])
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(VIEWER)
    visitor.settled()
    fans = [one for one in visitor.api("users", limit=100)["users"] if one["id"] != VIEWER]
    fan = next(
        one["id"]
        for one in fans
        if any(r["title"] == FILM for r in visitor.api(f"users/{one['id']}")["ratings"])
    )
    address = page.url.split("/")[-1]
    pairs = [f"why/{fan}/{address}", f"measures/{address}/{fan}", f"recommended/{address}"]
    for route in [*pairs, "item/alien-1979", "map/items/alien-1979", "map/users", f"like-minded/{address}"]:
        visitor.open(f"#/{route}")
        assert page.evaluate("document.querySelectorAll('main script, main img, main iframe').length") == 0
    visitor.open(f"#/why/{fan}/{address}")
    page.get_by_text("The plan as a table").click()
    expect(page.locator(".more")).to_contain_text(FILM)


def test_no_such_page(visitor):
    """Names that every object has are no pages either."""
    for route in ("nowhere", "why/a/b/c", "like-minded/%", "constructor", "__proto__", "hasOwnProperty/x"):
        visitor.open("#/try")
        page = visitor.open(f"#/{route}")
        expect(page.locator("h1")).to_have_text("There is no such page")
        expect(page).to_have_title(re.compile("^Not found"))
