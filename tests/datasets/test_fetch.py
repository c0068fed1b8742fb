"""``data get`` from a local https server: good, wrong hash, broken off, expired certificate, offline."""

import datetime
import http.server
import ssl
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from prefmover import datasets
from prefmover.datasets import SOURCES, install
from prefmover.datasets import fetch as download
from prefmover.datasets.install import digest_of
from prefmover.errors import InputError
from tests.messages import names


class Publisher:
    """An https server with one archive, which misbehaves on request."""

    def __init__(self, data: bytes, authority: trustme.CA, **certificate) -> None:
        self.data, self.etag = data, '"one"'
        self.cut_at: int | None = None
        self.status = 200
        self.redirect = ""
        self.ranges: list[str | None] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requested = self.headers.get("Range")
                outer.ranges.append(requested)
                if outer.redirect:
                    self.send_response(302)
                    self.send_header("Location", outer.redirect)
                    self.end_headers()
                    return
                if outer.status != 200:
                    self.send_error(outer.status)
                    return
                start = 0
                if requested and self.headers.get("If-Range") == outer.etag:
                    start = int(requested.removeprefix("bytes=").removesuffix("-"))
                body = outer.data[start:]
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", outer.etag)
                self.end_headers()
                if outer.cut_at is not None:
                    body = body[: outer.cut_at]
                self.wfile.write(body)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost", **certificate).configure_cert(context)
        self.server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.handle_error = lambda *_: None  # a client that hangs up is what is tested
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server.server_address[1]}/ml-1m.zip"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def archive(made_up) -> bytes:
    return made_up.zip("ml-1m").read_bytes()


@pytest.fixture
def publish(archive, own_folders, authority, monkeypatch):
    """Serve the made-up archive as ml-1m; with its hash unless another is passed."""
    pem = own_folders / "authority.pem"
    authority.cert_pem.write_to_path(pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(pem))
    (own_folders / "whole.zip").write_bytes(archive)
    right = "md5:" + digest_of(own_folders / "whole.zip", "md5")
    running = []

    def start(digest: str | None = None, data: bytes = archive, **certificate) -> Publisher:
        publisher = Publisher(data, authority, **certificate)
        running.append(publisher)
        known = replace(SOURCES["ml-1m"], url=publisher.url, digest=right if digest is None else digest)
        monkeypatch.setitem(SOURCES, "ml-1m", known)
        return publisher

    yield start
    for publisher in running:
        publisher.close()


def leftovers(folder: Path) -> list[str]:
    files = [p for part in ("data", "cache") for p in (folder / part).rglob("*")]
    return [str(p.relative_to(folder)) for p in files if p.suffix != ".lock"]


def test_good(publish, own_folders, archive):
    publish()
    steps = []
    done = install.get("ml-1m", progress=lambda done, total: steps.append((done, total)))
    assert done.verified == "hash"
    assert steps[-1] == (len(archive), len(archive))
    assert datasets.load("ml-1m").ratings.n_ratings == 7
    assert leftovers(own_folders / "cache") == []
    assert not list((own_folders / "cache").rglob("*.part"))
    # It is installed: nothing is downloaded again, unless forced.
    assert install.get("ml-1m").origin == "already here"
    assert install.get("ml-1m", force=True).verified == "hash"


def test_without_a_known_hash_it_is_verified_by_contents_and_the_hash_recorded(publish, own_folders):
    publish(digest="")
    done = install.get("ml-1m")
    assert done.verified == "contents"
    assert done.sha256 == digest_of(own_folders / "whole.zip")


def test_a_wrong_hash(publish, own_folders):
    publish(digest="md5:" + "0" * 32)
    with pytest.raises(InputError, match=names("ml-1m", "data add ml-1m --from")):
        install.get("ml-1m")
    assert [p for p in leftovers(own_folders) if "." in p] == []


def test_broken_off_and_resumed(publish, own_folders, monkeypatch):
    monkeypatch.setattr(download, "CHUNK", 10)  # the archive has some 400 bytes
    publisher = publish()
    publisher.cut_at = 200
    with pytest.raises(InputError, match=names(200)):
        install.get("ml-1m")
    assert not (own_folders / "data" / "ml-1m").exists()
    publisher.cut_at = 100
    with pytest.raises(InputError, match=names(300)):
        install.get("ml-1m")
    publisher.cut_at = None
    assert install.get("ml-1m").verified == "hash"
    assert publisher.ranges == [None, "bytes=200-", "bytes=300-"]


def test_broken_off_and_another_file_there_since(publish, monkeypatch):
    monkeypatch.setattr(download, "CHUNK", 10)
    publisher = publish()
    publisher.cut_at = 200
    with pytest.raises(InputError):
        install.get("ml-1m")
    publisher.cut_at, publisher.etag = None, '"two"'
    assert install.get("ml-1m").verified == "hash"
    assert publisher.ranges == [None, "bytes=200-"]  # sent whole, and not glued to the old part


def test_an_expired_certificate(publish, own_folders):
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
    publish(not_before=past - datetime.timedelta(days=30), not_after=past)
    with pytest.raises(InputError, match=names("localhost", "data add ml-1m")):
        install.get("ml-1m")
    assert not (own_folders / "data" / "ml-1m").exists()


def test_a_certificate_of_nobody_knows_whom(publish, monkeypatch):
    publish()
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(InputError, match=names("data add ml-1m --from")):
        install.get("ml-1m")


def test_offline(publish):
    publish().close()
    with pytest.raises(InputError, match=names("localhost")):
        install.get("ml-1m")


def test_an_error_of_the_server(publish):
    publish().status = 503
    with pytest.raises(InputError, match=names(503)):
        install.get("ml-1m")


def test_never_plain_http(publish, made_up, monkeypatch):
    plain = http.server.ThreadingHTTPServer(("localhost", 0), _Hello)
    thread = threading.Thread(target=plain.serve_forever, args=(0.05,))
    thread.start()
    try:
        publisher = publish()
        publisher.redirect = f"http://localhost:{plain.server_address[1]}/ml-1m.zip"
        with pytest.raises(InputError, match=names("https")):
            install.get("ml-1m")
    finally:
        plain.shutdown()
        thread.join()
        plain.server_close()
    monkeypatch.setitem(SOURCES, "ml-1m", replace(SOURCES["ml-1m"], url="http://localhost/ml-1m.zip"))
    with pytest.raises(InputError):
        install.get("ml-1m")


class _Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_good_archive_that_is_not_the_data_set(publish, own_folders, made_up):
    other = made_up.zip("ml-100k").read_bytes()
    publish(digest="", data=other)
    with pytest.raises(InputError, match=names("ratings.dat", "movies.dat")):
        install.get("ml-1m")
    assert [p for p in leftovers(own_folders) if "." in p] == []


def test_what_cannot_be_downloaded(own_folders):
    with pytest.raises(InputError, match=names("movie-tags")):
        install.get("movie-tags")
    with pytest.raises(InputError, match=names("synthetic")):
        install.get("synthetic")
