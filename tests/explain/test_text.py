from prefmover.explain import explain_users
from prefmover.explain.page import explanation_page
from tests.explain.test_rating import explanation
from tests.messages import unnamed


def test_lines_of_a_plan(data):
    why = explain_users(data, 0, 1)
    lines = why.lines(2)
    assert len(lines) == 5  # title, most shared, a heading, most expensive, the rest
    assert not unnamed(lines[1], why.label(why.flows[0].source), why.label(why.flows[0].target))
    dearest = max(why.flows, key=lambda flow: flow.value)
    assert not unnamed(lines[3], why.label(dearest.source), why.label(dearest.target), f"{dearest.share:.1%}")
    assert not unnamed(lines[0], "ann", "bob", f"{why.distance:.4f}", "20%")
    assert not unnamed(lines[-1], len(why.flows) - 2)
    assert any(not unnamed(line, "Heat", "4", "2") for line in why.lines())
    assert len(why.lines(100)) == 1 + len(why.flows)


def test_lines_of_another_measure(data):
    why = explain_users(data, 0, 1, "jmsd")
    lines = why.lines()
    assert len(lines) == 1 + len(why.factors) + len(why.flows)
    assert not unnamed(lines[0], "JMSD", "similarity", "1 item")
    assert not unnamed("\n".join(lines[1:]), *(factor.meaning for factor in why.factors))


def test_html(data):
    assert explain_users(data, 0, 1, "bcf")._repr_html_().count("<tr>") > 3
    page = explanation_page(explain_users(data, 0, 1))
    assert "<svg" in page
    assert "Clueless &lt;1995&gt;" in page
    assert "<svg" not in explanation_page(explain_users(data, 0, 1, "jmsd"))
    assert "Alien &lt;1979&gt;" in explanation_page(explanation())


def test_the_proof_names_both_costs(data):
    why = explain_users(data, 0, 1)
    proof = why.certificate
    assert not unnamed(why.proof, f"{proof.primal:.9f}", f"{proof.dual:.9f}")


def test_other_contributions_are_summed():
    lines = explanation().lines(1)
    assert len(lines) == 1 + 2 + 1 + 1 + 1
    assert not unnamed(lines[-2], "-0.100", "2 other users")
    assert not unnamed(lines[-1], "4.000")
