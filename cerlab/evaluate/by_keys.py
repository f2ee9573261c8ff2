"""Aggregates of a long stream by groups of keys, so that memory holds one group's events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerlab.automata.labelled import LabelledMachine
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.engine.flat_program import TooLarge
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.measures import Numbers, infinite
from cerlab.engine.totals import Evaluation
from cerlab.evaluate.aggregates import PLACES, GroupTotals, Measure, Request, table_of
from cerlab.model.arrays import array_from, order_of
from cerlab.model.stream import Stream, axis_for

_PLAIN = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_timestamp,
    pa.types.is_string,
)
"""The tests for types whose columns are Arrow, of one type in all parts of a stream."""


def totals_by_keys(
    request: Request, plan: Plan, machine: Machine, stream: Stream
) -> GroupTotals | JoinedTotals | None:
    """Return the totals of a long stream, computed for one group of keys after the other.

    If the relevant events are few, they are one group. Return None if the totals of one key cannot
    be told from those of others, or are too many. Raise as `GroupTotals`, and `OSError` without
    room on the disk.
    """
    if not _are_apart(request, plan, stream):
        return None
    names, by_start = _names_read(request), "start" in request.groups
    labelled = LabelledMachine(machine, plan.vcea, frozenset(c.label for c in request.columns))
    parts = list[_Part]()
    try:
        time = axis_for(plan.window, stream, stream.time)
        evaluation = Evaluation(plan, labelled, stream, time, names)
        for group in evaluation.groups:
            listed = partial(evaluation.totals, group, by_start=by_start)
            if group.columns is None:
                return GroupTotals(request, plan, None, stream, listed=listed)
            if not parts:
                _refuse_infinities(request, stream)
            columns = {name: group.columns.column(name) for name in names}
            own = Stream.from_columns(columns, len(group.columns), tuple, time=stream.time)
            at = group.events["positions"].astype(np.int64)
            totals = GroupTotals(request, plan, None, own, positions=at, listed=listed)
            parts.append(_part_of(totals, request, at))
    except TooLarge:
        return None
    return JoinedTotals(request, stream, parts) if parts else None


def _are_apart(request: Request, plan: Plan, stream: Stream) -> bool:
    """Return whether the totals of separate groups of keys can be joined into those of a request.

    Sums of all keys can be added; of equal least values, the stream has to tell which is first.
    """
    by_key = {*plan.partition} <= {*request.key} and "end" not in request.groups
    if not plan.partition or not (by_key or not (request.groups or request.extremes)):
        return False
    source, names = stream.columns.source, _names_read(request)
    if source is None or not {*names} <= {*source.names}:
        return False
    return all(any(holds(source.field(name).type) for holds in _PLAIN) for name in names)


def _names_read(request: Request) -> list[str]:
    """Return the attributes that a request reads."""
    return [*dict.fromkeys((*request.key, *(str(c.attribute) for c in request.columns)))]


def _refuse_infinities(request: Request, stream: Stream) -> None:
    """Raise `BadData` for an infinity in a sum, even of an irrelevant event."""
    schema, found = stream.columns.source, set[str]()
    doubles = [n for _, n in request.summands if pa.types.is_floating(schema.field(n).type)]
    for columns, _ in stream.parts() if doubles else ():
        found |= {name for name in doubles if pc.any(pc.is_inf(columns[name])).as_py()}
    for name in doubles:
        if name in found:
            raise infinite(name)


class _Part(NamedTuple):
    """The totals of some partition keys, which refer to no event."""

    first: Int64s
    """The first end of each row."""
    runs: list[int]
    sums: dict[tuple[str, str], tuple[list[tuple[int, int]], Numbers]]
    """The sums of each label and attribute, as `GroupTotals.sums` returns them."""
    groups: dict[str, Any]
    extremes: dict[Measure, Any]


def _part_of(totals: GroupTotals, request: Request, positions: Int64s) -> _Part:
    return _Part(
        positions[totals.totals.end],
        totals.runs,
        {place: _without_events(*totals.sums(place)) for place in request.summands},
        {name: totals.group(name) for name in request.groups},
        {measure: totals.extreme(measure) for measure in request.extremes},
    )


def _without_events(
    sums: list[tuple[int, int]], of: Numbers
) -> tuple[list[tuple[int, int]], Numbers]:
    return sums, of._replace(parts=(), present=np.zeros(0, np.uint8))


class JoinedTotals:
    """The totals of several groups of keys, with the interface of `GroupTotals`.

    Rows are in the order of their first ends, as those of a whole stream.
    """

    def __init__(self, request: Request, stream: Stream, parts: Sequence[_Part]) -> None:
        self._request, self._stream, self._parts = request, stream, parts
        self._order = order_of(np.concatenate([part.first for part in parts]))
        self.some = len(self._order) > 0
        """True if there are answers."""

    @property
    def runs(self) -> list[int]:
        """The number of answers in each group."""
        runs = [*chain.from_iterable(part.runs for part in self._parts)]
        return [runs[n] for n in self._order] if self._request.groups else [sum(runs)]

    def sums(self, place: tuple[str, str]) -> tuple[list[tuple[int, int]], Numbers]:
        """Return pairs (sum, count) by group, and the unit of the sums."""
        of_parts = [part.sums[place] for part in self._parts]
        exponent = min(of.exponent for _, of in of_parts)
        meaning = of_parts[0][1]._replace(exponent=exponent)
        pairs = [(x << of.exponent - exponent, n) for some, of in of_parts for x, n in some]
        if self._request.groups:
            return [pairs[n] for n in self._order], meaning
        return [(sum(x for x, _ in pairs), sum(n for _, n in pairs))], meaning

    def group(self, name: str) -> Any:
        """Return the values that define one group."""
        values = self._in_order([part.groups[name] for part in self._parts])
        if name in PLACES:
            return values
        column = next((c for c in self._request.labelled if c.name == name), None)
        attribute = name if column is None else str(column.attribute)
        return self._stream.columns.as_read(attribute, values, decode=False)

    def extreme(self, measure: Measure) -> Any:
        """Return the column of a minimum or a maximum."""
        values = self._in_order([part.extremes[measure] for part in self._parts])
        return self._stream.columns.as_read(measure.place[1], values, decode=False)

    def _in_order(self, arrays: Sequence[Any]) -> Any:
        whole = pa.chunked_array(arrays).unify_dictionaries().combine_chunks()
        return whole.take(array_from(self._order))

    def table(self) -> Any:
        """Return the columns of the groups, the count and the measures."""
        return table_of(self._request, self)
