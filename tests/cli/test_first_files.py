"""Six files as people export them, made here, from the file to ten recommendations."""

import csv
import json
import re

import numpy as np
import pytest

from tests.messages import unnamed

pytestmark = pytest.mark.slow

USERS, ITEMS = 120, 60
KINDS = ("dress", "coat", "boots", "scarf")


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def rated(seed=0):
    """Yield (user, item, liking from 0 to 1, a generator): users like two of four kinds of items."""
    rng = np.random.default_rng(seed)
    for user in range(USERS):
        for item in rng.choice(ITEMS, rng.integers(5, 15), replace=False).tolist():
            likes = item % 4 in (user % 4, (user + 1) % 4)
            yield user, item, float(np.clip(rng.normal(0.8 if likes else 0.3, 0.15), 0, 1)), rng


def wide(path):
    """Write an export with what is known about the item, the user and the order beside each rating."""
    header = ("order_id", "customer_id", "product_id", "rating", "category", "brand", "price", "body type")
    header += ("review_text", "review_date")
    rows = []
    for k, (user, item, liking, rng) in enumerate(rated()):
        about = (KINDS[item % 4], f"b{item % 7}", 20 + item, rng.choice(["pear", "apple"]))
        text = (f"fits, {k}", f"2024-01-{1 + k % 28:02}")
        rows.append((k, f"c{user}", f"p{item:02}", 1 + round(4 * liking), *about, *text))
    write(path, header, rows)


def clicks(path):
    """Write clicks: a line for each, with the time and the kind of the event, some of them twice."""
    rows = [
        (1_700_000_000 + k, f"v{user}", "view", f"s{item}") for k, (user, item, _, _) in enumerate(rated())
    ]
    write(path, ("timestamp", "visitorid", "event", "itemid"), rows + rows[::9])


def plays(path):
    """Write hours that games were played for."""
    rows = [(user, f"Game {item}", round(10 ** (3 * liking) / 10, 1)) for user, item, liking, _ in rated()]
    write(path, ("steam id", "Game Title", "Hours"), rows)


def hundred(path):
    """Write scores from 0 to 100, with semicolons and a byte order mark."""
    rows = [f"u{user};Album {item};{round(100 * liking)}" for user, item, liking, _ in rated()]
    path.write_text("\n".join(["User;Album;Score", *rows]), encoding="utf-8-sig")


def halves(path):
    """Write half stars with a text beside each, which has commas, quotes and line breaks."""
    rows = [
        (f"reader {user}", f'Book "{item}"', f'"Good", he said,\nand left {k}.', 0.5 + round(9 * liking) / 2)
        for k, (user, item, liking, _) in enumerate(rated())
    ]
    write(path, ("reader", "book", "review", "My Rating"), rows)


def titles(path):
    """Write JSON Lines of titles, as on a page of one's own films, with a text beside some."""
    rows = [
        {"Date": "2024-01-10", "Name": f"Film {item}", "Year": 1950 + item, "Member": f"mém{user}",
         "Rating": 0.5 + round(9 * liking) / 2} | ({"Review": "fine"} if user % 2 else {})
        for user, item, liking, _ in rated()
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


FILES = {
    "wide": (wide, ("-i", "data.csv"), "c3", ("'customer_id'", "'product_id'", "'category'", "'body type'")),
    "clicks": (clicks, (), "v3", ("'visitorid'", "'itemid'")),
    "plays": (plays, (), "3", ("'steam id'", "'Game Title'", "'Hours'")),
    "hundred": (hundred, (), "u3", ("'User'", "'Album'", "'Score'", 100)),
    "titles": (titles, (), "mém3", ("'Member'", "'Name'", "'Rating'", "'Review'", 0.5, 5)),
    "halves": (halves, (), "reader 3", ("'reader'", "'book'", "'My Rating'", "'review'", 0.5, 5)),
}


@pytest.mark.parametrize("name", FILES)
def test_from_a_raw_file_to_ten_recommendations(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    make, options, user, said = FILES[name]
    make(tmp_path / "data.csv")
    code, out, err = run("recommend", "-r", "data.csv", *options, "--user", user, "--json")
    assert code == 0, err
    assert len(json.loads(out)["recommendations"]) == 10
    assert not unnamed(err, *said)
    if name != "wide":
        assert len(re.findall("compared by their ratings", err)) == 1
    # The second time, the model is there.
    code, again, err = run("recommend", "-r", "data.csv", *options, "--user", user, "--json")
    assert (code, again) == (0, out)
    assert "--refit" in err
