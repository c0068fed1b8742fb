"""Ctrl-C that works within a second, whatever is being computed.

Python delivers an interrupt between two steps of the main thread, and a compiled kernel or a library can take
long over one step. So a second thread hears of it from the system at once. It leaves the main thread a moment
to end in an orderly way, and then ends the process. That is safe at any time: files are written under other
names and renamed when they are whole.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["INTERRUPTED", "prompt_interrupts"]

INTERRUPTED = 130
PATIENCE = 0.6  # seconds


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """End the process soon after an interrupt, even if the main thread does not.

    Only in the main thread, and only where Python's own handling is in place.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    hears, tells = socket.socketpair()
    tells.setblocking(False)
    over = threading.Event()
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(hears, over), daemon=True).start()
    try:
        yield
    finally:
        # After an interrupt the watch goes on: threads that still compute hold up the end of the process.
        if not over.is_set():
            signal.set_wakeup_fd(before)
            tells.close()


def _watch(hears: socket.socket, interrupted: threading.Event) -> None:
    while number := hears.recv(1):
        default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if number[0] == signal.SIGINT and default:  # not while somebody else (a server) handles it
            break
    else:
        hears.close()
        return
    interrupted.set()
    hears.settimeout(PATIENCE)
    try:
        while (number := hears.recv(1)) and number[0] != signal.SIGINT:  # a second Ctrl-C does not wait
            pass
    except TimeoutError:
        pass
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    os._exit(INTERRUPTED)
