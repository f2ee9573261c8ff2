"""Automata back to formulas, by elimination of states (SOCEL Sec. 6; SOCEL Thm. 5).

Runs are never empty, so no formula for "nothing" is needed: the fresh first and last state are
joined to the others by copies of transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias, TypeVar

from cerlab.automata.automaton import LabelTransition, Ucea, Vcea
from cerlab.automata.trim import trim
from cerlab.errors import ResourceLimit
from cerlab.logic.cel.syntax import (
    As,
    Atom,
    Concat,
    ConcatPlus,
    Filter,
    Formula,
    Or,
    Plus,
    Project,
    Rename,
    Seq,
    size,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import (
    EVERYTHING,
    FALSE,
    And,
    Comparison,
    Constant,
    Not,
    Operator,
    Predicate,
    TypeIs,
    atoms,
    conjunction,
    disjunction,
    negation,
)
from cerlab.theorems.elimination import END, START, Edge, Operations, add_edge, eliminate

MAX_SIZE = 20_000
"""The largest formula that is made."""

NEVER = Comparison(Operator.EQ, Constant(0), Constant(1))
"""FALSE as formulas have it."""

E = TypeVar("E")


def vcea_to_cel(A: Vcea, types: Sequence[str] | None = None) -> Formula:
    """A formula with the same valuations on streams of events of some types (SOCEL Sec. 6).

    The types are by default those that A's predicates name. The formula uses ``:``, ``:+``, OR,
    PROJECT, AS and FILTER, and may be exponentially larger, see `elimination_size`. Its valuations
    that start at 0 are what ordinary runs answer if A is read as a UCEA (SOCEL Sec. 5.1). Raises
    `ResourceLimit` above `MAX_SIZE` operators.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> Delta = (
    ...     LabelTransition(0, TypeIs("A"), frozenset({"x"}), 1),
    ...     LabelTransition(1, TypeIs("B"), frozenset(), 1),
    ...     LabelTransition(1, TypeIs("B"), frozenset({"B"}), 2),
    ... )
    >>> print(vcea_to_cel(Vcea(3, Delta, frozenset({0}), frozenset({2}))))
    PROJECT[x](A AS x) : B OR PROJECT[x](A AS x) : (PROJECT[](B):+ : B)
    """
    return _formula(A, types, _projected, _operations(Or, Concat, ConcatPlus))


def ucea_to_socel(A: Ucea, types: Sequence[str] | None = None) -> Formula:
    """A formula whose complex events are A's under the *-semantics (SOCEL Thm. 5).

    As `vcea_to_cel`, with ``;`` and ``+``, and without projection: an event has some label, and if
    that is not its type, RENAME moves it from there.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> step = LabelTransition(0, TypeIs("A"), frozenset({"x"}), 1)
    >>> print(ucea_to_socel(Ucea(2, (step,), frozenset({0}), frozenset({1}))))
    RENAME[A -> x](A AS x)
    """
    steps = tuple(t for t in A.Delta if t.labels)
    return _formula(Vcea(A.states, steps, A.I, A.F), types, _renamed, _operations(Or, Seq, Plus))


class EliminationSize(NamedTuple):
    """States and transitions of a trimmed automaton; operators and atoms of its formula."""

    states: int
    transitions: int
    formula: int


def elimination_size(A: Vcea, types: Sequence[str] | None = None) -> EliminationSize:
    """How large `vcea_to_cel` is, counted without making it; at most exponential (SOCEL Sec. 6)."""
    A = trim(A)
    made = _edges(A, _types(A, types), _projected, Or)
    edges = {edge: size(phi) for edge, phi in made.items()}
    found = eliminate(edges, _COUNTED)
    return EliminationSize(A.states, len(A.Delta), size(_nothing()) if found is None else found)


# -- From transitions to formulas ---------------------------------------------------------------

Written: TypeAlias = Callable[[Formula, str, frozenset[str]], Formula]
"""One event of a type, as a formula that gives it just these labels."""


def _projected(one: Formula, R: str, L: frozenset[str]) -> Formula:
    """``PROJECT[L](.. AS ..)``; not needed where the type itself is a label."""
    labelled = reduce(As, sorted(L - {R}), one)
    return labelled if R in L else Project(L, labelled)


def _renamed(one: Formula, R: str, L: frozenset[str]) -> Formula:
    """The same without projection, of one label or more."""
    labelled = reduce(As, sorted(L - {R}), one)
    return labelled if R in L else Rename(R, min(L), labelled)


def _edges(
    A: Vcea, types: Sequence[str], written: Written, either: Callable[[Formula, Formula], Formula]
) -> dict[Edge, Formula]:
    """Formulas between states; first and last transitions have copies at fresh ends."""
    edges: dict[Edge, Formula] = {}
    for t in dict.fromkeys(A.Delta):
        ways = list(_ways(t, types, written))
        if not ways:
            continue
        phi = reduce(either, ways)
        for source in (t.source, *([START] if t.source in A.I else [])):
            for target in (t.target, *([END] if t.target in A.F else [])):
                add_edge(edges, (source, target), phi, either)
    return edges


def _ways(t: LabelTransition, types: Sequence[str], written: Written) -> Iterable[Formula]:
    """One formula for each type of events that the transition may read."""
    for R in types:
        P = _of_type(t.predicate, R)
        if P != FALSE:
            one = Atom(R) if P == EVERYTHING else Filter(Atom(R), On(R, P))
            yield written(one, R, t.labels)


def _of_type(P: Predicate, R: str) -> Predicate:
    """What a predicate still says of events of type R."""
    match P:
        case TypeIs(name):
            return EVERYTHING if name == R else FALSE
        case Not(operand):
            return negation(_of_type(operand, R))
        case And(left, right):
            return conjunction(_of_type(left, R), _of_type(right, R))
        case pred.Or(left, right):
            return disjunction(_of_type(left, R), _of_type(right, R))
        case _:
            return P


def _types(A: Vcea, types: Sequence[str] | None) -> tuple[str, ...]:
    named = (a.type for t in A.Delta for a in atoms(t.predicate) if isinstance(a, TypeIs))
    return tuple(dict.fromkeys(named if types is None else types))


def _nothing() -> Formula:
    return Filter(Atom("R"), On("R", NEVER))


# -- Elimination --------------------------------------------------------------------------------


def _formula(
    A: Vcea, types: Sequence[str] | None, written: Written, operations: Operations[Formula]
) -> Formula:
    A = trim(A)
    edges = _edges(A, _types(A, types), written, operations.either)
    counted = eliminate({edge: size(phi) for edge, phi in edges.items()}, _COUNTED)
    if counted is not None and counted > MAX_SIZE:
        raise ResourceLimit(
            "CER0610",
            f"the formula has {counted:,} operators, more than {MAX_SIZE:,}",
            hint="eliminating states multiplies them: trim the automaton first",
        )
    found = eliminate(edges, operations)
    return _nothing() if found is None else found


def _operations(
    either: Callable[[E, E], E], then: Callable[[E, E], E], again: Callable[[E], E]
) -> Operations[E]:
    """One or the other; one then the other; one or more times, so a loop is passed or not."""

    def through(first: E, loop: E | None, last: E) -> E:
        passed = then(first, last)
        return passed if loop is None else either(passed, then(first, then(again(loop), last)))

    return Operations(either, through)


_COUNTED: Operations[int] = _operations(
    lambda m, n: m + n + 1, lambda m, n: m + n + 1, lambda n: n + 1
)
