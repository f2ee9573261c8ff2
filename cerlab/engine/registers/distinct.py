"""Answers of runs that may coincide: each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cerlab.engine.answers import AnswerBatch
from cerlab.errors import ResourceLimit

MAX_ANSWERS = 1_000_000
"""The answers of one end that are kept to give each once."""


def distinct(batches: Iterable[AnswerBatch]) -> Iterator[AnswerBatch]:
    """The answers without those that came before; `batches` are by end, one end maybe over several.

    Keeps the answers of one end; raises `ResourceLimit` if there are more than `MAX_ANSWERS`.
    """
    end, answers = -1, set[tuple[int, bytes]]()
    for batch in batches:
        starts, ends, offsets = batch.start.tolist(), batch.end.tolist(), batch.offsets.tolist()
        indices = []
        for n in range(len(batch)):
            if ends[n] != end:
                end, answers = ends[n], set()
            answer = (starts[n], batch.positions[offsets[n] : offsets[n + 1]].tobytes())
            if answer not in answers:
                answers.add(answer)
                indices.append(n)
        if len(answers) > MAX_ANSWERS:
            raise ResourceLimit(
                "CER0688",
                f"more than {MAX_ANSWERS:,} answers end at event {end}, and runs may share them",
                hint="use a window, or LIMIT",
            )
        yield batch.take(np.array(indices, np.int64))
