"""Batches of events, and those of their events that a program has to read, side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cerlab.engine.clock import Instants, joined
from cerlab.engine.columns import sliced, taken
from cerlab.engine.kernels.relevant import relevant, relevant_once
from cerlab.engine.program import Program, Read
from cerlab.model.clock import Instant
from cerlab.predicates.key_codes import KeyCodes


class Batch(NamedTuple):
    """Consecutive events of the stream; shape (events,) each."""

    symbols: Any  # unsigned, of the predicate stage
    times: Instants  # what the window is measured in
    start: int  # the position of the first event
    positions: Any | None  # int64, None where they follow on `start`
    keys: Mapping[str, Any]  # the columns of PARTITION BY
    codes: Any | None  # int32, the partitions where they are known, NONE for none

    def at(self, indices: Any) -> Any:
        """The positions of the events at some indices, int64 (indices,)."""
        if self.positions is None:
            return indices + np.int64(self.start)
        return self.positions[indices]

    def chosen(self, indices: Any) -> Batch:
        """The events at some indices, of a batch whose partitions are known."""
        assert self.codes is not None
        return Batch(
            self.symbols[indices],
            _times(self.times, indices),
            0,
            self.at(indices),
            {},
            self.codes[indices],
        )


def _times(times: Instants, indices: Any) -> Instants:
    return times[indices] if isinstance(times, np.ndarray) else [times[n] for n in indices.tolist()]


class Dense(NamedTuple):
    """The events that have to be read; shape (events,) each."""

    symbols: Any  # unsigned, of the predicate stage
    codes: Any  # int32, the partition, NONE for none
    positions: Any  # int64
    times: Instants


def dense(program: Program | None, batches: Sequence[Batch], keys: KeyCodes | None) -> list[Dense]:
    """The events of each batch that have to be read; without a program those are all."""
    if program is None:
        return [
            _dense(batch, np.arange(len(batch.symbols)), batch.symbols, partitions(batch, keys))
            for batch in batches
        ]
    if (program.read == Read.ONCE).any():
        return _read_once(program, batches, keys)
    return [_read(program, batch, keys) for batch in batches]


def _read(program: Program, batch: Batch, keys: KeyCodes | None) -> Dense:
    room = len(batch.symbols) + 1
    index, symbols = np.empty(room, np.int32), np.empty(room, batch.symbols.dtype)
    found = relevant(batch.symbols, program.read, index, symbols)
    kept = index[:found]
    if keys is None or batch.codes is not None:
        codes = np.zeros(found, np.int32) if batch.codes is None else batch.codes[kept]
    else:
        columns = {name: taken(column, kept) for name, column in batch.keys.items()}
        codes = keys.codes(columns, found).astype(np.int32)
    return _dense(batch, kept, symbols[:found], codes)


def _read_once(program: Program, batches: Sequence[Batch], keys: KeyCodes | None) -> list[Dense]:
    codes = [partitions(batch, keys) for batch in batches]
    fresh = np.ones(keys.count if keys else 1, np.uint8)
    made = []
    for batch, its_codes in zip(batches, codes, strict=True):
        room = len(batch.symbols) + 1
        index, symbols = np.empty(room, np.int32), np.empty(room, batch.symbols.dtype)
        always = Read.ALWAYS.value
        found = relevant_once(batch.symbols, its_codes, program.read, always, fresh, index, symbols)
        kept = index[:found]
        made.append(_dense(batch, kept, symbols[:found], its_codes[kept]))
    return made


def _dense(batch: Batch, kept: Any, symbols: Any, codes: Any) -> Dense:
    return Dense(symbols, codes, batch.at(kept), _times(batch.times, kept))


def partitions(batch: Batch, keys: KeyCodes | None) -> Any:
    """The partition of each event of a batch, int32 (events,); NONE for none."""
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
        columns = {name: sliced(column, cut, size) for name, column in batch.keys.items()}
        positions = batch.at(np.arange(cut, cut + size))
        codes = None if batch.codes is None else batch.codes[cut:]
        part = Batch(batch.symbols[cut:], batch.times[cut:], 0, positions, columns, codes)
        parts.insert(0, part._replace(codes=partitions(part, keys)))
        if cut:
            break
    return Batch(
        np.concatenate([part.symbols for part in parts]),
        joined([part.times for part in parts]),
        0,
        np.concatenate([part.positions for part in parts]),
        {},
        np.concatenate([part.codes for part in parts]),
    )
