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
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "verbs",  # docs/_ext
]
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name types where they help; aliases of arrays do not
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"prefmover {release}"
html_copy_source = False


def setup(app):
    """Show CSV as it is: Pygments has no lexer for it."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
