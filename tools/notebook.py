"""Run the notebooks of docs/notebooks without Jupyter, and write what their cells show.

    python -m tools.notebook  # a part of make pictures

A cell shows its last expression, as HTML where it has some. A magic cannot run here. Pictures are not stored,
to keep the files small.
"""

import ast
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"


def sources(notebook: dict[str, Any]) -> list[str]:
    """Return the code of each cell of code."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any], name: str = "notebook") -> list[Any]:
    """Run the cells in one namespace, and return the value of each one's last expression, or None."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    values = []
    for k, code in enumerate(sources(notebook), 1):
        tree, value = ast.parse(code), None
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{name}, cell {k}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"{name}, cell {k}", "eval"), namespace)
        values.append(None if code.rstrip().endswith(";") else value)
    return values


def shown(value: Any) -> dict[str, list[str]]:
    """Return what a notebook stores of a value: text, and HTML where it has some."""
    forms = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        forms["text/html"] = value._repr_html_()
    return {kind: text.splitlines(keepends=True) for kind, text in forms.items()}


def main() -> None:
    """Write the outputs of all notebooks."""
    for file in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        values = run(notebook, file.name)
        cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
        for k, (cell, value) in enumerate(zip(cells, values, strict=True), 1):
            cell["execution_count"] = k
            output = {"output_type": "execute_result", "execution_count": k, "metadata": {}}
            cell["outputs"] = [] if value is None else [{**output, "data": shown(value)}]
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
        print(file)


if __name__ == "__main__":
    main()
