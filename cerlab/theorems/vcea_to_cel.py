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
from cerlab.logic.cel import syntax as cel
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.theorems.elimination import END, START, Edge, Operations, add_edge, eliminate

MAX_SIZE = 20_000
"""The largest formula that is made."""

NEVER = pred.Comparison(pred.Operator.EQ, pred.Constant(0), pred.Constant(1))
"""FALSE as formulas have it."""

E = TypeVar("E")


def vcea_to_cel(A: Vcea, types: Sequence[str] | None = None) -> cel.Formula:
    """A formula with the same valuations on streams of events of some types (SOCEL Sec. 6).

    The types are by default those that A's predicates name. The formula uses ``:``, ``:+``, OR,
    PROJECT, AS and FILTER, and may be exponentially larger, see `elimination_size`. Its valuations
    that start at 0 are what ordinary runs answer if A is read as a UCEA (SOCEL Sec. 5.1). Raises
    `ResourceLimit` above `MAX_SIZE` operators.

    >>> Delta = (
    ...     LabelTransition(0, pred.TypeIs("A"), frozenset({"x"}), 1),
    ...     LabelTransition(1, pred.TypeIs("B"), frozenset(), 1),
    ...     LabelTransition(1, pred.TypeIs("B"), frozenset({"B"}), 2),
    ... )
    >>> print(vcea_to_cel(Vcea(3, Delta, frozenset({0}), frozenset({2}))))
    PROJECT[x](A AS x) : B OR PROJECT[x](A AS x) : (PROJECT[](B):+ : B)
    """
    return _formula(A, types, _with_projection, _operations(cel.Or, cel.Concat, cel.ConcatPlus))


def ucea_to_socel(A: Ucea, types: Sequence[str] | None = None) -> cel.Formula:
    """A formula whose complex events are A's under the *-semantics (SOCEL Thm. 5).

    As `vcea_to_cel`, with ``;`` and ``+``, and without projection: an event has some label, and if
    that is not its type, RENAME moves it from there.

    >>> step = LabelTransition(0, pred.TypeIs("A"), frozenset({"x"}), 1)
    >>> print(ucea_to_socel(Ucea(2, (step,), frozenset({0}), frozenset({1}))))
    RENAME[A -> x](A AS x)
    """
    steps = tuple(t for t in A.Delta if t.labels)
    return _formula(
        Vcea(A.states, steps, A.I, A.F),
        types,
        _with_renaming,
        _operations(cel.Or, cel.Seq, cel.Plus),
    )


class EliminationSize(NamedTuple):
    """States and transitions of a trimmed automaton; operators and atoms of its formula."""

    states: int
    transitions: int
    formula: int


def elimination_size(A: Vcea, types: Sequence[str] | None = None) -> EliminationSize:
    """How large `vcea_to_cel` is, counted without making it; at most exponential (SOCEL Sec. 6)."""
    A = trim(A)
    formulas = _edges(A, _types(A, types), _with_projection, cel.Or)
    edges = {edge: cel.size(phi) for edge, phi in formulas.items()}
    formula_size = eliminate(edges, _SIZES)
    return EliminationSize(
        A.states, len(A.Delta), cel.size(_nothing()) if formula_size is None else formula_size
    )


# -- From transitions to formulas ---------------------------------------------------------------

EventFormula: TypeAlias = Callable[[cel.Formula, str, frozenset[str]], cel.Formula]
"""One event of a type, as a formula that gives it just these labels."""


def _with_projection(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """``PROJECT[L](.. AS ..)``; not needed where the type itself is a label."""
    phi = reduce(cel.As, sorted(L - {R}), one)
    return phi if R in L else cel.Project(L, phi)


def _with_renaming(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """The same without projection, of one label or more."""
    phi = reduce(cel.As, sorted(L - {R}), one)
    return phi if R in L else cel.Rename(R, min(L), phi)


def _edges(
    A: Vcea,
    types: Sequence[str],
    event_formula: EventFormula,
    either: Callable[[cel.Formula, cel.Formula], cel.Formula],
) -> dict[Edge, cel.Formula]:
    """Formulas between states; first and last transitions have copies at fresh ends."""
    edges: dict[Edge, cel.Formula] = {}
    for t in dict.fromkeys(A.Delta):
        ways = list(_ways(t, types, event_formula))
        if not ways:
            continue
        phi = reduce(either, ways)
        for source in (t.source, *([START] if t.source in A.I else [])):
            for target in (t.target, *([END] if t.target in A.F else [])):
                add_edge(edges, (source, target), phi, either)
    return edges


def _ways(
    t: LabelTransition, types: Sequence[str], event_formula: EventFormula
) -> Iterable[cel.Formula]:
    """One formula for each type of events that the transition may read."""
    for R in types:
        P = _of_type(t.predicate, R)
        if P != pred.FALSE:
            one = cel.Atom(R) if P == pred.EVERYTHING else cel.Filter(cel.Atom(R), On(R, P))
            yield event_formula(one, R, t.labels)


def _of_type(P: pred.Predicate, R: str) -> pred.Predicate:
    """What a predicate still says of events of type R."""

    def value(atom: pred.Atom) -> pred.Predicate:
        if isinstance(atom, pred.TypeIs):
            return pred.EVERYTHING if atom.type == R else pred.FALSE
        return atom

    return pred.with_atoms(P, value)


def _types(A: Vcea, types: Sequence[str] | None) -> tuple[str, ...]:
    own = (a.type for t in A.Delta for a in pred.atoms(t.predicate) if isinstance(a, pred.TypeIs))
    return tuple(dict.fromkeys(own if types is None else types))


def _nothing() -> cel.Formula:
    return cel.Filter(cel.Atom("R"), On("R", NEVER))


# -- Elimination --------------------------------------------------------------------------------


def _formula(
    A: Vcea,
    types: Sequence[str] | None,
    event_formula: EventFormula,
    operations: Operations[cel.Formula],
) -> cel.Formula:
    A = trim(A)
    edges = _edges(A, _types(A, types), event_formula, operations.either)
    operators = eliminate({edge: cel.size(phi) for edge, phi in edges.items()}, _SIZES)
    if operators is not None and operators > MAX_SIZE:
        raise ResourceLimit(
            "CER0610",
            f"the formula has {operators:,} operators, more than {MAX_SIZE:,}",
            hint="eliminating states multiplies them: trim the automaton first",
        )
    whole = eliminate(edges, operations)
    return _nothing() if whole is None else whole


def _operations(
    either: Callable[[E, E], E], then: Callable[[E, E], E], again: Callable[[E], E]
) -> Operations[E]:
    """One or the other; one then the other; one or more times, so a loop is passed or not."""

    def through(first: E, loop: E | None, last: E) -> E:
        direct = then(first, last)
        return direct if loop is None else either(direct, then(first, then(again(loop), last)))

    return Operations(either, through)


_SIZES: Operations[int] = _operations(
    lambda m, n: m + n + 1, lambda m, n: m + n + 1, lambda n: n + 1
)
