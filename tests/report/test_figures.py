import pytest

from prefmover.evaluation.recommenders import GROUPS, LIST_CONTROLS, LIST_PEERS, PEERS, RATING_CONTROLS
from prefmover.measures import MEASURES
from prefmover.report.figures import STYLES, draw_gaps, draw_panels
from tests.report.records import make_record, make_results


def test_every_method_has_its_own_style():
    controls = (*RATING_CONTROLS, *LIST_CONTROLS, *GROUPS["kernels"])
    assert set(STYLES) == {"default", *controls, *PEERS, *LIST_PEERS}
    styles = [*STYLES.values(), *(tuple(row.style) for row in MEASURES.values())]
    assert len(set(styles)) == len(styles)


@pytest.mark.parametrize("draw", [draw_panels, draw_gaps])
def test_every_method_is_in_the_legend(draw):
    kinds = {"pmd": "measure", "cos": "measure", "bias": "control", "SVD": "peer", "default": "model"}
    results = make_results([make_record(name, (0.7, 0.6), kind=kind) for name, kind in kinds.items()])
    figure = draw([results.table(panel) for panel in results.panels()])
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"PMD", "COS", "bias", "SVD", "default"}
