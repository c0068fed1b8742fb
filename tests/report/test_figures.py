import pytest

from prefmover.evaluation.recommenders import ROWS
from prefmover.measures import MEASURES
from prefmover.report.figures import draw_gaps, draw_panels
from tests.report.records import make_record, make_results


def test_every_method_has_its_own_style():
    styles = [tuple(row.style) for row in (*ROWS, *MEASURES.values())]
    assert len(set(styles)) == len(styles)


@pytest.mark.parametrize("draw", [draw_panels, draw_gaps])
def test_every_method_is_in_the_legend(draw):
    kinds = {"pmd": "measure", "cos": "measure", "bias": "control", "SVD": "peer", "default": "model"}
    results = make_results([make_record(name, (0.7, 0.6), kind=kind) for name, kind in kinds.items()])
    figure = draw([results.table(panel) for panel in results.panels()])
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"PMD", "COS", "bias", "SVD", "default"}
