"""Explanations of false conditions and guards, with the values that decide."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.logic.cel.semantics import holds
from cerlab.model.answer import Valuation
from cerlab.model.event import Event, value_of
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Atomic, Condition, alternatives, labels_of
from cerlab.predicates.groups import group_value
from cerlab.predicates.syntax import Predicate, atoms, attributes_of, leaves_of, registers_of
from cerlab.predicates.text import (
    SOME,
    expression_text,
    name_text,
    predicate_text,
    value_in_words,
    value_text,
)
from cerlab.predicates.truth import evaluate, kind_of, satisfies
from cerlab.why.deduction import Contents
from cerlab.why.failure import Alter, Repair, Retype

MOST_EXAMPLES = 3
"""Most events or pairs of events that a message lists: three are enough to see the pattern."""


class WhyFalse(NamedTuple):
    """An explanation of a false condition.

    `words` computes the sentence on demand, since that is expensive. `positions` are all events on
    which the condition fails; `enough` are those events each of which alone could make it true with
    other values.
    """

    words: Callable[[], str]
    positions: frozenset[int]
    enough: frozenset[int]


def why_false(
    condition: Condition, V: Valuation, S: Sequence[Event], at: Sequence[int]
) -> WhyFalse:
    """Explain why the condition of a FILTER is false for a valuation.

    If the condition has alternatives, the words are about the one with the fewest false conjuncts.
    """
    ways = [[c for c in way if not holds(c, V, S)] for way in alternatives(condition)]
    nearest = min(ways, key=len)
    parts = [_atomic(each, V, S, at) for each in nearest]

    def words() -> str:
        text = "; ".join(each.words() for each in parts)
        return f"no side of {predicate_text(condition)} holds: {text}" if len(ways) > 1 else text

    positions = frozenset[int]().union(*(each.positions for each in parts))
    return WhyFalse(words, positions, positions.intersection(*(each.enough for each in parts)))


def _atomic(condition: Atomic, V: Valuation, S: Sequence[Event], at: Sequence[int]) -> WhyFalse:
    match condition:
        case cond.On(X, P):
            failing = tuple(i for i in V.labels.get(X, ()) if not satisfies(S[i], P))

            def words() -> str:
                where = _enumeration(at[i] for i in failing)
                verb = "fails" if len(failing) == 1 else "fail"
                values = "; ".join(
                    f"{values_text(S[i], P)}{f' at {at[i]}' if len(failing) > 1 else ''}"
                    for i in failing[:MOST_EXAMPLES]
                )
                return f"{name_text(X)} at {where} {verb} {predicate_text(P)}: {values}"

            return WhyFalse(words, frozenset(failing), _only(failing))
        case cond.Correlation() if condition.of_group is not None:
            return _of_group(condition, V, S, at)
        case cond.Correlation():
            choices = product(*(V.labels.get(X, ()) for X in condition.labels))
            places = [dict(zip(condition.labels, each, strict=True)) for each in choices]
            wrong = [each for each in places if not condition.holds_of(_events(each, S))]

            def words() -> str:
                sides = (_both_sides(condition, each, S, at) for each in wrong[:MOST_EXAMPLES])
                return f"{predicate_text(condition)} is false: {', '.join(sides)}"

            positions = frozenset(i for each in wrong for i in each.values())
            reads = ([(each[x.label], x.attribute) for x in condition.attributes] for each in wrong)
            ways = [_may_mend(S, read) for read in reads]
            return WhyFalse(words, positions, positions.intersection(*ways))
        case cond.Application():
            events = sorted({i for X in labels_of(condition) for i in V.labels.get(X, ())})

            def words() -> str:
                where = _enumeration(at[i] for i in events)
                return f"{predicate_text(condition)} is false of the events at {where}"

            return WhyFalse(words, frozenset(events), frozenset())
        case _:
            assert_never(condition)


def _of_group(
    comparison: cond.Correlation, V: Valuation, S: Sequence[Event], at: Sequence[int]
) -> WhyFalse:
    """Explain why a comparison with an aggregate, such as SUM, or with PREV is false."""
    places = {X: V.labels.get(X, ()) for X in comparison.labels}

    def events(X: str) -> list[Event]:
        return [S[i] for i in places[X]]

    one = comparison.with_group_values(events)

    def fails(each: Mapping[str, int]) -> bool:
        compared = {X: S[places[X][n]] for X, n in each.items()}
        return not one.with_previous(events, each).holds_of(compared)

    wrong = filter(fails, comparison.choices(lambda X: len(places[X])))

    def read(x: pred.LabelLeaf, each: Mapping[str, int]) -> str:
        if isinstance(x, pred.OfGroup):
            return group_words(x, events(x.label))
        p = places[x.label][each[x.label] - isinstance(x, pred.Previous)]
        return f"{expression_text(x)} {value_words(S[p], x.attribute)} at {at[p]}"

    def words() -> str:
        some = islice(wrong, MOST_EXAMPLES)
        texts = [", ".join(read(x, each) for x in comparison.operands) for each in some]
        return f"{predicate_text(comparison)} is false: {'; '.join(texts)}"

    positions = frozenset(i for each in places.values() for i in each)
    return WhyFalse(words, positions, frozenset())


def group_words(operand: pred.OfGroup, events: Sequence[Event]) -> str:
    """Return an aggregate's value and inputs, as in ``COUNT(DISTINCT a.user) is 2: ana, bob``."""
    value, name = group_value(operand, events), operand.attribute
    text = f"{expression_text(operand)} is {'nothing' if value is None else value_in_words(value)}"
    if name is None or not events:
        return text
    values = list(dict.fromkeys(value_of(t, name) for t in events))
    shown = ", ".join("nothing" if v is None else value_in_words(v) for v in values[:SOME])
    return f"{text}: {shown}" + ", .." * (len(values) > SOME)


def _only(failing: Collection[int]) -> frozenset[int]:
    return frozenset(failing) if len(failing) == 1 else frozenset()


def _may_mend(S: Sequence[Event], read: Sequence[tuple[int, str]]) -> frozenset[int]:
    """Return events to change: those without a comparable value, or all if there are none."""
    empty = {p for p, name in read if kind_of(value_of(S[p], name)) is None}
    return _only(empty) if empty else frozenset(p for p, _ in read)


def _events(where: Mapping[str, int], S: Sequence[Event]) -> dict[str, Event]:
    return {X: S[p] for X, p in where.items()}


def _both_sides(
    comparison: cond.Correlation, where: Mapping[str, int], S: Sequence[Event], at: Sequence[int]
) -> str:
    """Return a comparison with its values, as in ``b.p 9 at 4 > a.p 10 at 2``."""

    def read(x: pred.LabelAttribute) -> str:
        p = where[x.label]
        return f"{expression_text(x)} {value_words(S[p], x.attribute)} at {at[p]}"

    left, op, right = comparison.left, comparison.operator.value, comparison.right
    if isinstance(left, pred.LabelAttribute) and isinstance(right, pred.LabelAttribute):
        return f"{read(left)} {op} {read(right)}"
    values = (value_text(evaluate(None, side, _events(where, S))) for side in (left, right))
    return f"{f' {op} '.join(values)} with {' and '.join(map(read, comparison.attributes))}"


def values_text(event: Event, predicate: Predicate) -> str:
    """Return the values that a predicate reads, as in ``price is 95, volume is missing``."""
    names = attributes_of(atoms(predicate))
    if not names:
        return "no event satisfies it"
    return ", ".join(f"{name_text(name)} is {value_words(event, name)}" for name in names)


def value_words(event: Event, attribute: str) -> str:
    """Return the value of an attribute as text, ``missing`` if the event lacks it."""
    if attribute not in ("type", "stream") and attribute not in event.attributes:
        return "missing"
    return value_text(value_of(event, attribute))


def _enumeration(positions: Iterator[int]) -> str:
    return ", ".join(map(str, positions)) or "no position"


GuardAtom: TypeAlias = pred.Everything | pred.Atom | pred.RegisterComparison


class WhyGuardFalse(NamedTuple):
    """An explanation of a false guard, its true conjuncts, and repairs."""

    words: Callable[[], str]
    weaker: pred.Guard
    repairs: tuple[Repair, ...]


def stored_events(v: Contents, events: Sequence[Event]) -> dict[str, Event]:
    """Return the events in the registers, omitting registers whose event is missing."""
    return {r: events[p] for r, p in v if p is not None}


def may_hold(guard: pred.Guard, t: Event, v: Contents, events: Sequence[Event]) -> bool:
    """Return whether a guard is true for some event in place of each missing one."""
    unknown = frozenset(r for r, p in v if p is None)
    if not unknown & registers_of(guard):
        return satisfies(t, guard, stored_events(v, events))
    return True in _truths(guard, t, stored_events(v, events), unknown)


def _truths(
    guard: pred.Guard, t: Event, v: Mapping[str, Event], unknown: frozenset[str]
) -> frozenset[bool]:
    """Return the possible truth values of a guard; comparisons with a missing event may be both."""
    match guard:
        case pred.Not(operand):
            return frozenset(not truth for truth in _truths(operand, t, v, unknown))
        case pred.And(left, right):
            rights = _truths(right, t, v, unknown)
            # approximate: both sides may depend on one missing event
            return frozenset(a and b for a in _truths(left, t, v, unknown) for b in rights)
        case pred.Or(left, right):
            rights = _truths(right, t, v, unknown)
            return frozenset(a or b for a in _truths(left, t, v, unknown) for b in rights)
        case atom:
            if unknown & registers_of(atom):
                return frozenset({False, True})
            return frozenset({satisfies(t, atom, v)})


def why_guard_false(
    guard: pred.Guard, position: int, v: Contents, events: Sequence[Event]
) -> WhyGuardFalse:
    """Explain why a guard is false on an event, conjunct by conjunct.

    A repair alters an event that alone could make all these conjuncts true.
    """
    t = events[position]
    sides = {side: may_hold(side, t, v, events) for side in pred.conjuncts(guard)}
    false = [side for side, holds in sides.items() if not holds]

    def words() -> str:
        texts = (f"{predicate_text(side, 2)}: {_values(side, t, v, events)}" for side in false)
        return f"event {position} fails {' and '.join(texts)}"

    true = [side for side, holds in sides.items() if holds]
    weaker = pred.all_of(true)
    alone = frozenset.intersection(*(_may_mend_guard(side, position, v, events) for side in false))
    repairs = tuple(Alter(p) for p in sorted(alone, key=lambda p: (p != position, p)))
    return WhyGuardFalse(words, weaker, (*_retypes(guard, false, position, v, events), *repairs))


def _retypes(
    guard: pred.Guard,
    false: Sequence[pred.Guard],
    position: int,
    v: Contents,
    events: Sequence[Event],
) -> Iterator[Repair]:
    """Yield the repair that changes the event's type, if only the type is wrong."""
    match false:
        case [
            pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(str() as name))
        ] if name:
            if may_hold(guard, replace(events[position], type=name), v, events):
                yield Retype(position, name)


def _values(guard: pred.Guard, t: Event, v: Contents, events: Sequence[Event]) -> str:
    """Return the values that a guard reads, as in ``price is 95, r is event 3 with price 97``."""
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
    """Yield each attribute that an atom reads, with its register (None: the current event)."""
    match atom:
        case pred.Everything():
            return
        case pred.RegisterComparison(_, left, right):
            for leaf in (*leaves_of(left), *leaves_of(right)):
                if isinstance(leaf, pred.RegisterAttribute):
                    yield leaf.register, leaf.attribute
                elif isinstance(leaf, pred.Attribute):
                    yield None, leaf.name
        case _:
            yield from ((None, name) for name in attributes_of([atom]))


def _may_mend_guard(
    side: pred.Guard, position: int, v: Contents, events: Sequence[Event]
) -> frozenset[int]:
    """Return the events whose values, changed alone, could make a guard true.

    An atom that reads an empty register is false for all events. If one event has no comparable
    value, only that event can help.
    """
    positions: set[int] = set()
    where: dict[str | None, int | None] = {None: position}
    where.update(v)
    for atom in pred.atoms(side):
        read = [(where[r], name) for r, name in _reads(atom) if r in where]
        if len(read) < len(list(_reads(atom))):
            continue
        positions |= _may_mend(events, [(p, name) for p, name in read if p is not None])
    return frozenset(positions)
