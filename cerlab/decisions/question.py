"""Verdicts on questions about all streams, and their witnesses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor, prod
from typing import Any, Literal, TypeAlias

from cerlab.automata.decide import (
    Difference,
    Joint,
    Side,
    TimeSpan,
    WindowedMachine,
    shortest_difference,
)
from cerlab.automata.deterministic import NOTHING, Deterministic
from cerlab.compile.pattern import Pattern
from cerlab.display import drawable
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, TimeWindow
from cerlab.model.event import (
    AttributeType,
    Duration,
    Event,
    Schema,
    Timestamp,
    Value,
    is_of_streams,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.minterms import Minterm, constants, minterms, representatives
from cerlab.predicates.truth import satisfies

SideName: TypeAlias = Literal["left", "right"]


@drawable
@dataclass(frozen=True)
class Witness:
    """A stream with a complex event that is an answer of `side` and not of the other side.

    For `satisfiable`, there is no other side and `side` is None.
    """

    events: list[dict[str, Any]]
    complex_event: ComplexEvent
    side: SideName | None = None


@drawable
@dataclass(frozen=True)
class Verdict:
    """The answer to a question about all streams; `holds` is None if it is not decided.

    Threads may share it.
    """

    holds: bool | None
    witness: Witness | None
    reason: str

    def __bool__(self) -> bool:
        """Raise TypeError: a verdict may be undecided, so it has no truth value."""
        raise TypeError("a Verdict is neither true nor false: use .holds (None: not decided)")


class Question:
    """A question about one or two queries, decided for each key by their machines."""

    def __init__(self, queries: Sequence[Pattern], sides: tuple[Side, ...]) -> None:
        self.queries = queries
        self.sides = sides
        self.windowed = [_machine_in_window(q) for q in queries]
        if len(queries) == 1:
            self.windowed.append(WindowedMachine(NOTHING))
        self.predicates = [P for w in self.windowed for P in w.machine.predicates]
        self.arithmetic = any(_has_arithmetic(P) for P in self.predicates)
        self.pairs = 0

    def minterms(self, key: Mapping[str, Value]) -> list[Minterm]:
        """Return the minterms of both machines among events with these values of the key."""
        streams = self.queries[0].plan.streams
        about_streams: list[pred.Predicate] = [pred.StreamIs(name) for name in streams]
        return [
            m
            for m in minterms(
                [*self.predicates, *about_streams], schema=schema_of(self.queries), values=key
            )
            if m.example is None or is_of_streams(m.example, streams)
        ]

    def answer(self, key: Mapping[str, Value], below: float = math.inf) -> Witness | bool:
        """Return a witness with these values of the key, or whether some minterm is undecided.

        The witness has fewer than `below` events.
        """
        every = self.minterms(key)
        self.pairs += len(every)
        left, right = self.windowed
        joint = Joint(left.machine, right.machine, every)
        with_example = [k for k, m in enumerate(every) if m.example is not None]
        difference = shortest_difference(
            left, right, joint, with_example, sides=self.sides, below=below
        )
        if difference is not None:
            examples = [every[k].example for k in difference.events]
            return self._witness(difference, [e for e in examples if e is not None], key)
        if len(with_example) == len(every):
            return False
        possible = range(len(every))
        return shortest_difference(left, right, joint, possible, sides=self.sides) is not None

    def _witness(
        self, difference: Difference, examples: Sequence[Event], key: Mapping[str, Value]
    ) -> Witness:
        events = [{**as_row(event), **key} for event in examples]
        for column, times in self._times(difference, len(events)).items():
            for event, time in zip(events, times, strict=True):
                event[column] = time
        answer = ComplexEvent(difference.start, len(events) - 1, difference.positions)
        side: SideName | None = difference.side.value if len(self.queries) > 1 else None
        return Witness(events, answer, side)

    def _times(self, difference: Difference, length: int) -> dict[str, list[Value]]:
        """Return the times of a witness: all equal, or the last one outside one of the windows."""
        ours, theirs = self.windowed if difference.side is Side.LEFT else reversed(self.windowed)
        columns: dict[str, list[Value]] = {}
        for window in (theirs, ours):
            if (span := window.span) is None:
                continue
            late = Fraction(0)
            if difference.late and window is theirs:
                # as late as `ours` allows on a common axis, otherwise just too late for `theirs`
                same = ours.span is not None and ours.span.axis == span.axis
                late = ours.span.width if same and ours.span else floor(span.width) + Fraction(1)
            elif difference.late and theirs.span and theirs.span.axis == span.axis:
                late = span.width
            name, moment = self._column(span.axis)
            last = int(late) if late.denominator == 1 else float(late)
            values: list[Value] = [0] * (length - 1) + [last]
            columns[name] = [Timestamp(int(v)) for v in values] if moment else values  # type: ignore[arg-type] # numbers
        return columns

    def _column(self, axis: str) -> tuple[str, bool]:
        """Return the attribute of a time axis, and whether it holds timestamps."""
        if axis:
            return axis, False
        schema = schema_of(self.queries)
        attributes = {name for P in self.predicates for name in pred.attributes_of(pred.atoms(P))}
        free = next(name for name in ("time", "time_", "time__") if name not in attributes)
        return (schema and timestamp_of(schema)) or free, True


def _machine_in_window(query: Pattern) -> WindowedMachine:
    machine: Deterministic = query.machine
    match query.plan.window:
        case EventWindow(width):
            return WindowedMachine(machine, events=width)
        case TimeWindow(nanoseconds):
            return WindowedMachine(machine, span=TimeSpan("", Fraction(nanoseconds)))
        case AttributeWindow(width, attribute):
            exact = Fraction(width)
            if _is_integer(query, attribute):
                # integers differ by integers, so the fraction of a width has no effect
                exact = Fraction(floor(exact))
            return WindowedMachine(machine, span=TimeSpan(attribute, exact))
        case _:
            return WindowedMachine(machine)


def _is_integer(query: Pattern, attribute: str) -> bool:
    schema = query.schema
    if schema is None:
        return False
    attributes = (
        e.attribute(attribute) for name in schema.event_names() if (e := schema.event(name))
    )
    return all(a.type is AttributeType.INT for a in attributes if a is not None)


def as_row(event: Event) -> dict[str, Any]:
    """Return an event as a dictionary that `cerlab.evaluate` accepts."""
    stream = {"stream": event.stream} if event.stream is not None else {}
    return {"type": event.type, **stream, **event.attributes}


def _has_arithmetic(P: pred.Predicate) -> bool:
    return any(
        isinstance(getattr(atom, side, None), pred.Computed | pred.Negated)
        for atom in pred.atoms(P)
        for side in ("left", "right", "operand")
    )


MAX_KEYS = 200
"""Most kinds of PARTITION BY keys, each decided separately, before `ResourceLimit`."""


def outside(queries: Sequence[Pattern]) -> str | None:
    """Return why the question is undecidable; None if it is decidable."""
    for query in queries:
        try:
            plan = query.plan
        except Unsupported as error:
            return error.message
        if plan.limit is not None:
            return "LIMIT leaves open which answers are returned"
        if plan.throttle is not None:
            return "THROTTLE drops answers because of earlier ones"
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
            name
            for q in queries
            for P in q.machine.predicates
            for name in pred.attributes_of(pred.atoms(P))
        } | {name for q in queries for name in q.plan.partition}
        if window.attribute in attributes:
            return f"'{window.attribute}' is the time of the window and is tested too"
    if isinstance(window, TimeWindow) and schema is not None and not timestamp_of(schema):
        return "the schema declares no single timestamp for a window in hours, minutes or seconds"
    return None


def _is_simple(atom: pred.Atom) -> bool:
    """Return whether an atom compares one attribute with constants."""
    match atom:
        case pred.Comparison(_, pred.Attribute(), pred.Constant()) | pred.Comparison(
            _, pred.Constant(), pred.Attribute()
        ):
            return True
        case pred.Member(pred.Attribute(), _):
            return True
        case pred.Between(pred.Attribute(), pred.Constant() | None, pred.Constant() | None):
            return True
        case _:
            return False


def schema_of(queries: Sequence[Pattern]) -> Schema | None:
    """Return the schema of the question: the first among the queries."""
    return next((q.schema for q in queries if q.schema is not None), None)


def timestamp_of(schema: Schema) -> str | None:
    """Return the single attribute declared as a timestamp, None without exactly one."""
    names = {a.name for a in schema.attributes() if a.type is AttributeType.TIMESTAMP}
    return names.pop() if len(names) == 1 else None


def keys_of(queries: Sequence[Pattern]) -> Iterator[Mapping[str, Value]]:
    """Yield keys that cover all outcomes of the tests; one empty key without PARTITION BY.

    An answer lies in one partition, and so does a difference. Raises `ResourceLimit` above
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
    """Return a value of a key attribute for each possible outcome of its tests."""
    about = _atoms_about(name, queries)
    schema = schema_of(queries)
    values: list[Value] = [v for v in representatives(constants(about)) if v is not None]
    if schema is not None:
        values = [v for v in (*values, Timestamp(0), Duration(0)) if _is_of_type(v, name, schema)]
    examples: dict[tuple[bool, ...], Value] = {}
    for value in values:
        event = Event("other", {name: value})
        examples.setdefault(tuple(satisfies(event, atom) for atom in about), value)
    return list(examples.values())


def _atoms_about(name: str, queries: Sequence[Pattern]) -> list[pred.Atom]:
    return [
        atom
        for q in queries
        for P in q.machine.predicates
        for atom in pred.atoms(P)
        if name in pred.attributes_of([atom])
    ]


_CLASS: dict[AttributeType, tuple[type, ...]] = {
    AttributeType.INT: (int,),
    AttributeType.DOUBLE: (int, float),
    AttributeType.STRING: (str,),
    AttributeType.BOOLEAN: (bool,),
    AttributeType.TIMESTAMP: (Timestamp,),
    AttributeType.DURATION: (Duration,),
}


def _is_of_type(value: Value, name: str, schema: Schema) -> bool:
    """Return whether some event type declares the attribute with the type of the value."""
    attributes = (a for s in schema.streams for e in s.events if (a := e.attribute(name)))
    return any(is_of(value, a.type) for a in attributes)


def is_of(value: Value, kind: AttributeType) -> bool:
    """Return whether a value has a declared type; NULL has none, an integer is also a double."""
    boolean = kind is AttributeType.BOOLEAN
    return isinstance(value, _CLASS[kind]) and isinstance(value, bool) is boolean
