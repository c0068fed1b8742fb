"""The directive ``verbs``: a section for each verb of the command line, with its help text."""

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from prefmover.cli import app

WIDTH = 92  # what fits the page


def helps() -> Iterator[tuple[str, str]]:
    """Yield every command ("items near") with its help text, groups before their subcommands."""
    whole = typer.main.get_command(app)
    context = whole.context_class(whole, info_name="prefmover")
    yield from _helps(whole, context, ())


def _helps(command: Any, context: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    context.max_content_width = context.terminal_width = WIDTH
    yield " ".join(path), command.get_help(context)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        # The overview has one line per verb; resolving imports the verb.
        _, part, _ = command.resolve_command(context, [name])
        below = part.context_class(part, info_name=name, parent=context)
        yield from _helps(part, below, (*path, name))


class Verbs(SphinxDirective):
    """Sections with the help texts as literal blocks."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, one per command."""
        sections = []
        for path, text in helps():
            title = f"prefmover {path}".strip()
            section = nodes.section(ids=[nodes.make_id(title)], names=[nodes.fully_normalize_name(title)])
            section += nodes.title(title, title)
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_explicit_target(section, section)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("verbs", Verbs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
