"""THROTTLE on keys that arrive: each sequence of events has the end that was given last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cerlab.engine.answers import AnswerBatch
from cerlab.engine.instants import instants_of, join_instants, list_of, take_instants
from cerlab.engine.throttle import Throttle
from cerlab.model.arrays import order_of
from cerlab.model.clauses import Window
from cerlab.model.stream import TimeAxis
from cerlab.spark.plan import engine_column, time_attribute
from cerlab.spark.stream.engine import GivenEnds


class ThrottledSequences:
    """The ends that THROTTLE keeps on some sequences of events, micro-batch by micro-batch.

    A sequence is a substream. The filter is the one of a session; it only sees the sequences of
    the micro-batch, so the work does not depend on the number of keys.
    """

    def __init__(
        self, throttle: Window, time: TimeAxis | None, before: GivenEnds, sequences: int
    ) -> None:
        """Continue after the ends in `before`; there are now `sequences` sequences."""
        self._attribute = time_attribute(throttle, time)
        self._throttle = Throttle(throttle, (), (), time, carried=False)
        self._given = before
        self._counts = np.zeros(sequences, np.int64)
        self._counts[: len(before.counts)] = before.counts

    def leave(
        self, answers: Iterable[AnswerBatch], rows: Any, attributes: Sequence[str], first: int
    ) -> Iterator[AnswerBatch]:
        """Yield the answers at the ends that THROTTLE keeps; read all before calling `keep`.

        Args:
            answers: the answers of a micro-batch, with the numbers of events; in each sequence they
                come in order of end.
            rows: the events that they can end at, with ``number``, ``sequence``, ``position`` and
                ``a0 a1 ..``.
            attributes: the names of ``a0 a1 ..``.
            first: the number of the first new event.
        """
        number, sequence, position = (
            rows.column(name).to_numpy() for name in ("number", "sequence", "position")
        )
        if not len(number):  # engines read also a micro-batch without rows
            yield from answers
            return
        new = sequence[number >= first]
        self._counts += np.bincount(new, minlength=len(self._counts))
        present = np.unique(sequence)
        before, throttle = self._given, self._throttle
        is_present = np.isin(before.sequence, present)
        mine = zip(
            before.number[is_present].tolist(),
            list_of(take_instants(before.instants, np.flatnonzero(is_present))),
            strict=True,
        )
        given = dict(zip(before.sequence[is_present].tolist(), mine, strict=True))
        columns = {}
        if self._attribute is not None:
            name = f"a{attributes.index(self._attribute)}"
            columns[self._attribute] = engine_column(rows.column(name), self._attribute)
        counts = self._counts_at(sequence)
        throttle.read_numbered(columns, number, sequence, counts, lambda n: int(position[n]), given)
        for batch in answers:
            if len(left := throttle.leave_of_batch(batch)):
                yield left
        self._given = self._with_given(~is_present)

    def _counts_at(self, sequence: Any) -> Any:
        """Return the number of each event in its sequence; the events are the last ones read."""
        order = order_of(sequence)
        ends = np.flatnonzero(np.diff(sequence[order], append=-1))
        lengths = np.diff(ends, prepend=-1)
        later = np.repeat(ends, lengths) - np.arange(len(order))
        counts = np.empty(len(order), np.int64)
        counts[order] = self._counts[sequence[order]] - 1 - later
        return counts

    def _with_given(self, others: Any) -> GivenEnds:
        """Return the last kept ends: those in the filter, and earlier ones selected by `others`."""
        before, given = self._given, self._throttle.given
        numbers, times = zip(*given.values(), strict=True) if given else ((), ())
        sequence = np.concatenate((before.sequence[others], np.array([*given], np.int64)))
        number = np.concatenate((before.number[others], np.array(numbers, np.int64)))
        left = take_instants(before.instants, np.flatnonzero(others))
        instants = join_instants((left, instants_of([*times], 0)))
        order = order_of(sequence)
        return GivenEnds(
            sequence[order], number[order], take_instants(instants, order), self._counts
        )

    def keep(self, sequences: Any) -> GivenEnds:
        """Return the ends of some of the sequences, which are renumbered from 0."""
        given = self._given
        is_kept = np.isin(given.sequence, sequences)
        return GivenEnds(
            np.searchsorted(sequences, given.sequence[is_kept]),
            given.number[is_kept],
            take_instants(given.instants, np.flatnonzero(is_kept)),
            self._counts[sequences],
        )
