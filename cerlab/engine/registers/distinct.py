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
    end, seen = -1, set[tuple[int, bytes]]()
    for batch in batches:
        starts, ends, offsets = batch.start.tolist(), batch.end.tolist(), batch.offsets.tolist()
        kept = []
        for n in range(len(batch)):
            if ends[n] != end:
                end, seen = ends[n], set()
            answer = (starts[n], batch.positions[offsets[n] : offsets[n + 1]].tobytes())
            if answer not in seen:
                seen.add(answer)
                kept.append(n)
        if len(seen) > MAX_ANSWERS:
            raise ResourceLimit(
                "CER0686",
                f"more than {MAX_ANSWERS:,} answers end at event {end}, and runs may share them",
                hint="use a window, or LIMIT",
            )
        yield _chosen(batch, np.array(kept, np.int64))


def _chosen(batch: AnswerBatch, kept: np.ndarray) -> AnswerBatch:
    """The answers with these numbers."""
    lengths = np.diff(batch.offsets)[kept]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    positions = batch.positions[np.repeat(batch.offsets[:-1][kept], lengths) + inside]
    return AnswerBatch(batch.start[kept], batch.end[kept], offsets, positions)
