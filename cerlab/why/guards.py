"""Why a guard does not hold, in words with the values that decide (SRT Def. 13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from cerlab.model.event import Event, value_of
from cerlab.predicates import syntax as pred
from cerlab.predicates.guards import registers_of
from cerlab.predicates.mentions import attributes_of, leaves_of
from cerlab.predicates.text import name_text, predicate_text
from cerlab.predicates.truth import kind_of, satisfies
from cerlab.why.deduction import Contents
from cerlab.why.failure import Alter, Repair, Retype
from cerlab.why.filters import value_words

GuardAtom: TypeAlias = pred.Everything | pred.Atom | pred.RegisterComparison


class WhyFalse(NamedTuple):
    """The words for a guard that does not hold, what is left of it, and events to alter."""

    words: str
    weaker: pred.Guard
    repairs: tuple[Repair, ...]


def stored_events(v: Contents, events: Sequence[Event]) -> dict[str, Event]:
    """The events that the registers hold, as far as there are any."""
    return {r: events[p] for r, p in v if p is not None}


def may_hold(guard: pred.Guard, t: Event, v: Contents, events: Sequence[Event]) -> bool:
    """Whether the guard holds, whatever the registers hold for which no event is there yet."""
    unknown = frozenset(r for r, p in v if p is None)
    if not unknown & registers_of(guard):
        return satisfies(t, guard, stored_events(v, events))
    return True in _truths(guard, t, stored_events(v, events), unknown)


def _truths(
    guard: pred.Guard, t: Event, v: Mapping[str, Event], unknown: frozenset[str]
) -> frozenset[bool]:
    """What a guard may be, each atom with an unknown register for itself."""
    match guard:
        case pred.Not(operand):
            return frozenset(not truth for truth in _truths(operand, t, v, unknown))
        case pred.And(left, right):
            rights = _truths(right, t, v, unknown)
            return frozenset(a and b for a in _truths(left, t, v, unknown) for b in rights)
        case pred.Or(left, right):
            rights = _truths(right, t, v, unknown)
            return frozenset(a or b for a in _truths(left, t, v, unknown) for b in rights)
        case atom:
            if unknown & registers_of(atom):
                return frozenset({False, True})
            return frozenset({satisfies(t, atom, v)})


def why_false(guard: pred.Guard, position: int, v: Contents, events: Sequence[Event]) -> WhyFalse:
    """Why a guard fails on the event at a position: each side of AND that is false, with values.

    An event that alone may be altered for all of these is a repair.
    """
    t = events[position]
    sides = {side: may_hold(side, t, v, events) for side in conjuncts(guard)}
    false = [side for side, holds in sides.items() if not holds]
    texts = (f"{predicate_text(side, 2)}: {_values(side, t, v, events)}" for side in false)
    words = f"event {position} fails {' and '.join(texts)}"
    true = [side for side, holds in sides.items() if holds]
    weaker = pred.all_of(true)
    alone = frozenset.intersection(*(_may_mend(side, position, v, events) for side in false))
    repairs = tuple(Alter(p) for p in sorted(alone, key=lambda p: (p != position, p)))
    return WhyFalse(words, weaker, (*_retypes(guard, false, position, v, events), *repairs))


def conjuncts(guard: pred.Guard) -> Iterator[pred.Guard]:
    """The sides of AND, from left to right; TRUE is none."""
    if isinstance(guard, pred.And):
        yield from conjuncts(guard.left)
        yield from conjuncts(guard.right)
    elif not isinstance(guard, pred.Everything):
        yield guard


def _retypes(
    guard: pred.Guard,
    false: Sequence[pred.Guard],
    position: int,
    v: Contents,
    events: Sequence[Event],
) -> Iterator[Repair]:
    """The type that the event lacks, where that is all it lacks."""
    match false:
        case [
            pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(str() as name))
        ] if name:
            if may_hold(guard, replace(events[position], type=name), v, events):
                yield Retype(position, name)


def _values(guard: pred.Guard, t: Event, v: Contents, events: Sequence[Event]) -> str:
    """``price is 95, r is event 3 with price 97``: all that a guard looks at."""
    where = dict(v)
    read = [each for atom in pred.atoms(guard) for each in _reads(atom)]
    texts = [
        f"{name_text(name)} is {value_words(t, name)}"
        for r, name in dict.fromkeys(read)
        if r is None
    ]
    for register in dict.fromkeys(r for r, _ in read if r is not None):
        if register not in where:
            texts.append(f"{name_text(register)} is empty")
        elif (p := where[register]) is not None:
            names = dict.fromkeys(name for r, name in read if r == register)
            values = " and ".join(f"{name_text(n)} {value_words(events[p], n)}" for n in names)
            texts.append(f"{name_text(register)} is event {p} with {values}")
    return ", ".join(texts) or "no event satisfies it"


def _reads(atom: GuardAtom) -> Iterator[tuple[str | None, str]]:
    """The attributes that an atom reads, of the event in a register or, None, of the one read."""
    match atom:
        case pred.Everything():
            return
        case pred.RegisterComparison(_, left, right):
            for side in (left, right):
                if isinstance(side, pred.RegisterAttribute):
                    yield side.register, side.attribute
                else:
                    leaves = leaves_of(side)
                    yield from (
                        (None, leaf.name) for leaf in leaves if isinstance(leaf, pred.Attribute)
                    )
        case _:
            yield from ((None, name) for name in attributes_of([atom]))


def _may_mend(
    side: pred.Guard, position: int, v: Contents, events: Sequence[Event]
) -> frozenset[int]:
    """The events each of which, with other values, may let a guard hold that does not.

    An atom that reads an empty register is false whatever the events are, and where one event has
    nothing to compare, only that one can change it.
    """
    positions: set[int] = set()
    where: dict[str | None, int | None] = {None: position}
    where.update(v)
    for atom in pred.atoms(side):
        read = [(where[r], name) for r, name in _reads(atom) if r in where]
        if len(read) < len(list(_reads(atom))):
            continue
        there = [(p, name) for p, name in read if p is not None]
        bare = {p for p, name in there if kind_of(value_of(events[p], name)) is None}
        if len(bare) <= 1:
            positions |= bare or {p for p, _ in there}
    return frozenset(positions)
