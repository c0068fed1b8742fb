"""Debian's Chromium for tests that look at pages: where it is, how to start it, and how to get it.

``python tools/browser.py`` installs it where that is possible (root, apt-get, a network), and otherwise says
why not; ``make test`` calls that first. Without a browser the tests that need one are skipped, and say so.
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
SECONDS = 300


def find_chromium():
    """Return the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def install():
    """Install Debian's Chromium if there is none; return a sentence about it."""
    if find_chromium():
        return None
    if shutil.which("apt-get") is None:
        return "no Chromium and no apt-get to install it with: tests in a browser will be skipped"
    if os.geteuid() != 0:
        return "no Chromium, and only root can install it: tests in a browser will be skipped"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", "chromium"]):
        try:
            subprocess.run(
                ["apt-get", *command], env=quiet, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL
            )
        except (subprocess.SubprocessError, OSError) as error:
            return f"Chromium could not be installed ({error}): tests in a browser will be skipped"
    return "Chromium was installed" if find_chromium() else MISSING


if __name__ == "__main__":
    told = install()
    if told:
        print(told, file=sys.stderr)
