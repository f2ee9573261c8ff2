"""What two sets of answers do not share, and what the semantics says of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.clock import time_axis
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.testing import as_dict
from cerlab.why import why, why_text

TIME = time_axis("t", "s")
"""The time of all streams: the attribute t, in seconds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case on which an engine and the reference differ.

    `missing` are answers that the engine lacks, `extra` rows that are none, `twice` rows that it
    gave more than once; or it is `broken`, and this says how.
    """

    query: CeqlQuery
    events: tuple[Event, ...]
    missing: tuple[ComplexEvent, ...] = ()
    extra: tuple[dict[str, Any], ...] = ()
    twice: tuple[dict[str, Any], ...] = ()
    broken: str | None = None

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def reference(query: CeqlQuery, events: Sequence[Event]) -> list[ComplexEvent]:
    """What the semantics says."""
    return list(query_answers(query, Stream(events, time=TIME)))


def difference(
    query: CeqlQuery,
    events: Sequence[Event],
    expected: Sequence[ComplexEvent],
    rows: Sequence[dict[str, Any]],
) -> Difference | None:
    """What differs, None for nothing; rows without an interval are compared by their positions."""
    by_interval = all("start" in row and "end" in row for row in rows)
    answers = {_key(m.start, m.end, m.positions, by_interval): m for m in expected}
    counts = Counter(
        _key(row.get("start"), row.get("end"), row["positions"], by_interval) for row in rows
    )
    missing = tuple(m for key, m in answers.items() if key not in counts)
    extra = tuple(_row(key) for key in counts if key not in answers)
    twice = tuple(_row(key) for key, times in counts.items() if times > 1 and key in answers)
    if not (missing or extra or (twice and by_interval)):
        return None
    return Difference(query, tuple(events), missing, extra, twice)


_Key = tuple[Any, Any, tuple[int, ...]]


def _key(start: Any, end: Any, positions: Sequence[int], by_interval: bool) -> _Key:
    interval = (start, end) if by_interval else (None, None)
    return (*interval, tuple(sorted(positions)))


def _row(key: _Key) -> dict[str, Any]:
    start, end, positions = key
    interval = {} if start is None else {"start": start, "end": end}
    return {**interval, "positions": list(positions)}


def _lines(one: Difference) -> Iterator[str]:
    """The case, and what is wrong with the reason that the semantics gives."""
    yield query_text(one.query)
    yield f"on {len(one.events)} event{'' if len(one.events) == 1 else 's'}:"
    yield from (f"  {json.dumps(as_dict(event))}" for event in one.events)
    if one.broken is not None:
        yield f"the engine fails: {one.broken}"
    for m in one.missing:
        yield f"missing: {json.dumps(_row((m.start, m.end, m.positions)))}"
        yield from _reason(one, list(m.positions), m.start, m.end)
    for row in one.extra:
        yield f"too many: {json.dumps(row)}"
        yield from _reason(one, row["positions"], row.get("start"), row.get("end"))
    yield from (f"more than once: {json.dumps(row)}" for row in one.twice)


def _reason(
    one: Difference, positions: list[int], start: int | None, end: int | None
) -> Iterator[str]:
    query = Pattern(one.query)
    stream = Stream(one.events, time=TIME)
    if not positions and start is None:
        return
    try:
        lines = why_text(why(query, stream, positions, start, end))
    except CerlabError:
        return  # what differs is said; only the reason is not
    yield from (f"  {line}" for line in lines.splitlines())
