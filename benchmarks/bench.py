"""Helpers of all benchmarks: options, data, and the output in docs/benchmarks."""

import argparse
import datetime
import json
import os
import platform
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from prefmover import Dataset, datasets

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"


def arguments(about: str | None, **defaults: Any) -> argparse.Namespace:
    """Return the options of every benchmark: data sets, number of pairs, whether to write the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    real = ["ml-100k", "ml-1m"] if os.environ.get("PREFMOVER_DATA") else []
    parser.add_argument("--datasets", nargs="*", default=defaults.pop("datasets", real))
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="write the result to docs/benchmarks")
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser.parse_args()


@cache
def dataset(name: str) -> Dataset:
    """Return a data set with its default item geometry."""
    return datasets.load(name)


def machine() -> tuple[str, dict[str, str]]:
    """Return processor and cores, and the versions of what computes; no host names."""
    model = platform.processor() or "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists() and (match := re.search(r"model name\s*:\s*(.+)", info.read_text())):
        model = match.group(1)
    packages = {"NumPy": "numpy", "SciPy": "scipy", "Numba": "numba", "POT": "pot"}
    versions = {"Python": platform.python_version()}
    return f"{model}, {os.cpu_count()} cores", versions | {
        name: version(one) for name, one in packages.items()
    }


def table(head: list[str], rows: list[list[str]]) -> dict[str, Any]:
    """Return a table, as a part of a section."""
    return {"columns": head, "rows": rows}


def publish(key: str, title: str, parts: list[Any], options: argparse.Namespace) -> None:
    """Print a section; with ``--write``, write it to docs/benchmarks, from where ``make figures`` takes it."""
    processor, versions = machine()
    today = datetime.date.today().isoformat()
    content = {"title": title, "date": today, "machine": processor, "versions": versions, "parts": parts}
    print(title, *(part if isinstance(part, str) else json.dumps(part) for part in parts), sep="\n\n")
    if options.write:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (FOLDER / f"{key}.json").write_text(text + "\n", encoding="utf-8")
