"""Answers as lines of NDJSON, written from their arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cerlab.engine.kernels.arrays import Bytes, Int64s, Offsets, kernel

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch

_START, _END, _POSITIONS, _COMMA, _CLOSE = (
    tuple(text) for text in (b'{"start": ', b', "end": ', b', "positions": [', b", ", b"]}\n")
)
_AROUND = sum(map(len, (_START, _END, _POSITIONS, _CLOSE)))
_ZERO = ord("0")

SOME_LINES = 1 << 15
"""So many lines are written at once, into memory near by."""


def answer_lines(answers: AnswerBatch) -> Iterator[str]:
    """A line for each answer: ``{"start": 0, "end": 4, "positions": [0, 2, 4]}``; some at once."""
    for n in range(0, len(answers), SOME_LINES):
        start, end = answers.start[n : n + SOME_LINES], answers.end[n : n + SOME_LINES]
        offsets = answers.offsets[n : n + SOME_LINES + 1]
        width = len(str(int(end.max())))
        numbers = int(offsets[-1]) - int(offsets[0])
        room = len(start) * (_AROUND + 2 * width) + numbers * (width + len(_COMMA))
        out = np.empty(room, np.uint8)
        length = write_lines(start, end, offsets, answers.positions, out)
        yield out[:length].tobytes().decode("ascii")


@kernel
def write_lines(start: Int64s, end: Int64s, offsets: Offsets, positions: Int64s, out: Bytes) -> int:
    """Write the lines of some answers into `out`; returns how many bytes they have.

    No number of an answer is negative, or larger than its end.
    """
    at = 0
    for n in range(start.shape[0]):
        at = _number(out, _text(out, at, _START), start[n])
        at = _number(out, _text(out, at, _END), end[n])
        at = _text(out, at, _POSITIONS)
        for i in range(offsets[n], offsets[n + 1]):
            if i > offsets[n]:
                at = _text(out, at, _COMMA)
            at = _number(out, at, positions[i])
        at = _text(out, at, _CLOSE)
    return at


@kernel
def _text(out: Bytes, at: int, text: tuple[int, ...]) -> int:
    for i in range(len(text)):
        out[at + i] = text[i]
    return at + len(text)


@kernel
def _number(out: Bytes, at: int, value: int) -> int:
    digits, rest = 1, value // 10
    while rest:
        digits += 1
        rest //= 10
    for i in range(digits):
        out[at + digits - 1 - i] = _ZERO + value % 10
        value //= 10
    return at + digits
