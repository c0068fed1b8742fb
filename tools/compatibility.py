"""The tests on the lowest, or the newest, versions of the dependencies that pyproject.toml allows.

    python tools/compatibility.py lowest            # or newest; make test-lowest, make test-newest
    python3.13 tools/compatibility.py newest -q tests/transport

Makes an environment of its own in ``.venvs/``, with the interpreter that runs this file, and installs what
uv (from PyPI) resolves: for ``lowest`` the first version of each direct dependency that pyproject.toml
allows, for ``newest`` the last of everything, whatever constraints.txt pins. What follows goes to pytest.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOLUTION = {"lowest": "lowest-direct", "newest": "highest"}


def main(kind: str, *pytest_options: str) -> int:
    """Make the environment if pyproject.toml is newer than it, and run the tests in it."""
    if kind not in RESOLUTION:
        print(f"compatibility: {kind!r} is not one of {', '.join(RESOLUTION)}", file=sys.stderr)
        return 2
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = ROOT / ".venvs" / f"{kind}-{version}"
    python, pins = home / "bin" / "python", home / "pins.txt"
    if not pins.is_file() or pins.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        venv.create(home, with_pip=True, clear=True)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv")
        options = ["--extra", "test", "--resolution", RESOLUTION[kind], "--python", python]
        made = home / "resolved.txt"
        run(
            python,
            "-m",
            "uv",
            "pip",
            "compile",
            "--quiet",
            "--no-header",
            *options,
            "-o",
            made,
            "pyproject.toml",
        )
        install = (python, "-m", "uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", python)
        run(*install, "-r", made)
        run(*install, "--no-deps", "--editable", ".")
        made.rename(pins)
    print(f"Python {sys.version.split()[0]}, {kind} versions: {pins}", flush=True)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(home / "kernels")}
    # -m "": the slow tests too
    options = ["-p", "no:cacheprovider", "-m", "", *(pytest_options or ["-n", "2", "-q"])]
    command = [python, "-m", "pytest", *options]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def run(*command: object) -> None:
    """Run a command, or stop."""
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["lowest"])))
