"""``prefmover serve``: a model over HTTP, with an API and an explorer."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli import Opt
from prefmover.cli.options import Refit, SourceOptions, Text, Texts, Threads
from prefmover.cli.terminal import note, progress, read_text
from prefmover.errors import InputError, MissingExtraError, install_command

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

    host: Annotated[str, Opt("Address to listen on; other machines need a token to connect.", "NAME")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Opt("Port; 0 for any free one.", min=0, max=65535)] = 8000
    token: Annotated[Text, Opt("Token that clients must send; visible in process lists.", "TEXT")] = None
    token_file: Annotated[Text, Opt(f"File with the token; ${TOKEN_VARIABLE} by default.", "FILE")] = None
    allowed_hosts: Annotated[Texts, Opt("Name of the service behind a proxy.", "NAME", "--allowed-host")] = (
        None
    )
    root_path: Annotated[str, Opt("Path of the service at the proxy, such as /films.", "PATH")] = ""
    proxies: Annotated[
        Texts, Opt("Proxy or network whose X-Forwarded-For names the client.", "ADDRESS", "--proxy")
    ] = None
    n_threads: Threads = None
    queue: Annotated[int, Opt("Requests that may wait; others get 503.", min=0)] = 64
    seconds: Annotated[float, Opt("Time limit of a request.")] = 20.0
    grace: Annotated[float, Opt("Seconds for requests in progress at the end.")] = 8.0
    notice: Annotated[float, Opt("Seconds after SIGTERM in which only /readyz returns 503.")] = 0.0
    cache: Annotated[int, Opt("Size of the response cache, in MiB.", min=0)] = 32
    access_log: Annotated[
        bool | None,
        Opt(
            "A JSON line on stderr for each request; by default unless that is a terminal.",
            "--access-log/--no-access-log",
        ),
    ] = None
    user_noun: Annotated[Text, Opt("What a user is called on the pages, such as reader.", "WORD")] = None
    item_noun: Annotated[Text, Opt("What an item is called on the pages, such as book.", "WORD")] = None

    def settings(self) -> Settings:
        """Return the settings of the server."""
        from prefmover.server.settings import MIB, Settings

        given = asdict(self)
        del given["token_file"], given["access_log"]
        given["token"] = _token(self.token, self.token_file)
        given["allowed_hosts"], given["proxies"] = tuple(self.allowed_hosts or ()), tuple(self.proxies or ())
        given["root_path"], given["cache"] = self.root_path.rstrip("/"), self.cache * MIB
        return Settings(**given)


def serve(source: SourceOptions, options: ServiceOptions, refit: Refit = False) -> None:
    """Serve a model over HTTP: an API at /api/v1, its reference at /docs, the explorer at /.

    Without --model, the default model is fitted the first time and loaded from the cache afterward. The
    address is printed at once; until the service is ready, the explorer and /readyz show the progress.
    Ctrl-C stops the server.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"serving needs FastAPI and uvicorn: {install_command('server')}") from None
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
        logs_access = not sys.stderr.isatty() if options.access_log is None else options.access_log
        stack.enter_context(log_to(access=logs_access))
        notes = _StartNotes(name, logs_access, stack.enter_context(ExitStack()))
        code = run.serve(model or data, settings, notes, name=name, bound=bound, refit=refit)
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
        if not self.logs_access:
            note(f"starting {self.name}; the page shows the progress")

    def report(self, doing: str, done: int, total: int) -> None:
        if not total or self.logs_access:
            return
        if self.callback is None:
            self.callback = self.bar.enter_context(progress(doing)) or (lambda done, total: None)
        self.callback(done, total)

    def ready(self) -> None:
        self.bar.close()
        if not self.logs_access:
            note(f"serving {self.name}; press Ctrl-C to stop")


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
