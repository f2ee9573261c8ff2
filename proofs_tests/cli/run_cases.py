"""Random queries for the command line, and its standard input and output as tests see them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from random import Random

from cerlab import ComplexEvent
from cerlab.testing import Shape, as_dict
from proofs_tests.random_cases import Case, random_case

SHAPE = Shape(depth=2, events=8, family=True)


def answers_of_lines(text: str) -> list[ComplexEvent]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [ComplexEvent(row["start"], row["end"], tuple(row["positions"])) for row in rows]


def compilable(rng: Random) -> Case:
    while (case := random_case(rng, SHAPE)).query.machine_kind != "automaton":
        pass
    return case


def ndjson_lines(case: Case) -> list[str]:
    return [json.dumps(as_dict(event)) + "\n" for event in case.stream]


class Pieces:
    """Standard input that gives one piece a read, and tells that the next one is asked for."""

    def __init__(self, pieces: list[bytes], on_read: Callable[[int], None]) -> None:
        self.pieces = pieces
        self.on_read = on_read
        self.reads = 0
        self.buffer = self

    def read1(self, most: int) -> bytes:
        self.on_read(self.reads)
        self.reads += 1
        return self.pieces[self.reads - 1] if self.reads <= len(self.pieces) else b""


class Lines(io.StringIO):
    """Standard output of which only flushed text can be seen."""

    flushed = ""

    def flush(self) -> None:
        self.flushed = self.getvalue()
