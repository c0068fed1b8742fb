"""Known holes in the versions that constraints.txt pins, asked of OSV (osv.dev); part of ``make lint``.

Says "not reachable, skipped" where the service cannot be reached, and then fails nothing: a build must not
depend on somebody else's server. Takes at most ``SECONDS``.
"""

import json
import re
import sys
import time
import urllib.request
from pathlib import Path

SECONDS = 15
SERVICE = "https://api.osv.dev/v1/querybatch"
PINS = Path(__file__).resolve().parent.parent / "constraints.txt"


def main() -> int:
    """Print one line; return 1 if a pinned version has a known hole."""
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", PINS.read_text(encoding="utf-8"), re.M)
    asked = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in pins]
    request = urllib.request.Request(
        SERVICE, json.dumps({"queries": asked}).encode(), {"Content-Type": "application/json"}
    )
    start = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            answers = json.loads(response.read(1 << 24))["results"]
    except (OSError, ValueError, KeyError) as error:
        reason = getattr(error, "reason", error)
        print(f"audit: {SERVICE} not reachable, skipped ({reason}; {time.monotonic() - start:.0f} s)")
        return 0
    holes = [
        f"{name} {version}: {', '.join(hole['id'] for hole in answer['vulns'])}"
        for (name, version), answer in zip(pins, answers, strict=True)
        if answer.get("vulns")
    ]
    print("\n".join(["audit: known holes", *holes]) if holes else f"audit: {len(pins)} pins, no known hole")
    return bool(holes)


if __name__ == "__main__":
    sys.exit(main())
