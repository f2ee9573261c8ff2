"""The question put to the product of two machines, over the minterms of their tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any

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
from cerlab.decisions.fragment import schema_of, timestamp_of
from cerlab.decisions.verdict import SideName, Witness
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.event import Event, Timestamp, Value, is_of_streams
from cerlab.model.schema import AttributeType
from cerlab.predicates.mentions import attributes_of
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import Computed, Negated, Predicate, StreamIs, atoms


class Question:
    """Two machines (the second may be the one without answers), asked key by key."""

    def __init__(self, queries: Sequence[Pattern], sides: tuple[Side, ...]) -> None:
        self.queries = queries
        self.sides = sides
        self.windowed = [_machine_in_window(q) for q in queries]
        if len(queries) == 1:
            self.windowed.append(WindowedMachine(NOTHING))
        self.predicates = [P for w in self.windowed for P in w.machine.predicates]
        self.arithmetic = any(_has_arithmetic(P) for P in self.predicates)
        self.pairs = 0

    def answer(self, key: Mapping[str, Value]) -> Witness | bool:
        """A witness whose events have those values, or whether something is left undecided."""
        streams = self.queries[0].plan.streams
        about_streams: list[Predicate] = [StreamIs(name) for name in streams]
        every = [
            m
            for m in minterms(
                [*self.predicates, *about_streams], schema=schema_of(self.queries), values=key
            )
            if m.example is None or is_of_streams(m.example, streams)
        ]
        self.pairs += len(every)
        left, right = self.windowed
        joint = Joint(left.machine, right.machine, every)
        with_example = [k for k, m in enumerate(every) if m.example is not None]
        difference = shortest_difference(left, right, joint, with_example, sides=self.sides)
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
        """The columns that the windows read: all equal, or the last event late enough."""
        ours, theirs = self.windowed if difference.side is Side.LEFT else reversed(self.windowed)
        columns: dict[str, list[Value]] = {}
        for window in (theirs, ours):
            if (span := window.span) is None:
                continue
            late = Fraction(0)
            if difference.late and window is theirs:
                same = ours.span is not None and ours.span.axis == span.axis
                late = ours.span.width if same and ours.span else floor(span.width) + Fraction(1)
            elif difference.late and theirs.span and theirs.span.axis == span.axis:
                late = span.width
            name, moment = self._column(span.axis)
            last = int(late) if late.denominator == 1 else float(late)
            values: list[Value] = [0] * (length - 1) + [last]
            columns[name] = [Timestamp(int(v)) for v in values] if moment else values  # type: ignore[arg-type]  # numbers
        return columns

    def _column(self, axis: str) -> tuple[str, bool]:
        """The attribute that an axis is read from, and whether it holds moments."""
        if axis:
            return axis, False
        schema = schema_of(self.queries)
        attributes = {name for P in self.predicates for name in attributes_of(atoms(P))}
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
    """An event as `cerlab.evaluate` takes it."""
    stream = {"stream": event.stream} if event.stream is not None else {}
    return {"type": event.type, **stream, **event.attributes}


def _has_arithmetic(P: Predicate) -> bool:
    return any(
        isinstance(getattr(atom, side, None), Computed | Negated)
        for atom in atoms(P)
        for side in ("left", "right", "operand")
    )
