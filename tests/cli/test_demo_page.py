from prefmover.cli.demo import demo_page
from prefmover.explain import explain_users
from tests.explain.films import five_films


def test_the_page_shows_everything():
    demo = {
        "viewer": "ann",
        "about": "Five films & five viewers.",
        "ratings": [("Alien", 5.0)],
        "neighbors": [{"user": "bob", "distance": 0.25, "n_common": 1}],
        "explanation": explain_users(five_films(), 0, 1),
        "recommendations": [{"title": "Aliens", "rating": 4.5, "reasons": ["bob gave it 5"]}],
        "shares": ["1:9"],
        "lists": {"default": 0.125},
        "errors": {"PMD": [0.75]},
        "pictures": {"plan": "<svg></svg>"},
    }
    page = demo_page(demo)
    for text in (
        "Five films &amp; five viewers.",
        "0.2500",
        "Aliens",
        "4.50",
        "bob gave it 5",
        "0.7500",
        "0.125",
        "one random split",
    ):
        assert text in page
    assert page.count("<svg>") == 1
    assert "Clueless &lt;1995&gt;" in page
