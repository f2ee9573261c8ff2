"""The lab's server gives its page, and answers to those who have its address."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from threading import Event, Semaphore, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from cerlab import ResourceLimit
from cerlab.budget import poll
from cerlab.lab import serve
from cerlab.lab.serve import Lab

PATIENCE = 600
"""Seconds after which a server that does not answer fails the test."""

LOOKS = 3
"""Times that the server looks whether the page still waits while it does."""

QUESTION = json.dumps({"panel": "answers", "query": "A ; B", "events": "A B"}).encode()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A lab that serves for as long as the test runs."""
    with Lab() as lab:
        Thread(target=lab.serve_forever, daemon=True).start()
        yield lab
        lab.shutdown()


def test_the_page_is_there(lab: Lab) -> None:
    with urlopen(lab.url) as reply:
        assert b"lab.js" in reply.read()


def test_it_answers_whoever_has_the_token(lab: Lab) -> None:
    headers = {"X-Token": lab.token}
    with urlopen(Request(f"http://127.0.0.1:{lab.server_port}/answer", QUESTION, headers)) as reply:
        assert json.load(reply)["answers"] == [[0, 1, [0, 1]]]


@pytest.mark.parametrize(
    "headers", [{}, {"X-Token": "guess"}, {"X-Token": "right", "Host": "evil.example"}]
)
def test_others_are_refused(lab: Lab, headers: dict[str, str]) -> None:
    own_headers = {
        name: lab.token if value == "right" else value for name, value in headers.items()
    }
    request = Request(f"http://127.0.0.1:{lab.server_port}/answer", QUESTION, own_headers)
    with pytest.raises(HTTPError) as response:
        urlopen(request)
    with response.value:
        assert response.value.code == 403


def test_nothing_beside_the_page_is_given(lab: Lab) -> None:
    with pytest.raises(HTTPError) as response:
        urlopen(f"http://127.0.0.1:{lab.server_port}/../answers.py")
    with response.value:
        assert response.value.code == 404


def _exchange(lab: Lab, headers: str, body: bytes = b"") -> bytes:
    """Return the server's reply to a request that is written by hand."""
    with socket.create_connection(("127.0.0.1", lab.server_port), timeout=PATIENCE) as connection:
        host = f"Host: 127.0.0.1:{lab.server_port}\r\nX-Token: {lab.token}\r\n"
        connection.sendall(f"POST /answer HTTP/1.0\r\n{host}{headers}\r\n".encode() + body)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ("Content-Length: x\r\n", b"", 411),
        ("Content-Length: -5\r\n", b"", 411),
        ("Content-Length: 999999999999\r\n", b"", 413),
        ("", b"{}", 411),
        ("Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", 411),
        ("Content-Length: 3\r\n", b"{{{", 400),
        ("Content-Length: 2\r\n", b"\xff\xfe", 400),
        ("Content-Length: 4\r\n", b"null", 400),
        ("Content-Length: 200000\r\n", b"[" * 200_000, 400),
        ("Content-Length: 2\r\n", b"{}", 200),
        ("Content-Length: 2\r\n", b"[]", 200),
    ],
)
def test_a_request_that_is_none_gets_a_status_and_no_traceback(
    lab: Lab, headers: str, body: bytes, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    reply = _exchange(lab, headers, body)
    assert reply.startswith(f"HTTP/1.0 {status} ".encode())
    assert capfd.readouterr().err == ""


def test_a_request_that_never_ends_is_dropped(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The timeout runs from the headers on: they may be late on a busy machine."""
    timeouts: list[float | None] = []
    do_POST = serve._Handler.do_POST

    def post(handler: Any) -> None:
        timeouts.append(handler.connection.gettimeout())
        handler.connection.settimeout(0.01)
        do_POST(handler)

    monkeypatch.setattr(serve._Handler, "do_POST", post)
    assert _exchange(lab, "Content-Length: 100\r\n", b"{") == b""
    assert timeouts == [serve.PATIENCE]
    assert capfd.readouterr().err == ""


def test_an_answer_that_nobody_waits_for_is_stopped(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, looks = Event(), Semaphore(0)
    is_gone = serve._Handler._is_gone

    def look(handler: Any) -> bool:
        looks.release()
        return is_gone(handler)

    def endless(request: object) -> dict[str, object]:
        try:
            while True:
                poll()
        except ResourceLimit:
            stopped.set()
            return {}

    monkeypatch.setattr(serve, "answer", endless)
    monkeypatch.setattr(serve, "GONE_INTERVAL", 0.01)
    monkeypatch.setattr(serve._Handler, "_is_gone", look)
    with socket.create_connection(("127.0.0.1", lab.server_port)) as connection:
        host = f"Host: 127.0.0.1:{lab.server_port}\r\nX-Token: {lab.token}\r\n"
        head = f"POST /answer HTTP/1.0\r\n{host}Content-Length: 2\r\n\r\n"
        connection.sendall(head.encode() + b"{}")
        assert all(looks.acquire(timeout=PATIENCE) for _ in range(LOOKS))
        assert not stopped.is_set()
    assert stopped.wait(PATIENCE)
