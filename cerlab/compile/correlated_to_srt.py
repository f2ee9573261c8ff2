"""Queries that compare labels, compiled to transducers whose registers keep the compared events.

``x.a op y.b`` holds for a valuation if ``e.a op f.b`` for all events e of x and f of y. At each
event, a new event of x is compared with the remembered events of y, and is itself remembered if an
event of y may still come.

* ``<`` and ``<=`` need the greatest value of x so far and the least of y, ``>`` and ``>=`` the
reverse, ``=`` any value, since all of them must be equal. If the values of a label do not all
compare with each other (missing, NULL, NaN, of different kinds), only this fact is remembered: no
event of the other label may come any more.
* ``!=`` needs every event so far, and so does arithmetic that mixes labels on one side, as in ``y.b
- x.a <= 5``. It is refused if a label is repeated without bound before the other, since it would
need as many registers.

A side may be arithmetic over one label, as in ``y.b > 1.05 * x.a``: then its value is used instead
of the attribute's. Windows in time and waits are registers, too (`cerlab.automata.labelled`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.automata.automaton import Mark, Vcea
from cerlab.automata.compose import both, in_any_order, quotient, remember, strict, unless
from cerlab.automata.explore import reachable, successors_by, trim
from cerlab.automata.labelled import (
    GuardedTransition,
    Label,
    LabelledSrt,
    held,
    labels_later,
    labels_to_marks,
    of_vcea,
    waited,
)
from cerlab.automata.plan import CorrelatedPlan
from cerlab.automata.registers import NONE, Srt, coalesce
from cerlab.budget import step_budget
from cerlab.compile.cel_to_vcea import (
    AT_THE_BEGINNING,
    REFERENCE,
    Composition,
    cel_to_vcea,
    compose,
    demand_of_label,
)
from cerlab.compile.groups import (
    count_test,
    counted,
    in_roles,
    is_of_one_event,
    roles_of,
    step_label,
    stepped,
)
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery, plan_clauses, strategy_and_body
from cerlab.logic.focel.translate import Names
from cerlab.model.clauses import AttributeWindow, Strategy, TimeWindow
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Atomic, Correlation, On, atomics
from cerlab.predicates.separation import separated
from cerlab.predicates.text import expression_text, predicate_text

Summary: TypeAlias = int
"""The state of a label in a run: the number of registers with its events, or `INCOMPARABLE`."""

NOTHING: Summary = 0

INCOMPARABLE: Summary = -1
"""The summary of a label whose events are not all comparable or, for ``=``, not all equal."""

EXTREME: dict[pred.Operator, tuple[pred.Operator | None, pred.Operator]] = {
    pred.Operator.LT: (pred.Operator.GT, pred.Operator.LE),
    pred.Operator.LE: (pred.Operator.GT, pred.Operator.LE),
    pred.Operator.GT: (pred.Operator.LT, pred.Operator.GE),
    pred.Operator.GE: (pred.Operator.LT, pred.Operator.GE),
    pred.Operator.EQ: (None, pred.Operator.EQ),
}
"""For each operator, the comparison of a new value with the kept one that replaces it, and the one
under which the kept value suffices for both.
"""


class Knowledge(NamedTuple):
    """Summaries of the events read so far, one for each of the two labels of a comparison."""

    left: Summary
    right: Summary


class Way(NamedTuple):
    """An update after reading an event: its guard, the registers it writes, the new summary."""

    when: pred.Guard
    writes: frozenset[str]
    summary: Summary


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison ``e.x < f.y``: its label, its value and the operator.

    `register` gives the n-th register for its events. If `value` is None, since it is not of one
    label alone, all events of the label are kept.
    """

    label: str
    value: pred.Expression | None
    op: pred.Operator
    register: Callable[[int], str]
    condition: Correlation

    @property
    def keeps_all(self) -> bool:
        """True if each event of the label is stored in a register."""
        return self.value is None or self.op is pred.Operator.NE

    def read(self, leaf: pred.Leaf) -> pred.Leaf:
        """Return the attribute `x` of the label as an attribute of the current event."""
        if not isinstance(leaf, pred.LabelAttribute) or leaf.label != self.label:
            return leaf
        return pred.Attribute(leaf.attribute)

    def stored(self, n: int, leaf: pred.Leaf) -> pred.Leaf:
        """Return the attribute `x` of the label as an attribute of the event in register n."""
        if not isinstance(leaf, pred.LabelAttribute) or leaf.label != self.label:
            return leaf
        return pred.RegisterAttribute(self.register(n), leaf.attribute)


def restrict(
    A: LabelledSrt,
    condition: Correlation,
    name: Callable[[str], str],
    written: Correlation | None = None,
) -> LabelledSrt:
    """Return the runs of A whose labels satisfy a comparison between two labels.

    A state is a state of A and the summaries of both labels. The summary of a label is forgotten if
    no event of the other may come any more. `name` gives a fresh register for a label; `written`
    is the condition in the text, for the hint. Raise `Unsupported` (see `why_unbounded`).
    """
    A = trim(A)
    if (reason := why_unbounded(A, condition)) is not None:
        hint = 'evaluator="reference" supports it, on small streams'
        if (other := separated(written or condition)) is not None:
            hint = f"write {predicate_text(other)}, which needs one register"
        raise Unsupported("CER0491", reason, hint=hint)
    sides = _sides(condition, name)
    later = labels_later(A)

    def follow(knowledge: Knowledge, t: GuardedTransition) -> Iterator[tuple[Label, Knowledge]]:
        for when, writes, then in _read(*sides, knowledge, t.labels, later[t.target]):
            if when != pred.FALSE:
                yield Label(pred.all_of((t.guard, when)), t.labels, t.writes | writes), then

    whole = remember(A, Knowledge(NOTHING, NOTHING), follow, LabelledSrt, R=A.R)
    return trim(replace(whole, R=whole.R.union(*(t.writes for t in whole.Delta))))


def _sides(condition: Correlation, name: Callable[[str], str]) -> tuple[Side, Side]:
    pure: dict[str, tuple[pred.Expression, pred.Operator]] = {
        one.pop(): (side, op)
        for side, op in (
            (condition.left, condition.operator),
            (condition.right, pred.CONVERSE[condition.operator]),
        )
        if len(one := _labels(side)) == 1
    }

    def side_of(X: str) -> Side:
        # A side that names both labels has no single greatest value, so every event is stored.
        value, op = pure[X] if len(pure) == 2 else (None, condition.operator)
        return Side(X, value, op, cache(lambda _: name(X)), condition)

    x, y = condition.labels
    return side_of(x), side_of(y)


def _labels(side: pred.Expression) -> set[str]:
    return {leaf.label for leaf in pred.leaves_of(side) if isinstance(leaf, pred.LabelAttribute)}


def _read(
    left: Side, right: Side, knowledge: Knowledge, labels: frozenset[str], later: frozenset[str]
) -> Iterator[tuple[pred.Guard, frozenset[str], Knowledge]]:
    """Yield the updates for an event with some labels; `later` are labels that may still come."""
    is_left, is_right = left.label in labels, right.label in labels
    guards = []
    if is_left:
        guards.append(_guard_against(left, right, knowledge.right))
    if is_right:
        guards.append(_guard_against(right, left, knowledge.left))
    if is_left and is_right:
        C = left.condition
        own = (pred.with_leaves(x, lambda v: right.read(left.read(v))) for x in (C.left, C.right))
        guards.append(pred.Comparison(C.operator, *own))
    lefts = _ways_after(
        left,
        knowledge.left,
        own=is_left,
        relevant=right.label in later,
        alone=knowledge.right == NOTHING and not is_right,
    )
    rights = _ways_after(
        right,
        knowledge.right,
        own=is_right,
        relevant=left.label in later,
        alone=knowledge.left == NOTHING and not is_left,
    )
    for first, second in product(lefts, rights):
        when = pred.all_of((*guards, first.when, second.when))
        yield when, first.writes | second.writes, Knowledge(first.summary, second.summary)


def _guard_against(side: Side, other: Side, summary: Summary) -> pred.Guard:
    """Return the guard that compares the current event with stored ones of the other label."""
    if summary == INCOMPARABLE:
        return pred.FALSE
    C = side.condition

    def compared(n: int) -> pred.Guard:
        left, right = (
            pred.with_leaves(x, lambda v: side.read(other.stored(n, v))) for x in (C.left, C.right)
        )
        if _labels(C.left) == {other.label}:  # the comparison has the current event on its left
            return pred.RegisterComparison(pred.CONVERSE[C.operator], right, left)
        return pred.RegisterComparison(C.operator, left, right)

    return pred.all_of(map(compared, range(summary)))


def _ways_after(
    side: Side, summary: Summary, *, own: bool, relevant: bool, alone: bool
) -> Iterator[Way]:
    """Yield the updates of a label's summary for an event, which may have the label."""
    if not relevant:
        yield Way(pred.EVERYTHING, NONE, NOTHING)
    elif own:
        yield from _memories(side, summary, alone=alone)
    else:
        yield Way(pred.EVERYTHING, NONE, summary)


def _memories(side: Side, summary: Summary, *, alone: bool) -> Iterator[Way]:
    """Yield the updates of a label's summary for an event that has the label.

    `alone` is True if there is no event of the other side yet. If there is one, the current event
    compares with it, and therefore with all events of its own side.
    """
    if side.keeps_all or summary == NOTHING:
        yield Way(pred.EVERYTHING, frozenset({side.register(summary)}), summary + 1)
        return
    if summary == INCOMPARABLE:
        yield Way(pred.EVERYTHING, NONE, INCOMPARABLE)
        return
    instead, enough = EXTREME[side.op]
    further = pred.FALSE if instead is None else _with_stored(side, instead)
    within = _with_stored(side, enough)
    if further != pred.FALSE:
        yield Way(further, frozenset({side.register(0)}), summary)
    yield Way(within, NONE, summary)
    if alone:
        # otherwise the guard against the stored event of the other label excludes this case
        yield Way(pred.negation(pred.disjunction(further, within)), NONE, INCOMPARABLE)


def _with_stored(side: Side, op: pred.Operator) -> pred.Guard:
    """Return the guard that compares the current event's value with the value in the register."""
    assert side.value is not None
    values = (pred.with_leaves(side.value, each) for each in (side.read, partial(side.stored, 0)))
    return pred.RegisterComparison(op, *values)


def why_unbounded(A: LabelledSrt, condition: Correlation) -> str | None:
    """Return why a comparison needs unboundedly many registers; None if a fixed number suffices.

    It does for ``!=``, and for arithmetic over both labels, if events of a label on a cycle of A
    are compared with a later one. A must be trimmed.
    """
    if len(condition.labels) != 2:
        return f"registers compare two labels with each other, not {len(condition.labels)}"
    how = "by !=" if condition.operator is pred.Operator.NE else "by arithmetic over both"
    if not _sides(condition, str)[0].keeps_all:
        return None
    later = labels_later(A)
    x, y = condition.labels
    for here, there in ((x, y), (y, x)):
        for t in A.Delta:
            if here in t.labels and there in later[t.target] and _repeats(A, t):
                return (
                    f"a later '{there}' is compared {how} with '{here}', which repeats: it needs "
                    "as many registers"
                )
    return None


def _repeats(A: LabelledSrt, t: GuardedTransition) -> bool:
    return t.source in reachable({t.target}, successors_by((s.source, s.target) for s in A.Delta))


Fresh = Callable[[str], str]


@step_budget("the transducer of the formula", "compare fewer labels with each other", own=1)
def correlated_plan(query: CeqlQuery, vcea: Vcea | None = None) -> CorrelatedPlan:
    """Return the transducer of a query with its clauses; `vcea` is its automaton, if known.

    Raises as `correlated_to_srt`.
    """
    clauses = plan_clauses(query)
    if vcea is None:
        strategy, body = strategy_and_body(query)
        if strategy is Strategy.STRICT:
            body, clauses["strategy"] = cel.Select(strategy, body), None
        srt = correlated_to_srt(body)
    else:
        srt = _transducer(of_vcea(vcea))
    if clauses["strategy"] is Strategy.MAX and _marks_a_fixed_number(srt):
        clauses["strategy"] = None
    return CorrelatedPlan(srt=srt, **clauses)


def _marks_a_fixed_number(T: Srt) -> bool:
    """Return whether all answers have equally many positions, so that none contains another.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> texts = "A ; B", "A+ ; B", "A OR (A ; B)"
    >>> [_marks_a_fixed_number(correlated_to_srt(parse_cel(text)[0])) for text in texts]
    [True, False, False]
    """
    useful = set(reachable(T.F, successors_by((t.target, t.source) for t in T.Delta)))
    marked, pending = {T.q0: 0}, [T.q0]
    while pending:
        q = pending.pop()
        for t in T.Delta:
            if t.source != q or t.target not in useful:
                continue
            after = marked[q] + (t.mark is Mark.TAKE)
            if t.target not in marked:
                pending.append(t.target)
            if marked.setdefault(t.target, after) != after:
                return False
    return len({marked[q] for q in T.F if q in marked}) <= 1


def correlated_to_srt(phi: cel.Formula, *, timed: bool = False) -> Srt:
    """Return a transducer whose runs on events i to j yield a formula's complex events (i, j, D).

    With `timed` the formula may have waits and windows in time: then events need the attributes
    that `cerlab.automata.labelled` names. Raise `Unsupported` for constructs outside the fragment,
    `ResourceLimit` for filters with too many alternatives and for comparisons that together have
    too many states.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> T = correlated_to_srt(parse_cel("A AS a ; B AS b FILTER a.v < b.v")[0])
    >>> T.states, len(T.Delta), sorted(T.R)
    (3, 3, ['a'])
    """
    return _transducer(correlated_to_labelled_srt(phi, timed=timed))


def _transducer(A: LabelledSrt) -> Srt:
    T = quotient(labels_to_marks(A))
    return quotient(coalesce(T)) if T.R else T


def correlated_to_labelled_srt(phi: cel.Formula, *, timed: bool = False) -> LabelledSrt:
    """Return a transducer whose runs on events i to j yield a formula's valuations."""
    if not timed and cel.is_timed(phi):
        cel_to_vcea(phi)  # raises `Unsupported` with the name of the construct
    return _construct(phi, Names(()).fresh)


def why_not(query: CeqlQuery) -> str | None:
    """Return why a query has no transducer; None if it has one."""
    try:
        correlated_plan(query)
    except Unsupported as error:
        return error.message
    return None


def _construct(phi: cel.Formula, fresh: Fresh) -> LabelledSrt:
    if not needs_registers(phi):
        return of_vcea(cel_to_vcea(phi))
    part = partial(_construct, fresh=fresh)
    match phi:
        case cel.Within(body, TimeWindow() | AttributeWindow() as window):
            return held(part(body), window, fresh("start"))
        case cel.Wait(body, length):
            return waited(part(body), length, fresh("wait"))
        case cel.Lookback():
            inside = f"{node_text(phi)} inside a formula"
            message = f"there is no transducer for {inside}"
            raise Unsupported("CER0492", message, hint=AT_THE_BEGINNING)
        case cel.And(left, right):
            return both(part(left), part(right))
        case cel.All(left, right):
            return in_any_order(part(left), part(right))
        case cel.Unless(left, right) if not needs_registers(right):
            return unless(part(left), cel_to_vcea(right))
        case cel.Select(Strategy.STRICT, body):
            return strict(part(body))
    if isinstance(phi, Composition):
        A: LabelledSrt = compose(phi, part, partial(_demand, fresh))
        return A
    kind = "comparisons" if correlates(phi) else "waits and windows in time"
    inside = f"{kind} inside {node_text(phi)}"
    raise Unsupported("CER0492", f"there is no transducer for {inside}", hint=REFERENCE)


def _demand(fresh: Fresh, A: LabelledSrt, condition: Atomic) -> LabelledSrt:
    """Return the runs of A that satisfy one condition of a FILTER."""
    match condition:
        case On():
            return demand_of_label(A, condition)
        case Correlation() if (test := count_test(condition)) is not None:
            return counted(A, test)
        case Correlation() if roles_of(condition):
            return in_roles(A, condition, partial(_on_names, fresh, condition))
        case Correlation() if (label := step_label(condition)) is not None:
            return stepped(A, condition, label, fresh(label))
        case Correlation() if (operand := condition.of_group) is not None:
            raise Unsupported(
                "CER0492",
                f"there is no transducer for {expression_text(operand)} in a filter",
                hint=REFERENCE,
            )
        case Correlation():
            return restrict(A, condition, fresh)
        case Application(P, _):
            raise Unsupported(
                "CER0492",
                f"there is no transducer for '{P.name}', a predicate over sets of events",
                hint=REFERENCE,
            )
        case _:
            assert_never(condition)


def _on_names(
    fresh: Fresh, written: Correlation, A: LabelledSrt, condition: On | Correlation
) -> LabelledSrt:
    """Return the runs of A that satisfy a condition; errors quote the condition `written`."""
    if isinstance(condition, On):
        return demand_of_label(A, condition)
    return restrict(A, condition, fresh, written)


def needs_registers(phi: cel.Formula) -> bool:
    """Return whether some filter of a formula compares labels, or the formula reads times."""
    return correlates(phi) or cel.is_timed(phi)


def correlates(phi: cel.Formula) -> bool:
    """Return whether some FILTER of a formula compares two labels, which needs registers.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> correlates(parse_cel("(A AS a ; B AS b FILTER b[v = 1] OR a.v = b.v)+")[0])
    True
    """
    filters = (psi.condition for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    comparisons = (x for C in filters for x in atomics(C) if isinstance(x, Correlation))
    return not all(map(is_of_one_event, comparisons))
