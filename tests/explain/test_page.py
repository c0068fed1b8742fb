from prefmover.explain import explain_users
from prefmover.explain.page import explanation_page
from tests.explain.films import five_films
from tests.explain.test_rating import explanation


def test_the_page_of_an_explanation():
    page = explanation_page(explain_users(five_films(), 0, 1))
    assert "<svg" in page
    assert "Clueless &lt;1995&gt;" in page
    assert "<svg" not in explanation_page(explain_users(five_films(), 0, 1, "jmsd"))
    assert "Alien &lt;1979&gt;" in explanation_page(explanation())
