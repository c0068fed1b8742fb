"""``prefmover serve``: a model over HTTP, with an API and an explorer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from prefmover.cli.options import Threads
from prefmover.cli.source import SourceOptions
from prefmover.cli.terminal import note, progress
from prefmover.errors import InputError, MissingExtraError

EXAMPLES = (
    "prefmover serve --dataset cinema",
    "prefmover serve --ratings ratings.csv --items tags.csv",
    "prefmover serve --model my-model --port 9000",
    "prefmover serve --model my-model --host 0.0.0.0 --token-file token.txt",
)

TOKEN_VARIABLE = "PREFMOVER_TOKEN"


def serve(
    source: SourceOptions,
    host: Annotated[
        str, Option(metavar="NAME", help="Address to listen on; other machines need a token to connect.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Port; 0 for any free one.")] = 8000,
    token: Annotated[
        str | None,
        Option(metavar="TEXT", help="Token that clients must send; visible in process lists."),
    ] = None,
    token_file: Annotated[
        str | None, Option(metavar="FILE", help=f"File with the token; ${TOKEN_VARIABLE} by default.")
    ] = None,
    threads: Threads = None,
    queue: Annotated[int, Option(metavar="N", min=0, help="Requests that may wait; others get 503.")] = 64,
    seconds: Annotated[float, Option(metavar="N", help="Time limit of a request.")] = 20.0,
    cache: Annotated[int, Option(metavar="N", min=0, help="Size of the response cache, in MiB.")] = 32,
    item_noun: Annotated[str | None, Option(metavar="WORD", help="Word for an item on the pages.")] = None,
    refit: Annotated[
        bool, Option("--refit", help="New fit, even if the model of the data is in the cache.")
    ] = False,
) -> None:
    """Serve a model over HTTP: an API at /api/v1, its reference at /docs, the explorer at /.

    Without --model, the default model is fitted the first time and loaded from the cache afterward. Ctrl-C
    stops the server.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            'serving needs FastAPI and uvicorn: pip install "prefmover[server]"'
        ) from None
    from prefmover.server import loading, run
    from prefmover.server.settings import MIB, Settings

    source.check()
    settings = Settings(
        host=host,
        port=port,
        token=_token(token, token_file),
        n_threads=threads,
        queue=queue,
        seconds=seconds,
        cache=cache * MIB,
        item_noun=item_noun,
    )
    bound = run.listen(settings)  # before the model is fitted, which may take a while
    data, model = source.open(threads=1)  # requests run side by side, each on one thread
    if model is None:
        with progress("comparing users") as callback:
            model = loading.fitted(data, refit=refit, progress=callback)
    elif refit:
        raise InputError("--refit fits the model of a data set; --model is already fitted")
    name = Path(source.model).resolve().name if source.model else data.name

    def started(address: str) -> None:
        typer.echo(address)
        note(f"serving {name}; press Ctrl-C to stop")

    raise typer.Exit(run.serve(model, settings, name=name, bound=bound, started=started))


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
