"""Batches of answers: growing arrays, output buffers of kernels, and the order of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerlab import budget
from cerlab.budget import poll
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Answers, Int64s, Offsets
from cerlab.errors import BadData
from cerlab.model.answer import ComplexEvent, by_end, complex_events, without_collection
from cerlab.model.arrays import allocate, numbers_of, order_of
from cerlab.model.columns import array_of, is_arrow, take_columns, values_of
from cerlab.model.stream import PART, Stream

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def double_room(arrays: Arrays) -> Arrays:
    """Return a named tuple of arrays with the same contents and twice the length.

    Raises `ResourceLimit` if the caller's memory limit does not allow it.
    """
    # check before allocating: afterwards a memory limit would be noticed too late
    poll(sum(array.nbytes for array in arrays))
    larger = (np.concatenate((array, np.zeros_like(array))) for array in arrays)
    return type(arrays)(*larger)


def join_arrays(first: Arrays, second: Arrays) -> Arrays:
    """Return the arrays of two named tuples concatenated; raises as `double_room`."""
    poll(sum(array.nbytes for array in (*first, *second)))
    pairs: Iterable[tuple[Any, Any]] = zip(first, second, strict=True)
    return type(first)(*map(np.concatenate, pairs))


def arena_of(nodes: int) -> k.Arena:
    """Return arrays for a tECS of up to `nodes` nodes."""
    return k.Arena(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int64),
    )


Indices: TypeAlias = NDArray[np.integer[Any]]


def rows_of_streams(streams: Sequence[str], columns: Mapping[str, Any]) -> Int64s | None:
    """Return the increasing indices of the events in FROM; None for all events."""
    if not streams or "stream" not in columns:
        return None
    inside = _is_in(columns["stream"], streams)
    return None if inside.all() else np.flatnonzero(inside)


def events_of_streams(
    streams: Sequence[str], columns: Mapping[str, Any], length: int
) -> tuple[Mapping[str, Any], Int64s]:
    """Return the columns of the events in FROM, and their indices: int64 (events,)."""
    inside = rows_of_streams(streams, columns)
    if inside is None:
        return columns, np.arange(length, dtype=np.int64)
    return take_columns(columns, inside), inside


def _is_in(column: Any, streams: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each event belongs to a stream in FROM, or to no stream: bool (events,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_arrow(column):
        names = values_of(column, "stream")
        return np.array([name is None or name in streams for name in names], np.bool_)
    texts = column.cast(pa.string())
    inside = pc.or_(pc.is_null(texts), pc.is_in(texts, array_of(streams)))
    whole = inside.combine_chunks() if isinstance(inside, pa.ChunkedArray) else inside
    return numbers_of(whole.cast(pa.uint8())).view(np.bool_)


EventColumns: TypeAlias = Mapping[str, Any]
"""Attributes of consecutive events: lists of values or Arrow arrays, all of one length."""


Batch = TypeVar("Batch")


Result = TypeVar("Result")


Result_co = TypeVar("Result_co", covariant=True)


BATCH = 1 << 20
"""The number of answers, or of their ends, that are listed together."""


PACE = 1 << 14
"""The number of events that a kernel reads in its first call."""


CAREFUL_PACE = 1 << 8
"""The first number of events for work that may grow with the square of the events."""


SECONDS_OF_PACE = 0.3
"""The time above which later calls of a kernel read fewer events; below an eighth, more."""


class Evaluation(Protocol[Result_co]):
    """Interface of evaluators that read a stream in batches."""

    def push_columns(self, columns: EventColumns, length: int) -> Iterator[Result_co]:
        """Read a batch of `length` events, given as columns.

        Yield the results that they complete. Exhaust it before the next call.

        If a batch contains an unreadable event, the results of the events before it come first, and
        then `BadData`; neither that event nor later ones are read.
        """

    def finish(self) -> Iterator[Result_co]:
        """Yield the results that waited for the end of the stream."""


ListsAt: TypeAlias = Callable[[Int64s], NDArray[np.bool_]]
"""A function from ends to a mask of the ends to list; the answers of the others are dropped."""


PART_OF_LISTED = 1 << 14
"""The events of a part under `ListsAt`: the results of one part decide what the next one lists.

Each part costs a millisecond; 1,000 keys have 16 events each in it.
"""


def whole(evaluation: Evaluation[Result], stream: Stream, part: int = PART) -> Iterator[Result]:
    """Run an evaluation on a whole stream; yield its results."""
    for columns, length in stream.parts(part):
        poll()
        yield from evaluation.push_columns(columns, length)
    yield from evaluation.finish()


def paces(length: int, *, careful: bool = False) -> Iterator[slice]:
    """Yield slices of events for one kernel call each, sized to take a fraction of a second.

    Interrupts and limits are checked between slices, because a kernel cannot check them. Use
    `careful` if an event may interact with all earlier ones.
    """
    start, size = 0, CAREFUL_PACE if careful else PACE
    while start < length:
        poll()
        before = budget.clock()
        yield slice(start, start + size)
        start += size
        took = budget.clock() - before
        # in linear time, four times as many events will still take at most half of SECONDS_OF_PACE
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
    """Yield the results of `read` on a batch; stop at the first bad event and raise its error.

    ``cut(batch, start, size)`` returns `size` events from `start` on. A `read` that raises
    `BadData` before its first result has read nothing. The bad event is found by halving, so each
    event is read a few times at most.
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


SOME_OBJECTS = 1 << 12
"""The number of complex events, or valuations, that are created together."""


MOST_POSITIONS = (1 << 31) - 1
"""The maximum number of positions of a batch of answers: offsets have 32 bits."""


MANY_POSITIONS = 1 << 19
"""The limit up to which a full buffer is replaced by one for twice as many positions."""


_SPARSE = 4
"""The maximum number of cells of a table of positions, for each position."""


@dataclass(frozen=True, slots=True)
class AnswerBatch:
    """Complex events as flat arrays: number n is ``positions[offsets[n]:offsets[n + 1]]``."""

    start: Int64s  # (answers,)
    end: Int64s  # (answers,)
    offsets: Offsets  # (answers + 1,), int32 in one batch, int64 in joined batches
    positions: Int64s

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[ComplexEvent]:
        for begin in range(0, len(self), SOME_OBJECTS):
            yield from self.complex_events(begin, min(begin + SOME_OBJECTS, len(self)))

    def complex_events(self, begin: int, end: int) -> list[ComplexEvent]:
        """Return the complex events from number `begin` to before `end`."""
        offsets = self.offsets[begin : end + 1]
        positions = self.positions[offsets[0] : offsets[-1]].tolist()
        starts, ends = self.start[begin:end].tolist(), self.end[begin:end].tolist()
        with without_collection():
            return complex_events(starts, ends, cut(positions, np.diff(offsets)))

    def after(self, count: int) -> AnswerBatch:
        """Return the answers without the first `count`."""
        return AnswerBatch(
            self.start[count:], self.end[count:], self.offsets[count:], self.positions
        )

    def shift_positions(self, by: int) -> AnswerBatch:
        """Return the answers with all positions increased by `by`."""
        return AnswerBatch(self.start + by, self.end + by, self.offsets, self.positions + by)

    def with_positions(self, positions: Int64s) -> AnswerBatch:
        """Return the answers with given positions in place of the numbers of events."""
        start, end, places = (positions[x] for x in (self.start, self.end, self.positions))
        return AnswerBatch(start, end, self.offsets, places)

    def take(self, numbers: Int64s) -> AnswerBatch:
        """Return the answers with the given indices, in that order."""
        lengths = np.diff(self.offsets)[numbers]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        positions = self.positions[np.repeat(self.offsets[:-1][numbers], lengths) + inside]
        return AnswerBatch(self.start[numbers], self.end[numbers], offsets, positions)

    def first(self, count: int) -> AnswerBatch:
        """Return the first `count` answers, or all if there are fewer."""
        count = min(count, len(self))
        offsets = self.offsets[: count + 1]
        return AnswerBatch(
            self.start[:count], self.end[:count], offsets, self.positions[: int(offsets[-1])]
        )


def cut(values: list[int], lengths: Int64s) -> Iterable[tuple[int, ...]]:
    """Return the values as consecutive tuples with the given lengths."""
    if not len(lengths):
        return ()
    if (lengths == lengths[0]).all():
        one = int(lengths[0])
        # zip reads one iterator n times, which cuts equal lengths without slicing
        return zip(*[iter(values)] * one, strict=True) if one else repeat((), len(lengths))
    rest = iter(values)
    return (tuple(islice(rest, n)) for n in lengths.tolist())


def batched_answers(answers: Iterable[ComplexEvent], size: int) -> Iterator[AnswerBatch]:
    """Yield complex events in batches of `size`."""
    rest = iter(answers)
    while some := list(islice(rest, size)):
        yield AnswerBatch(
            np.array([answer.start for answer in some], np.int64),
            np.array([answer.end for answer in some], np.int64),
            np.cumsum([0, *(len(answer.positions) for answer in some)], dtype=np.int32),
            np.array([p for answer in some for p in answer.positions], np.int64),
        )


def one_batch(answers: Iterable[ComplexEvent]) -> AnswerBatch:
    """Return complex events as one `AnswerBatch`."""
    if isinstance(answers, AnswerBatch):
        return answers
    some = list(answers)
    return next(batched_answers(some, len(some)), join_answers(()))


def join_answers(batches: Sequence[AnswerBatch]) -> AnswerBatch:
    """Return the answers of several batches as one batch."""
    first = batches[0] if len(batches) == 1 else None
    if first and first.offsets[0] == 0 and first.offsets[-1] == len(first.positions):
        return first
    lengths = [np.diff(batch.offsets) for batch in batches]
    parts = [b.positions[int(b.offsets[0]) : int(b.offsets[-1])] for b in batches]
    nothing = np.zeros(0, np.int64)
    return AnswerBatch(
        np.concatenate([nothing, *(batch.start for batch in batches)]),
        np.concatenate([nothing, *(batch.end for batch in batches)]),
        np.concatenate([[0], np.cumsum(np.concatenate([nothing, *lengths]))]),
        np.concatenate([nothing, *parts]),
    )


class BatchedAnswers(Iterator[ComplexEvent]):
    """An iterator over the answers of several batches; `in_order` returns them sorted."""

    def __init__(self, batches: Iterable[AnswerBatch]) -> None:
        self._batches = iter(batches)
        self._one: Iterator[ComplexEvent] = iter(())

    def __next__(self) -> ComplexEvent:
        while (answer := next(self._one, None)) is None:
            self._one = iter(next(self._batches))
        return answer

    def batches(self) -> Iterator[AnswerBatch]:
        """Return the batches; call it before iterating."""
        return self._batches

    def in_order(self, limit: int | None = None) -> list[ComplexEvent]:
        """Return the remaining answers, at most `limit`, sorted by end, start and positions."""
        batches: list[AnswerBatch] = []
        for batch in self._batches if limit != 0 else ():
            batches.append(batch if limit is None else batch.first(limit))
            if limit is not None:
                limit -= len(batches[-1])
                if not limit:
                    break
        answers = join_answers(batches)
        events = answers.complex_events(0, len(answers))
        order = _order(answers)
        return sorted(events, key=by_end) if order is None else [events[n] for n in order]


def _order(answers: AnswerBatch) -> list[int] | None:
    """Return the indices that sort answers; None if the sort keys would need too much memory."""
    lengths = np.diff(answers.offsets)
    longest = int(lengths.max(initial=0))
    if longest * len(lengths) > _SPARSE * (len(answers.positions) + len(lengths)):
        return None
    table = np.full((longest, len(lengths)), -1, np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    table[np.arange(len(rows)) - np.repeat(answers.offsets[:-1], lengths), rows] = answers.positions
    # padding of -1 sorts an answer before longer ones that begin with the same positions
    order: list[int] = order_of(answers.end, answers.start, *table).tolist()
    return order


def buffer(answers: int, positions: int) -> Answers:
    """Return an empty buffer for `answers` answers with at most `positions` positions in total."""
    offsets = allocate(answers + 1, np.int32)
    offsets[0] = 0
    start, end = allocate(answers, np.int64), allocate(answers, np.int64)
    return Answers(start, end, offsets, allocate(min(positions, MOST_POSITIONS), np.int64))


class Buffer:
    """The buffer into which kernels write answers; when full, its content becomes a batch.

    The next buffer is sized by the last answers, because unused room costs time too.
    """

    def __init__(self, answers: int) -> None:
        self.arrays = buffer(answers, 8 * answers)

    def flush(self, counters: Int64s, answers: int, positions: int) -> AnswerBatch:
        """Return the answers in the buffer as a batch, and empty the buffer.

        `answers` and `positions` are the registers that count the written answers and positions.
        """
        n, length = int(counters[answers]), int(counters[positions])
        counters[answers] = counters[positions] = 0
        start, end, offsets, cells = self.arrays
        batch = AnswerBatch(start[:n], end[:n], offsets[: n + 1], cells[:length])
        # copy if there are few answers, so that the large buffer is reused
        if n < SOME_OBJECTS and length < SOME_OBJECTS:
            return AnswerBatch(
                batch.start.copy(), batch.end.copy(), batch.offsets.copy(), batch.positions.copy()
            )
        size = len(start)
        if n > size // 2 and 2 * length <= MANY_POSITIONS:
            size *= 2
        self.arrays = buffer(size, max(2 * size, 1 + length * size // n))
        return batch

    def make_room(self, counters: Int64s, answers: int, positions: int) -> Iterator[AnswerBatch]:
        """Yield the answers in the buffer; if it has none, make room for more positions instead."""
        if counters[answers]:
            poll()
            yield self.flush(counters, answers, positions)
        else:
            self.lengthen()

    def lengthen(self) -> None:
        """Double the room for positions."""
        # positions take eight bytes, and the new array has twice as many
        poll(16 * len(self.arrays.positions))
        self.arrays = buffer(len(self.arrays.start), 2 * len(self.arrays.positions))
