"""The search: the relation ``(e, S, i, j, M, v) |- v'``, turned towards given marks (SRT Def. 17).

One arm per rule, as in `cerlab.logic.sremo.semantics`; derived operators have arms of their own,
which follow what they stand for. Two things differ. The marks are known, so a part has those that
lie among the events it takes. And with an allowance a part may fail an obligation and go on as if
it had not: the failures that cost the least are those that are blamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from cerlab.logic.sremo.registers import writes
from cerlab.logic.sremo.syntax import (
    Alternation,
    Concat,
    Empty,
    Epsilon,
    Intersection,
    LengthWindow,
    Negation,
    Option,
    Plus,
    SkipAny,
    SkipNext,
    SpanWindow,
    Sremo,
    Star,
    Terminal,
    Within,
)
from cerlab.why.failure import LIGHT, Failure, Insert, Kind, Path, Relax
from cerlab.why.rivals import positions_text
from cerlab.why.sremo.chains import Chains, Operator, Part, parts_of
from cerlab.why.sremo.derivation import SremoDerivation, Stored
from cerlab.why.sremo.goal import Goal, Table, said
from cerlab.why.sremo.leaves import leaves_no_trace, of_empty, of_run, of_terminal
from cerlab.why.sremo.negation import (
    ends_of,
    events_text,
    of_negation,
    unknown,
    without_marks,
)
from cerlab.why.sremo.windows import out_of_window


def readings(goal: Goal, e: Sremo, path: Path, i: int, v: Stored) -> list[SremoDerivation]:
    """The derivations of e from i on with registers v that the goal allows, the best of each class.

    Raises `ResourceLimit` where there are too many partial ones.
    """
    key = (goal.marked is None, goal.by_marks, path, i, v)
    if key not in goal.known:
        table = Table(goal)
        for derivation in _rule(goal, e, path, i, v):
            table.offer(derivation)
        goal.known[key] = table.found()
    return goal.known[key]


def _rule(goal: Goal, e: Sremo, path: Path, i: int, v: Stored) -> Iterator[SremoDerivation]:
    def of(side: Sremo, n: int = 0) -> list[SremoDerivation]:
        return readings(goal, side, (*path, n), i, v)

    match e:
        case Epsilon():
            yield SremoDerivation(e, path, i, i, (), v)
        case Empty():
            yield from of_empty(goal, e, path, i, v)
        case Terminal():
            yield from of_terminal(goal, e, path, i, v)
        case Star() | Plus() if leaves_no_trace(e):
            yield from of_run(goal, e, path, i, v)
        case Concat() | Star() | Plus() | SkipAny() | SkipNext():
            yield from _chained(goal, e, path, i, v)
        case Alternation(left, right):
            for d in (*of(left, 0), *of(right, 1)):
                yield _above(e, path, d)
        case SpanWindow(body) | LengthWindow(body) | Within(body):
            for d in of(body):
                yield _above(e, path, d, out_of_window(e, path, d, goal.events))
        case Intersection(left, right):
            yield from _agreeing(goal, e, path, v, of(left, 0), of(right, 1))
        case Negation(body):
            inside = without_marks(goal, body)
            found = [] if unknown(body, v) else readings(inside, body, (*path, 0), i, v)
            yield from of_negation(goal, e, path, i, v, {d.end: d for d in found})
        case Option(body):
            yield SremoDerivation(e, path, i, i, (), v)
            for d in of(body):
                yield _above(e, path, d)
        case _:
            assert_never(e)


def _chained(goal: Goal, e: Operator, path: Path, i: int, v: Stored) -> list[SremoDerivation]:
    """What stands one after another, with the gaps of strategies (SRT Def. 44)."""
    chains = Chains(goal, readings)
    match e:
        case Concat():
            return chains.sequences(e, path, i, v, parts_of(e, path))
        case Star(body) | Plus(body):
            part = Part(body, (*path, 0), e, path)
            return chains.iterations(e, path, i, v, part, none=isinstance(e, Star))
        case SkipAny((Star(body) | Plus(body) as iteration,)) | SkipNext(
            (Star(body) | Plus(body) as iteration,)
        ):
            part = Part(body, (*path, 0, 0), e, path)
            return chains.iterations(e, path, i, v, part, none=isinstance(iteration, Star))
        case SkipAny(operands) | SkipNext(operands):
            parts = [Part(each, (*path, n), e, path) for n, each in enumerate(operands)]
            return chains.sequences(e, path, i, v, parts)
        case _:
            assert_never(e)


def _above(
    e: Sremo, path: Path, d: SremoDerivation, own: tuple[Failure, ...] = ()
) -> SremoDerivation:
    return replace(d, part=e, path=path, children=(d,), failures=d.failures + own)


def _agreeing(
    goal: Goal,
    e: Intersection,
    path: Path,
    v: Stored,
    lefts: list[SremoDerivation],
    rights: list[SremoDerivation],
) -> Iterator[SremoDerivation]:
    """What both sides take with the same marks; with an allowance what one of them does."""
    for a in lefts:
        for b in rights:
            if (a.end, a.marks) == (b.end, b.marks):
                goal.budget.spend()
                others = _same_missing(a.failures, b.failures)
                failures = a.failures + tuple(f for f in others if f not in a.failures)
                registers = _merged(e, v, a.registers, b.registers)
                yield replace(
                    a, part=e, path=path, registers=registers, children=(a, b), failures=failures
                )
    if goal.allowance >= LIGHT:
        for n, found in enumerate((lefts, rights)):
            for d in found:
                yield _above(e, path, d, (_alone(e, path, n, d),))


def _same_missing(
    failures: tuple[Failure, ...], others: tuple[Failure, ...]
) -> tuple[Failure, ...]:
    """The others, where events that both sides lack at the same place are the same events."""
    missing = [f.repairs[0] for f in failures if f.kind is Kind.MISSING]
    made = []
    for other in others:
        if other.kind is Kind.MISSING:
            insert = other.repairs[0]
            assert isinstance(insert, Insert)
            for each in missing:
                assert isinstance(each, Insert)
                if (each.after, each.before) == (insert.after, insert.before):
                    other = replace(other, repairs=(each, *other.repairs[1:]))
                    missing.remove(each)
                    break
        made.append(other)
    return tuple(made)


def _merged(e: Intersection, v: Stored, v1: Stored, v2: Stored) -> Stored:
    """v1 on what the left side writes, v2 on what the right side writes, v elsewhere."""
    W1, W2 = writes(e.left), writes(e.right)
    kept = {r: p for r, p in v if r not in W1 | W2}
    own = {r: p for W, after in ((W1, v1), (W2, v2)) for r, p in after if r in W}
    return tuple(sorted({**kept, **own}.items()))


def _alone(e: Intersection, path: Path, n: int, d: SremoDerivation) -> Failure:
    """The other side does not take what this one takes, with its marks."""
    has, lacks = (e.left, e.right) if n == 0 else (e.right, e.left)
    taken = events_text(d)
    marks = f" with the marks {positions_text(d.marks)}" if d.end > d.start else ""
    words = f"& asks for the same of both sides, and {said(lacks)} does not take {taken}{marks}"
    return Failure(Kind.AND, words, said(e), path, ends_of(d), (Relax(path, has),))
