"""Standard input in pieces: its lines are those of a text file, and come as early as they can."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import BinaryIO

import pytest

import cerlab
from cerlab.io import Source, batches, read
from cerlab.io.text_reader import Blocks
from proofs_tests.suite import Suite, random_suite


class Pieces(io.RawIOBase):
    """A pipe that gives these pieces, one a read."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = list(pieces)
        self.count = 0

    def read1(self, most: int = -1) -> bytes:
        if self.count == len(self.pieces):
            return b""
        self.count += 1
        return self.pieces[self.count - 1]


class StandardInput:
    def __init__(self, buffer: BinaryIO | Pieces) -> None:
        self.buffer = buffer


def cut(rng: Random, data: bytes) -> list[bytes]:
    """Non-empty pieces, cut anywhere: in characters, between \\r and \\n."""
    cuts = sorted({rng.randrange(len(data) + 1) for _ in range(rng.randrange(6))} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(cuts)]


@random_suite(20_000)
def test_lines_are_those_of_a_text_file(rng: Random) -> bool:
    parts = ("a", "é", "😀", "\n", "\r", "\r\n", "\u2028", "\x0b", "\x1c", "\ufeff", "long" * 9)
    text = "".join(rng.choice(parts) for _ in range(rng.randrange(12)))
    data = text.encode()
    blocks = Blocks(Pieces(cut(rng, data)).read1)
    lines: list[str] = []
    while (block := blocks.next()) is not None:
        lines += io.StringIO(block.decode(), newline="")
    expected = list(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""))
    assert lines == expected, repr(text)
    return bool(expected)


def test_what_has_arrived_is_taken_before_the_next_read(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[tuple[list[bytes], list[str]]] = [
        ([b"A()\nB(", b")\r", b"\n\nC()", b"\n"], ["", "A", "A", "AB", "ABC"]),
        ([b"A()\r", b"B", b"()", b"\rC()\r\n"], ["", "", "A", "A", "ABC"]),
        ([b"A()\nB()\n# comment\n", b"\n"], ["", "AB", "AB"]),
    ]
    for pieces, texts in expected:
        monkeypatch.setattr(sys, "stdin", StandardInput(Pieces(pieces)))
        types: list[str] = []
        before: list[str] = []

        def tell(types: list[str] = types, before: list[str] = before) -> None:
            before.append("".join(types))

        for batch in batches("-", before_reading=tell):
            types.extend(event.type for event in batch)
        assert before == texts, pieces


def test_many_events_arrive_as_columns_and_few_as_events(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [b"A(v=1)\n" * 1000, b"A(v=2)\n" * 3]
    monkeypatch.setattr(sys, "stdin", StandardInput(Pieces(pieces)))
    parts = [*batches("-")]
    assert [(len(part), part.is_columnar) for part in parts] == [(1000, True), (3, False)]


def test_the_row_of_bytes_that_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for pieces in ([b"A()\nB()\nC(n=\xff)\nD()\n"], [b"A()\nB()\nC(n=", b"\xff)\n"], [b"\xff"]):
        monkeypatch.setattr(sys, "stdin", StandardInput(Pieces(pieces)))
        types: list[str] = []
        with pytest.raises(cerlab.BadData) as caught:
            types.extend(e.type for some in batches("-", format="core") for e in some)
        row = 1 if pieces == [b"\xff"] else 3
        assert caught.value.code == "CER0745"
        assert caught.value.place == cerlab.errors.DataPlace("standard input", row)
        assert types == ["A", "B"][: row - 1]


def test_a_character_that_is_cut_off_by_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StandardInput(Pieces([b"A()\n", "é".encode()[:1]])))
    with pytest.raises(cerlab.BadData) as caught:
        list(batches("-"))
    assert caught.value.place == cerlab.errors.DataPlace("standard input", 2)


def test_an_input_without_bytes_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("A()\nB()\n"))
    calls: list[int] = []
    types = [e.type for some in batches("-", before_reading=lambda: calls.append(1)) for e in some]
    assert types == ["A", "B"]
    assert len(calls) == 3


WAYS = ("", "--evaluator compiled", "--sort --time v:s")


@pytest.mark.parametrize(
    ("name", "way"), [("-", 0), ("/dev/stdin", 1), ("<(cat e.core)", 2), ("fifo", 1)]
)
def test_what_is_read_once_is_read_as_it_comes(
    tmp_path: Path, name: str, way: int, suite: Suite
) -> None:
    """In one way each; the deep profile reads each name in all ways."""
    ways = WAYS if suite.deep else WAYS[way : way + 1]
    (tmp_path / "e.core").write_text("A(v=1)\nB(v=2)\n")
    os.mkfifo(tmp_path / "fifo")
    feed = "cat e.core > fifo &" if name == "fifo" else ""
    runs = "".join(
        f"{feed} cat e.core | {sys.executable} -m cerlab run 'A ; B' {name} {options};"
        for options in ways
    )
    process = subprocess.run(["bash", "-c", runs], cwd=tmp_path, capture_output=True, check=False)
    assert process.stderr == b""
    assert process.stdout.splitlines() == len(ways) * [
        b'{"start": 0, "end": 1, "positions": [0, 1]}'
    ]


def test_a_query_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "e.core").write_text("A(v=1)\nB(v=2)\n")
    command = f"{sys.executable} -m cerlab run <(echo 'SELECT * WHERE A ; B') e.core"
    process = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False
    )
    assert process.stdout == b'{"start": 0, "end": 1, "positions": [0, 1]}\n', process.stderr


def test_a_fifo_from_python(tmp_path: Path) -> None:
    def read(text: bytes, how: Callable[[Path], object]) -> object:
        fifo = tmp_path / "fifo"
        fifo.unlink(missing_ok=True)
        os.mkfifo(fifo)
        writer = threading.Thread(target=lambda: fifo.write_bytes(text))
        writer.start()
        try:
            return how(fifo)
        finally:
            writer.join()

    text = b"type,v\nA,1\nB,2\n"
    assert read(text, lambda p: len(cerlab.Stream.read(p))) == 2
    assert read(text, lambda p: [len(batch) for batch in cerlab.io.batches(p, size=1)]) == [1, 1]
    assert read(text, lambda p: len(cerlab.evaluate("A ; B", p))) == 1
    clause = "MATCH_RECOGNIZE (MEASURES LAST(A.v) AS m PATTERN (A) DEFINE A AS v > 1)"
    assert read(text, lambda p: cerlab.match_recognize(clause, p).num_rows) == 1
    with pytest.raises(cerlab.BadData, match="fifo, row 2"):
        read(b"type,v\nA\n", cerlab.Stream.read)
    with pytest.raises(cerlab.BadData, match="empty"):
        read(b"", cerlab.Stream.read)
    with pytest.raises(cerlab.BadData, match="empty"):
        cerlab.Stream.read("/dev/null")


def test_a_name_that_no_file_can_have_is_no_file() -> None:
    for name in ("a" * 300, "a\0b", "no/such/file"):
        with pytest.raises(cerlab.BadData, match="no such file"):
            cerlab.Stream.read(name)


def test_a_source_keeps_the_bytes_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A(v=1)\nB(v=2)\n")))
    source = Source("-")
    assert [len(read(source)) for _ in range(2)] == [2, 2]
