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
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "verbs",  # docs/_ext
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autosummary_ignore_module_all = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
suppress_warnings = ["ref.python"]  # words in backticks that are names in several modules

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"prefmover {release}"
html_copy_source = False


def setup(app):
    """Show CSV as it is: Pygments has no lexer for it."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
