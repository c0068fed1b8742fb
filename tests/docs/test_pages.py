"""Every block of every page is run. A block marked "not run" is parsed and checked."""

import ast
import csv
import doctest
import io
import json
import logging
import re
import tomllib
import warnings

import pytest

from prefmover.cli import terminal
from prefmover.measures import MEASURES, unregister_measure
from tests.docs.blocks import ROOT, Block, blocks_of, pages
from tests.docs.commands import check, commands_of, run

PROSE = {"text", "bibtex"}  # not code
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def _leave_no_trace(monkeypatch):
    """Undo what pages do: register measures, draw, set up the terminal."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    threadpoolctl = pytest.importorskip("threadpoolctl")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    logger = logging.getLogger("prefmover")
    before, rows = (list(logger.handlers), logger.level), set(MEASURES)
    with threadpoolctl.threadpool_limits(1):  # t-SNE with two threads is slow on two busy cores
        yield
    terminal.STATE.debug = terminal.STATE.quiet = False
    logger.handlers, logger.level = before
    for name in set(MEASURES) - rows:
        unregister_measure(name)
    pyplot.close("all")


def work_through(blocks, folder, monkeypatch):
    """Run the blocks of a page in order, in one folder and one namespace."""
    monkeypatch.chdir(folder)
    namespace = {"__name__": "__main__"}
    for block in blocks:
        do(block, namespace, folder)
    return namespace


def calls_of(page):
    """Return the calls that a guide from another library shows as ours, in the right column of its table."""
    table = re.findall(r"^\|.*\| ([^|]+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [code for cell in table[1:] for code in re.findall(r"`([^`]+)`", cell) if "(" in code]


def do(block: Block, namespace, folder):
    """Run one block, or check it."""
    if block.language.startswith("{") or block.language in PROSE:
        return
    if block.file:
        (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.file).write_text(block.code, encoding="utf-8")
    if block.language == "python":
        do_python(block, namespace)
    elif block.language == "console":
        for command in commands_of(block):
            check(command)
            if not block.not_run:
                run(command, folder)
    elif block.language == "toml":
        tomllib.loads(block.code)
    elif block.language == "json":
        json.loads(block.code)
    elif block.language == "csv":
        rows = list(csv.reader(io.StringIO(block.code)))
        assert len({len(row) for row in rows}) == 1, f"{block.location}: rows of different lengths"
    else:
        pytest.fail(f"{block.location}: a block of {block.language or 'no language'}; no test runs it")


def do_python(block, namespace):
    if ">>> " in block.code:
        test = doctest.DocTestParser().get_doctest(
            block.code, namespace, block.location, None, block.line - 1
        )
        if not block.not_run:
            output = []
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            runner.run(test, out=output.append, clear_globs=False)
            assert runner.summarize(verbose=False).failed == 0, "".join(output)
            namespace.update(test.globs)
        return
    tree = ast.parse(block.code, str(block.page))
    ast.increment_lineno(tree, block.line - 1)  # tracebacks show the lines of the page
    if not block.not_run:
        exec(compile(tree, str(block.page), "exec"), namespace)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    namespace = work_through(blocks_of(page), tmp_path, monkeypatch)
    if page.name.startswith("from-"):
        calls = calls_of(page)
        assert len(calls) >= 10
        for call in calls:
            try:
                eval(call, namespace)
            except Exception as error:
                pytest.fail(f"{page.name} shows {call}: {error}")


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "```python\nimport prefmover as pm\n```\n```python\npm.nothing\n```",
        "<!-- not run: slow -->\n```python\n1 +\n```",
        "```console\n$ prefmover --versio\n```",
        "```console\n$ prefmover --version\nprefmover 99\n```",
        "<!-- not run: slow -->\n```console\n$ prefmover nearest\n```",
        "<!-- not run: slow -->\n```console\n$ prefmover data get ml-1m --fast\n```",
        "<!-- not run: slow -->\n```console\n$ make everything\n```",
        "<!-- not run: slow -->\n```console\n$ pip install 'prefmover[everything]'\n```",
        "```console\nprefmover --version\n```",
        "```bash\nls\n```",
        "```\nls\n```",
        "```toml\nk = \n```",
        "<!-- file: x.csv -->\n```csv\na,b\n1\n```",
        "<!-- not run: applies to the next block only -->\nand not after prose\n```python\n1 / 0\n```",
    ],
)
def test_a_wrong_page_fails(text, tmp_path, monkeypatch):
    with pytest.raises((Exception, pytest.fail.Exception)):
        work_through(blocks_of(ROOT / "page.md", text), tmp_path, monkeypatch)


def test_a_right_page_passes(tmp_path, monkeypatch):
    text = """
<!-- file: data/x.csv -->
```csv
a,b
1,2
```
```python
from pathlib import Path
lines = Path("data/x.csv").read_text().splitlines()
```
```python
>>> len(lines)
2
```
<!-- not run: slow -->
```python
1 / 0
```
```console
$ prefmover --version
prefmover ...
```
<!-- not run: needs ml-1m -->
```console
$ prefmover data path ml-1m     # a comment
$ PREFMOVER_DATA=x prefmover --quiet items near Alien \\
    --dataset ml-1m
```
"""
    work_through(blocks_of(ROOT / "page.md", text), tmp_path, monkeypatch)
    assert (tmp_path / "data" / "x.csv").exists()
