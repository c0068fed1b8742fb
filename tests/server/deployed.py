"""The recipes in ``deploy/``, as far as they run without a daemon: nginx in front of a service."""

import contextlib
import os
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tools.programs import MISSING_NGINX, find_nginx

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "films.example.org"
HTTP = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/prefmover.conf;
}}
"""


def free_port():
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@contextlib.contextmanager
def nginx(port, folder):
    """Run the recipe in front of a service at a port; yields the address, and a file with the authority."""
    trustme = pytest.importorskip("trustme")
    program = find_nginx()
    if program is None:
        pytest.skip(MISSING_NGINX)
    authority = trustme.CA()
    certificate = authority.issue_cert(NAME, "127.0.0.1")
    authority.cert_pem.write_to_path(folder / "authority.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    own = free_port()
    recipe = (DEPLOY / "nginx.conf").read_text()
    for pattern, put in {
        r"server 127\.0\.0\.1:8000;": f"server 127.0.0.1:{port};",
        r"listen 443 ssl;": f"listen 127.0.0.1:{own} ssl;",
        r"/etc/ssl/\S+\.pem;": f"{folder}/cert.pem;",
        r"/etc/ssl/\S+\.key;": f"{folder}/key.pem;",
    }.items():
        recipe, n = re.subn(pattern, put, recipe)
        assert n == 1, f"the recipe lacks {pattern}"
    (folder / "prefmover.conf").write_text(recipe)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(HTTP.format(folder=folder, user=user))
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen([*command, "-g", "daemon off;"])
    try:
        for _ in range(500):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", own), 1).close()
                break
            time.sleep(0.02)
        yield f"https://127.0.0.1:{own}", folder / "authority.pem"
    finally:
        process.terminate()
        process.wait(30)
