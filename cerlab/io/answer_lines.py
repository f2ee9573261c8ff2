"""Answers as lines of NDJSON, written from their arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cerlab.engine.kernels.arrays import Bytes, Int64s, Offsets
from cerlab.engine.kernels.compiled import kernel

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch

_START, _END, _POSITIONS, _COMMA, _CLOSE = (
    tuple(text) for text in (b'{"start": ', b', "end": ', b', "positions": [', b", ", b"]}\n")
)
_AROUND = sum(map(len, (_START, _END, _POSITIONS, _CLOSE)))
_ZERO = ord("0")


def answer_lines(answers: AnswerBatch) -> str:
    """A line for each answer: ``{"start": 0, "end": 4, "positions": [0, 2, 4]}``."""
    if not len(answers):
        return ""
    begin, end = int(answers.offsets[0]), int(answers.offsets[-1])
    width = len(str(int(answers.end.max())))
    room = len(answers) * (_AROUND + 2 * width) + (end - begin) * (width + len(_COMMA))
    out = np.empty(room, np.uint8)
    length = write_lines(answers.start, answers.end, answers.offsets, answers.positions, out)
    return out[:length].tobytes().decode("ascii")


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
