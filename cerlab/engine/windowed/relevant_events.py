"""Batches of events, and those of their events that a program has to read, side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.clock import Instants, join_arrays, join_instants
from cerlab.engine.columns import slice_rows, take_rows
from cerlab.engine.kernels.arrays import Int32s, Int64s, Symbols
from cerlab.engine.kernels.windowed.relevant_events import relevant, relevant_once
from cerlab.engine.windowed.program import Program, Read
from cerlab.model.columns import room
from cerlab.model.stream import Instant
from cerlab.predicates.columns.key_codes import KeyCodes


class Batch(NamedTuple):
    """Consecutive events of the stream; shape (events,) each."""

    symbols: Symbols  # of the predicate stage
    times: Instants  # what the window is measured in
    start: int  # the position of the first event
    positions: Int64s | None  # None where they follow on `start`
    keys: Mapping[str, Any]  # the columns of PARTITION BY
    codes: Int32s | None  # the partitions where they are known, NONE for none

    def at(self, indices: Any) -> Any:
        """The positions of the events at some indices, int64 as these are: (indices,) or one."""
        return indices + np.int64(self.start) if self.positions is None else self.positions[indices]

    def take(self, indices: NDArray[np.integer[Any]]) -> Batch:
        """The events at some indices, of a batch whose partitions are learned."""
        assert self.codes is not None
        times = _times(self.times, indices)
        codes = self.codes[indices]
        return Batch(self.symbols[indices], times, 0, self.at(indices), {}, codes)


def _times(times: Instants, indices: NDArray[np.integer[Any]]) -> Instants:
    return times[indices] if isinstance(times, np.ndarray) else [times[n] for n in indices.tolist()]


class RelevantPart(NamedTuple):
    """The events of one batch that have to be read."""

    batch: Batch
    indices: Int32s  # (events,), in the batch
    actions: Symbols  # (events,), what they do in the program
    codes: Int32s | None  # (events,), None where there is one partition


class RelevantEvents:
    """The events that have to be read, of all batches; each property has shape (events,).

    Most are computed only where there are answers.
    """

    def __init__(self, parts: Sequence[RelevantPart]) -> None:
        self.parts = parts
        self.count = sum(len(part.indices) for part in parts)

    def before(self, position: int) -> int:
        """How many of the events come before a position."""
        return sum(bisect_left(part.indices, position, key=part.batch.at) for part in self.parts)

    @cached_property
    def actions(self) -> Symbols:
        """What each event does in the program."""
        return join_arrays([part.actions for part in self.parts])

    @cached_property
    def symbols(self) -> Symbols:
        """The symbol of each event."""
        return join_arrays([part.batch.symbols[part.indices] for part in self.parts])

    @cached_property
    def codes(self) -> Int32s:
        """The partition of each event, NONE for none."""
        codes = [part.codes for part in self.parts if part.codes is not None]
        return (
            join_arrays(codes) if len(codes) == len(self.parts) else np.zeros(self.count, np.int32)
        )

    @cached_property
    def positions(self) -> Int64s:
        """The position of each event."""
        return join_arrays([part.batch.at(part.indices) for part in self.parts])

    @property
    def positions_and_offset(self) -> tuple[NDArray[np.signedinteger[Any]], int]:
        """The position of each event less a number that is the same for all; not moved if so."""
        only = self.parts[0]
        if len(self.parts) == 1 and only.batch.positions is None:
            return only.indices, only.batch.start
        return self.positions, 0

    @cached_property
    def times(self) -> Instants:
        """What the window is measured in."""
        return join_instants([_times(part.batch.times, part.indices) for part in self.parts])

    @property
    def times_by_index(self) -> tuple[Instants, Int32s]:
        """Times, and where that of each event is among them: not moved for one batch."""
        if len(self.parts) == 1:
            return self.parts[0].batch.times, self.parts[0].indices
        return self.times, np.arange(self.count, dtype=np.int32)


def relevant_events(
    program: Program | None, batches: Sequence[Batch], keys: KeyCodes | None
) -> RelevantEvents:
    """The events of some batches that have to be read; without a program those are all."""
    if program is None:
        return RelevantEvents([_every(batch, partitions(batch, keys)) for batch in batches])
    if (program.read == Read.ONCE).any():
        return RelevantEvents(_parts_with_once(program, batches, keys))
    return RelevantEvents([_relevant_part(program, batch, keys) for batch in batches])


def _every(batch: Batch, codes: Int32s) -> RelevantPart:
    every = np.arange(len(batch.symbols), dtype=np.int32)
    return RelevantPart(batch, every, batch.symbols, codes)


def _room(program: Program, batch: Batch) -> tuple[Int32s, Symbols]:
    size = len(batch.symbols) + 1
    return room(size, np.int32), room(size, program.action.dtype)


def _relevant_part(program: Program, batch: Batch, keys: KeyCodes | None) -> RelevantPart:
    index, actions = _room(program, batch)
    count = relevant(batch.symbols, program.read, program.action, index, actions)
    indices = index[:count]
    codes = None
    if batch.codes is not None:
        codes = batch.codes[indices]
    elif keys is not None:
        columns = {name: take_rows(column, indices) for name, column in batch.keys.items()}
        codes = keys.codes(columns, count).astype(np.int32)
    return RelevantPart(batch, indices, actions[:count], codes)


def _parts_with_once(
    program: Program, batches: Sequence[Batch], keys: KeyCodes | None
) -> list[RelevantPart]:
    codes = [partitions(batch, keys) for batch in batches]
    fresh = np.ones(keys.count if keys else 1, np.uint8)
    always = Read.ALWAYS.value
    parts = []
    for batch, its_codes in zip(batches, codes, strict=True):
        index, actions = _room(program, batch)
        count = relevant_once(
            batch.symbols, its_codes, program.read, program.action, always, fresh, index, actions
        )
        indices = index[:count]
        parts.append(RelevantPart(batch, indices, actions[:count], its_codes[indices]))
    return parts


def partitions(batch: Batch, keys: KeyCodes | None) -> Int32s:
    """The partition of each event of a batch, shape (events,); NONE for none."""
    if batch.codes is not None:
        return batch.codes
    if keys is None:
        return np.zeros(len(batch.symbols), np.int32)
    return keys.codes(batch.keys, len(batch.symbols)).astype(np.int32)


def last_window(batches: Sequence[Batch], width: Instant, keys: KeyCodes | None) -> Batch:
    """The events not more than `width` before the last one, of whatever symbol, as one batch."""
    now = next(batch.times[-1] for batch in reversed(batches) if len(batch.symbols))
    parts: list[Batch] = []
    for batch in reversed(batches):
        cut = bisect_left(batch.times, now - width)
        size = len(batch.symbols) - cut
        columns = {name: slice_rows(column, cut, size) for name, column in batch.keys.items()}
        positions = batch.at(np.arange(cut, cut + size))
        codes = None if batch.codes is None else batch.codes[cut:]
        part = Batch(batch.symbols[cut:], batch.times[cut:], 0, positions, columns, codes)
        parts.insert(0, part._replace(codes=partitions(part, keys)))
        if cut:
            break
    return Batch(
        np.concatenate([part.symbols for part in parts]),
        join_instants([part.times for part in parts]),
        0,
        np.concatenate([part.positions for part in parts]),
        {},
        np.concatenate([part.codes for part in parts]),
    )
