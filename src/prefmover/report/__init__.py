"""Reports: records in, files out, with no computing beyond means and paired tests.

``results.py`` arranges records in tables, ``figures.py`` draws them, ``sentences.py`` puts the numbers into
sentences, and ``render.py`` fills the templates.
"""

from prefmover.report.render import write_report
from prefmover.report.results import Results

__all__ = ["Results", "write_report"]
