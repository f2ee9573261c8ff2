"""Repairs carried out: data to another query, stream or question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, assert_never

from cerlab import Event, Formula, Sremo
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.answer import Positions
from cerlab.model.clauses import Consume, Window
from cerlab.model.event import Value
from cerlab.testing import TYPES
from cerlab.why import Repair
from cerlab.why.failure import (
    Alter,
    Drop,
    End,
    Give,
    Insert,
    Inside,
    Path,
    Reach,
    Relax,
    Remark,
    Remove,
    Retype,
    Widen,
    Without,
)
from proofs_tests.why.mutations import Question

VALUES: tuple[Value, ...] = (0, 1, "a", 2, -1, "b", 0.5, 1.0, True, None)


def mend(q: Question, repair: Repair) -> Iterator[Question]:
    """The questions that a repair makes: one, or one for each event that it may be."""
    match repair:
        case Retype(p, kind):
            yield q.with_event(p, replace(q.stream[p], type=kind))
        case Alter(p):
            for t in _events_like(q, p):
                yield q.with_event(p, t)
        case Insert(path, after, before):
            yield from _with_one_more(q, path, after, before)
        case Remove(gone):
            events = [t for i, t in enumerate(q.stream) if i not in gone]
            yield replace(q.with_events(events), **_shift(q, gone))
        case Give(p):
            yield replace(q, positions=tuple(sorted({*q.positions, p})))
        case Drop(p):
            yield replace(q, positions=tuple(i for i in q.positions if i != p))
        case Reach(start, end):
            yield replace(q, start=start, end=end)
        case Relax(path, into):
            assert not isinstance(into, Sremo)
            formula = cel.with_part(q.ast.formula, path, into)
            yield replace(q, ast=replace(q.ast, formula=formula))
        case Widen(window):
            yield replace(q, ast=replace(q.ast, window=window))
        case Inside():
            outside = q.ast.window
            assert outside is not None
            yield replace(q, ast=replace(_inside(q.ast, outside), window=None))
        case End():
            yield replace(q, stream=q.stream.up_to("end"))
        case Remark():
            raise AssertionError("terminals are of SREMO")
        case Without(clause):
            yield replace(q, ast=_without(q, clause))
        case _:
            assert_never(repair)


def _inside(ast: CeqlQuery, window: Window) -> CeqlQuery:
    """The query whose strategy compares inside a window."""
    if ast.strategy is not None:
        return replace(ast, formula=cel.Within(ast.formula, window))
    path: list[int] = []
    while isinstance(cel.part_at(ast.formula, path), cel.Filter):
        path.append(0)
    inside = cel.Within(cel.part_at(ast.formula, [*path, 0]), window)
    return replace(ast, formula=cel.with_part(ast.formula, [*path, 0], inside))


def _without(q: Question, clause: str) -> CeqlQuery:
    match clause:
        case "from":
            return replace(q.ast, streams=())
        case "partition":
            return replace(q.ast, partition=())
        case "strategy":
            return replace(q.ast, strategy=None)
        case "consume":
            return replace(q.ast, consume=Consume.NONE)
        case "limit":
            return replace(q.ast, limit=None)
        case "throttle":
            return replace(q.ast, throttle=None)
        case _:
            raise AssertionError(clause)


def _shift(q: Question, removals: Positions) -> dict[str, Any]:
    """The positions and ends after some events before them are gone."""

    def after(p: int | None) -> int | None:
        return None if p is None else p - sum(1 for g in removals if g < p)

    rest = tuple(p - sum(1 for g in removals if g < p) for p in q.positions if p not in removals)
    return {"positions": rest, "start": after(q.start), "end": after(q.end)}


def _events_like(q: Question, p: int) -> Iterator[Event]:
    """Events that may stand at p: its own time, any type, small values, a key of the stream."""
    t = q.stream[p]
    keys = {(repr(k), k) for k in (0, 1, *(e.attributes.get("k") for e in q.stream))}
    types = dict.fromkeys((t.type, *TYPES))
    values = dict.fromkeys((repr(v), v) for v in (t.attributes.get("v"), *VALUES))
    others = dict.fromkeys((repr(w), w) for w in (t.attributes.get("w"), *VALUES))
    streams = dict.fromkeys((t.stream, None))
    for kind, (_, v), (_, w), stream in product(types, values, others, streams):
        yield Event(kind, {**t.attributes, "v": v, "w": w}, stream)
    for (_, key), (_, v) in product(sorted(keys, key=lambda k: k[0]), values):
        yield Event(t.type, {**t.attributes, "k": key, "v": v}, None)


def _with_one_more(
    q: Question, path: Path, after: int | None, before: int | None
) -> Iterator[Question]:
    """One event more between two positions, marked if its part marks it, with small values."""
    low = 0 if after is None else after + 1
    high = len(q.stream) if before is None else before
    part = cel.part_at(q.ast.formula, path)
    for place in range(low, high + 1):
        later = tuple(i + (i >= place) for i in q.positions)
        near = q.stream[min(max(place - 1, 0), len(q.stream) - 1)]
        others: tuple[Value, ...] = (0, 1, "a")
        keys: tuple[Value, ...] = ("own", 0, 1)
        for v, w, k in product((near.attributes.get("v"), *VALUES), others, keys):
            attributes: dict[str, Value] = {**near.attributes, "v": v, "w": w}
            if k != "own":
                attributes["k"] = k
            for kind in _types(part):
                t = Event(kind, attributes)
                events = [*q.stream.events[:place], t, *q.stream.events[place:]]
                longer = replace(q.with_events(events), start=None, end=None)
                yield replace(longer, positions=tuple(sorted({*later, place})))
                yield replace(longer, positions=later)


def _types(part: Formula) -> tuple[str, ...]:
    return (part.type,) if isinstance(part, cel.Atom) else TYPES
