"""Rules for the files of the explorer, without a browser."""

import posixpath
import re
from importlib.resources import files
from pathlib import Path

import pytest

from prefmover.explain.plot import COLOR_MAP, color_position
from prefmover.server.pages import STYLES, explorer, read_assets

FOLDER = Path(str(files("prefmover.server"))) / "explorer"
FILES = {
    path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8")
    for path in FOLDER.rglob("*")
    if path.is_file()
}
MODULES = sorted(name for name in FILES if name.endswith(".js"))


@pytest.mark.parametrize("name", MODULES)
def test_data_never_becomes_markup(name):
    """Only the source of a template does, in one place."""
    forbidden = (
        r"\w+\.(?:inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
        r"|setAttribute\(\"(?:style|on)|\bhtml\("
    )
    allowed = ["html(", "template.innerHTML"] if name == "lib/html.js" else []
    assert re.findall(forbidden, FILES[name]) == allowed


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_short_and_say_what_they_do(name):
    assert FILES[name].startswith("/**")
    assert FILES[name].count("\n") <= 240


@pytest.mark.parametrize("name", sorted(FILES))
def test_lines_fit_on_a_screen(name):
    """The formatter does not break long strings and comments."""
    if not name.endswith(".svg"):
        assert [line for line in FILES[name].splitlines() if len(line) > 110] == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_from_elsewhere(name):
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"')]*", FILES[name]))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_no_inline_script_or_style():
    page = FILES["index.html"]
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page) is None


def test_everything_named_is_there():
    named = {"main.js", "index.html", "favicon.svg", *STYLES}
    for name in MODULES:
        for path in re.findall(r"from \"(\.[\w./-]+)\"", FILES[name]):
            named.add(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
    assert named == set(FILES)


def test_a_page_needs_a_script_and_a_style_sheet_that_browsers_keep():
    served = read_assets()
    page = served["/"].body.decode()
    names = re.findall(r"(?:src|href)=\"(assets/[^\"]+)\"", page)
    assert [posixpath.basename(name) for name in names] == ["favicon.svg", "explorer.css", "explorer.js"]
    assert "immutable" not in served["/"].cache_control
    for name in names[1:]:
        assert "immutable" in served[f"/{name}"].cache_control
        assert posixpath.basename(posixpath.dirname(name)) != "assets"  # a digest


def test_modules_are_joined_in_the_order_of_their_imports():
    script = explorer().script
    assert re.findall(r"^(?:import|export)\b", script, re.MULTILINE) == []
    place = {name: script.index(f"// {name}\n") for name in MODULES}
    for name in MODULES:
        for path in re.findall(r"from \"(\.[\w./-]+)\"", FILES[name]):
            assert place[posixpath.normpath(posixpath.join(posixpath.dirname(name), path))] < place[name]


def test_lib_and_parts_know_nothing_of_pages():
    allowed = {"lib": {"lib"}, "parts": {"lib", "parts"}, "pages": {"lib", "parts", "pages"}}
    for name in MODULES:
        folder, _, rest = name.partition("/")
        if rest:
            paths = re.findall(r"from \"(\.[\w./-]+)\"", FILES[name])
            used = {posixpath.normpath(posixpath.join(folder, path)).split("/")[0] for path in paths}
            assert used <= allowed[folder], name


def test_every_color_is_in_one_file():
    for name, text in FILES.items():
        if name.endswith(".css") and name != "styles/colors.css":
            assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![-\w])", text) == []


def test_the_scale_is_that_of_the_plot():
    """In the light theme, each band has the color that UserExplanation.plot gives to its middle."""
    colors = pytest.importorskip("matplotlib.colors")
    colormaps = pytest.importorskip("matplotlib").colormaps
    similarities = [1 - (k + 0.5) / 7 for k in range(7)]
    plotted = [colors.to_hex(colormaps[COLOR_MAP](color_position(s))) for s in similarities]
    assert re.findall(r"--band-\d: light-dark\((#\w+)", FILES["styles/colors.css"]) == plotted
