"""The verbs print and write what the library returns."""

import json
from importlib import import_module

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import prefmover as pm
from prefmover.model import storage
from tests.messages import unnamed

pytestmark = pytest.mark.usefixtures("in_shop")

FILES = ("--ratings", "ratings.csv", "--items", "tags.csv")
SOURCES = [FILES, ("--model", "my-model")]


def value_of(row):
    """Return the distance or similarity in a row of JSON."""
    return row["distance"] if "distance" in row else row["similarity"]


@pytest.fixture
def data(in_shop):
    return pm.Dataset.from_files(in_shop / "ratings.csv", [in_shop / "tags.csv"])


@pytest.mark.parametrize("source", SOURCES)
def test_neighbors(run, data, source):
    code, out, err = run("neighbors", *source, "--user", 42, "-n", 4)
    expected = pm.nearest(data, k=4)[42]
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        [f"{other.distance:.4f}", str(other.user)] for other in expected
    ]
    assert not unnamed(err, 42)
    found = json.loads(run("neighbors", *source, "-u", 42, "-u", 7, "-n", 4, "--json")[1])
    assert [one["user"] for one in found["users"]] == [42, 7]
    assert [one["distance"] for one in found["users"][0]["neighbors"]] == [o.distance for o in expected]
    common = data.ratings[42].keys() & data.ratings[expected[0].user].keys()
    assert found["users"][0]["neighbors"][0]["n_common"] == len(common)


def test_neighbors_of_several_users_say_whose_they_are(run):
    one = run("neighbors", *FILES, "-u", 42, "-n", 2)[1]
    two = run("neighbors", *FILES, "-u", 7, "-n", 2)[1]
    code, out, _ = run("--quiet", "neighbors", *FILES, "-u", 42, "-u", 7, "-n", 2)
    assert (code, out) == (0, f"42:\n{one}7:\n{two}")


def test_neighbors_by_another_measure_are_similarities(run, data):
    found = json.loads(run("neighbors", *FILES, "-u", 42, "-n", 3, "--measure", "jaccard", "--json")[1])
    expected = pm.nearest(data, 3, measure="jaccard")[42]
    assert [one["similarity"] for one in found["users"][0]["neighbors"]] == [o.similarity for o in expected]


def test_neighbors_of_a_guest(run, data):
    found = json.loads(run("neighbors", *FILES, "--rated", "Alien=5", "--rated", "heat=2", "--json")[1])
    expected = pm.Recommender().fit(data)
    expected = expected.neighbors(expected.guest({"Alien": 5, "Heat": 2}))
    assert [one["user"] for one in found["users"][0]["neighbors"]] == [o.user for o in expected]


@pytest.mark.parametrize("measure", ["pmd", "nhsm"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_all_users(run, data, in_shop, measure, ending):
    path = in_shop / f"all.{ending}"
    code, out, _ = run("neighbors", *FILES, "--all", "-n", 3, "--measure", measure, "--out", path)
    assert (code, out.strip()) == (0, str(path))
    table = (pq.read_table(path) if ending == "parquet" else csv.read_csv(path)).to_pydict()
    expected = pm.nearest(data, 3, measure=measure)
    assert table["user"][:3] == [1, 1, 1]
    assert table["rank"][:3] == [1, 2, 3]
    assert table["neighbor"] == expected.reference[expected.neighbors].tolist()
    assert table["similarity" if measure == "nhsm" else "distance"] == expected.values.tolist()
    assert not (in_shop / f"all.{ending}.parts").exists()


def test_all_users_from_candidates(run, data, in_shop):
    search = "neighbors", *FILES, "--all", "-n", 3, "--out", "all.csv", "--method", "candidates"
    code, out, err = run(*search, "--recall", 0.9, "--seed", 4)
    expected = pm.nearest(data, 3, method="candidates", recall=0.9, seed=4)
    assert (code, out.strip()) == (0, "all.csv")
    assert str(expected.recall) in err
    assert csv.read_csv("all.csv")["distance"].to_pylist() == expected.values.tolist()
    assert not (in_shop / "all.csv.parts").exists()
    said = json.loads(run(*search, "--json")[1])["recall"]
    assert said == pm.nearest(data, 3, method="candidates").recall.to_dict()


def test_the_cost_of_an_exact_search_is_said_before_it_starts(run, monkeypatch):
    monkeypatch.setattr(import_module("prefmover.cli.neighbors"), "LARGE", 10)
    code, _, err = run("neighbors", *FILES, "--all", "-n", 3, "--out", "all.csv")
    assert code == 0
    (line,) = (line for line in err.splitlines() if "--method candidates" in line)
    assert not unnamed(line, f"{60 * 59:,}")
    assert err.index(line) < err.index("180 neighbors")


SEARCHES = {
    "neighbors": (("-n", 3), lambda model, n, parts: pm.nearest(model.data_, n, checkpoint=parts)),
    "recommend": (("-n", 3), lambda model, n, parts: model.recommend_all(n, checkpoint=parts)),
}


@pytest.mark.parametrize("verb", SEARCHES)
def test_all_users_resume_from_finished_parts(run, in_shop, verb):
    parts, model, (count, search) = in_shop / "all.csv.parts", storage.load("my-model"), SEARCHES[verb]
    command = (verb, "-m", "my-model", "--all", *count, "--out", "all.csv")
    search(model, 3, parts)  # an interrupted run leaves them
    assert run(*command)[0] == 0
    assert not parts.exists()
    search(model, 4, parts)
    code, _, err = run(*command)
    assert code == 2
    assert "all.csv.parts" in err
    assert parts.exists()


@pytest.mark.parametrize("source", SOURCES)
def test_predict(run, data, source):
    model = pm.Recommender().fit(data)
    expected = model.predict([(42, "Alien"), (42, "Emma")])
    found = json.loads(run("predict", *source, "-u", 42, "--item", "Alien", "--item", "emma", "--json")[1])
    assert [(p["user"], p["item"], p["rating"]) for p in found["predictions"]] == [
        (p.user, p.item, p.rating) for p in expected
    ]
    code, out, _ = run("predict", *source, "--user", 42, "--item", "Alien")
    assert (code, out.split()[:2]) == (0, [f"{expected[0].rating:.2f}", "Alien"])


def test_predict_pairs_of_a_file(run, data, in_shop):
    code, out, _ = run("predict", "--model", "my-model", "--pairs", "pairs.csv")
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "user,item,rating,baseline,how,clipped,n_neighbors")
    assert [line.split(",")[4] for line in lines[1:]] == ["neighbors", "neighbors", "unknown user"]
    for ending in ("csv", "parquet"):
        assert run("predict", "-m", "my-model", "--pairs", "pairs.csv", "-o", f"p.{ending}")[0] == 0
    table = pq.read_table(in_shop / "p.parquet")
    assert table["rating"].to_pylist() == csv.read_csv(in_shop / "p.csv")["rating"].to_pylist()
    assert table["user"].to_pylist() == [42, 7, 1000]
    (in_shop / "mixed.csv").write_text("item;user\nAlien;42\nAlien;bob\n")
    code, out, _ = run("predict", "--model", "my-model", "--pairs", "mixed.csv")
    assert code == 0
    assert "bob,Alien" in out
    (in_shop / "odd.csv").write_text("user,item\n042,Alien\n123456789012345678901,Alien\n")
    code, out, _ = run("predict", "--model", "my-model", "--pairs", "odd.csv")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["042", "123456789012345678901"]
    assert out.count("unknown user") == 2


def test_model_options_reach_the_model(run, data):
    options = ("--paper", "--k", 5, "--measure", "jmsd", "--shrinkage", "2.5", "--convention", "table-1")
    found = json.loads(run("predict", *FILES, *options, "-u", 42, "--item", "Alien", "--json")[1])
    model = pm.KNNRecommender.paper("jmsd", 5, shrinkage=2.5, convention="table-1").fit(data)
    assert found["predictions"][0]["rating"] == model.predict_one(42, "Alien").rating


def test_fit_describes_the_model(run, in_shop):
    code, out, _ = run("fit", *FILES, "--model-type", "knn", "--out", "m", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["type"], found["parameters"]["measure"]) == ("KNNRecommender", "pmd")
    assert (found["users"], found["items"]) == (60, 8)
    assert isinstance(storage.load(in_shop / "m"), pm.KNNRecommender)


def test_the_paper_is_a_neighbor_average(run):
    options = ("--paper", "--k", 5, "-u", 42, "--item", "Alien", "--json")
    by_paper = run("predict", *FILES, *options)[1]
    assert run("predict", *FILES, "--model-type", "knn", *options)[1] == by_paper


@pytest.mark.parametrize("source", SOURCES)
def test_recommend(run, data, source):
    model = pm.Recommender().fit(data)
    expected = model.recommend(42, n=2)
    found = json.loads(run("recommend", *source, "--user", 42, "-n", 2, "--json")[1])
    assert [(r["item"], r["rating"]) for r in found["recommendations"]] == [
        (p.item, p.rating) for p in expected
    ]
    assert [r["reasons"] for r in found["recommendations"]] == [list(p.reasons) for p in expected]
    code, out, err = run("recommend", *source, "--user", 42, "-n", 2)
    assert code == 0
    assert expected[0].item in out
    assert not unnamed(err, 42)
    guest = model.recommend(model.guest({"Alien": 5.0, "Heat": 2.0}), n=1)[0]
    found = json.loads(
        run("recommend", *source, "--rated", "Alien=5", "--rated", "Heat=2", "-n", 1, "--json")[1]
    )
    assert (found["user"], found["recommendations"][0]["item"]) == (None, guest.item)


def test_recommend_to_several_users(run, data):
    model = pm.Recommender().fit(data)
    found = json.loads(run("recommend", *FILES, "-u", 42, "-u", 7, "-n", 2, "--json")[1])
    assert [one["user"] for one in found["users"]] == [42, 7]
    for one in found["users"]:
        expected = model.recommend(one["user"], 2)
        assert [row["item"] for row in one["recommendations"]] == [r.item for r in expected]
        assert [row["n_ratings"] for row in one["recommendations"]] == [r.n_ratings for r in expected]
    code, out, _ = run("recommend", *FILES, "-u", 42, "-u", 7, "-n", 2)
    assert code == 0
    assert [line for line in out.splitlines() if line.endswith(":")] == ["42:", "7:"]


def test_recommend_and_neighbors_together(run, data, in_shop):
    model = pm.Recommender().fit(data)
    people = ("-u", 42, "-u", 7, "--together")
    expected = model.recommend_group([42, 7], 2, combine="least")
    found = json.loads(run("recommend", *FILES, *people, "--combine", "least", "-n", 2, "--json")[1])
    assert found == expected.to_dict()
    code, out, err = run("recommend", *FILES, *people, "-n", 2)
    assert code == 0
    assert model.recommend_group([42, 7], 1)[0].title in out
    assert run("recommend", *FILES, *people, "-n", 2, "-o", in_shop / "both.csv")[0] == 0
    assert len((in_shop / "both.csv").read_text().splitlines()) == 5
    nearest = model.group_neighbors([42, 7], 3)
    found = json.loads(run("neighbors", *FILES, *people, "-n", 3, "--json")[1])
    assert [one["user"] for one in found["neighbors"]] == [one.user for one in nearest]
    for wrong in (("-u", 42, "--together"), ("-u", 42, "-u", 7, "--combine", "least")):
        code, out, err = run("recommend", *FILES, *wrong)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert run("neighbors", *FILES, *people, "--measure", "cos")[0] == 2


def test_choices_of_recommend(run, data, in_shop):
    """Every option reaches the model."""
    films = pm.Dataset.from_files(in_shop / "ratings.csv", [in_shop / "films.csv"])
    (in_shop / "candidates.txt").write_text("Alien\n\nronin\nHeat\nEmma\n")
    source = ("--ratings", "ratings.csv", "--items", "films.csv", "--model-type", "knn", "-u", 42, "--json")
    model = pm.KNNRecommender().fit(films)
    for options, arguments in (
        (("--by", "rating"), {"by": "rating"}),
        (("--where", "genre=space|crime"), {"where": {"genre": ["space", "crime"]}}),
        (("--where", "title=al", "--where", "year>=1990"), {"where": {"title": "al", "year": (1990, None)}}),
        (("--item-file", "candidates.txt"), {"items": ["Alien", "Ronin", "Heat", "Emma"]}),
        (("--item", "Alien", "--item", "heat"), {"items": ["Alien", "Heat"]}),
        (("--exclude", "Alien", "--exclude", "heat"), {"exclude": ["Alien", "Heat"]}),
        (("--min-ratings", 28), {"min_ratings": 28}),
        (("--novelty", -0.5, "--diversify", 0.7), {"novelty": -0.5, "diversify": 0.7}),
        (("--seen",), {"seen": True}),
    ):
        expected = model.recommend(42, **arguments)
        code, out, err = run("recommend", *source, *options)
        assert code == 0, err
        assert [one["item"] for one in json.loads(out)["recommendations"]] == [one.item for one in expected]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_recommend_to_all_users(run, data, in_shop, ending):
    path = in_shop / f"all.{ending}"
    code, out, _ = run("recommend", "--model", "my-model", "--all", "-n", 2, "--out", path)
    assert (code, out.strip()) == (0, str(path))
    table = (pq.read_table(path) if ending == "parquet" else csv.read_csv(path)).to_pydict()
    model = storage.load(in_shop / "my-model")
    expected = model.recommend_all(2).to_arrow().to_pydict()
    assert list(table) == ["user", "rank", "item", "title", "score", "rating", "n_ratings", "how"]
    assert table == expected
    assert not (in_shop / f"all.{ending}.parts").exists()
    code, out, _ = run("recommend", "--model", "my-model", "-u", 42, "-u", 7, "-n", 2, "--out", path)
    assert (code, out.strip()) == (0, str(path))


def test_recommend_to_somebody_who_has_seen_everything(run, in_shop):
    (in_shop / "few.csv").write_text("user,item,rating\nann,x,5\nann,y,3\nbob,x,2\n")
    code, out, err = run("recommend", "-r", "few.csv", "-u", "ann")
    assert (code, out) == (0, "")
    assert not unnamed(err, "ann", "--seen")
    found = json.loads(run("recommend", "-r", "few.csv", "-u", "ann", "--seen", "--json")[1])
    assert {one["item"] for one in found["recommendations"]} == {"x", "y"}


@pytest.mark.parametrize("source", SOURCES)
def test_distance(run, data, source):
    plan = pm.pmd(data, 42, 7)
    code, out, err = run("distance", *source, "--user", 42, "--other", 7)
    assert (code, float(out)) == (0, plan.distance)
    assert err
    found = json.loads(run("distance", *source, "-u", 42, "--other", 7, "--measure", "all", "--json")[1])
    assert [one["measure"] for one in found["values"]] == [
        name for name, row in pm.MEASURES.items() if not row.extension
    ]
    values = {one["measure"]: value_of(one) for one in found["values"]}
    assert values["pmd"] == plan.distance
    for name in ("jaccard", "husm"):
        assert values[name] == pm.pairwise(data, name, users=[42], others=[7])[0, 0]
    assert (
        "undefined" in run("distance", *source, "-u", 42, "--other", 42, "--measure", "all")[1]
        or values["pcc"]
    )


@pytest.mark.parametrize(("measure", "another"), [("pmd", "bcf"), ("bcf", "nhsm")])
def test_the_convention_of_a_model_goes_with_its_measure(run, in_shop, measure, another):
    """All verbs answer by the model's convention, and not by it where another measure is named."""
    head, *rows = (in_shop / "ratings.csv").read_text().splitlines()
    few = [row for row in rows if row.split(",")[0] in ("42", "7", "1", "2")]
    (in_shop / "few.csv").write_text("\n".join([head, *few]))
    options = ("--measure", measure, "--convention", "table-1")
    assert run("fit", "-r", "few.csv", "-i", "tags.csv", *options, "-o", "by-table-1")[0] == 0
    model = pm.Recommender.load("by-table-1")

    def value(name, convention):
        return pm.pairwise(model.data_, name, users=[42], others=[7], convention=convention)[0, 0]

    own, other = value(measure, "table-1"), value(another, None)
    assert own != pytest.approx(value(measure, None), rel=1e-3)
    assert other != pytest.approx(value(another, "table-1"), rel=1e-3)
    distance = ("-m", "by-table-1", "-u", 42, "--other", 7)
    explain = (*distance, "--json")
    for named in ((), ("--measure", measure)):
        assert float(run("distance", *distance, *named)[1]) == own
        assert value_of(json.loads(run("explain", *explain, *named)[1])) == pytest.approx(own)
        found = json.loads(run("neighbors", "-m", "by-table-1", "-u", 42, "--json", *named)[1])["users"][0]
        assert own in [value_of(one) for one in found["neighbors"]]
    assert float(run("distance", *distance, "--convention", "published")[1]) == value(measure, None)
    assert float(run("distance", *distance, "--measure", another)[1]) == other
    found = json.loads(run("explain", *explain, "--measure", another)[1])
    assert (value_of(found), found["convention"]) == (pytest.approx(other), "published")
    found = json.loads(run("distance", *distance, "--measure", "all", "--json")[1])["values"]
    values = {one["measure"]: value_of(one) for one in found}
    assert (values[measure], values[another]) == (own, other)


def test_all_measures_but_one_that_is_undefined(run, in_shop):
    (in_shop / "zeros.csv").write_text("user,item,rating\nann,Alien,0\nann,Emma,0\nbob,Alien,3\nbob,Heat,5\n")
    pair = ("distance", "-r", "zeros.csv", "-i", "tags.csv", "-u", "ann", "--other", "bob")
    code, out, _ = run(*pair, "--measure", "all")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert (code, len(lines)) == (0, sum(not one.extension for one in pm.MEASURES.values()))
    assert lines["Jaccard"].split()[1:] == ["0.333333", "similarity"]
    assert "'ann'" in lines["PMD"]
    found = {one["measure"]: one for one in json.loads(run(*pair, "--measure", "all", "--json")[1])["values"]}
    assert found["pmd"]["distance"] is None
    assert "'ann'" in found["pmd"]["reason"]
    assert "reason" not in found["jaccard"]


def test_recommend_to_somebody_new_beside_a_user_called_you(run, in_shop):
    rows = "".join(f"{user},{item},{k + 1}\n" for user in ("you", "you'", "bob") for k, item in
                   enumerate(("Alien", "Emma", "Heat")))  # fmt: skip
    (in_shop / "you.csv").write_text("user,item,rating\n" + rows + "bob,Jaws,4\n")
    found = run("recommend", "-r", "you.csv", "-i", "tags.csv", "--rated", "Alien=3", "-n", 2, "--json")
    assert found[0] == 0
    assert json.loads(found[1])["user"] is None
    assert len(json.loads(found[1])["recommendations"]) == 2


def test_singular_and_plural(run, in_shop):
    (in_shop / "two.csv").write_text("user,item,rating\nann,Alien,3\nbob,Alien,4\nbob,Heat,5\n")
    files = ("-r", "two.csv", "-i", "tags.csv")
    assert "1 rating;" in run("neighbors", *files, "-u", "ann")[2]
    assert "2 ratings;" in run("neighbors", *files, "-u", "bob")[2]
    assert "1 item " in run("distance", *files, "-u", "ann", "--other", "bob")[2]
    assert "1 neighbor)" in run("predict", *files, "-u", "ann", "--item", "Heat")[1]
    assert "1 rating:" in run("recommend", *files, "-u", "ann")[2]
    lonely = run("predict", *files, "--measure", "jaccard", "--paper", "-u", "ann", "--item", "Emma")[1]
    assert "no neighbor)" in lonely
    alien = ("explain", *FILES, "-u", 42, "--item", "Alien", "--by", "rating")
    everybody = json.loads(run(*alien, "--json")[1])["contributions"]
    for rest, text in ((1, "1 other user "), (2, "2 other users ")):
        out = run(*alien, "-n", len(everybody) - rest)[1]
        assert f"  {text}" in out.splitlines()[-2]


def test_help_of_predict_tells_unknown_users_apart(run):
    said = " ".join(run("predict", "--help")[1].split())
    assert "--pairs" in said
    assert run("predict", *FILES, "-u", 4200, "--item", "Alien")[0] == 2


@pytest.mark.parametrize("source", SOURCES)
def test_explain_two_users(run, data, source, in_shop):
    expected = pm.Recommender().fit(data).explain(42, 7)
    found = json.loads(run("explain", *source, "--user", 42, "--other", 7, "--json")[1])
    assert found["distance"] == expected.distance
    assert [(f["source"], f["mass"]) for f in found["flows"]] == [(f.source, f.mass) for f in expected.flows]
    code, out, _ = run("explain", *source, "--user", 42, "--other", 7, "-n", 2)
    assert code == 0
    assert [out.count(text) for text in ("both rated", "↔")] == [1, 1]  # the most shared, the farthest


def test_explain_as_picture_and_page(run, in_shop):
    files = ("--picture", "plan.svg", "--html", "plan.html")
    code, out, err = run("explain", *FILES, "-u", 42, "--other", 7, *files, "--json")
    assert (code, err.splitlines()[-2:]) == (0, ["plan.svg", "plan.html"])
    json.loads(out)
    first = (in_shop / "plan.svg").read_bytes()
    assert first.startswith(b"<?xml")
    page = (in_shop / "plan.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 1
    assert "<table>" in page
    run("explain", *FILES, "-u", 42, "--other", 7, "--picture", "plan.svg")
    assert (in_shop / "plan.svg").read_bytes() == first
    run("explain", *FILES, "-u", 42, "--other", 7, "--picture", "plan.png")
    assert (in_shop / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("by", [("--by", "rating"), ()], ids=["rating", "recommendation"])
@pytest.mark.parametrize("source", SOURCES)
def test_explain_an_item(run, data, source, in_shop, by):
    model = pm.Recommender().fit(data)
    expected = (model.explain_rating if by else model.explain_recommendation)(42, "Alien").to_dict()
    found = json.loads(run("explain", *source, "-u", 42, "--item", "alien", *by, "--json")[1])
    assert found == json.loads(json.dumps(expected))
    code, out, _ = run("explain", *source, "-u", 42, "--item", "Alien", *by, "-n", 3, "--html", "r.html")
    assert code == 0
    assert f"{expected['total' if by else 'score']:.3f}" in out.splitlines()[-1].split()
    assert "Alien" in (in_shop / "r.html").read_text()


def test_explain_by_another_measure(run, data):
    found = json.loads(run("explain", *FILES, "-u", 42, "--other", 7, "--measure", "husm", "--json")[1])
    assert found == pm.Recommender("husm").fit(data).explain(42, 7).to_dict()


def test_explain_of_two_users_shares_a_file_of_options(run, in_shop):
    (in_shop / "shared.toml").write_text(
        'ratings = "ratings.csv"\nitems = ["tags.csv"]\nmodel-type = "knn"\nk = 20\n'
    )
    shared = ("--config", "shared.toml", "-u", 42)
    assert run("explain", *shared, "--other", 7)[1] == run("explain", *FILES, "-u", 42, "--other", 7)[1]
    assert run("explain", *shared, "--other", 7, "--k", 20)[0] == 2


def test_titles_come_from_the_file_of_items_and_stay_with_the_model(run):
    code, _, err = run("fit", "-r", "ratings.csv", "-i", "films.csv", "-i", "tags.csv", "-o", "titled")
    assert code == 0
    assert not unnamed(err, "films.csv", "'film'", "'title'", "'genres'")
    out = run("recommend", "--model", "titled", "--user", 42, "-n", 1)[1]
    assert "(1999)" in out
    assert "Aliens (1999)" in run("items", "near", "Alien (1999)", "--model", "titled", "-n", 2)[1]


def test_without_a_file_of_items(run):
    code, out, err = run("neighbors", "--ratings", "ratings.csv", "--user", 42)
    assert (code, len(out.splitlines())) == (0, 10)
    assert err


def test_quiet_prints_results_only(run):
    code, out, err = run("--quiet", "neighbors", *FILES, "--user", 42)
    assert (code, err) == (0, "")
    assert out


def test_threads_do_not_matter(run):
    one, two = (run("neighbors", *FILES, "-u", 42, "-t", n, "--json")[1] for n in (1, 2))
    assert one == two
