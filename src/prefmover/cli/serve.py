"""``prefmover serve``: a model over HTTP, with an API and an explorer."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from prefmover.cli.options import SourceOptions, Threads
from prefmover.cli.terminal import note, progress, read_text
from prefmover.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from prefmover.server.settings import Settings

EXAMPLES = (
    "prefmover serve --dataset cinema",
    "prefmover serve --ratings ratings.csv --items tags.csv",
    "prefmover serve --model my-model --port 9000",
    "prefmover serve --model my-model --host 0.0.0.0 --token-file token.txt",
    "prefmover serve --model my-model --allowed-host films.example.org --proxy 127.0.0.1",
)

TOKEN_VARIABLE = "PREFMOVER_TOKEN"


@dataclass(slots=True)
class ServiceOptions:
    """Where and how the service listens, what it logs, and what its pages say."""

    host: Annotated[
        str, Option(metavar="NAME", help="Address to listen on; other machines need a token to connect.")
    ] = "127.0.0.1"
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Port; 0 for any free one.")] = 8000
    token: Annotated[
        str | None, Option(metavar="TEXT", help="Token that clients must send; visible in process lists.")
    ] = None
    token_file: Annotated[
        str | None, Option(metavar="FILE", help=f"File with the token; ${TOKEN_VARIABLE} by default.")
    ] = None
    allowed_hosts: Annotated[
        list[str] | None,
        Option("--allowed-host", metavar="NAME", help="Name of the service behind a proxy; repeatable."),
    ] = None
    root_path: Annotated[
        str, Option(metavar="PATH", help="Path of the service at the proxy, such as /films.")
    ] = ""
    proxies: Annotated[
        list[str] | None,
        Option(
            "--proxy",
            metavar="ADDRESS",
            help="Proxy or network whose X-Forwarded-For names the client; repeatable.",
        ),
    ] = None
    n_threads: Threads = None
    queue: Annotated[int, Option(metavar="N", min=0, help="Requests that may wait; others get 503.")] = 64
    seconds: Annotated[float, Option(metavar="N", help="Time limit of a request.")] = 20.0
    grace: Annotated[float, Option(metavar="N", help="Seconds for requests in progress at the end.")] = 8.0
    notice: Annotated[
        float, Option(metavar="N", help="Seconds after SIGTERM in which only /readyz returns 503.")
    ] = 0.0
    cache: Annotated[int, Option(metavar="N", min=0, help="Size of the response cache, in MiB.")] = 32
    access_log: Annotated[
        bool | None,
        Option(
            "--access-log/--no-access-log",
            help="A JSON line on stderr for each request; by default unless that is a terminal.",
        ),
    ] = None
    user_noun: Annotated[
        str | None, Option(metavar="WORD", help="What a user is called on the pages, such as reader.")
    ] = None
    item_noun: Annotated[
        str | None, Option(metavar="WORD", help="What an item is called on the pages, such as book.")
    ] = None

    def settings(self) -> Settings:
        """Return the settings of the server."""
        from prefmover.server.settings import MIB, Settings

        given = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("token_file", "access_log"):
            del given[name]
        given["token"] = _token(self.token, self.token_file)
        given["allowed_hosts"], given["proxies"] = tuple(self.allowed_hosts or ()), tuple(self.proxies or ())
        given["root_path"], given["cache"] = self.root_path.rstrip("/"), self.cache * MIB
        return Settings(**given)

    @property
    def logs_access(self) -> bool:
        """Whether each request is logged on stderr."""
        return not sys.stderr.isatty() if self.access_log is None else self.access_log


def serve(
    source: SourceOptions,
    options: ServiceOptions,
    refit: Annotated[
        bool, Option("--refit", help="New fit, even if the model of the data is in the cache.")
    ] = False,
) -> None:
    """Serve a model over HTTP: an API at /api/v1, its reference at /docs, the explorer at /.

    Without --model, the default model is fitted the first time and loaded from the cache afterward. The
    address is printed at once; until the service is ready, the explorer and /readyz show the progress.
    Ctrl-C stops the server.
    """
    _require_server()
    from prefmover.server import run
    from prefmover.server.logs import log_to

    source.check()
    settings = options.settings()
    with _ends_on_sigterm(), ExitStack() as stack:
        bound = run.listen(settings)  # before the data are read, which may take a while
        data, model = source.open(threads=1)  # requests run side by side, each on one thread
        if model is not None and refit:
            raise InputError("--refit fits the model of a data set; --model is already fitted")
        name = Path(source.model).resolve().name if source.model else data.name
        stack.enter_context(log_to(access=options.logs_access))
        start = _StartNotes(name, options.logs_access, stack.enter_context(ExitStack()))
        code = run.serve(
            data if model is None else model,
            settings,
            name=name,
            bound=bound,
            refit=refit,
            started=start.started,
            report=start.report,
            ready=start.ready,
        )
    raise typer.Exit(code)


@dataclass(slots=True)
class _StartNotes:
    """What the terminal shows while a service starts: its address, the progress, and that it is ready.

    Where requests are logged, only the address is printed.
    """

    name: str
    logs_access: bool
    bar: ExitStack
    callback: Callable[[int, int], None] | None = None

    def started(self, address: str) -> None:
        typer.echo(address)
        self._note(f"starting {self.name}; the page shows the progress")

    def report(self, doing: str, done: int, total: int) -> None:
        if not total or self.logs_access:
            return
        if self.callback is None:
            self.callback = self.bar.enter_context(progress(doing)) or (lambda done, total: None)
        self.callback(done, total)

    def ready(self) -> None:
        self.bar.close()
        self._note(f"serving {self.name}; press Ctrl-C to stop")

    def _note(self, text: str) -> None:
        if not self.logs_access:
            note(text)


def _require_server() -> None:
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            'serving needs FastAPI and uvicorn: pip install "prefmover[server]"'
        ) from None


@contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """End with 0 on SIGTERM before the server handles it: the first process of a container ignores it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _token(token: str | None, file: str | None) -> str | None:
    """Return the token from the option, the file or the environment."""
    if token is not None and file is not None:
        raise InputError("give --token or --token-file, not both")
    if file is not None:
        return read_text(file, "--token-file: ").strip()
    return token if token is not None else os.environ.get(TOKEN_VARIABLE) or None
