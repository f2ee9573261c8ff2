"""Which questions are decidable, and which keys of PARTITION BY have to be asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from cerlab.compile.pattern import Pattern
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.model.clauses import AttributeWindow, Consume, TimeWindow
from cerlab.model.event import Event, Timestamp, Value
from cerlab.model.schema import AttributeType, Schema
from cerlab.predicates.mentions import attributes_of
from cerlab.predicates.minterms import constants, representatives
from cerlab.predicates.syntax import Atom as AtomicTest
from cerlab.predicates.syntax import Attribute, Between, Comparison, Constant, Member, atoms
from cerlab.predicates.truth import satisfies

MAX_KEYS = 200
"""How many kinds of keys of PARTITION BY are looked at one by one."""


def outside(queries: Sequence[Pattern]) -> str | None:
    """Why the question is outside the decidable class, None if it is inside."""
    for query in queries:
        try:
            plan = query.plan
        except Unsupported as error:
            return error.message
        if plan.limit is not None:
            return "LIMIT leaves open which answers are given"
        if plan.consume is not Consume.NONE:
            return "CONSUME BY differs"
        if (reason := _time_that_is_tested(query, queries)) is not None:
            return reason
    first, last = queries[0], queries[-1]
    if first.plan.partition != last.plan.partition:
        return "PARTITION BY differs"
    for name in first.plan.partition:
        if name in ("type", "stream"):
            return "PARTITION BY type or stream"
        if not all(map(_is_simple, _atoms_about(name, queries))):
            return f"the key '{name}' of PARTITION BY is tested with more than constants"
    if set(first.plan.streams) != set(last.plan.streams):
        return "FROM differs"
    if first.schema and last.schema and first.schema != last.schema:
        return "the two schemas differ"
    return None


def _time_that_is_tested(query: Pattern, queries: Sequence[Pattern]) -> str | None:
    window, schema = query.plan.window, schema_of(queries)
    if isinstance(window, AttributeWindow):
        attributes = {
            name for q in queries for P in q.machine.predicates for name in attributes_of(atoms(P))
        } | {name for q in queries for name in q.plan.partition}
        if window.attribute in attributes:
            return f"'{window.attribute}' is the time of the window and is tested too"
    if isinstance(window, TimeWindow) and schema is not None and not timestamp_of(schema):
        return "the schema declares no single timestamp for a window in hours, minutes or seconds"
    return None


def _is_simple(atom: AtomicTest) -> bool:
    """Whether an atom compares one attribute with constants."""
    match atom:
        case Comparison(_, Attribute(), Constant()) | Comparison(_, Constant(), Attribute()):
            return True
        case Member(Attribute(), _):
            return True
        case Between(Attribute(), Constant() | None, Constant() | None):
            return True
        case _:
            return False


def schema_of(queries: Sequence[Pattern]) -> Schema | None:
    """The schema of the question: that of the first query that has one."""
    return next((q.schema for q in queries if q.schema is not None), None)


def timestamp_of(schema: Schema) -> str | None:
    """The only attribute that is declared as a timestamp, None if there are none or several."""
    names = {a.name for a in schema.attributes() if a.type is AttributeType.TIMESTAMP}
    return names.pop() if len(names) == 1 else None


def keys_of(queries: Sequence[Pattern]) -> Iterator[Mapping[str, Value]]:
    """Keys of PARTITION BY, one of each kind that tests tell apart; one empty key without it.

    An answer is inside one partition, and so is a difference. Raises `ResourceLimit` above
    `MAX_KEYS` kinds.
    """
    partition = queries[0].plan.partition
    choices = [_values(name, queries) for name in partition]
    if prod(map(len, choices)) > MAX_KEYS:
        raise ResourceLimit(
            "CER0612",
            f"more than {MAX_KEYS} kinds of keys of PARTITION BY",
            hint="test fewer of the attributes of the key",
        )
    for values in product(*choices):
        yield dict(zip(partition, values, strict=True))


def _values(name: str, queries: Sequence[Pattern]) -> list[Value]:
    """A value of a key attribute for each combination of its tests that some value has."""
    about = _atoms_about(name, queries)
    schema = schema_of(queries)
    values: list[Value] = [v for v in representatives(constants(about)) if v is not None]
    if schema is not None:
        values = [v for v in (*values, Timestamp(0)) if _is_of_type(v, name, schema)]
    examples: dict[tuple[bool, ...], Value] = {}
    for value in values:
        event = Event("other", {name: value})
        examples.setdefault(tuple(satisfies(event, atom) for atom in about), value)
    return list(examples.values())


def _atoms_about(name: str, queries: Sequence[Pattern]) -> list[AtomicTest]:
    return [
        atom
        for q in queries
        for P in q.machine.predicates
        for atom in atoms(P)
        if name in attributes_of([atom])
    ]


_CLASS: dict[AttributeType, tuple[type, ...]] = {
    AttributeType.INT: (int,),
    AttributeType.DOUBLE: (int, float),
    AttributeType.STRING: (str,),
    AttributeType.BOOLEAN: (bool,),
    AttributeType.TIMESTAMP: (Timestamp,),
}


def _is_of_type(value: Value, name: str, schema: Schema) -> bool:
    """Whether some event type declares the attribute with the type of the value."""
    attributes = (a for s in schema.streams for e in s.events if (a := e.attribute(name)))
    return any(is_of(value, a.type) for a in attributes)


def is_of(value: Value, kind: AttributeType) -> bool:
    """Whether a value is of a declared type; NULL is of none, an integer is also a double."""
    boolean = kind is AttributeType.BOOLEAN
    return isinstance(value, _CLASS[kind]) and isinstance(value, bool) is boolean
