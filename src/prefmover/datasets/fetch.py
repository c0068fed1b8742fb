"""Archives from the publisher: over https only, resumed where they broke off, checked by hash.

A download goes to ``NAME.zip.part`` in the cache folder and keeps its name until it is whole, so that
the next attempt can go on where this one stopped. Pooch checks the hash and moves it into place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefmover.datasets.archive import writing
from prefmover.datasets.registry import Source
from prefmover.errors import InputError

__all__ = ["by_hand", "digest_of", "fetch"]

Progress = Callable[[int, int], None]

CHUNK = 1 << 16
TIMEOUT = (15, 60)  # seconds to connect, and between two packets


def fetch(source: Source, folder: Path, progress: Progress | None = None) -> Path:
    """Return the path of the publisher's archive in ``folder``, downloaded if it is not there.

    Parameters
    ----------
    progress : callable, optional
        Called with (bytes so far, bytes in all).

    Raises
    ------
    InputError
        Offline, a certificate that is not accepted, a download that broke off, a wrong hash: the
        message says what to do by hand.
    """
    import pooch

    if not source.url.startswith("https://"):
        raise InputError(f"{source.name} has no address to download it from; {by_hand(source)}")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{source.name}.zip.part"
    pooch.get_logger().setLevel("WARNING")  # it would tell the address and the hash; so do we
    try:
        found = pooch.retrieve(
            source.url,
            known_hash=source.digest or None,
            fname=f"{source.name}.zip",
            path=folder,
            downloader=_Resuming(part, progress, source.limit),
        )
    except ValueError as error:  # Pooch's way of saying that the hash is wrong
        if isinstance(error, InputError) or "hash" not in str(error):
            raise
        _forget(part)
        raise InputError(
            f"{source.url}: what came is not the {source.name} archive that is known ({source.digest}); "
            f"it was deleted and nothing was installed. Try again; {by_hand(source)}"
        ) from error
    _forget(part)
    return Path(found)


def by_hand(source: Source) -> str:
    """Return what to do when a download does not work."""
    where = f"download {source.url} with a browser" if source.url else "get a copy"
    return f"or {where} and run `prefmover data add {source.name} --from FILE`"


def digest_of(path: Path, algorithm: str = "sha256") -> str:
    """Return the hash of a file in hexadecimal digits."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, algorithm).hexdigest()


class _Resuming:
    """A downloader for Pooch that goes on where an earlier attempt broke off."""

    def __init__(self, part: Path, progress: Progress | None, limit: int) -> None:
        self.part, self.note, self.progress = part, part.with_suffix(".json"), progress
        self.limit = limit

    def __call__(self, url: str, output_file: str, _: object) -> None:
        import requests  # type: ignore[import-untyped,unused-ignore]

        host = url.split("/")[2]
        sorry = f"nothing was installed. Try again, {_hand(url, self.part)}"
        try:
            self.download(url)
        except requests.exceptions.SSLError as error:
            raise InputError(
                f"the certificate of {host} was not accepted ({_short(error)}), so the download was not "
                f"trusted and {sorry}"
            ) from error
        except requests.exceptions.HTTPError as error:
            raise InputError(f"{host} answered {str(error).split(' for url')[0]}; {sorry}") from error
        except (
            requests.exceptions.ChunkedEncodingError,
            requests.exceptions.ContentDecodingError,
        ) as error:
            raise InputError(
                f"the download of {url} broke off after {_size(self.part):,} bytes, which are kept: the "
                f"next attempt goes on from there; {sorry}"
            ) from error
        except requests.exceptions.RequestException as error:
            raise InputError(
                f"{host} cannot be reached ({_short(error)}); are you offline? {sorry[0].upper()}{sorry[1:]}"
            ) from error
        with writing(output_file):
            self.part.replace(output_file)

    def download(self, url: str) -> None:
        """Append to the part file until it is whole."""
        import requests

        have, headers = _size(self.part), {"Accept-Encoding": "identity"}
        known = self._remembered(url)
        if have and known:
            # Only if it is still the same file there; otherwise the server sends all of it.
            headers |= {"Range": f"bytes={have}-", "If-Range": known}
        else:
            have = 0
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            for hop in (*response.history, response):
                if not hop.url.startswith("https://"):
                    raise InputError(f"{url} leads to {hop.url}, which is not https; refused")
            if response.status_code == 416:  # nothing is left to send: the part is whole
                return
            response.raise_for_status()
            if response.status_code != 206:
                have = 0
            length = response.headers.get("Content-Length", "")
            total = have + (int(length) if length.isascii() and length.isdigit() else 0)
            with writing(self.part), self.part.open("ab" if have else "wb") as out:
                self._remember(url, response.headers.get("ETag", ""))
                for chunk in _chunks(response):
                    out.write(chunk)
                    have += len(chunk)
                    if have > self.limit:
                        raise InputError(
                            f"{url} sends more than the {self.limit:,} bytes that this data set can have; "
                            "refused"
                        )
                    if self.progress is not None:
                        self.progress(have, max(total, have))
        if total and have < total:
            raise requests.exceptions.ChunkedEncodingError(f"{have} of {total} bytes")

    def _remembered(self, url: str) -> str:
        try:
            note = json.loads(self.note.read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        same = isinstance(note, dict) and note.get("url") == url
        return str(note.get("etag", "")) if same else ""

    def _remember(self, url: str, etag: str) -> None:
        if etag and not etag.startswith("W/"):
            self.note.write_text(json.dumps({"url": url, "etag": etag}), "utf-8")
        else:
            self.note.unlink(missing_ok=True)


def _chunks(response: Any) -> Any:
    """Yield bytes; a connection that is cut reads like any other download that broke off."""
    import requests

    try:
        yield from response.iter_content(CHUNK)
    except (requests.exceptions.ConnectionError, requests.exceptions.SSLError) as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error


def _hand(url: str, part: Path) -> str:
    name = part.name.removesuffix(".zip.part")
    return f"or download {url} with a browser and run `prefmover data add {name} --from FILE`"


def _short(error: Exception) -> str:
    """Return the end of a chain of wrapped messages: the one that says something."""
    text = str(error)
    for mark in ("certificate verify failed: ", "Caused by ", "Error: "):
        if mark in text:
            text = text.split(mark)[-1]
            break
    return text.strip("()' ")[:160]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_suffix(".json").unlink(missing_ok=True)
