"""What a comparison for all pairs has to remember of each label, in registers (DESIGN 3.5).

``x.a op y.b`` holds of a valuation if ``e.a op f.b`` for all events e of x and f of y. Event by
event: a new event of x is compared with what is remembered of y, and is itself remembered if an
event of y may still come.

* ``<`` and ``<=`` need the greatest value of x so far and the least of y, ``>`` and ``>=`` the
  other way round, ``=`` any value, as all of them must be equal. Where the values of a label do
  not all compare with each other (missing, NULL, NaN, of different kinds), that is what is
  remembered: no event of the other label may come any more.
* ``!=`` needs every event so far. That is refused where a label is repeated without bound before
  the other: it would need as many registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import NamedTuple, TypeAlias

from cerlab.automata.explore import along, reachable
from cerlab.automata.product import remember
from cerlab.automata.registers.labelled import Label, LabelledSrt, Step, labels_later
from cerlab.automata.registers.transducer import NONE
from cerlab.automata.trim import trim
from cerlab.errors import Unsupported
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, LabelAttribute

Summary: TypeAlias = int
"""What a run knows of a label: how many registers hold events of it, or `INCOMPARABLE`."""

NOTHING: Summary = 0
INCOMPARABLE: Summary = -1
"""The events of the label so far are not all comparable; for ``=``, not all equal."""

CONVERSE = {
    pred.Operator.LT: pred.Operator.GT,
    pred.Operator.LE: pred.Operator.GE,
    pred.Operator.GT: pred.Operator.LT,
    pred.Operator.GE: pred.Operator.LE,
    pred.Operator.EQ: pred.Operator.EQ,
    pred.Operator.NE: pred.Operator.NE,
}

EXTREME: dict[pred.Operator, tuple[pred.Operator | None, pred.Operator]] = {
    pred.Operator.LT: (pred.Operator.GT, pred.Operator.LE),
    pred.Operator.LE: (pred.Operator.GT, pred.Operator.LE),
    pred.Operator.GT: (pred.Operator.LT, pred.Operator.GE),
    pred.Operator.GE: (pred.Operator.LT, pred.Operator.GE),
    pred.Operator.EQ: (None, pred.Operator.EQ),
}
"""For an operator: how a new value has to compare with the one kept to take its place, and how for
that one to be enough for both."""


class Knowledge(NamedTuple):
    """The summaries of the two labels of a comparison."""

    left: Summary
    right: Summary


class Way(NamedTuple):
    """A way to remember an event: when, which registers it writes, the summary then."""

    when: pred.Guard
    writes: frozenset[str]
    summary: Summary


@dataclass(frozen=True, slots=True)
class Side:
    """One label of a comparison: each of its events e asks ``e.attribute op f`` of the other's.

    `register` gives the n-th register for its events.
    """

    label: str
    attribute: str
    op: pred.Operator
    register: Callable[[int], str]


def restrict(A: LabelledSrt, condition: Correlation, name: Callable[[str], str]) -> LabelledSrt:
    """The runs of A whose labels satisfy a comparison: a state is one of A, and the knowledge.

    The summary of a label is forgotten where no event of the other may come any more. `name`
    gives a fresh register for a label. Raises `Unsupported` (see `why_unbounded`).
    """
    A = trim(A)
    if (reason := why_unbounded(A, condition)) is not None:
        raise Unsupported(
            "CER0491", reason, hint='evaluator="reference" takes it, on small streams'
        )
    sides = (
        _side(condition.left, condition.operator, name),
        _side(condition.right, CONVERSE[condition.operator], name),
    )
    later = labels_later(A)

    def follow(knowledge: Knowledge, t: Step) -> Iterator[tuple[Label, Knowledge]]:
        for when, writes, then in _read(*sides, knowledge, t.labels, later[t.target]):
            if when != pred.FALSE:
                yield Label(pred.all_of((t.guard, when)), t.labels, t.writes | writes), then

    whole = remember(A, Knowledge(NOTHING, NOTHING), follow, LabelledSrt, R=A.R)
    return trim(replace(whole, R=whole.R.union(*(t.writes for t in whole.Delta))))


def _side(of: LabelAttribute, op: pred.Operator, name: Callable[[str], str]) -> Side:
    return Side(of.label, of.attribute, op, cache(lambda _: name(of.label)))


def _read(
    left: Side, right: Side, knowledge: Knowledge, labels: frozenset[str], later: frozenset[str]
) -> Iterator[tuple[pred.Guard, frozenset[str], Knowledge]]:
    """The ways to read an event with some labels, where those of `later` may still come."""
    is_left, is_right = left.label in labels, right.label in labels
    guards = []
    if is_left:
        guards.append(_guard_against(left, right, knowledge.right))
    if is_right:
        guards.append(_guard_against(right, left, knowledge.left))
    if is_left and is_right:
        guards.append(
            pred.Comparison(
                left.op, pred.Attribute(left.attribute), pred.Attribute(right.attribute)
            )
        )
    lefts = _ways_after(
        left,
        knowledge.left,
        here=is_left,
        relevant=right.label in later,
        alone=knowledge.right == NOTHING and not is_right,
    )
    rights = _ways_after(
        right,
        knowledge.right,
        here=is_right,
        relevant=left.label in later,
        alone=knowledge.left == NOTHING and not is_left,
    )
    for first, second in product(lefts, rights):
        when = pred.all_of((*guards, first.when, second.when))
        yield when, first.writes | second.writes, Knowledge(first.summary, second.summary)


def _guard_against(side: Side, other: Side, summary: Summary) -> pred.Guard:
    """Whether the event being read, as one of a side, goes with the summary of the other."""
    if summary == INCOMPARABLE:
        return pred.FALSE
    return pred.all_of(_against(side, side.op, other, n) for n in range(summary))


def _ways_after(
    side: Side, summary: Summary, *, here: bool, relevant: bool, alone: bool
) -> Iterator[Way]:
    """The ways to go on with the summary of a side, after an event that is of it or not."""
    if not relevant:
        yield Way(pred.EVERYTHING, NONE, NOTHING)
    elif here:
        yield from _memories(side, summary, alone=alone)
    else:
        yield Way(pred.EVERYTHING, NONE, summary)


def _memories(side: Side, summary: Summary, *, alone: bool) -> Iterator[Way]:
    """The ways to remember the event being read as one of a side.

    `alone` says that there is no event of the other side. If there is one, this event compares with
    it, and therefore with all events of its own side.
    """
    if side.op is pred.Operator.NE or summary == NOTHING:
        yield Way(pred.EVERYTHING, frozenset({side.register(summary)}), summary + 1)
        return
    if summary == INCOMPARABLE:
        yield Way(pred.EVERYTHING, NONE, INCOMPARABLE)
        return
    instead, enough = EXTREME[side.op]
    further = pred.FALSE if instead is None else _against(side, instead, side, 0)
    within = _against(side, enough, side, 0)
    if further != pred.FALSE:
        yield Way(further, frozenset({side.register(0)}), summary)
    yield Way(within, NONE, summary)
    if alone:
        yield Way(pred.negation(pred.disjunction(further, within)), NONE, INCOMPARABLE)


def _against(side: Side, op: pred.Operator, other: Side, n: int) -> pred.Guard:
    """The event being read, as one of a side, compared with the n-th in a register of a side."""
    register = pred.RegisterAttribute(other.register(n), other.attribute)
    return pred.RegisterComparison(op, pred.Attribute(side.attribute), register)


def why_unbounded(A: LabelledSrt, condition: Correlation) -> str | None:
    """Why no number of registers is enough for a comparison in the runs of A; None if one is.

    That is so for ``!=`` if events of a label on a cycle of A are compared with a later one. A is
    trimmed.
    """
    if condition.operator is not pred.Operator.NE:
        return None
    later = labels_later(A)
    x, y = condition.left.label, condition.right.label
    for here, there in ((x, y), (y, x)):
        for t in A.Delta:
            if here in t.labels and there in later[t.target] and _repeats(A, t):
                return (
                    f"a later '{there}' is compared by != with '{here}', which repeats: it needs "
                    "as many registers"
                )
    return None


def _repeats(A: LabelledSrt, t: Step) -> bool:
    return t.source in reachable({t.target}, along((s.source, s.target) for s in A.Delta))
