"""Streams read by batches of columns, and batches with an event that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any, Protocol, TypeAlias, TypeVar

from cerlab.budget import poll
from cerlab.engine.columns import slice_columns
from cerlab.errors import BadData
from cerlab.model.stream import Stream

Columns: TypeAlias = Mapping[str, Any]
"""Attributes of consecutive events: lists of values or Arrow arrays, all of one length."""

Batch = TypeVar("Batch")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

BATCH = 1 << 20
"""How many events of a whole stream are read at once."""

PACE = 1 << 14
"""How many of them a kernel reads in its first call."""

CAREFUL_PACE = 1 << 8
"""The same for work that may grow with the square of what is read."""

SECONDS_OF_PACE = 0.3
"""How long a call of a kernel may take before the next ones read less; after an eighth, more."""


class Evaluation(Protocol[Result_co]):
    """A plan on one stream, batch by batch."""

    def push(self, columns: Columns, length: int) -> Iterator[Result_co]:
        """Read `length` more events: what they complete, to be exhausted before the next call.

        Where a batch has an event that cannot be read, what the events before it complete comes
        first, and then `BadData`; neither that event nor those after it are read.
        """

    def finish(self) -> Iterator[Result_co]:
        """The results that were held back."""


def whole(evaluation: Evaluation[Result], stream: Stream) -> Iterator[Result]:
    """What an evaluation gives on a whole stream."""
    columns, length = stream.columns, len(stream)
    for start in range(0, length, BATCH):
        poll()
        size = min(BATCH, length - start)
        yield from evaluation.push(slice_columns(columns, start, size), size)
    yield from evaluation.finish()


def paces(length: int, *, careful: bool = False) -> Iterator[slice]:
    """Slices of so many events that a kernel reads at once: each takes a part of a second.

    Between them interrupts and limits are seen, which a kernel does not look at. To be `careful`
    where an event may meet all that was read before.
    """
    start, size = 0, CAREFUL_PACE if careful else PACE
    while start < length:
        poll()
        before = monotonic()
        yield slice(start, start + size)
        start += size
        took = monotonic() - before
        if took < SECONDS_OF_PACE / 8:
            size *= 4
        elif took > SECONDS_OF_PACE:
            size = max(1, size // 4)


def until_bad(
    read: Callable[[Batch, int], Iterator[Result]],
    batch: Batch,
    length: int,
    cut: Callable[[Batch, int, int], Batch],
) -> Iterator[Result]:
    """What `read` gives for some events; if one is bad for all before it, and then the error.

    ``cut(batch, start, size)`` are `size` of the events from `start` on.

    A `read` that raises `BadData` at once has read nothing. The bad event is found by halving, so
    each event is read a few times at most.
    """
    try:
        results = read(batch, length)
    except BadData:
        if length <= 1:
            raise
    else:
        yield from results
        return
    half = length // 2
    rest = length - half
    yield from until_bad(read, cut(batch, 0, half), half, cut)
    yield from until_bad(read, cut(batch, half, rest), rest, cut)
