"""FILTER with COUNT, FIRST, LAST and PREV of a label, as constructions on automata.

COUNT is a counter, and a comparison of each event with the previous one needs one register. FIRST,
LAST, and PREV of a label without a plain attribute beside it, refer to some of the label's events:
the first, the last, all but the last. A state finds these events, and a fresh label names them, so
that the condition becomes a condition on labels (`in_roles`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

from cerlab.automata.automaton import Vcea
from cerlab.automata.compose import relabel, remember
from cerlab.automata.explore import trim
from cerlab.automata.labelled import NO_LABELS, Label, LabelledSrt, labels_later
from cerlab.automata.registers import fresh
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On
from cerlab.predicates.truth import compare

M = TypeVar("M", Vcea, LabelledSrt)

MOST_COUNTED = 100
"""The largest constant for which states count, which multiplies the states of the automaton.

Above it, answers are listed and tested.
"""


class CountTest(NamedTuple):
    """A comparison of ``COUNT(label)`` with an integer.

    `passes` tests a number of events; from `enough` on all numbers pass or none does.
    """

    label: str
    passes: Callable[[int], bool]
    enough: int


def count_test(condition: Correlation) -> CountTest | None:
    """Return the test of ``COUNT(label) op integer``; None for other comparisons.

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
    """Return the runs of A with a permitted number of events of a label.

    It counts up to the number from which on nothing changes.
    """

    def follow(count: int, t: Any) -> Iterator[tuple[tuple[Any, ...], int]]:
        yield t[1:-1], min(count + (test.label in t.labels), test.enough)

    return _remembering(A, 0, follow, test.passes)


class Role(NamedTuple):
    """The events of a label that an operand reads: the first, the last, or all except the last."""

    function: str
    label: str


ROLES = {pred.Group.FIRST: "FIRST", pred.Group.LAST: "LAST"}

ALL_BUT_LAST = "PREV"
"""The events that PREV reads of a label whose own events are not in the comparison."""


def roles_of(condition: Correlation) -> dict[pred.Leaf, Role]:
    """Return each operand's role (FIRST, LAST, PREV); {} if another operand reads several events.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> texts = "a.v > FIRST(b.v)", "PREV(a.v) > 3", "a.v > PREV(a.v)", "FIRST(a.v) > SUM(a.v)"
    >>> conditions = [parse_cel(f"A+ AS a FILTER {text}")[0].condition for text in texts]
    >>> [[role.function for role in roles_of(each).values()] for each in conditions]
    [['FIRST'], ['PREV'], [], []]
    """
    roles: dict[pred.Leaf, Role] = {}
    plain = {x.label for x in condition.operands if isinstance(x, pred.LabelAttribute)}
    for x in condition.operands:
        match x:
            case pred.OfGroup(function, label) if function in ROLES:
                roles[x] = Role(ROLES[function], label)
            case pred.Previous(label) if label not in plain:
                roles[x] = Role(ALL_BUT_LAST, label)
            case pred.OfGroup() | pred.Previous():
                return {}
            case pred.LabelAttribute():
                pass
    return roles


def is_of_one_event(condition: Correlation) -> bool:
    """Return whether an automaton can test a count, or FIRST, LAST or PREV of one label."""
    if count_test(condition) is not None:
        return True
    roles = roles_of(condition)
    return len({roles.get(x) for x in condition.operands}) == 1 and bool(roles)


def is_of_two(condition: Correlation) -> bool:
    """Return whether registers can test a condition on two labels or on consecutive events."""
    if step_label(condition) is not None:
        return True
    roles = roles_of(condition)
    is_known = condition.of_group is None or bool(roles)
    return is_known and len({roles.get(x, x.label) for x in condition.operands}) == 2


def in_roles(A: M, condition: Correlation, demand: Callable[[M, On | Correlation], M]) -> M:
    """Return the runs of A that satisfy a condition that contains FIRST, LAST or PREV of a label.

    The events of each role get a fresh label, and `demand` puts the condition on these labels: as
    ``X[P]`` if it is on one label. FIRST and LAST of no event have no value, so the condition fails
    then, unless a label whose events are compared one by one is unset.
    """
    roles = roles_of(condition)
    others = frozenset[str]().union(*(t.labels for t in A.Delta))
    names = {role: fresh(f"{role.function}({role.label})", others) for role in roles.values()}

    def named(x: pred.Leaf) -> pred.Leaf:
        if isinstance(x, pred.OfGroup | pred.Previous) and x.attribute is not None:
            return pred.LabelAttribute(names[roles[x]], x.attribute)
        return x

    on_names = condition.with_operands(named)
    A = reduce(partial(_with_roles, names=names), dict.fromkeys(X for _, X in names), A)
    single = {name for role, name in names.items() if role.function != ALL_BUT_LAST}
    if single:
        A = _set_together(A, frozenset(on_names.labels) - single, frozenset(single))
    passing = demand(A, _on_label(on_names) if len(on_names.labels) == 1 else on_names)
    return relabel(trim(passing), lambda L: L.difference(names.values()))


def _on_label(condition: Correlation) -> On:
    """Return a condition on one label as a filter ``X[P]``."""
    (label,) = condition.labels

    def read(x: pred.Leaf) -> pred.Leaf:
        return pred.Attribute(x.attribute) if isinstance(x, pred.LabelAttribute) else x

    one = condition.with_operands(read)
    return On(label, pred.Comparison(one.operator, one.left, one.right))


def _with_roles(A: M, X: str, names: Mapping[Role, str]) -> M:
    """Return the runs of A in which first, last and other events of X have extra labels.

    A state knows whether an event of X came, and whether the last one did: that one is guessed, and
    no event of X may follow it.
    """
    first, last, before = (names.get(Role(f, X)) for f in (*ROLES.values(), ALL_BUT_LAST))
    later = labels_later(A)
    finds_last = last is not None or before is not None

    def follow(came: str, t: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
        if X not in t.labels:
            yield t[1:-1], came
            return
        of_first = {first} if came == "none" else set()
        if came != "all" and (X in later[t.target] or not finds_last):
            yield _also(t, of_first | {before}), "some"
        if came != "all" and finds_last:
            yield _also(t, of_first | {last}), "all"

    return _remembering(A, "none", follow, lambda came: came != "some" or not finds_last)


def _set_together(A: M, compared: frozenset[str], needed: frozenset[str]) -> M:
    """Return the runs of A that set all labels in `needed`, or not all labels in `compared`."""

    def follow(came: frozenset[str], t: Any) -> Iterator[tuple[tuple[Any, ...], frozenset[str]]]:
        yield t[1:-1], came | (t.labels & (compared | needed))

    return _remembering(A, NO_LABELS, follow, lambda came: needed <= came or not compared <= came)


def _also(t: Any, names: Set[str | None]) -> tuple[Any, ...]:
    """Return the label of a transition with some labels added."""
    parts: tuple[Any, ...] = t._replace(labels=t.labels | (names - {None}))[1:-1]
    return parts


def _remembering(A: M, start: Any, follow: Any, accepts: Callable[[Any], bool]) -> M:
    """Return A with a memory in its states, which `follow` updates; useless states are removed."""
    kind: Any = type(A)
    whole: Any = remember(A, start, follow, kind, accepts=accepts)
    useful: M = trim(replace(whole, R=A.R) if isinstance(A, LabelledSrt) else whole)
    return useful


def step_label(condition: Correlation) -> str | None:
    """Return the label in a comparison with PREV of the same label; None for other comparisons."""
    has_previous = any(isinstance(x, pred.Previous) for x in condition.operands)
    is_plain = not any(isinstance(x, pred.OfGroup) for x in condition.operands)
    one = condition.labels[0] if len(condition.labels) == 1 else None
    return one if has_previous and is_plain else None


def stepped(A: LabelledSrt, condition: Correlation, X: str, register: str) -> LabelledSrt:
    """Return the runs of A in which each event of a label, except the first, passes a comparison.

    The register holds the previous event of the label; a state knows whether there is one.
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
