"""The meaning of SREMO expressions: the relation ``(e, S, M, v) |- v'`` (SRT Def. 17).

This is the oracle. It has one case per rule of the relation, in the paper's order, then the
windows, intersection and negation, and last the derived operators, which are rewritten. It is
written to be read, not to be fast: no cache, no early exit, only a budget. Positions are absolute
in S and count from 0, while the paper counts from 1; with positions relative to a slice the rule of
concatenation is undefined (erratum SRT-E4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.budget import poll
from cerlab.errors import ResourceLimit
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import check_sremo, rewritten, streaming, writes
from cerlab.model.answer import ComplexEvent, Positions, Registers
from cerlab.model.clauses import AttributeWindow
from cerlab.model.event import Event
from cerlab.model.stream import Instant, clock_for
from cerlab.predicates.truth import satisfies

MAX_EVENTS = 256
"""The length of the longest stream that the reference supports, as `cel.semantics.MAX_EVENTS`."""

MAX_STEPS = 1_000_000
"""The limit on rules applied, and derivations made, for one question: 3 s (2026-11-29)."""

Marks: TypeAlias = frozenset[int]
NONE: Marks = frozenset()
EMPTY_REGISTERS = Registers()


class Derivation(NamedTuple):
    """A result of reading an expression from a position: its end, its marks and the new registers.

    It has consumed the events S[i] to S[end - 1].
    """

    end: int
    marks: Marks
    registers: Registers


Derivations: TypeAlias = frozenset[Derivation]


@dataclass(slots=True)
class BoundedEvents:
    """The events to read and the number of steps left."""

    events: Sequence[Event]
    steps: int


def derivations(
    e: sre.Sremo, S: Sequence[Event], i: int = 0, v: Registers = EMPTY_REGISTERS
) -> Derivations:
    """Return every result of reading e from position i on with registers v (SRT Def. 17).

    Raise `IllFormed` (see `check_sremo`), `ResourceLimit` above `MAX_EVENTS` or `MAX_STEPS`, and
    `BadData` if a time window meets an event without time, or a time that goes backwards.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> S = [Event("A"), Event("A")]
    >>> [(d.end, set(d.marks)) for d in sorted(derivations(parse_sremo("<type = 'A'>^*"), S))]
    [(0, set()), (1, {0}), (2, {0, 1})]
    """
    _check(e, S)
    return _rule(e, BoundedEvents(S, MAX_STEPS), i, v)


def matches(e: sre.Sremo, S: Sequence[Event]) -> frozenset[Positions]:
    """Return ``Match(e, S)``: the sets of marks with which e matches all of S (SRT Def. 18).

    Registers are empty at the start. Raise as `derivations`.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> matches(parse_sremo("<TRUE>^ . <TRUE>"), [Event("A"), Event("B")])
    frozenset({(0,)})
    """
    return frozenset(_positions(d.marks) for d in derivations(e, S) if d.end == len(S))


def detections(e: sre.Sremo, S: Sequence[Event]) -> frozenset[ComplexEvent]:
    """Return the matches of e that end at each k: ``Match(<TRUE>* . e, S[..k])`` (SRT Def. 32).

    A match is reported at its last marked event, so matches without marks are not reported. `start`
    and `end` of an answer are its first and last marked position. Raise as `derivations`.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> sorted(D.positions for D in detections(parse_sremo("<TRUE>^ . <TRUE>*"), [Event("A")] * 2))
    [(0,), (1,)]
    """
    _check(e, S)
    every = _rule(streaming(e), BoundedEvents(S, MAX_STEPS), 0, EMPTY_REGISTERS)
    return frozenset(
        ComplexEvent(min(M), max(M), _positions(M)) for end, M, _ in every if end - 1 in M
    )


def _rule(e: sre.Sremo, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    _spend(S, 1)
    match e:
        case sre.Epsilon():
            return frozenset({Derivation(i, NONE, v)})
        case sre.Empty():
            return frozenset()
        case sre.Terminal(phi, marked, W):
            if i == len(S.events) or not satisfies(S.events[i], phi, v):
                return frozenset()
            M = frozenset({i}) if marked else NONE
            return frozenset({Derivation(i + 1, M, v.written(W, S.events[i]))})
        case sre.Concat(left, right):
            return frozenset(d for d1 in _rule(left, S, i, v) for d in _then(d1, right, S))
        case sre.Alternation(left, right):
            return _rule(left, S, i, v) | _rule(right, S, i, v)
        case sre.Star(body):
            return _iterate(body, S, Derivation(i, NONE, v))
        case sre.SpanWindow(body, w):
            return frozenset(d for d in _rule(body, S, i, v) if _span(d.marks) <= w)
        case sre.LengthWindow(body, w):
            return frozenset(d for d in _rule(body, S, i, v) if d.end - i <= w)
        case sre.Within(body, n, time):
            return frozenset(
                d for d in _rule(body, S, i, v) if duration(d.marks, S.events, time) <= n
            )
        case sre.Intersection(left, right):
            # both sides must have equal ends and marks, so index the right side by them
            after_right = defaultdict(list)
            for d2 in _rule(right, S, i, v):
                after_right[d2.end, d2.marks].append(d2.registers)
            return frozenset(
                Derivation(j, M, _merge_registers(e, v, v1, v2))
                for j, M, v1 in _rule(left, S, i, v)
                for v2 in after_right[j, M]
            )
        case sre.Negation(body):
            # the body does not match S[i..j] iff none of its results, with any marks, ends at j
            ends = {d.end for d in _rule(body, S, i, v)}
            everywhere = range(i, len(S.events) + 1)
            return frozenset(Derivation(j, NONE, v) for j in everywhere if j not in ends)
        case sre.Plus() | sre.Option() | sre.SkipAny() | sre.SkipNext():
            return _rule(rewritten(e), S, i, v)
        case _:
            assert_never(e)


def _then(d1: Derivation, e: sre.Sremo, S: BoundedEvents) -> Iterator[Derivation]:
    """Yield the results of reading e after another result, with its end and its registers."""
    for d2 in _rule(e, S, d1.end, d1.registers):
        _spend(S, 1)
        yield Derivation(d2.end, d1.marks | d2.marks, d2.registers)


def _iterate(e: sre.Sremo, S: BoundedEvents, start: Derivation) -> Derivations:
    """Return `start` and all results of reading e any number of times after it.

    Iterations that consume no event can neither mark nor write, so they add nothing.
    """
    D: set[Derivation] = set()
    pending = {start}
    while pending:
        D |= pending
        pending = {d for d1 in pending for d in _then(d1, e, S)} - D
    return frozenset(D)


def _spend(S: BoundedEvents, steps: int) -> None:
    poll()
    S.steps -= steps
    if S.steps < 0:
        raise ResourceLimit(
            "CER0682",
            f"the reference supports up to {MAX_STEPS:,} steps",
            hint='use a shorter stream, or evaluator="registers"',
        )


def _span(M: Marks) -> int:
    """Return ``max(M) - min(M) + 1``, the span of the marks, or 0 without marks (SRT Def. 39)."""
    return max(M) - min(M) + 1 if M else 0


def duration(M: Collection[int], S: Sequence[Event], attribute: str) -> Instant:
    """Return ``time(max M) - time(min M)``, the duration of the marks, or 0 without marks."""
    if not M:
        return 0
    clock = clock_for(AttributeWindow(0, attribute), None)
    first, last = min(M), max(M)
    return clock(S[last], last) - clock(S[first], first)


def _merge_registers(e: sre.Intersection, v: Registers, v1: Registers, v2: Registers) -> Registers:
    """Return the registers after an intersection, from the sides that write them."""
    W1, W2 = writes(e.left), writes(e.right)
    of_neither = {r: t for r, t in v.items() if r not in W1 | W2}
    of_left = {r: t for r, t in v1.items() if r in W1}
    of_right = {r: t for r, t in v2.items() if r in W2}
    return Registers({**of_neither, **of_left, **of_right})


def _positions(M: Marks) -> Positions:
    return tuple(sorted(M))


def _check(e: sre.Sremo, S: Sequence[Event]) -> None:
    check_sremo(e)
    if len(S) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0681",
            f"the reference supports streams of up to {MAX_EVENTS} events, got {len(S)}",
            hint='evaluator="registers" supports longer ones',
        )
    check_times(e, S)


def check_times(e: sre.Sremo, S: Sequence[Event]) -> None:
    """Raise `BadData` if an event has no time for a window in time, or if times go back."""
    for each in sre.subexpressions(e):
        if isinstance(each, sre.Within):
            clock = clock_for(AttributeWindow(each.width, each.attribute), None)
            times = [clock(t, i) for i, t in enumerate(S)]
            for position, (before, now) in enumerate(pairwise(times), 1):
                clock.check_order(before, now, position)
