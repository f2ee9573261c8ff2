"""Repairs carried out on an expression, a stream or the positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from cerlab import Event, Sremo
from cerlab.logic.sremo import syntax as sre
from cerlab.model.event import Value
from cerlab.testing import TYPES
from cerlab.why import Repair
from cerlab.why.failure import Alter, Drop, Give, Insert, Relax, Remark, Remove, Retype
from proofs_tests.why.sremo_mutations import Question

VALUES: tuple[Value, ...] = (0, 1, 2, 0.5, "a", "b", True, -1, None)


def mend(q: Question, repair: Repair) -> Iterator[Question]:
    """The questions that a repair makes: one, or one for each event that it may be."""
    match repair:
        case Retype(p, kind):
            yield q.with_event(p, replace(q.stream[p], type=kind))
        case Alter(p):
            for t in _events_like(q.stream[p]):
                yield q.with_event(p, t)
        case Insert(_, after, before):
            yield from _with_one_more(q, after, before)
        case Remove(gone):
            events = [t for i, t in enumerate(q.stream) if i not in gone]
            rest = tuple(i - sum(p < i for p in gone) for i in q.positions if i not in gone)
            yield replace(q.with_events(events), positions=rest)
        case Give(p):
            yield replace(q, positions=tuple(sorted({*q.positions, p})))
        case Drop(p):
            yield replace(q, positions=tuple(i for i in q.positions if i != p))
        case Relax(path, into) | Remark(path, into):
            assert isinstance(into, Sremo)
            yield replace(q, e=sre.with_part(q.e, path, into))
        case _:
            raise AssertionError(f"no repair of a SREMO: {repair}")


def _events_like(t: Event) -> Iterator[Event]:
    """The same event with any type and any small values."""
    values = (t.attributes.get("v"), *VALUES)
    others = (t.attributes.get("w"), 0, 1, "a", None)
    for kind, v, w in product(dict.fromkeys((t.type, *TYPES)), values, others):
        yield Event(kind, {**t.attributes, "v": v, "w": w})


def _with_one_more(q: Question, after: int | None, before: int | None) -> Iterator[Question]:
    """One event more between two positions, asked for or not."""
    high = q.positions[-1] + 1 if before is None else before
    low = min(q.positions[0], high) if after is None else after + 1
    for place in range(low, high + 1):
        later = tuple(i + (i >= place) for i in q.positions)
        near = q.stream[min(max(place - 1, 0), len(q.stream) - 1)]
        for t in _events_like(near):
            longer = q.with_events([*q.stream.events[:place], t, *q.stream.events[place:]])
            yield replace(longer, positions=tuple(sorted({*later, place})))
            yield replace(longer, positions=later)
