"""Reports: records in, files out. No computing beyond means and paired tests.

``tables.py`` sorts records into panels, ``figures.py`` draws them, ``words.py`` says what they show, and
``page.py`` writes it all down.
"""

from prefmover.report.render import write_report
from prefmover.report.results import Book

__all__ = ["Book", "write_report"]
