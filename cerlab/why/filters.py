"""Why a filter does not hold, in words with the values that decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never

from cerlab.logic.cel.semantics import holds
from cerlab.model.answer import Valuation
from cerlab.model.event import Event, value_of
from cerlab.predicates import condition as cond
from cerlab.predicates.condition import Atomic, Condition, alternatives, labels_of
from cerlab.predicates.mentions import attributes_of
from cerlab.predicates.syntax import Predicate, atoms
from cerlab.predicates.text import name_text, predicate_text, value_text
from cerlab.predicates.truth import compare, kind_of, satisfies

MOST_EXAMPLES = 3
"""How many events or pairs of events are written out."""


class WhyFalse(NamedTuple):
    """The words for a condition that does not hold, and the events that they are about.

    `positions` are those of all events that it fails on, `enough` those of the events each of
    which, with other values, would let it hold.
    """

    words: str
    positions: frozenset[int]
    enough: frozenset[int]


def why_false(
    condition: Condition, V: Valuation, S: Sequence[Event], at: Sequence[int]
) -> WhyFalse:
    """Why a filter does not hold; positions are those in S, but the words use `at`.

    Of several ways to hold, it is about the one with the fewest conditions that fail.
    """
    ways = [[c for c in way if not holds(c, V, S)] for way in alternatives(condition)]
    nearest = min(ways, key=len)
    texts = [_atomic(each, V, S, at) for each in nearest]
    words = "; ".join(each.words for each in texts)
    if len(ways) > 1:
        words = f"no side of {predicate_text(condition)} holds: {words}"
    positions = frozenset[int]().union(*(each.positions for each in texts))
    return WhyFalse(words, positions, positions.intersection(*(each.enough for each in texts)))


def _atomic(condition: Atomic, V: Valuation, S: Sequence[Event], at: Sequence[int]) -> WhyFalse:
    match condition:
        case cond.On(X, P):
            failing = tuple(i for i in V.labels.get(X, ()) if not satisfies(S[i], P))
            where = _enumeration(at[i] for i in failing)
            verb = "fails" if len(failing) == 1 else "fail"
            values = "; ".join(
                f"{values_text(S[i], P)}{f' at {at[i]}' if len(failing) > 1 else ''}"
                for i in failing[:MOST_EXAMPLES]
            )
            words = f"{name_text(X)} at {where} {verb} {predicate_text(P)}: {values}"
            return WhyFalse(words, frozenset(failing), _only(failing))
        case cond.Correlation(op, x, y):
            pairs = [
                (i, j)
                for i in V.labels.get(x.label, ())
                for j in V.labels.get(y.label, ())
                if not compare(op, value_of(S[i], x.attribute), value_of(S[j], y.attribute))
            ]
            sides = ", ".join(
                f"{_side(x, S[i], at[i])} {op.value} {_side(y, S[j], at[j])}"
                for i, j in pairs[:MOST_EXAMPLES]
            )
            words = f"{predicate_text(condition)} is false: {sides}"
            positions = frozenset(i for pair in pairs for i in pair)
            ways = [_may_mend(S, i, x, j, y) for i, j in pairs]
            return WhyFalse(words, positions, positions.intersection(*ways))
        case cond.Application():
            events = sorted({i for X in labels_of(condition) for i in V.labels.get(X, ())})
            where = _enumeration(at[i] for i in events)
            words = f"{predicate_text(condition)} is false of the events at {where}"
            return WhyFalse(words, frozenset(events), frozenset())
        case _:
            assert_never(condition)


def _only(failing: Sequence[int]) -> frozenset[int]:
    return frozenset(failing) if len(failing) == 1 else frozenset()


def _may_mend(
    S: Sequence[Event], i: int, x: cond.LabelAttribute, j: int, y: cond.LabelAttribute
) -> frozenset[int]:
    """The events of a pair that may be altered: where one gives nothing to compare, only that."""
    empty = [k for k, side in ((i, x), (j, y)) if kind_of(value_of(S[k], side.attribute)) is None]
    return _only(empty) if empty else frozenset({i, j})


def _side(side: cond.LabelAttribute, event: Event, position: int) -> str:
    name = f"{name_text(side.label)}.{name_text(side.attribute)}"
    return f"{name} {value_words(event, side.attribute)} at {position}"


def values_text(event: Event, predicate: Predicate) -> str:
    """``price is 95, volume is missing``: what a predicate looks at in an event."""
    names = attributes_of(atoms(predicate))
    if not names:
        return "no event satisfies it"
    return ", ".join(f"{name_text(name)} is {value_words(event, name)}" for name in names)


def value_words(event: Event, attribute: str) -> str:
    """The value of an attribute; ``missing`` where the event has none of that name."""
    if attribute not in ("type", "stream") and attribute not in event.attributes:
        return "missing"
    return value_text(value_of(event, attribute))


def _enumeration(positions: Iterator[int]) -> str:
    return ", ".join(map(str, positions)) or "no position"
