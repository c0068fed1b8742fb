"""The log of the service: a JSON object per line, with times and request ids, and never with ratings.

Lines are written on a thread of their own, so that a log that nobody reads cannot stop the service: when
thousands of lines wait, further ones are dropped and counted.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

ACCESS = logging.getLogger("prefmover.server.access")
SERVICE = logging.getLogger("prefmover.server")
PACKAGE = logging.getLogger("prefmover")
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
WAITING = 10_000  # lines
LAST_SECONDS = 5.0


class JsonLines(logging.Formatter):
    """A record as one line of JSON; the fields of an access record are given as ``extra={"fields": ...}``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time.replace("+00:00", "Z")}
        fields = getattr(record, "fields", None)
        if fields is None:
            line |= {"level": record.levelname.lower(), "message": record.getMessage()}
            if request := REQUEST_ID.get():
                line["request"] = request
            if record.exc_info:
                line["traceback"] = self.formatException(record.exc_info)
        else:
            line |= fields
        return json.dumps(line)


class Writer(logging.Handler):
    """Writes lines to a stream without ever waiting for it; ``dropped`` were too many to wait."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter) -> None:
        super().__init__()
        self.dropped = 0
        self._lines: queue.Queue[str | None] = queue.Queue(WAITING)
        self.setFormatter(formatter)
        self._thread = threading.Thread(target=self._write, args=(stream,), daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a line to the thread that writes."""
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Write what waits, as far as that is possible in a moment."""
        with suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(LAST_SECONDS)
        super().close()

    def _write(self, stream: TextIO) -> None:
        while (line := self._lines.get()) is not None:
            try:
                stream.write(line + "\n")
                if self._lines.empty():
                    stream.flush()
            except (OSError, ValueError):  # the other end is gone
                return


@contextmanager
def log_to(stream: TextIO | None = None, *, access: bool) -> Iterator[None]:
    """Write the log to a stream, stderr by default: with the access log as JSON lines, without it as text."""
    text = logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S")  # for people
    writer = Writer(stream or sys.stderr, JsonLines() if access else text)
    before = [(one, one.level, one.propagate, list(one.handlers)) for one in (PACKAGE, SERVICE, ACCESS)]
    if access:  # then every line is JSON, whoever writes it
        PACKAGE.handlers, PACKAGE.propagate = [writer], False
    SERVICE.handlers, SERVICE.propagate = [writer], False
    ACCESS.handlers, ACCESS.propagate = [writer] if access else [logging.NullHandler()], False
    ACCESS.setLevel(logging.INFO if access else logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level, propagate, handlers in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        writer.close()
