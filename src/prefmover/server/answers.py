"""Bodies of responses as they are kept in memory: with an ETag, compressed unless they are small."""

from __future__ import annotations

import gzip
import hashlib
from typing import NamedTuple

from fastapi import Request, Response

JSON, PRIVATE = "application/json", "private, no-cache"
SMALLEST_ZIPPED = 1024
ZIP_LEVEL = 5


class Answer(NamedTuple):
    """The body of a response: an answer of the API, or a file of the pages."""

    content: bytes
    zipped: bool
    etag: str
    media_type: str = JSON
    cache_control: str = PRIVATE

    @classmethod
    def of(cls, body: bytes, media_type: str = JSON, cache_control: str = PRIVATE) -> Answer:
        """Return the answer with a body. Its ETag is weak: the same with and without compression."""
        etag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        zipped = len(body) >= SMALLEST_ZIPPED
        content = gzip.compress(body, ZIP_LEVEL, mtime=0) if zipped else body
        return cls(content, zipped, etag, media_type, cache_control)

    @property
    def body(self) -> bytes:
        """The body without compression."""
        return gzip.decompress(self.content) if self.zipped else self.content

    async def response(self, request: Request) -> Response:
        """Return the response to a request: compressed if the client takes that, empty if it has this."""
        headers = {"Vary": "Accept-Encoding"}
        if request.method == "GET":  # the answer to a POST depends on its body
            headers |= {"ETag": self.etag, "Cache-Control": self.cache_control}
            if _is_current(request.headers.get("if-none-match"), self.etag):
                return Response(status_code=304, headers=headers)
        if self.zipped and _accepts_gzip(request.headers.get("accept-encoding")):
            headers["Content-Encoding"] = "gzip"
            return Response(self.content, headers=headers, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)


def _is_current(if_none_match: str | None, etag: str) -> bool:
    """Return whether a client has the content with an ETag.

    >>> _is_current('"a", W/"b"', 'W/"b"'), _is_current("*", 'W/"b"'), _is_current(None, 'W/"b"')
    (True, True, False)
    """
    tags = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag.removeprefix("W/") in tags or tags == ["*"]


def _accepts_gzip(accept_encoding: str | None) -> bool:
    """Return whether a client takes gzip.

    >>> _accepts_gzip("br, gzip;q=0.8"), _accepts_gzip("gzip;q=0"), _accepts_gzip(None)
    (True, False, False)
    """
    for part in (accept_encoding or "").lower().split(","):
        name, _, quality = part.replace(" ", "").partition(";q=")
        if name in ("gzip", "*"):
            return quality.strip("0.") != "" if quality else True
    return False
