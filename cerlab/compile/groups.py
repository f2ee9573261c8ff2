"""COUNT and PREV of a label in FILTER as finite constructions: a counter, and one register."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from cerlab.automata.automaton import Vcea
from cerlab.automata.compose import remember
from cerlab.automata.explore import trim
from cerlab.automata.labelled import Label, LabelledSrt, labels_later
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation
from cerlab.predicates.truth import compare

M = TypeVar("M", Vcea, LabelledSrt)

MOST_COUNTED = 100
"""The largest constant that a count is compared with by states; beyond, answers are listed."""


class CountTest(NamedTuple):
    """``COUNT(label)`` compared with an integer: the numbers from `least` to before it that pass.

    From `enough` on all numbers pass or none does.
    """

    label: str
    passes: Callable[[int], bool]
    enough: int


def count_test(condition: Correlation) -> CountTest | None:
    """Return the test of a comparison of a count with an integer; None for other comparisons.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> test = count_test(parse_cel("A+ AS a FILTER 2 <= COUNT(a)")[0].condition)
    >>> test.label, test.enough, [test.passes(n) for n in range(4)]
    ('a', 3, [False, False, True, True])
    """
    match condition.left, condition.right:
        case pred.OfGroup(pred.Group.COUNT, label), pred.Constant(int() as n):
            op = condition.operator
        case pred.Constant(int() as n), pred.OfGroup(pred.Group.COUNT, label):
            op = pred.CONVERSE[condition.operator]
        case _:
            return None
    if isinstance(n, bool) or n > MOST_COUNTED:
        return None
    return CountTest(label, lambda count: compare(op, count, n), max(n, -1) + 1)


def counted(A: M, test: CountTest) -> M:
    """Return the runs of A whose number of events of a label passes: a state counts them.

    It counts up to the number from which on nothing changes.
    """
    kind: Any = type(A)

    def follow(count: int, t: Any) -> Iterator[tuple[tuple[Any, ...], int]]:
        yield t[1:-1], min(count + (test.label in t.labels), test.enough)

    whole: Any = remember(A, 0, follow, kind, accepts=test.passes)
    counting: M = trim(replace(whole, R=A.R) if isinstance(A, LabelledSrt) else whole)
    return counting


def step_label(condition: Correlation) -> str | None:
    """Return the label of a comparison of its events with those before; None for other ones."""
    has_previous = any(isinstance(x, pred.Previous) for x in condition.operands)
    is_plain = not any(isinstance(x, pred.OfGroup) for x in condition.operands)
    one = condition.labels[0] if len(condition.labels) == 1 else None
    return one if has_previous and is_plain else None


def stepped(A: LabelledSrt, condition: Correlation, X: str, register: str) -> LabelledSrt:
    """Return the runs of A in which each event of a label but the first passes a comparison.

    The register holds the event of the label before; a state knows whether there is one.
    """
    A = trim(A)
    later = labels_later(A)

    def read(x: pred.Leaf) -> pred.Leaf:
        match x:
            case pred.LabelAttribute(_, name):
                return pred.Attribute(name)
            case pred.Previous(_, name):
                return pred.RegisterAttribute(register, name)
            case _:
                return x

    left, right = (pred.with_leaves(side, read) for side in (condition.left, condition.right))
    passes = pred.RegisterComparison(condition.operator, left, right)
    here = frozenset({register})

    def follow(is_later: bool, t: Any) -> Iterator[tuple[Label, bool]]:
        if X not in t.labels:
            yield Label(t.guard, t.labels, t.writes), is_later and X in later[t.target]
            return
        goes_on = X in later[t.target]
        guard = pred.all_of((t.guard, passes)) if is_later else t.guard
        yield Label(guard, t.labels, t.writes | here if goes_on else t.writes), goes_on

    whole = remember(A, False, follow, LabelledSrt, R=A.R)
    return trim(replace(whole, R=whole.R.union(*(t.writes for t in whole.Delta))))
