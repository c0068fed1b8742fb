"""Download archives from publishers: over https only, resumed after an interruption, checked by hash.

A download goes to ``NAME.zip.part`` in the cache folder, so that the next attempt can continue it, and gets
its final name when it is complete and its hash is right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prefmover._typing import Progress
from prefmover.datasets.folders import writing
from prefmover.datasets.registry import Source
from prefmover.errors import InputError

__all__ = ["digest_of", "fetch", "has_digest"]

CHUNK = 1 << 16
TIMEOUT = (15, 60)  # seconds to connect, and between two packets


def fetch(source: Source, folder: Path, progress: Progress | None = None) -> Path:
    """Return the path of the publisher's archive in ``folder``, after downloading it.

    ``progress`` is called with (bytes so far, bytes in all). If the publisher cannot be reached, its
    certificate is invalid, the download breaks off, or the hash is wrong, an InputError says how to install
    the data set by hand.
    """
    if not source.url.startswith("https://"):
        raise InputError(f"{source.name} cannot be downloaded; {_by_hand(source)}")
    archive, part = folder / f"{source.name}.zip", folder / f"{source.name}.zip.part"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    _download_part(source, part, progress)
    if source.digest and not has_digest(part, source.digest):
        _forget(part)
        problem = f"{source.url} sent something other than the archive with the hash {source.digest}"
        raise InputError(f"{problem}; nothing was installed. Try again, {_by_hand(source)}")
    with writing(archive):
        part.replace(archive)
    _forget(part)
    return archive


def digest_of(path: Path, algorithm: str = "sha256") -> str:
    """Return the hash of a file in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def has_digest(path: Path, digest: str) -> bool:
    """Whether a file has a hash such as ``"md5:..."``; False for an empty one."""
    algorithm, _, digits = digest.partition(":")
    return bool(digits) and digest_of(path, algorithm) == digits


def _by_hand(source: Source) -> str:
    remedy = f"download {source.url} with a browser" if source.url else "get a copy"
    return f"or {remedy} and run `prefmover data add {source.name} --from FILE`"


def _download_part(source: Source, part: Path, progress: Progress | None) -> None:
    """Complete the part file; errors say what to do."""
    import requests  # type: ignore[import-untyped,unused-ignore]

    host = source.url.split("/")[2]
    remedy = f"nothing was installed. Try again, {_by_hand(source)}"
    try:
        _append(source, part, progress)
    except requests.exceptions.SSLError as error:
        raise InputError(f"the certificate of {host} is not valid ({_reason(error)}); {remedy}") from error
    except requests.exceptions.HTTPError as error:
        raise InputError(f"{host} answered {str(error).split(' for url')[0]}; {remedy}") from error
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError) as error:
        problem = f"the download of {source.url} broke off after {_size(part):,} bytes"
        raise InputError(f"{problem}; the next attempt continues from there; {remedy}") from error
    except requests.exceptions.RequestException as error:
        raise InputError(f"{host} cannot be reached ({_reason(error)}); are you offline? {remedy}") from error


def _append(source: Source, part: Path, progress: Progress | None) -> None:
    """Download what the part file lacks."""
    import requests

    n_bytes, headers = _size(part), {"Accept-Encoding": "identity"}
    etag = _known_etag(part, source.url)
    if n_bytes and etag:
        # The server sends the rest of the same file, or all of another one.
        headers |= {"Range": f"bytes={n_bytes}-", "If-Range": etag}
    with requests.get(source.url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        for hop in (*response.history, response):
            if not hop.url.startswith("https://"):
                raise InputError(f"{source.url} leads to {hop.url}, which is not https; refused")
        if response.status_code == 416:  # the part is complete
            return
        response.raise_for_status()
        if response.status_code != 206:
            n_bytes = 0
        length = response.headers.get("Content-Length", "")
        total = n_bytes + (int(length) if length.isascii() and length.isdigit() else 0)
        with writing(part), part.open("ab" if n_bytes else "wb") as out:
            _remember_etag(part, source.url, response.headers.get("ETag", ""))
            for chunk in _chunks(response):
                out.write(chunk)
                n_bytes += len(chunk)
                if n_bytes > source.limit:
                    raise InputError(f"{source.url} sends more than {source.limit:,} bytes; refused")
                if progress is not None:
                    progress(n_bytes, max(total, n_bytes))
    if n_bytes < total:
        raise requests.exceptions.ChunkedEncodingError(f"{n_bytes} of {total} bytes")


def _chunks(response: Any) -> Iterator[bytes]:
    """Yield bytes; a lost connection becomes the error of a download that breaks off."""
    import requests

    try:
        yield from response.iter_content(CHUNK)
    except (requests.exceptions.ConnectionError, requests.exceptions.SSLError) as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error


def _known_etag(part: Path, url: str) -> str:
    """Return the ETag of the file that the part belongs to, or ""."""
    with suppress(OSError, ValueError, AttributeError):  # AttributeError: not a dictionary
        note = json.loads(part.with_suffix(".json").read_text("utf-8"))
        return str(note.get("etag", "")) if note.get("url") == url else ""
    return ""


def _remember_etag(part: Path, url: str, etag: str) -> None:
    note = part.with_suffix(".json")
    if etag and not etag.startswith("W/"):
        note.write_text(json.dumps({"url": url, "etag": etag}), "utf-8")
    else:
        note.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    """Return the innermost of a chain of wrapped messages."""
    text, marks = str(error), ("certificate verify failed: ", "Caused by ", "Error: ")
    mark = next((mark for mark in marks if mark in text), "\0")
    return text.split(mark)[-1].strip("()' ")[:160]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_suffix(".json").unlink(missing_ok=True)
