"""Programs that some tests run: Chromium looks at pages, and nginx stands in front of a service.

Without a program, the tests that need it are skipped. ``make test-setup`` installs both on Debian, as root.
"""

import shutil

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


def find_chromium():
    """Return the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def find_nginx():
    """Return the path of nginx, or None."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


if __name__ == "__main__":
    for missing in filter(None, (not find_chromium() and MISSING, not find_nginx() and MISSING_NGINX)):
        print(f"{missing}; the tests that need it are skipped")
