"""The search of small streams for undecidable questions, by the reference, shortest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from random import Random
from typing import Any, NamedTuple, TypeAlias

from cerlab import io
from cerlab.automata.decide import Side
from cerlab.budget import poll, step_budget
from cerlab.compile.pattern import Pattern
from cerlab.decisions.plain_labels import with_plain_labels
from cerlab.decisions.question import Verdict, Witness, as_row, is_of, schema_of, timestamp_of
from cerlab.errors import CerlabError, ResourceLimit
from cerlab.evaluate import answers_of
from cerlab.logic.cel.syntax import Atom, Filter, subformulas, windows
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Duration, Event, Schema, Timestamp, Value
from cerlab.predicates.condition import Correlation, On, SetOf, atomics
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import Predicate, TypeIs
from cerlab.predicates.truth import kind_of

MAX_TRIED = 2_000
"""Most streams searched for an undecidable question: 0.8 s for two labels (2026-11-29)."""


MAX_LENGTH = 7
"""Longest stream searched: iterations double the answers of the reference with each event."""


def bounded_search(
    left: Pattern,
    right: Pattern | None,
    sides: tuple[Side, ...],
    reason: str,
    first: Witness | None = None,
) -> Verdict:
    """Search small streams by the reference, shortest first, unless the queries are equal.

    The witness is then shortened as far as possible. `first` is a shortest stream on which the
    queries differ without consumption, so shorter ones cannot differ with it.
    """
    if right is not None and _is_one_query(left, right):
        return Verdict(True, None, "the same query, up to the names of labels")
    question = _Question(left, right, sides)
    count = 0
    try:
        if first is not None and (witness := question.witness(first.events)) is not None:
            return _by_example(witness, right, reason)
        for events in small_streams([q for q in (left, right) if q is not None]):
            count += 1
            if (witness := question.witness(events)) is not None:
                return _by_example(_shortest_part(question, witness), right, reason)
    except CerlabError as error:
        poll()
        return Verdict(None, None, f"not decided: {reason}; {error.message}")
    return Verdict(None, None, f"not decided: {reason}; {count} small streams show no difference")


def _is_one_query(left: Pattern, right: Pattern) -> bool:
    of_left, of_right = (
        (with_plain_labels(query.ast), query.schema, query.logic) for query in (left, right)
    )
    return of_left == of_right


def _by_example(witness: Witness, right: Pattern | None, reason: str) -> Verdict:
    return Verdict(right is None, witness, f"found by search among small streams: {reason}")


class _Question(NamedTuple):
    """The question whether one of `sides` has an answer on a stream that the other side lacks."""

    left: Pattern
    right: Pattern | None
    sides: tuple[Side, ...]

    @step_budget("the search among small streams", own=1)
    def witness(self, events: list[Row]) -> Witness | None:
        """Return an answer of one side only on these events, by the reference, or None."""
        stream = io.as_stream(events)
        ours = set(answers_of(self.left, stream, "reference"))
        theirs = set(answers_of(self.right, stream, "reference")) if self.right else set()
        for side, extra in ((Side.LEFT, ours - theirs), (Side.RIGHT, theirs - ours)):
            if side in self.sides and extra:
                return Witness(events, min(extra, key=by_end), side.value if self.right else None)
        return None


def _shortest_part(question: _Question, witness: Witness) -> Witness:
    """Return the witness on the shortest part of its stream that still separates the queries.

    Long streams are drawn at random, so a witness may hold irrelevant events.
    """
    for length in range(1, len(witness.events)):
        for part in combinations(witness.events, length):
            if (shorter := question.witness(list(part))) is not None:
                return shorter
    return witness


def small_streams(queries: Sequence[Pattern]) -> Iterator[list[Row]]:
    """Yield all short streams of events that the tests distinguish, then random longer ones."""
    pool = pool_of(queries)
    # seeded, so that verdicts are the same in every process
    rng = Random(0)
    length, count = 0, 0
    # half of the tries are all short streams, the other half random longer ones
    while count + len(pool.events) ** (length + 1) <= MAX_TRIED // 2 and length + 1 < MAX_LENGTH:
        length += 1
        for rows in product(pool.events, repeat=length):
            count += 1
            yield _with_clauses(rows, pool, queries, rng)
    longest = min(length + 3, MAX_LENGTH)
    for size in sorted(rng.randint(length + 1, longest) for _ in range(MAX_TRIED - count)):
        events = [pool.random_variant(row, rng) for row in rng.choices(pool.events, k=size)]
        yield _with_clauses(events, pool, queries, rng)


def _with_clauses(
    events: Iterable[Row], pool: Pool, queries: Sequence[Pattern], rng: Random
) -> list[Row]:
    """Return the events with streams, keys and times that the queries read."""
    every = (w for q in queries for w in (q.ast.window, q.ast.throttle, *windows(q.formula)))
    timed = [w for w in every if isinstance(w, AttributeWindow | TimeWindow)]
    keys = dict.fromkeys(a for q in queries for bracket in q.ast.partition for a in bracket)
    moment = (pool.schema and timestamp_of(pool.schema)) or "time"
    time = 0
    rows = []
    for event in events:
        time += rng.choice((0, 1, 2))
        row = dict(event)
        if streams := _streams(queries, row, pool.schema):
            row["stream"] = rng.choice(streams)
        for key in keys:
            if key not in ("type", "stream") and (values := pool.values(row, key)):
                row[key] = rng.choice((values[0], values[0], values[-1]))
        for window in timed:
            if isinstance(window, AttributeWindow):
                row[window.attribute] = time
            else:
                row[moment] = Timestamp(time * 10**9)
        rows.append(row)
    return rows


def _streams(queries: Sequence[Pattern], row: Row, schema: Schema | None) -> list[str]:
    """Return the streams that an event may come from, and one more, if the queries name any."""
    names = {name for q in queries for name in q.ast.streams} | {
        atom.stream
        for q in queries
        for atom in subformulas(q.formula)
        if isinstance(atom, Atom) and atom.stream is not None
    }
    if not names:
        return []
    if schema is None:
        return [*sorted(names), "other"]
    return [s.name for s in schema.streams if schema.event(row["type"], s.name) is not None]


Row: TypeAlias = dict[str, Any]


MAX_EXAMPLES = 24
"""Most events in the pool, one for each outcome of the tests."""


MAX_POOL = 40
"""Most events in the pool with values that conditions over several events compare."""


_NUMBERS: tuple[Value, ...] = (0, 1, 2)


_OTHERS: tuple[Value, ...] = (
    *("a", "b", "c", False, True),
    *(Timestamp(0), Timestamp(10**9), Duration(0), Duration(10**9)),
)


class Pool(NamedTuple):
    """The events from which streams are made, and the attributes by which events are compared."""

    events: list[Row]
    attributes: list[str]
    known_values: tuple[Value, ...]
    schema: Schema | None

    def values(self, row: Row, name: str) -> list[Value]:
        """Return values for an attribute of an event: its own first, then neighbours.

        Then follow values of compared attributes of other events, and a few more. With a schema,
        all have the declared type; an undeclared attribute has none.
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
        """Return the event with other values, or NULL if allowed, in compared attributes."""
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
    """Return events with the types of the queries and the values that their tests distinguish."""
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
    """Return each event with the first few values of each compared attribute."""
    few = 3 if len(plain.attributes) == 1 else 2
    rows: dict[str, Row] = {}
    for choice in product(range(few), repeat=len(plain.attributes)):
        for event in plain.events:
            row = dict(event)
            for name, k in zip(plain.attributes, choice, strict=True):
                if values := plain.values(event, name):
                    row[name] = values[k % len(values)]
            # keyed by text, since 1 and TRUE are equal in Python
            rows.setdefault(repr(sorted(row.items())), row)
        if len(rows) >= MAX_POOL:
            break
    return list(rows.values())[:MAX_POOL]


def _neighbours(value: Value) -> tuple[Value, ...]:
    """Return the next values up and down, of the same kind."""
    match value:
        case bool():
            return (not value,)
        case int() | float():
            return tuple(v for v in (value + 1, value - 1) if -(2**63) <= v < 2**63)
        case str():
            return (value + "a",)
        case Timestamp(nanoseconds):
            return (Timestamp(nanoseconds + 1), Timestamp(nanoseconds - 1))
        case Duration(nanoseconds):
            return (Duration(nanoseconds + 1), Duration(nanoseconds - 1))
        case None:
            return ()


def _single_event_tests(queries: Sequence[Pattern]) -> tuple[tuple[Predicate, ...], set[str]]:
    """Return the tests of single events, and the attributes compared across events."""
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
                        attributes |= {each.attribute for each in condition.attributes}
                    else:
                        attributes |= {
                            a.attribute
                            for a in condition.arguments
                            if isinstance(a, SetOf) and a.attribute
                        }
    return tuple(predicates), attributes
