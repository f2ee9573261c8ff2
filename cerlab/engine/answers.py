"""Answers in bulk: flat arrays, complex events only when iterated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerlab.engine.kernels.arrays import Answers
from cerlab.model.answer import ComplexEvent


@dataclass(frozen=True, slots=True)
class AnswerBatch:
    """Complex events as flat arrays: number n is ``positions[offsets[n]:offsets[n + 1]]``.

    `start`, `end`: int64 (answers,). `offsets`: int64 (answers + 1,). `positions`: int64.
    """

    start: Any
    end: Any
    offsets: Any
    positions: Any

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[ComplexEvent]:
        starts, ends = self.start.tolist(), self.end.tolist()
        offsets, positions = self.offsets.tolist(), self.positions.tolist()
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            yield ComplexEvent(start, end, tuple(positions[offsets[n] : offsets[n + 1]]))


def buffer(answers: int, positions: int) -> Answers:
    """Room for so many answers, and for so many positions in all of them."""
    offsets = np.empty(answers + 1, np.int64)
    offsets[0] = 0
    return Answers(
        np.empty(answers, np.int64),
        np.empty(answers, np.int64),
        offsets,
        np.empty(positions, np.int64),
    )


class Buffer:
    """What kernels write answers into; a full one is handed over as it is, and replaced."""

    def __init__(self, answers: int) -> None:
        self.arrays = buffer(answers, 8 * answers)

    def taken(self, listed: int, taken: int) -> AnswerBatch:
        """The answers that are in it. It is empty afterwards."""
        start, end, offsets, positions = self.arrays
        made = AnswerBatch(start[:listed], end[:listed], offsets[: listed + 1], positions[:taken])
        self.arrays = buffer(len(start), len(positions))
        return made

    def longer(self) -> None:
        """Room for more positions, when not even one answer fits."""
        self.arrays = buffer(len(self.arrays.start), 2 * len(self.arrays.positions))
