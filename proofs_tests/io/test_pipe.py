"""Standard input in pieces: its lines are those of a text file, and come as early as they can."""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from random import Random
from typing import BinaryIO

import pytest

import cerlab
from cerlab.io import read_events
from cerlab.io.pipe import standard_input
from proofs_tests.suite import Suite


class Pieces(io.RawIOBase):
    """A pipe that gives these pieces, one a read."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = list(pieces)
        self.given = 0

    def read1(self, most: int = -1) -> bytes:
        if self.given == len(self.pieces):
            return b""
        self.given += 1
        return self.pieces[self.given - 1]


class StandardInput:
    def __init__(self, buffer: BinaryIO | Pieces) -> None:
        self.buffer = buffer


def cut(rng: Random, data: bytes) -> list[bytes]:
    """Non-empty pieces, cut anywhere: in characters, between \\r and \\n."""
    cuts = sorted({rng.randrange(len(data) + 1) for _ in range(rng.randrange(6))} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(cuts)]


def test_lines_are_those_of_a_text_file(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ("a", "é", "😀", "\n", "\r", "\r\n", "\u2028", "\x0b", "\x1c", "\ufeff", "long" * 9)

    def case(rng: Random) -> bool:
        text = "".join(rng.choice(parts) for _ in range(rng.randrange(12)))
        data = text.encode()
        monkeypatch.setattr(sys, "stdin", StandardInput(Pieces(cut(rng, data))))
        expected = list(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""))
        assert list(standard_input()) == expected, repr(text)
        return bool(expected)

    suite.run(case, deep_count=20_000)


def test_what_has_arrived_is_taken_before_the_next_read(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[tuple[list[bytes], list[str]]] = [
        ([b"A()\nB(", b")\r", b"\n\nC()", b"\n"], ["", "A", "A", "AB", "ABC"]),
        ([b"A()\r", b"B", b"()", b"\rC()\r\n"], ["", "", "A", "A", "ABC"]),
        ([b"A()\nB()\n# comment\n", b"\n"], ["", "AB", "AB"]),
    ]
    for pieces, known in expected:
        monkeypatch.setattr(sys, "stdin", StandardInput(Pieces(pieces)))
        taken: list[str] = []
        before: list[str] = []

        def tell(taken: list[str] = taken, before: list[str] = before) -> None:
            before.append("".join(taken))

        for event in read_events("-", before_reading=tell):
            taken.append(event.type)
        assert before == known, pieces


def test_the_row_of_bytes_that_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for pieces in ([b"A()\nB()\nC(n=\xff)\nD()\n"], [b"A()\nB()\nC(n=", b"\xff)\n"], [b"\xff"]):
        monkeypatch.setattr(sys, "stdin", StandardInput(Pieces(pieces)))
        found: list[str] = []
        with pytest.raises(cerlab.BadData) as caught:
            found.extend(event.type for event in read_events("-", format="core"))
        row = 1 if pieces == [b"\xff"] else 3
        assert caught.value.code == "CER0745"
        assert caught.value.place == cerlab.errors.DataPlace("standard input", row)
        assert found == ["A", "B"][: row - 1]


def test_a_character_that_is_cut_off_by_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StandardInput(Pieces([b"A()\n", "é".encode()[:1]])))
    with pytest.raises(cerlab.BadData) as caught:
        list(read_events("-"))
    assert caught.value.place == cerlab.errors.DataPlace("standard input", 2)


def test_an_input_without_bytes_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("A()\nB()\n"))
    told: list[int] = []
    events = list(read_events("-", before_reading=lambda: told.append(1)))
    assert [event.type for event in events] == ["A", "B"]
    assert len(told) == 3
