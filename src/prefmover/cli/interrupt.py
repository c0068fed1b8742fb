"""Ctrl-C that works within a second, during any computation.

Python handles an interrupt between two bytecodes of the main thread, and a compiled kernel can run for hours
in between. A second thread therefore receives the signal at once. It gives the main thread a moment to clean
up, and then ends the process. That is safe at any time: files are written under temporary names and renamed
when they are complete.
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
    """End the process soon after an interrupt, even if the main thread is busy.

    This does nothing outside of the main thread, or where Python's own handler was replaced.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    interrupted = threading.Event()
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiver, interrupted), daemon=True).start()
    try:
        yield
    finally:
        # After an interrupt the watch continues: threads that still compute would delay the exit.
        if not interrupted.is_set():
            signal.set_wakeup_fd(before)
            sender.close()


def _watch(receiver: socket.socket, interrupted: threading.Event) -> None:
    while number := receiver.recv(1):
        default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if number[0] == signal.SIGINT and default:  # not while a server handles it
            break
    else:
        receiver.close()
        return
    interrupted.set()
    receiver.settimeout(PATIENCE)
    try:
        while (number := receiver.recv(1)) and number[0] != signal.SIGINT:  # a second Ctrl-C does not wait
            pass
    except TimeoutError:
        pass
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    os._exit(INTERRUPTED)
