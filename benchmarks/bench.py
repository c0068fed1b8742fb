"""Helpers of all benchmarks: options, data, and sections of docs/benchmarks.md."""

import argparse
import datetime
import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any

from prefmover import Dataset, datasets

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def arguments(about: str | None, **defaults: Any) -> argparse.Namespace:
    """Return the options of every benchmark: data sets, number of pairs, whether to write the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    real = ["ml-100k", "ml-1m"] if os.environ.get("PREFMOVER_DATA") else []
    parser.add_argument("--datasets", nargs="*", default=defaults.pop("datasets", real))
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="put the result into docs/benchmarks.md")
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser.parse_args()


@cache
def dataset(name: str) -> Dataset:
    """Return a data set with its default item geometry."""
    return datasets.load(name)


def machine() -> str:
    """Return processor, cores and versions; no host names."""
    import numba
    import numpy
    import scipy

    model = platform.processor() or "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists() and (match := re.search(r"model name\s*:\s*(.+)", info.read_text())):
        model = match.group(1)
    return (
        f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}, Numba {numba.__version__}"
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def publish(key: str, title: str, parts: list[str], options: argparse.Namespace, path: Path = PAGE) -> None:
    """Print a section; with ``--write``, put it into docs/benchmarks.md, or another page."""
    today = datetime.date.today().isoformat()
    body = "\n\n".join([f"## {title}", f"*{today}. {machine()}.*", *parts])
    print(body)
    if not options.write:
        return
    begin, end = f"<!-- {key}:begin -->", f"<!-- {key}:end -->"
    page = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    section = f"{begin}\n{body}\n{end}"
    if begin in page:
        page = page[: page.index(begin)] + section + page[page.index(end) + len(end) :]
    else:
        page = page.rstrip() + f"\n\n{section}\n"
    path.write_text(page, encoding="utf-8")
