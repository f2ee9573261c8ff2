"""Events to search small streams of: what the tests of the queries tell apart, as a schema says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any, NamedTuple, TypeAlias

from cerlab.budget import poll
from cerlab.compile.pattern import Pattern
from cerlab.decisions.fragment import is_of, schema_of
from cerlab.decisions.question import as_row
from cerlab.errors import ResourceLimit
from cerlab.logic.cel.syntax import Atom, Filter, subformulas
from cerlab.model.event import Event, Timestamp, Value
from cerlab.model.schema import Schema
from cerlab.predicates.condition import Correlation, On, atomics
from cerlab.predicates.minterms import minterms
from cerlab.predicates.second_order import SetOf
from cerlab.predicates.syntax import Predicate, TypeIs
from cerlab.predicates.truth import kind_of

Row: TypeAlias = dict[str, Any]

MAX_EXAMPLES = 24
"""How many events there are that the tests tell apart."""

MAX_POOL = 40
"""How many events there are with the values that conditions over several events compare."""

_NUMBERS: tuple[Value, ...] = (0, 1, 2)
_OTHERS: tuple[Value, ...] = ("a", "b", "c", False, True, Timestamp(0), Timestamp(10**9))


class Pool(NamedTuple):
    """Events to choose from, and the attributes by which several events are compared."""

    events: list[Row]
    attributes: list[str]
    known_values: tuple[Value, ...]
    schema: Schema | None

    def values(self, row: Row, name: str) -> list[Value]:
        """What an attribute of an event may hold: first its own value and that value's neighbours.

        Then what compared attributes of other events hold, and a few more. With a schema all are
        of the declared type, and there are none where the attribute is not declared.
        """
        own = row.get(name)
        candidates = (own, *_neighbours(own), *self.known_values, *_NUMBERS)
        if self.schema is not None:
            event = self.schema.event(row["type"], row.get("stream"))
            declaration = event.attribute(name) if event else None
            every = (*candidates, *_OTHERS) if declaration else ()
            candidates = tuple(v for v in every if declaration and is_of(v, declaration.type))
        return list({(kind_of(v), v): v for v in candidates if v is not None}.values())

    def random_variant(self, row: Row, rng: Random) -> Row:
        """The event with other values, or NULL where it may be, of what is compared."""
        again = dict(row)
        for name in self.attributes:
            if (values := self.values(row, name)) and rng.random() < 0.5:
                again[name] = rng.choice(values)
            elif values and self._nullable(row, name) and rng.random() < 0.2:
                again.pop(name, None)
        return again

    def _nullable(self, row: Row, name: str) -> bool:
        if self.schema is None:
            return True
        event = self.schema.event(row["type"], row.get("stream"))
        declaration = event.attribute(name) if event else None
        return declaration is not None and declaration.nullable


def pool_of(queries: Sequence[Pattern]) -> Pool:
    """Events with the types of the queries and the values that their tests tell apart."""
    predicates, attributes = _single_event_tests(queries)
    schema = schema_of(queries)
    try:
        kinds = [m.example for m in minterms(predicates, schema=schema)]
    except ResourceLimit:
        poll()
        kinds = [Event(P.type) for P in predicates if isinstance(P, TypeIs)]
    examples = [as_row(event) for event in kinds if event is not None][:MAX_EXAMPLES]
    names = sorted(attributes - {"type", "stream"})
    values = [row[name] for name in names for row in examples if row.get(name) is not None]
    known_values = tuple({(kind_of(value), value): value for value in values}.values())
    plain = Pool(examples, names, known_values, schema)
    return plain._replace(events=_with_values(plain))


def _with_values(plain: Pool) -> list[Row]:
    """Each event with the first few values of each compared attribute."""
    few = 3 if len(plain.attributes) == 1 else 2
    rows: dict[str, Row] = {}
    for choice in product(range(few), repeat=len(plain.attributes)):
        for event in plain.events:
            row = dict(event)
            for name, k in zip(plain.attributes, choice, strict=True):
                if values := plain.values(event, name):
                    row[name] = values[k % len(values)]
            rows.setdefault(repr(sorted(row.items())), row)
        if len(rows) >= MAX_POOL:
            break
    return list(rows.values())[:MAX_POOL]


def _neighbours(value: Value) -> tuple[Value, ...]:
    """The next values up and down, of the same kind."""
    match value:
        case bool():
            return (not value,)
        case int() | float():
            return tuple(v for v in (value + 1, value - 1) if -(2**63) <= v < 2**63)
        case str():
            return (value + "a",)
        case Timestamp(nanoseconds):
            return (Timestamp(nanoseconds + 1), Timestamp(nanoseconds - 1))
        case None:
            return ()


def _single_event_tests(queries: Sequence[Pattern]) -> tuple[tuple[Predicate, ...], set[str]]:
    """The tests of single events, and the attributes that conditions over several compare."""
    predicates: dict[Predicate, None] = {}
    attributes: set[str] = set()
    for query in queries:
        for psi in subformulas(query.formula):
            if isinstance(psi, Atom):
                predicates[TypeIs(psi.type)] = None
            elif isinstance(psi, Filter):
                for condition in atomics(psi.condition):
                    if isinstance(condition, On):
                        predicates[condition.predicate] = None
                    elif isinstance(condition, Correlation):
                        attributes |= {condition.left.attribute, condition.right.attribute}
                    else:
                        attributes |= {
                            a.attribute
                            for a in condition.arguments
                            if isinstance(a, SetOf) and a.attribute
                        }
    return tuple(predicates), attributes
