"""The lab on this machine: a page on the loopback interface with cerlab as installed behind it.

Whoever can open the page can run queries, so its address holds a token; requests without it, or for
another host's name, are refused.
"""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cerlab.lab.answers import answer

PAGE = Path(__file__).parent / "page"
LARGEST = 64 * 1024 * 1024
"""The largest request, in bytes."""


class Lab(ThreadingHTTPServer):
    """A server of the page and of its answers; `url` is where a browser finds it."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(16)

    @property
    def url(self) -> str:
        """The address of the page, with the token that its requests need."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


class _Handler(SimpleHTTPRequestHandler):
    server: Lab

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, directory=str(PAGE), **options)

    def do_POST(self) -> None:
        """A request of the page: JSON in, JSON out."""
        length = int(self.headers.get("Content-Length") or 0)
        is_own_host = self.headers.get("Host", "") == f"127.0.0.1:{self.server.server_port}"
        token = self.headers.get("X-Token", "")
        if (
            self.path != "/answer"
            or not is_own_host
            or not secrets.compare_digest(token, self.server.token)
        ):
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if length > LARGEST:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        reply = json.dumps(answer(json.loads(self.rfile.read(length)))).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
