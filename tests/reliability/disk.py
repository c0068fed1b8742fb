"""Disks that are full and folders that are read-only, for real: small file systems, limits, remounts."""

import os
import resource
import subprocess
from contextlib import contextmanager

import pytest

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def mount(*arguments):
    """Mount something, or skip: that takes rights that not every machine gives."""
    try:
        done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"file systems may not be mounted here: {done.stderr.strip()}")


@contextmanager
def small_disk(folder, kilobytes):
    """Put a file system of so many kilobytes at a folder."""
    folder.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder, leave=0):
    """Fill the disk of a folder up to so many bytes; return the file that does."""
    ballast = folder / "ballast"
    space = os.statvfs(folder)
    with ballast.open("wb") as out:
        out.write(b"\0" * max(0, space.f_bavail * space.f_frsize - leave))
    return ballast


@contextmanager
def largest_file(n_bytes):
    """Let no file of this process grow beyond so many bytes: a full disk for those without rights."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(folder):
    """Make a folder read-only, with all in it: by rights, or by a mount for root, whom rights do not bind."""
    if not ROOT:
        rights = {one: one.stat().st_mode for one in (folder, *folder.rglob("*"))}
        for one, mode in rights.items():
            one.chmod(mode & ~0o222)
        try:
            yield
        finally:
            for one, mode in rights.items():
                one.chmod(mode)
        return
    mount("--bind", folder, folder)
    try:
        mount("-o", "remount,ro,bind", folder)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
