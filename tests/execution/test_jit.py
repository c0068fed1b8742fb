"""Compiled code: where it is kept, when it is compiled again, that it is announced."""

import os
import subprocess
import sys
import textwrap

import pytest
from numba import config

from prefmover.execution import jit as jit_module

PROBE = """
import logging, sys
logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)
from prefmover.execution.jit import kernel_folder
from prefmover.items._angles import broken_triangle
import numpy as np
for _ in range(2):
    assert broken_triangle(np.zeros((3, 3), np.int32)) == (-1, -1, -1)
    assert broken_triangle(np.zeros((3, 3), np.int64)) == (-1, -1, -1)
print("hits", sum(broken_triangle.stats.cache_hits.values()))
print("folder", kernel_folder())
"""


def probe(code=PROBE, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**kept, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is set by XDG_CACHE_HOME")
def test_compiled_once_and_announced_once(tmp_path):
    *messages, hits, folder = probe(XDG_CACHE_HOME=str(tmp_path))
    assert len(messages) == 1
    assert messages[0].startswith("WARNING prefmover: first use on this machine, compiling")
    assert str(tmp_path) in messages[0]
    assert hits == "hits 0"
    assert folder.startswith(f"folder {tmp_path / 'prefmover' / 'kernels-'}")
    assert list(tmp_path.rglob("*.nbc"))
    *messages, hits, _ = probe(XDG_CACHE_HOME=str(tmp_path))
    assert messages == []
    assert hits == "hits 2"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is set by XDG_CACHE_HOME")
def test_a_home_that_cannot_be_written(tmp_path):
    """Below a file no folder can be made, not even by an administrator."""
    (tmp_path / "file").write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    *_, folder = probe(XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(temporary))
    private = temporary / f"prefmover-{os.getuid()}"
    assert folder.startswith(f"folder {private / 'kernels-'}")
    assert private.stat().st_mode & 0o077 == 0
    assert list(private.rglob("*.nbc"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="a shared temporary folder")
@pytest.mark.parametrize("trap", ["writable by others", "a link"])
def test_compiled_code_is_not_read_from_a_folder_of_others(tmp_path, monkeypatch, trap):
    monkeypatch.setattr(jit_module.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(jit_module.tempfile, "tempdir", str(tmp_path))
    ours = tmp_path / f"prefmover-{os.getuid()}"
    if trap == "a link":
        (tmp_path / "elsewhere").mkdir()
        ours.symlink_to(tmp_path / "elsewhere")
    else:
        ours.mkdir()
        ours.chmod(0o777)
    folder = jit_module._temporary_folder()
    assert folder.parent == tmp_path
    assert folder != ours
    assert folder.stat().st_mode & 0o077 == 0


@pytest.fixture
def fresh_folder(monkeypatch):
    """kernel_folder without what it remembers."""

    def folder(base):
        monkeypatch.setattr(config, "CACHE_DIR", str(base))
        return jit_module.kernel_folder.__wrapped__()

    return folder


def test_the_folder_is_named_by_the_content_of_the_kernels(tmp_path, fresh_folder, monkeypatch):
    here = fresh_folder(tmp_path)
    assert here == fresh_folder(tmp_path)
    assert here.parent == tmp_path
    assert here.is_dir()
    package = tmp_path / "package"
    (package / "deep").mkdir(parents=True)
    (package / "execution").mkdir()
    (package / "execution" / "jit.py").write_text("")
    monkeypatch.setattr(jit_module, "__file__", str(package / "execution" / "jit.py"))
    kernel = package / "deep" / "_kernel.py"
    names = []
    for text in ("one", "two", "one"):
        kernel.write_text(text)
        (package / "deep" / "__init__.py").write_text(f"not a kernel {len(names)}")
        (package / "plain.py").write_text(f"nor this {len(names)}")
        names.append(fresh_folder(tmp_path).name)
    assert names[0] == names[2] != names[1]
    assert here.name not in names


def test_the_setting_of_numba_is_left_as_it_was():
    before = config.CACHE_DIR

    def double(x):
        return 2 * x

    compiled = jit_module.kernel(double)
    assert before == config.CACHE_DIR
    assert str(compiled._cache.cache_path).startswith(str(jit_module.kernel_folder()))
    options = compiled.targetoptions
    assert options["nogil"]
    assert not options.get("fastmath")
    assert options["error_model"] == "numpy"


def test_compiling_is_known_while_it_lasts():
    compiling = jit_module._Compiling()
    assert (compiling.now, compiling.seconds) == (False, 0.0)
    compiling.begin()
    compiling.begin()  # a kernel that another one calls
    compiling.end()
    assert compiling.now
    compiling.end()
    assert not compiling.now
    taken = compiling.seconds
    assert taken == compiling.seconds > 0


def test_kernels_of_others_are_not_announced(caplog):
    from numba import njit
    from numba.core import event

    listener = jit_module.announce_compilation.__wrapped__()
    try:
        assert njit(lambda x: x + 1)(1) == 2
    finally:
        event.unregister("numba:compile", listener)
    assert not listener.logged
    assert not caplog.records
