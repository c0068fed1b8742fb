"""``prefmover serve``: a model over HTTP, with an API and an explorer."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from prefmover.cli.options import SourceOptions, Threads
from prefmover.cli.terminal import note, progress
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
    allowed_host: Annotated[
        list[str] | None, Option(metavar="NAME", help="Name of the service behind a proxy; repeatable.")
    ] = None
    root_path: Annotated[
        str, Option(metavar="PATH", help="Path of the service at the proxy, such as /films.")
    ] = ""
    proxy: Annotated[
        list[str] | None,
        Option(
            metavar="ADDRESS", help="Proxy or network whose X-Forwarded-For names the client; repeatable."
        ),
    ] = None
    threads: Threads = None
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

        return Settings(
            host=self.host,
            port=self.port,
            token=_token(self.token, self.token_file),
            allowed_hosts=tuple(self.allowed_host or ()),
            root_path=self.root_path.rstrip("/"),
            proxies=tuple(self.proxy or ()),
            n_threads=self.threads,
            queue=self.queue,
            seconds=self.seconds,
            grace=self.grace,
            notice=self.notice,
            cache=self.cache * MIB,
            user_noun=self.user_noun,
            item_noun=self.item_noun,
        )

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
        start = StartNotes(name, options.logs_access, stack.enter_context(ExitStack()))
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
class StartNotes:
    """What the terminal shows while a service starts: its address, the progress, and that it is ready.

    Where requests are logged, only the address is printed.
    """

    name: str
    logs_access: bool
    bar: ExitStack
    callback: Callable[[int, int], None] | None = None
    has_bar: bool = False

    def started(self, address: str) -> None:
        """Print the address of the service, which listens now."""
        typer.echo(address)
        if not self.logs_access:
            note(f"starting {self.name}; the page shows the progress")

    def report(self, doing: str, done: int, total: int) -> None:
        """Show how far the start is."""
        if not total or self.logs_access:
            return
        if not self.has_bar:
            self.callback, self.has_bar = self.bar.enter_context(progress(doing)), True
        if self.callback is not None:
            self.callback(done, total)

    def ready(self) -> None:
        """Note that the service is ready."""
        self.bar.close()
        if not self.logs_access:
            note(f"serving {self.name}; press Ctrl-C to stop")


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
    if token is not None:
        return token
    if file is not None:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the token cannot be read from {file}: {error}") from None
    return os.environ.get(TOKEN_VARIABLE) or None
