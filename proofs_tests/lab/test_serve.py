"""The lab's server gives its page, and answers to those who have its address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from cerlab.lab.serve import Lab

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
