"""The lab on this machine: a page on the loopback interface, answered by the installed cerlab.

Anyone who can open the page can run queries, so its address holds a token; requests without it, or
for another host name, are refused.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import secrets
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from socket import MSG_PEEK
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import cerlab
from cerlab.budget import limits
from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.lab import Reply, answer

PAGE = Path(__file__).parent / "page"


LARGEST = 64 * 1024 * 1024
"""Largest request, in bytes."""

PATIENCE = 10
"""Seconds that a connection may be silent inside a request."""

LONGEST = 3600
"""Longest time of one answer, in seconds."""

GONE_INTERVAL = 0.2
"""Seconds between checks whether the page still waits: "Stop" closes the connection."""


class Lab(ThreadingHTTPServer):
    """Server of the page and its answers; `url` is its address for a browser."""

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
    timeout = PATIENCE

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, directory=str(PAGE), **options)

    def do_POST(self) -> None:
        """Reply to a request of the page with JSON; other requests get an error status."""
        # the token excludes other pages of the browser; the host name excludes DNS rebinding
        is_own_host = self.headers.get("Host", "") == f"127.0.0.1:{self.server.server_port}"
        token = self.headers.get("X-Token", "").encode()
        length = self.headers.get("Content-Length", "")
        if (
            self.path != "/answer"
            or not is_own_host
            or not secrets.compare_digest(token, self.server.token.encode())
        ):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif not re.fullmatch("[0-9]{1,18}", length):
            self.send_error(HTTPStatus.LENGTH_REQUIRED)
        elif int(length) > LARGEST:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._reply(int(length))

    def _reply(self, length: int) -> None:
        try:
            content = self.rfile.read(length)
            request = json.loads(content) if len(content) == length else None
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the client broke off or never ended its request
            return
        except (ValueError, RecursionError):
            request = None
        if request is None:
            self.send_error(HTTPStatus.BAD_REQUEST, "expected JSON of the given length")
            return
        reply = json.dumps(self._answer(request)).encode()
        with suppress(ConnectionError, TimeoutError):
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

    def _answer(self, request: Any) -> Reply:
        """Return the answer; stop computing once the page has closed the connection."""
        with ThreadPoolExecutor(max_workers=1) as pool, limits(seconds=LONGEST) as limit:
            work = pool.submit(copy_context().run, answer, request)
            while not wait([work], timeout=GONE_INTERVAL).done:
                if self._is_gone():
                    limit.end()
            return work.result()

    def _is_gone(self) -> bool:
        readable, _, _ = select([self.connection], [], [], 0)
        try:
            # a closed connection is readable but has no byte; MSG_PEEK leaves a byte unread
            return bool(readable) and not self.connection.recv(1, MSG_PEEK)
        except OSError:
            return True

    def log_message(self, *_: object) -> None:
        """Log nothing: the lab prints only its address."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A published archive, and the files that the lab extracts into a folder."""

    url: str
    sha512: str
    files: tuple[str, ...]
    folder: str


ARCHIVES = (
    Archive(
        "https://registry.npmjs.org/pyodide/-/pyodide-314.0.7.tgz",
        "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
        (
            "package/pyodide.mjs",
            "package/pyodide.asm.mjs",
            "package/pyodide.asm.wasm",
            "package/pyodide-lock.json",
            "package/python_stdlib.zip",
        ),
        "pyodide",
    ),
    Archive(
        "https://registry.npmjs.org/@hpcc-js/wasm-graphviz/-/wasm-graphviz-1.29.2.tgz",
        "AkArBAZERT5OxH52/+kvCHB07cZ6ZNd9GnOvjw+S880bR88D6i27XfK6xj4dBhUDxNA2QPPMdgEcky3x4TJ3KA==",
        ("package/dist/index.js",),
        "graphviz",
    ),
)


LARK = Archive(
    "https://files.pythonhosted.org/packages/82/3d/14ce75ef66813643812f3093ab17e46d3a206942ce7376d31ec2d36229e7/lark-1.3.1-py3-none-any.whl",
    "fE0u1XB1lvICQWwNwQp1FDerFu6D/glnIHwj0Jj+vJrzgcIKr0X5zq9u1igPTli+L6sVuNYcCH88Zv//AIPvTQ==",
    ("lark/",),
    "",
)


EXCLUSIONS = ("lab/page", "spark")
"""Parts of cerlab that a browser does not need."""


def build(out: Path) -> None:
    """Write the lab's files to an empty or new folder.

    Raises `UsageError` for a folder that is not empty, `BadData` if an archive cannot be fetched or
    has another digest than expected.
    """
    if out.exists() and any(out.iterdir()):
        raise UsageError("CER0896", f"{out} is not empty", hint="use a new folder")
    shutil.copytree(PAGE, out, dirs_exist_ok=True)
    for archive in ARCHIVES:
        (out / archive.folder).mkdir()
        with tarfile.open(fileobj=io.BytesIO(fetch(archive))) as tar:
            for name in archive.files:
                member = tar.extractfile(name)
                assert member is not None
                (out / archive.folder / Path(name).name).write_bytes(member.read())
    with zipfile.ZipFile(out / "libraries.zip", "w", zipfile.ZIP_DEFLATED) as libraries:
        for name, content in _libraries():
            libraries.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _libraries() -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(fetch(LARK))) as wheel:
        for name in sorted(wheel.namelist()):
            if name.startswith(LARK.files):
                yield name, wheel.read(name)
    package = Path(cerlab.__file__).parent
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.is_file() and path.suffix != ".pyc" and not name.startswith(EXCLUSIONS):
            yield f"cerlab/{name}", path.read_bytes()


def fetch(archive: Archive) -> bytes:
    """Return the bytes of an archive; raises `BadData` if it is missing or has another digest."""
    place = DataPlace(archive.url)
    try:
        with urlopen(archive.url, timeout=60) as answer:
            content: bytes = answer.read()
    except (URLError, OSError) as error:
        raise BadData(
            "CER0796",
            f"this archive cannot be fetched: {error}",
            place=place,
            hint="building the lab needs the npm and PyPI registries; `cerlab lab` does not",
        ) from None
    digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
    if digest != archive.sha512:
        raise BadData(
            "CER0796",
            f"expected another archive; this one has the digest {digest}",
            place=place,
            hint="a proxy between this machine and the registry changes the content",
        )
    return content
