"""Settings of the documentation; ``make docs`` builds it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "prefmover"
author = "The prefmover developers"
release = version = version_of("prefmover")

extensions = [
    "myst_parser",
    "sphinx.ext.mathjax",
    "verbs",  # docs/_ext
]
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"prefmover {release}"
html_copy_source = False


def setup(app):
    """Show CSV as it is: Pygments has no lexer for it."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
