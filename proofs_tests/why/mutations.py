"""Single changes to a query or a stream that take an answer away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from cerlab import ComplexEvent, Event, Formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import children, subformulas
from cerlab.logic.ceql.semantics import Meaning, query_answers
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.model.answer import Positions
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Strategy
from cerlab.model.stream import Stream
from cerlab.predicates.condition import On
from cerlab.testing import STREAMS, TYPES, Shape, random_predicate
from cerlab.why.failure import Path


@dataclass(frozen=True)
class Question:
    """Positions, and an interval if one is given, asked of a query on a stream."""

    ast: CeqlQuery
    stream: Stream
    positions: Positions
    start: int | None
    end: int | None
    first_order: bool = False

    @property
    def meaning(self) -> Meaning:
        return fo_valuations if self.first_order else valuations

    def holds(self) -> bool:
        """By the reference."""
        return any(
            m.positions == self.positions
            and self.start in (None, m.start)
            and self.end in (None, m.end)
            for m in query_answers(self.ast, self.stream, self.meaning)
        )

    def with_events(self, events: list[Event]) -> Question:
        stream = Stream(events, time=self.stream.time, until=self.stream.until)
        return replace(self, stream=stream)

    def with_event(self, p: int, t: Event) -> Question:
        """The question with another event at a position."""
        return self.with_events([*self.stream.events[:p], t, *self.stream.events[p + 1 :]])


def question(ast: CeqlQuery, stream: Stream, m: ComplexEvent, *, interval: bool) -> Question:
    start, end = (m.start, m.end) if interval else (None, None)
    return Question(ast, stream, m.positions, start, end)


def alter(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """One event with another type, value, key or stream."""
    p = rng.choice(m.positions) if m.positions else rng.randrange(m.start, m.end + 1)
    t = q.stream[p]
    match rng.randrange(5):
        case 0 | 1:
            event = replace(t, type=rng.choice(TYPES))
        case 2 | 3:
            event = replace(t, attributes={**t.attributes, "v": rng.choice((0, 1, None, "a"))})
        case _:
            event = replace(t, stream=rng.choice(STREAMS))
    if q.ast.partition and rng.random() < 0.3:
        event = replace(t, attributes={**t.attributes, "k": rng.choice((0, 1, 2, None))})
    return q.with_event(p, event)


def delete(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """Without one marked event; the other positions, wherever the answer may then be."""
    if len(m.positions) < 2:
        return q
    p = rng.choice(m.positions)
    rest = tuple(i - (i > p) for i in m.positions if i != p)
    events = [*q.stream.events[:p], *q.stream.events[p + 1 :]]
    return replace(q.with_events(events), positions=rest, start=None, end=None)


def insert(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """One event more, inside the answer."""
    p = rng.randrange(m.start, m.end + 1)
    t = q.stream[p]
    event = replace(t, type=rng.choice(TYPES))
    later = tuple(i + (i > p) for i in m.positions)
    ends = (None, None) if q.start is None else (m.start + (m.start > p), m.end + (m.end > p))
    events = [*q.stream.events[: p + 1], event, *q.stream.events[p + 1 :]]
    return replace(q.with_events(events), positions=later, start=ends[0], end=ends[1])


def tighten(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """`;` to `:`, or + to :+, at one place."""

    def tighter(phi: Formula) -> Formula:
        match phi:
            case cel.Seq(left, right):
                return cel.Concat(left, right)
            case cel.Plus(body):
                return cel.ConcatPlus(body)
            case cel.Count(gaps=True):
                return replace(phi, gaps=False)
            case _:
                return phi

    return _at_some_place(rng, q, tighter)


def count(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """Iterations that are counted, and counts that are others, at one place."""
    least = rng.choice((1, 2, 2, 3))
    most = rng.choice((None, least, least, least + 1))

    def counted(phi: Formula) -> Formula:
        if isinstance(phi, cel.Plus | cel.ConcatPlus | cel.Count):
            gaps = isinstance(phi, cel.Plus) or (isinstance(phi, cel.Count) and phi.gaps)
            return cel.Count(phi.body, least, most, gaps)
        return phi

    return _at_some_place(rng, q, counted)


def add_filter(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """A filter more, at one place."""

    def narrower(phi: Formula) -> Formula:
        labels = sorted(cel.defined_labels(phi))
        if not labels:
            return phi
        return cel.Filter(phi, On(rng.choice(labels), random_predicate(rng, Shape())))

    return _at_some_place(rng, q, narrower)


def unless(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """An UNLESS around one place."""
    return _at_some_place(rng, q, lambda phi: cel.Unless(phi, cel.Atom(rng.choice(TYPES))))


def both(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """An AND with an atom around one place."""
    return _at_some_place(rng, q, lambda phi: cel.And(phi, cel.Atom(rng.choice(TYPES))))


def shrunk(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """A window that may be too small."""
    window = EventWindow(rng.randrange(max(1, m.end - m.start)))
    return replace(q, ast=replace(q.ast, window=window))


def choose_strategy(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """Another strategy."""
    return replace(q, ast=replace(q.ast, strategy=rng.choice(list(Strategy))))


def add_consumption(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """Consumption."""
    return replace(q, ast=replace(q.ast, consume=rng.choice((Consume.ANY, Consume.PARTITION))))


def divide(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """A partition by k or v, or FROM one stream."""
    if rng.random() < 0.3:
        return replace(q, ast=replace(q.ast, streams=(rng.choice(STREAMS),)))
    return replace(q, ast=replace(q.ast, partition=((rng.choice("kv"),),)))


def narrow(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """A window around one place."""
    width = rng.choice((0, 1, 2, 2.5))
    window = rng.choice((EventWindow(rng.randrange(3)), AttributeWindow(width, "t")))
    return _at_some_place(rng, q, lambda phi: cel.Within(phi, window))


def wait(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """A wait of one place."""
    length = AttributeWindow(rng.choice((0, 1, 2.5, 4)), "t")
    return _at_some_place(rng, q, lambda phi: cel.Wait(phi, length))


TIMED_MUTATIONS = (narrow, narrow, wait, wait, insert, insert, unless)

MUTATIONS: tuple[Callable[[Random, Question, ComplexEvent], Question], ...] = (
    *(alter, alter, alter, delete, delete, insert, tighten, tighten, add_filter),
    *(add_filter, unless, both, shrunk, choose_strategy, add_consumption, divide),
)


def _at_some_place(rng: Random, q: Question, change: Callable[[Formula], Formula]) -> Question:
    formula = q.ast.formula
    path = rng.choice(_paths(formula))
    changed = cel.with_part(formula, path, change(cel.part_at(formula, path)))
    return replace(q, ast=replace(q.ast, formula=changed))


def _paths(phi: Formula) -> list[Path]:
    """The places of a formula that are not inside NOT, which takes atoms only."""
    if isinstance(phi, cel.Not):
        return [()]
    return [(), *((n, *rest) for n, psi in enumerate(children(phi)) for rest in _paths(psi))]


def has_strategy(phi: Formula) -> bool:
    return any(isinstance(psi, cel.Select) for psi in subformulas(phi))
