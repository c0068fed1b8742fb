"""The files of the pages: the explorer, as one script and one style sheet, and the reference of the API.

The explorer is written as some 45 modules, which import each other eight levels deep. A browser that asked
for each of them would wait eight times for the network. So the modules are joined into one classic script
when the service starts, in an order in which each comes after those that it imports: a module becomes a
function that is called once and returns what it exports. The script and the style sheet are served under a
digest of their content, so that browsers keep them. A classic script also runs in a page that is opened from
a file, where modules do not.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from prefmover.server.answers import Answer

__all__ = ["Explorer", "explorer", "join_modules", "read_assets"]

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
CHECKED, FOREVER = "no-cache", "public, max-age=31536000, immutable"
STYLES = ("styles/colors.css", "styles/layout.css", "styles/parts.css")
MAIN = "main.js"
IMPORT = re.compile(r'^import (?:\* as (\w+)|\{([^}]*)\}) from "(\.[\w./-]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


class Explorer(NamedTuple):
    """The explorer as three texts; the page asks for ``assets/explorer.js`` and ``assets/explorer.css``."""

    page: str
    script: str
    style: str


def join_modules(modules: dict[str, str], main: str) -> str:
    r"""Return modules, by path, as one classic script that runs ``main``.

    >>> modules = {"lib/one.js": "export const two = 2;\n",
    ... "main.js": 'import { two as x } from "./lib/one.js";\n'}
    >>> print(join_modules(modules, "main.js"))
    "use strict";
    {
    const $0 = (() => { // lib/one.js
    const two = 2;
    return { two };
    })();
    const $1 = (() => { // main.js
    const { two: x } = $0;
    return {  };
    })();
    }
    <BLANKLINE>
    """
    imports = {
        name: [_resolved(name, path) for *_, path in IMPORT.findall(text)] for name, text in modules.items()
    }
    order = {name: f"${k}" for k, name in enumerate(TopologicalSorter(imports).static_order())}
    if main not in order:
        raise ValueError(f"there is no module {main}")
    return '"use strict";\n{\n' + "".join(_function(name, modules[name], order) for name in order) + "}\n"


def _function(name: str, text: str, order: dict[str, str]) -> str:
    """Return a module as a constant that holds what it exports."""

    def imported(match: re.Match[str]) -> str:
        everything, names, path = match.groups()
        module = order[_resolved(name, path)]
        if everything:
            return f"const {everything} = {module};\n"
        return f"const {{ {' '.join(names.split()).replace(' as ', ': ')} }} = {module};\n"

    body, exported = EXPORT.sub("", IMPORT.sub(imported, text)), ", ".join(EXPORT.findall(text))
    return f"const {order[name]} = (() => {{ // {name}\n{body}return {{ {exported} }};\n}})();\n"


def _resolved(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


@cache
def explorer() -> Explorer:
    """Return the explorer."""
    found = dict(_walk(files("prefmover.server") / "explorer"))
    modules = {name: body.decode() for name, body in found.items() if name.endswith(".js")}
    style = "".join(found[name].decode() for name in STYLES)
    return Explorer(found["index.html"].decode(), join_modules(modules, MAIN), style)


@cache
def read_assets() -> dict[str, Answer]:
    """Return the files of the pages by path: the explorer at / and /assets/, the reference at /docs.

    They are read when the service starts. No part of a request ever becomes the path of a file. The modules
    and style sheets are there one by one, too: the reference uses some.
    """
    package, joined = files("prefmover.server"), explorer()
    found = {f"/assets/{name}": body for name, body in _walk(package / "explorer")}
    found |= {f"/docs/{name}": body for name, body in _walk(package / "reference")}
    digest = hashlib.blake2b((joined.script + joined.style).encode(), digest_size=8).hexdigest()
    found["/index.html"] = joined.page.replace("assets/explorer.", f"assets/{digest}/explorer.").encode()
    found["/favicon.ico"] = found["/assets/favicon.svg"]
    del found["/assets/index.html"]
    answers = {_address(path): _answer(path, body, CHECKED) for path, body in found.items()}
    for name, text in (("explorer.js", joined.script), ("explorer.css", joined.style)):
        answers[f"/assets/{digest}/{name}"] = _answer(name, text.encode(), FOREVER)
    return answers


def _address(path: str) -> str:
    """Return the address of a file: that of a folder for its index.

    >>> _address("/index.html"), _address("/docs/index.html"), _address("/assets/main.js")
    ('/', '/docs', '/assets/main.js')
    """
    folder, name = posixpath.split(path)
    return folder if name == "index.html" else path


def _answer(path: str, body: bytes, cache_control: str) -> Answer:
    suffix = ".svg" if path.endswith(".ico") else posixpath.splitext(path)[1]
    return Answer.of(body, MEDIA_TYPES[suffix], cache_control)


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif posixpath.splitext(entry.name)[1] in MEDIA_TYPES:
            yield f"{prefix}{entry.name}", entry.read_bytes()
