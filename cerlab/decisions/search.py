"""Small streams, for questions outside the decidable class; by the reference, shortest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

from cerlab.automata.decide import Side
from cerlab.decisions.fragment import schema_of
from cerlab.decisions.question import as_row
from cerlab.decisions.verdict import Verdict, Witness
from cerlab.errors import CerlabError, ResourceLimit
from cerlab.logic.cel.syntax import Atom, Filter, subformulas
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Event, Timestamp
from cerlab.predicates.condition import Applied, Both, Condition, Correlation, Either, On
from cerlab.predicates.minterms import minterms
from cerlab.predicates.second_order import SetOf
from cerlab.predicates.syntax import Predicate, TypeIs
from cerlab.workbench import Query, evaluate

MAX_TRIED = 2_000
"""How many small streams are searched outside the decidable class."""


def searched(
    left: Query,
    right: Query | None,
    sides: tuple[Side, ...],
    reason: str,
    first: Witness | None = None,
) -> Verdict:
    """Small streams, by the reference; shortest first."""
    tried = 0
    given = [first.events] if first is not None else []
    for events in (*given, *_small_streams([q for q in (left, right) if q is not None])):
        tried += 1
        try:
            ours = set(evaluate(left, events, evaluator="reference"))
            theirs = set(evaluate(right, events, evaluator="reference")) if right else set()
        except CerlabError as error:
            return Verdict(None, None, f"not decided: {reason}; {error.message}")
        for side, mine, other in ((Side.LEFT, ours, theirs), (Side.RIGHT, theirs, ours)):
            if side in sides and (extra := mine - other):
                answer = min(extra, key=lambda m: (m.end, m.start, m.positions))
                witness = Witness(events, answer, side.value if right else None)
                found = f"found by search among small streams: {reason}"
                return Verdict(right is None, witness, found)
    return Verdict(None, None, f"not decided: {reason}; {tried} small streams show nothing")


def _small_streams(queries: Sequence[Query]) -> Iterator[list[dict[str, Any]]]:
    """Streams of events that the tests tell apart: all short ones, then some longer ones."""
    pool = _pool(queries)
    timed = [
        q.ast.window for q in queries if isinstance(q.ast.window, AttributeWindow | TimeWindow)
    ]
    keys = tuple(dict.fromkeys(a for q in queries for bracket in q.ast.partition for a in bracket))
    rng = Random(0)

    def dressed(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        time = 0
        rows = []
        for event in events:
            time += rng.choice((0, 1, 2))
            row = {**{key: rng.choice((0, 0, 1)) for key in keys}, **event}
            for window in timed:
                if isinstance(window, AttributeWindow):
                    row[window.attribute] = time
                else:
                    row.setdefault("time", Timestamp(time * 10**9))
            rows.append(row)
        return rows

    length, tried = 0, 0
    while tried + len(pool) ** (length + 1) <= MAX_TRIED // 2 and length < 6:
        length += 1
        for chosen in product(pool, repeat=length):
            tried += 1
            yield dressed(chosen)
    for _ in range(MAX_TRIED - tried):
        yield dressed(rng.choices(pool, k=rng.randrange(length + 1, length + 4)))


def _pool(queries: Sequence[Query]) -> list[dict[str, Any]]:
    """Events with the types of the queries and the values that their tests tell apart."""
    predicates: dict[Predicate, None] = {}
    compared: set[str] = set()
    for query in queries:
        for psi in subformulas(query.formula):
            if isinstance(psi, Atom):
                predicates[TypeIs(psi.type)] = None
            elif isinstance(psi, Filter):
                for condition in _atomic(psi.condition):
                    if isinstance(condition, On):
                        predicates[condition.predicate] = None
                    elif isinstance(condition, Correlation):
                        compared |= {condition.left.attribute, condition.right.attribute}
                    else:
                        compared |= {
                            a.attribute
                            for a in condition.arguments
                            if isinstance(a, SetOf) and a.attribute
                        }
    schema = schema_of(queries)
    try:
        found = [m.example for m in minterms(tuple(predicates), schema=schema)]
    except ResourceLimit:
        found = [Event(P.type) for P in predicates if isinstance(P, TypeIs)]
    events = [as_row(event) for event in found if event is not None][:24]
    names = sorted(compared)
    values = product((0, 1, 2) if len(names) == 1 else (0, 1), repeat=len(names))
    return [{**event, **dict(zip(names, v, strict=True))} for v in values for event in events][:40]


def _atomic(condition: Condition) -> Iterator[On | Correlation | Applied]:
    match condition:
        case Both(left, right) | Either(left, right):
            yield from _atomic(left)
            yield from _atomic(right)
        case atomic:
            yield atomic
