"""The temporary folder of a Ray cluster that a process starts for itself.

Ray keeps logs and sockets of every session in its temporary folder, and never removes them. A cluster that is
started here gets a folder named after its process. It is removed when the cluster ends; if the process is
killed, the next one that starts a cluster removes it.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

from prefmover.execution.atomic import is_alive

__all__ = ["clear", "new_folder"]

PREFIX = "prefmover-ray-"
LONGEST = 44  # bytes: Ray adds 62 for its sockets, whose paths have 107 at most


def new_folder() -> Path | None:
    """Return a new folder for this process; None if the temporary folder is too deep for Ray's sockets."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    if len(os.fsencode(folder)) <= LONGEST:
        return folder
    folder.rmdir()
    return None


def clear() -> None:
    """Remove the folders of processes that are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        match = re.match(rf"{PREFIX}(\d+)-", folder.name)
        if match and not is_alive(int(match[1])):
            shutil.rmtree(folder, ignore_errors=True)  # what belongs to another user stays
