"""``prefmover serve``: a model over HTTP, and pages to play with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from prefmover.cli.terminal import progress, tell
from prefmover.errors import InputError, MissingExtraError

__all__ = ["serve"]

EXAMPLES = (
    "prefmover serve --dataset cinema",
    "prefmover serve my-model --port 9000",
    "prefmover serve my-model --host 0.0.0.0 --token-file token.txt",
)

TOKEN_VARIABLE = "PREFMOVER_TOKEN"


def serve(
    model: Annotated[str | None, typer.Argument(help="Folder of a saved model.", show_default=False)] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", help="Instead: a data set, fitted the first time. cinema, ml-100k, ..."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0 for any that is free.")] = 8000,
    token: Annotated[
        str | None, typer.Option(help="What clients must send; others can see it in the list of processes.")
    ] = None,
    token_file: Annotated[
        str | None, typer.Option(help=f"A file with the token; or set {TOKEN_VARIABLE}.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=256, help="Threads that compute; all cores by default."),
    ] = None,
    queue: Annotated[
        int, typer.Option(metavar="N", min=0, help="Requests that may wait; the next gets 503.")
    ] = 64,
    seconds: Annotated[float, typer.Option(help="What a request may take.")] = 20.0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit the data set's model again rather than load the kept one.")
    ] = False,
    cache: Annotated[int, typer.Option(metavar="N", min=0, help="MiB of answers that are kept.")] = 32,
) -> None:
    """Serve a model over HTTP: an API at /api/v1, its reference at /docs, the explorer at /.

    Stop it with Ctrl-C.
    """
    if (model is None) == (dataset is None):
        raise InputError("say what to serve: the folder of a model, or --dataset cinema")
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            'serving needs FastAPI and uvicorn: pip install "prefmover[server]"'
        ) from None
    from prefmover.server import loading as models
    from prefmover.server.run import listen
    from prefmover.server.run import serve as run
    from prefmover.server.settings import MIB, Settings

    settings = Settings(
        host=host,
        port=port,
        token=_token(token, token_file),
        workers=workers,
        queue=queue,
        seconds=seconds,
        cache=cache * MIB,
    )
    bound = listen(settings)  # before the model is fitted, which may take a while
    if model is not None:
        answers = models.of_folder(model)
    else:
        assert dataset is not None
        with progress("comparing users") as callback:
            answers = models.of_dataset(dataset, refit=refit, progress=callback)

    def started(address: str) -> None:
        typer.echo(address)
        tell(f"serving {answers.name}; Ctrl-C stops")

    raise typer.Exit(run(answers, settings, bound, started))


def _token(given: str | None, file: str | None) -> str | None:
    """Return the token from the option, the file or the environment, whichever is given."""
    if given is not None and file is not None:
        raise InputError("give --token or --token-file, not both")
    if given is not None:
        return given
    if file is not None:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the token cannot be read from {file}: {error}") from None
    return os.environ.get(TOKEN_VARIABLE) or None
