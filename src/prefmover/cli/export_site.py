"""``prefmover export-site``: the explorer as a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from prefmover.cli import Opt
from prefmover.cli.options import ModelOptions, SourceOptions, Threads, fitted
from prefmover.cli.terminal import Output, check_folder, progress
from prefmover.errors import MissingExtraError, install_command

EXAMPLES = (
    "prefmover export-site --dataset cinema --out cinema-site",
    "prefmover export-site --model my-model --out site",
)


def export_site(
    source: SourceOptions,
    out: Annotated[
        str, Opt("Where the result goes: a folder; one written before is replaced.", "FOLDER", "-o")
    ],
    threads: Threads = None,
) -> Output:
    """Write the explorer as a folder of files: for up to some 2,000 users.

    Open index.html, or put the folder on any web host. It has the pages of every user and every item, with
    explanations of the ten nearest users and the ten recommended items. Ratings of your own, groups and
    filters need the service (`prefmover serve`), and the pages say so.
    """
    try:
        from prefmover.server.served import ServedModel
        from prefmover.server.site import export_site as write_site
    except ImportError:
        raise MissingExtraError(f"an export needs FastAPI: {install_command('server')}") from None
    folder = check_folder(out)
    data, model = source.open(threads)
    model = fitted(data, model, ModelOptions(), threads)
    with progress("writing the site") as callback:
        size = write_site(ServedModel(model), folder, callback or (lambda done, total: None))
    page = str(Path(out) / "index.html")
    return Output({"page": page, "users": data.n_users, "items": data.n_items, "bytes": size}, [page])
