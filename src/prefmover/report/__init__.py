"""Reports: records in, files out, with no computing beyond means and paired tests.

``results.py`` arranges records in panels, ``figures.py`` draws them, ``text.py`` puts the numbers into
sentences, and ``render.py`` fills the templates. ``lists.py`` and ``list_text.py`` arrange and describe
records of recommended lists. ``demo_page.py`` is the page of ``prefmover demo``.
"""

from prefmover.report.render import explanation_page, write_report
from prefmover.report.results import Results

__all__ = ["Results", "explanation_page", "write_report"]
