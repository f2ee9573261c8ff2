"""Single changes to an expression, a stream or the positions that take a match away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from cerlab import Event, Sremo
from cerlab.logic.sremo import detections
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import absence
from cerlab.model.answer import Positions
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.testing import TYPES
from cerlab.why.failure import Path
from proofs_tests.why.sremo_checker import paths


@dataclass(frozen=True)
class Question:
    """Positions asked of an expression on a stream."""

    e: Sremo
    stream: Stream
    positions: Positions

    def holds(self) -> bool:
        """By the reference."""
        return any(m.positions == self.positions for m in detections(self.e, self.stream.events))

    def with_events(self, events: list[Event]) -> Question:
        return replace(self, stream=Stream(events))

    def with_event(self, p: int, t: Event) -> Question:
        """The question with another event at a position."""
        return self.with_events([*self.stream.events[:p], t, *self.stream.events[p + 1 :]])


def _somewhere(
    rng: Random, q: Question, change: Callable[[Sremo], Sremo], *kinds: type
) -> Question:
    """The change at a place of one of some kinds, outside negations."""
    every = [(path, e) for path, e in paths(q.e) if isinstance(e, kinds)]
    places = [(path, e) for path, e in every if not _is_negated(q.e, path)]
    if not places:
        return q
    path, part = rng.choice(places)
    return replace(q, e=sre.with_part(q.e, path, change(part)))


def _is_negated(e: Sremo, path: Path) -> bool:
    for n in path:
        if isinstance(e, sre.Negation):
            return True
        e = sre.children(e)[n]
    return False


def alter(rng: Random, q: Question) -> Question:
    """One event with another type or value."""
    p = rng.choice(q.positions) if rng.random() < 0.7 else rng.randrange(len(q.stream))
    t = q.stream[p]
    if rng.random() < 0.5:
        event = replace(t, type=rng.choice(TYPES))
    else:
        event = replace(t, attributes={**t.attributes, "v": rng.choice((0, 1, 2, None, "a"))})
    return q.with_event(p, event)


def delete(rng: Random, q: Question) -> Question:
    """Leave one event out, and its position if it is marked."""
    p = rng.choice(q.positions) if rng.random() < 0.7 else rng.randrange(len(q.stream))
    rest = tuple(i - (i > p) for i in q.positions if i != p)
    events = [*q.stream.events[:p], *q.stream.events[p + 1 :]]
    return replace(q.with_events(events), positions=rest) if rest else q


def insert(rng: Random, q: Question) -> Question:
    """One event more, inside the match."""
    p = rng.randrange(q.positions[0], q.positions[-1] + 1)
    event = replace(q.stream[p], type=rng.choice(TYPES))
    later = tuple(i + (i > p) for i in q.positions)
    events = [*q.stream.events[: p + 1], event, *q.stream.events[p + 1 :]]
    return replace(q.with_events(events), positions=later)


def asked_otherwise(rng: Random, q: Question) -> Question:
    """One position more, or one less."""
    positions = set(q.positions) ^ {rng.randrange(q.positions[0], q.positions[-1] + 1)}
    return replace(q, positions=tuple(sorted(positions))) if positions else q


def narrow(rng: Random, q: Question) -> Question:
    """A terminal asks for more: of its event, or of a register."""
    reading = pred.RegisterComparison(
        pred.Operator.EQ, pred.Attribute("v"), pred.RegisterAttribute("r", "v")
    )
    value = pred.Comparison(
        pred.Operator.EQ, pred.Attribute("v"), pred.Constant(rng.choice((0, 1)))
    )
    more = rng.choice((reading, value))

    def change(e: Sremo) -> Sremo:
        assert isinstance(e, sre.Terminal)
        return replace(e, guard=pred.And(e.guard, more))

    return _somewhere(rng, q, change, sre.Terminal)


def flip_mark(rng: Random, q: Question) -> Question:
    """A terminal marks its event that did not, or no longer does."""

    def change(e: Sremo) -> Sremo:
        assert isinstance(e, sre.Terminal)
        return replace(e, marked=not e.marked)

    return _somewhere(rng, q, change, sre.Terminal)


def contiguous(rng: Random, q: Question) -> Question:
    """Forbid gaps at one place, or gaps that hold an instance of the next part."""

    def change(e: Sremo) -> Sremo:
        match e:
            case sre.SkipAny(operands) if rng.random() < 0.5:
                return sre.SkipNext(operands)
            case sre.SkipAny((first, *others)) | sre.SkipNext((first, *others)):
                for each in others:
                    first = sre.Concat(first, each)
                return first
            case _:
                return e

    return _somewhere(rng, q, change, sre.SkipAny, sre.SkipNext)


def once(rng: Random, q: Question) -> Question:
    """An iteration is one round, or none."""

    def change(e: Sremo) -> Sremo:
        assert isinstance(e, sre.Star | sre.Plus)
        return sre.EPSILON if marks_nothing(e) and rng.random() < 0.5 else e.body

    return _somewhere(rng, q, change, sre.Star, sre.Plus)


def add_window(rng: Random, q: Question) -> Question:
    """A window that may be too small, around one place."""
    width = rng.randrange(1, 3)
    window = rng.choice(
        (
            lambda e: sre.SpanWindow(e, width),
            lambda e: sre.LengthWindow(e, width),
            lambda e: sre.Within(e, width - 1, "t"),
        )
    )
    return _somewhere(rng, q, window, *KINDS)


def absent(rng: Random, q: Question) -> Question:
    """No event of a type in some run of any events, or no run but others."""
    kind = sre.Terminal(
        pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(rng.choice(TYPES)))
    )

    def change(e: Sremo) -> Sremo:
        return rng.choice((absence(kind), sre.Negation(e))) if marks_nothing(e) else e

    return _somewhere(rng, q, change, sre.Star, sre.Negation, sre.Terminal)


def also(rng: Random, q: Question) -> Question:
    """An intersection with a single event around one place."""
    kind = sre.Terminal(
        pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(rng.choice(TYPES))),
        rng.random() < 0.7,
    )
    return _somewhere(
        rng, q, lambda e: sre.Intersection(e, sre.Alternation(kind, sre.EPSILON)), *KINDS
    )


def empty(rng: Random, q: Question) -> Question:
    """A part that marks nothing is EMPTY."""

    def change(e: Sremo) -> Sremo:
        return sre.Empty() if marks_nothing(e) else e

    return _somewhere(rng, q, change, sre.Option, sre.Epsilon, sre.Star, sre.Negation)


def marks_nothing(e: Sremo) -> bool:
    """Whether it marks nothing."""
    return not any(isinstance(each, sre.Terminal) and each.marked for _, each in paths(e))


KINDS: tuple[type, ...] = (
    *(sre.Terminal, sre.Concat, sre.Alternation, sre.Star, sre.Plus, sre.Option),
    *(sre.SkipAny, sre.SkipNext, sre.Intersection, sre.Negation),
)

MUTATIONS: tuple[Callable[[Random, Question], Question], ...] = (
    *(alter, alter, alter, delete, delete, insert, insert, narrow, narrow),
    *(
        asked_otherwise,
        flip_mark,
        contiguous,
        contiguous,
        once,
        add_window,
        add_window,
        absent,
        also,
    ),
    empty,
)
