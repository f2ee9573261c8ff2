"""CEL formulas to VCEA, by induction on the formula (CORE App. A.1, with iteration corrected).

The printed construction for ``+`` skips no event between iterations and never iterates a body of
one event more than twice; see ``proofs_tests/errata/test_e9_iteration.py``. Operators with the same
construction on all machines with labels come first (`compose`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from operator import attrgetter
from typing import Any, NoReturn, TypeAlias, TypeVar, assert_never

from cerlab.automata.automaton import (
    Automaton,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Vcea,
)
from cerlab.automata.compose import (
    at_most,
    both,
    in_any_order,
    iteration,
    relabel,
    sequence,
    strict,
    union,
    unless,
)
from cerlab.automata.context import Context, selected
from cerlab.automata.explore import trim
from cerlab.budget import step_budget
from cerlab.compile.groups import count_test, counted, in_roles, is_of_one_event, is_of_two
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import (
    Application,
    Atomic,
    Condition,
    Correlation,
    On,
    alternatives,
)
from cerlab.predicates.text import expression_text

HINT = "move OR into the brackets of one label if both sides test that label"
M = TypeVar("M", bound=Automaton[Any])

Composition: TypeAlias = (
    cel.As
    | cel.Filter
    | cel.Or
    | cel.Seq
    | cel.Concat
    | cel.Plus
    | cel.ConcatPlus
    | cel.Count
    | cel.Project
    | cel.Rename
    | cel.Within
)
"""The operators with one construction for all kinds of machines."""


def compose(
    phi: Composition, machine: Callable[[cel.Formula], M], demand: Callable[[M, Atomic], M]
) -> M:
    """Return the automaton of a formula, built from the automata of its parts."""
    match phi:
        case cel.As(body, X):
            return relabel(machine(body), lambda L: L | {X} if L else L)
        case cel.Filter(body, condition):
            return apply_filter(machine(body), condition, demand)
        case cel.Or(left, right):
            return union(machine(left), machine(right))
        case cel.Seq(left, right):
            return sequence(machine(left), machine(right), gaps=True)
        case cel.Concat(left, right):
            return sequence(machine(left), machine(right), gaps=False)
        case cel.Plus(body):
            return iteration(machine(body), gaps=True)
        case cel.ConcatPlus(body):
            return iteration(machine(body), gaps=False)
        case cel.Count(body, least, most, gaps):
            return iteration(machine(body), least, most, gaps=gaps)
        case cel.Project(_, body):
            A = machine(body)
            cases = ((t, P, L) for t in A.Delta for P, L in _cases(phi, t.labels))
            return replace(A, Delta=tuple(_demanded(t, P)._replace(labels=L) for t, P, L in cases))
        case cel.Rename(old, new, body):
            return relabel(machine(body), lambda L: L - {old} | {new} if old in L else L)
        # a window of n events after the first one has n + 1 events
        case cel.Within(body, EventWindow(width)):
            return at_most(machine(body), width + 1)
        case cel.Within():
            _refuse(phi)
        case _:
            assert_never(phi)


def blocks(phi: cel.Formula) -> cel.Formula:
    """Return the formula for a drawing: each count, such as ``A{5}``, becomes one event.

    The type of the event is the text of the count. It has the labels that the count may set, so
    filters around it are unchanged.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(blocks(parse_cel("A{5} ; B")[0]))
    PROJECT[A](`A{5}` AS A) ; B
    """
    if not isinstance(phi, cel.Count):
        return cel.map_children(blocks, phi)
    labels = cel.defined_labels(phi)
    event: cel.Formula = cel.Atom(str(phi))
    return cel.Project(labels, reduce(cel.As, sorted(labels), event))


def apply_filter(A: M, condition: Condition, demand: Callable[[M, Atomic], M]) -> M:
    """Return a union of copies of the automaton, one for each way to satisfy the filter.

    `demand` applies a part of the filter to a copy. Raise `ResourceLimit` if this takes too many
    steps.
    """
    with step_budget("the copies of a formula for its filter", HINT):
        return reduce(union, (reduce(demand, copy, A) for copy in alternatives(condition)))


def demand_of_label(A: M, condition: On) -> M:
    """Return the automaton in which only events that satisfy P get label X."""
    X, P = condition.label, condition.predicate
    return replace(A, Delta=tuple(_demanded(t, P) if X in t.labels else t for t in A.Delta))


def _demanded(t: Any, P: pred.Predicate) -> Any:
    """Return a transition that reads only events that satisfy P."""
    test = "guard" if hasattr(t, "guard") else "predicate"
    return t._replace(**{test: pred.conjunction(getattr(t, test), P)})


def _cases(phi: cel.Project, labels: frozenset[str]) -> list[tuple[pred.Predicate, frozenset[str]]]:
    """Return the labels that a projection keeps of an event, for each stream it may come from."""
    kinds: list[tuple[pred.Predicate, frozenset[str]]] = [(pred.EVERYTHING, labels & phi.labels)]
    for X in sorted(labels & {label for _, label in phi.of_streams}):
        streams: list[pred.Predicate] = [
            pred.StreamIs(S) for S, Y in sorted(phi.of_streams) if X == Y
        ]
        of_them = reduce(pred.disjunction, streams)
        kinds = [
            kind
            for P, L in kinds
            for kind in (
                (pred.conjunction(P, of_them), L | {X}),
                # an event without a stream satisfies StreamIs, so the first case includes it
                (pred.conjunction(P, pred.negation(of_them)), L),
            )
        ]
    return kinds


NO_LABELS: frozenset[str] = frozenset()
REFERENCE = 'cerlab.evaluate with evaluator="reference" supports it, on small streams'

AT_THE_BEGINNING = (
    "at the beginning of a formula, or left of its outermost UNLESS, cerlab.evaluate and "
    'cerlab run support it; elsewhere evaluator="reference" does, on small streams'
)
"""The hint for a look-back."""

INSIDE = (
    "without evaluator=, cerlab.evaluate supports it: streams of any length if no part compares "
    "labels, waits, looks back or has a window in time"
)
"""The hint for a strategy inside a formula."""

TIMED = "cerlab.evaluate and cerlab run support it"


@step_budget("the automaton of the formula")
def cel_to_vcea(phi: cel.Formula) -> Vcea:
    """Return a VCEA with the valuations of the formula on every stream (CORE Thm. 2).

    It has linearly many states; the transitions of ``;`` and ``+`` are products, so at most
    quadratic. Raise `Unsupported` for operators and filters without a construction here.

    Args:
        phi: A formula.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> A = cel_to_vcea(parse_cel("A ; B")[0])
    >>> A.states, len(A.Delta)
    (3, 3)
    """
    return trim(construct(phi))


def in_context(phi: cel.Formula) -> tuple[Vcea, tuple[Context, ...]]:
    """Return the automaton of a formula with strategies, and the contexts that it reads.

    Contexts of inner strategies come first; without NXT, LAST and MAX there are none. Raise as
    `cel_to_vcea`, which refuses strategies, and `ResourceLimit` for too large contexts.
    """
    contexts: list[Context] = []
    with step_budget("the automaton of the formula"):
        A = trim(construct(phi, contexts))
    return A, tuple(contexts)


def construct(phi: cel.Formula, contexts: list[Context] | None = None) -> Vcea:
    """Return the automaton of a formula; append the contexts of its strategies to `contexts`."""
    part = partial(construct, contexts=contexts)
    if isinstance(phi, Composition):
        return compose(phi, part, _demand)
    match phi:
        case cel.Atom() | cel.Not():
            labels = frozenset({phi.type}) if isinstance(phi, cel.Atom) else NO_LABELS
            step = LabelTransition(0, _one_event(phi), labels, 1)
            # NOT(R) reads an event and gives it no label, so every answer skips it
            return Vcea(2, (step,), frozenset({0}), frozenset({1}))
        case cel.And(left, right):
            return both(part(left), part(right))
        case cel.All(left, right):
            return in_any_order(part(left), part(right))
        case cel.Unless(left, right):
            return unless(part(left), part(right))
        case cel.Select(Strategy.STRICT, body):
            return strict(part(body))
        case cel.Select(strategy, body) if contexts is not None:
            A = trim(part(body))
            name = f"\0{len(contexts)}"  # no query can contain this name
            A, context = selected(A, vcea_to_cea(A), strategy, name)
            contexts.append(context)
            return A
        case cel.Select() | cel.Wait() | cel.Lookback():
            _refuse(phi)
        case _:
            assert_never(phi)


def _one_event(phi: cel.Atom | cel.Not | cel.Filter) -> pred.Predicate:
    """Return the predicate of a formula that reads one event: R, NOT(R), NOT(R FILTER ..)."""
    match phi:
        case cel.Atom(R, stream):
            return (
                pred.TypeIs(R)
                if stream is None
                else pred.conjunction(pred.StreamIs(stream), pred.TypeIs(R))
            )
        case cel.Not(body):
            assert isinstance(body, cel.Atom | cel.Filter)
            return pred.Not(_one_event(body))
        case cel.Filter(body, condition):
            assert isinstance(body, cel.Atom | cel.Filter)
            return pred.conjunction(_one_event(body), _on_own_label(_atom_of(body).type, condition))
        case _:
            assert_never(phi)


def _atom_of(phi: cel.Formula) -> cel.Atom:
    while isinstance(phi, cel.Filter):
        phi = phi.body
    assert isinstance(phi, cel.Atom)
    return phi


def _on_own_label(R: str, condition: Condition) -> pred.Predicate:
    """Return the predicate of a FILTER on an event of label R, ignoring other labels."""
    match condition:
        case On(label, P):
            return P if label == R else pred.EVERYTHING
        case pred.And(left, right):
            return pred.And(_on_own_label(R, left), _on_own_label(R, right))
        case pred.Or(left, right):
            return pred.Or(_on_own_label(R, left), _on_own_label(R, right))
        case Correlation() | Application():
            _refuse(condition)
        case _:
            assert_never(condition)


def _demand(A: Vcea, condition: Atomic) -> Vcea:
    if isinstance(condition, Correlation) and (test := count_test(condition)) is not None:
        return counted(A, test)
    if isinstance(condition, Correlation) and is_of_one_event(condition):
        return in_roles(A, condition, _demand)
    if not isinstance(condition, On):
        _refuse(condition)
    return demand_of_label(A, condition)


def _refuse(construct: cel.Formula | Correlation | Application) -> NoReturn:
    hint = REFERENCE
    if isinstance(construct, Correlation):
        group = construct.of_group
        name = "comparisons between labels"
        name = name if group is None else f"{expression_text(group)} in a filter"
        if is_of_two(construct):
            hint = f'evaluator="registers" may support it; {REFERENCE}'
    elif isinstance(construct, Application):
        name = f"'{construct.predicate.name}', a predicate over sets of events"
    elif isinstance(construct, cel.Select):
        name, hint = f"{construct.strategy.value}(..) inside a formula on intervals alone", INSIDE
    elif isinstance(construct, cel.Within):
        name, hint = f"a window in time inside a formula, as {node_text(construct)}", TIMED
    elif isinstance(construct, cel.Wait):
        name, hint = node_text(construct), TIMED
    elif isinstance(construct, cel.Lookback):
        name, hint = node_text(construct), AT_THE_BEGINNING
    else:
        name = node_text(construct)
    raise Unsupported("CER0403", f"there is no automaton for {name}", hint=hint)


def vcea_to_cea(A: Vcea) -> IntervalCea:
    """Return the automaton that marks an event where the automaton with labels gives it a label.

    A fresh ``q0``, which is 0, replaces all initial states and has no incoming transition. The
    other states are those that a transition enters, in their order; Delta is sorted by source.

    Args:
        A: An automaton with labels.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> A = vcea_to_cea(cel_to_vcea(parse_cel("A ; B")[0]))
    >>> A.states, len(A.Delta), sorted(A.F)
    (3, 3, [2])
    """
    number = {q: n for n, q in enumerate(sorted({t.target for t in A.Delta}), 1)}
    Delta = dict.fromkeys(
        Transition(q, t.predicate, Mark.TAKE if t.labels else Mark.SKIP, number[t.target])
        for t in A.Delta
        for q in (0 if t.source in A.I else None, number.get(t.source))
        if q is not None
    )
    in_order = tuple(sorted(Delta, key=attrgetter("source")))
    F = frozenset(number[q] for q in A.F if q in number)
    return IntervalCea(len(number) + 1, in_order, frozenset({0}), F)
