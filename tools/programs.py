"""Debian programs that some tests run: where they are, how to start them, and how to get them.

Tests look at pages in Chromium, and nginx stands in front of a service. ``python tools/programs.py`` says
which of them are missing, and installs nothing; ``make test`` calls that first. ``make test-setup``, which is
``python tools/programs.py install``, installs them; it needs root and apt-get. Without a program the tests
that need it are skipped, and a line at the end of pytest says so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",  # root in a container has none
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
MISSING = "no Chromium on this machine; `make test-setup` installs it"
MISSING_NGINX = "no nginx on this machine; `make test-setup` installs it"
SKIPS = {MISSING: "Chromium", MISSING_NGINX: "nginx"}
SECONDS = 300


def find_chromium():
    """Return the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def find_nginx():
    """Return the path of nginx, or None."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def missing_packages() -> dict[str, str]:
    """Return the Debian packages of the programs that are not here, by the names of the programs."""
    known = {"Chromium": ("chromium", find_chromium), "nginx": ("nginx-light", find_nginx)}
    return {name: package for name, (package, find) in known.items() if not find()}


def _together(names: Iterable[str]) -> str:
    return " and ".join(names)


def told_before(missing: Mapping[str, str]) -> str:
    """Return what ``make test`` says first about programs that are missing."""
    them = "them" if len(missing) > 1 else "it"
    return (
        f"no {_together(missing)} on this machine: tests that need {them} are skipped; "
        f"`make test-setup` installs {them} (as root, Debian's {_together(missing.values())})"
    )


def told_after(skipped: Mapping[str, int]) -> str:
    """Return what pytest says last, for the number of tests that were skipped by missing program."""
    n = sum(skipped.values())
    each = skipped if len(skipped) == 1 else [f"{name} ({count})" for name, count in skipped.items()]
    return (
        f"skipped {n} {'test' if n == 1 else 'tests'}: no {' and no '.join(each)} on this machine; "
        f"`make test-setup` installs {'it' if len(skipped) == 1 else 'them'}"
    )


def install() -> int:
    """Install the programs that are missing, and say so; return the exit code."""
    missing = missing_packages()
    if not missing:
        print("test-setup: Chromium and nginx are here, nothing to install")
        return 0
    packages = _together(missing.values())
    if shutil.which("apt-get") is None:
        return _failed(f"no apt-get here to install Debian's {packages} with")
    if os.geteuid() != 0:
        return _failed(f"only root can install Debian's {packages}")
    print(f"test-setup: installing Debian's {packages} with apt-get", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", *missing.values()]):
        try:
            subprocess.run(
                ["apt-get", *command], env=quiet, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL
            )
        except (subprocess.SubprocessError, OSError) as error:
            return _failed(f"{packages} could not be installed: {error}")
    print(f"test-setup: installed {packages}")
    return 0


def _failed(why: str) -> int:
    print(f"test-setup: {why}; without, `make test` skips the tests that need it", file=sys.stderr)
    return 2


def main(*words: str) -> int:
    """Say what is missing, or install it."""
    if words == ("install",):
        return install()
    if words:
        print("usage: python tools/programs.py [install]", file=sys.stderr)
        return 2
    missing = missing_packages()
    if missing:
        print(told_before(missing), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
