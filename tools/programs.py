"""Debian programs that some tests run: where they are, how to start them, and how to get them.

Tests look at pages in Chromium, and nginx stands in front of a service. ``python tools/programs.py`` installs
both where that is possible (root, apt-get, a network), and otherwise says why not; ``make test`` calls that
first. Without a program the tests that need it are skipped, and say so.
"""

import os
import shutil
import subprocess
import sys

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
MISSING = "no Chromium on this machine; `make test` installs Debian's as root, or: apt-get install chromium"
MISSING_NGINX = (
    "no nginx on this machine; `make test` installs Debian's as root, or: apt-get install nginx-light"
)
SECONDS = 300


def find_chromium():
    """Return the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def find_nginx():
    """Return the path of nginx, or None."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def install():
    """Install the programs that are missing; return a sentence about it."""
    finders = {"chromium": find_chromium, "nginx-light": find_nginx}
    missing = [package for package, find in finders.items() if not find()]
    if not missing:
        return None
    names, rest = " and ".join(missing), "the tests that need it will be skipped"
    if shutil.which("apt-get") is None:
        return f"no {names}, and no apt-get to install it with: {rest}"
    if os.geteuid() != 0:
        return f"no {names}, and only root can install it: {rest}"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", *missing]):
        try:
            subprocess.run(
                ["apt-get", *command], env=quiet, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL
            )
        except (subprocess.SubprocessError, OSError) as error:
            return f"{names} could not be installed ({error}): {rest}"
    return f"installed {names}"


if __name__ == "__main__":
    told = install()
    if told:
        print(told, file=sys.stderr)
