"""The directive ``verbs``: a section for each verb of the command line, with what its ``--help`` prints."""

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from prefmover.cli import app

WIDTH = 92  # what fits the page


def helps() -> Iterator[tuple[str, str]]:
    """Yield every command ("items near") with the text of its help, groups before what is in them."""
    whole = typer.main.get_command(app)
    context = whole.context_class(whole, info_name="prefmover")
    yield from _helps(whole, context, ())


def _helps(command: Any, context: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    context.max_content_width = context.terminal_width = WIDTH
    yield " ".join(path), command.get_help(context)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        # The overview knows one line of each verb; resolving imports the verb itself.
        _, part, _ = command.resolve_command(context, [name])
        below = part.context_class(part, info_name=name, parent=context)
        yield from _helps(part, below, (*path, name))


class Verbs(SphinxDirective):
    """Sections with literal blocks."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        made = []
        for path, text in helps():
            title = f"prefmover {path}".strip()
            section = nodes.section(ids=[nodes.make_id(title)], names=[nodes.fully_normalize_name(title)])
            section += nodes.title(title, title)
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_explicit_target(section, section)
            made.append(section)
        return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("verbs", Verbs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
