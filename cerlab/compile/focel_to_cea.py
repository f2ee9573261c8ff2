"""Unary FO-CEL formulas to anchored automata, by way of empty moves (FOUND Thm. 3)."""

from __future__ import annotations

from typing import NoReturn

from cerlab.automata.automaton import AnchoredCea, EmptyMove, EpsilonCea, Mark, Transition
from cerlab.automata.epsilon import without_epsilon
from cerlab.errors import Unsupported
from cerlab.logic.cel.syntax import As, Atom, Filter, Formula, Or, Plus, Select, Seq, subformulas
from cerlab.logic.focel.rewrite import lp_normal_form, safe_form
from cerlab.logic.focel.scope import check_scopes, safe, unary, with_variables
from cerlab.predicates.condition import Applied, On
from cerlab.predicates.syntax import (
    EVERYTHING,
    Predicate,
    StreamIs,
    TypeIs,
    conjunction,
)


def focel_to_cea(phi: Formula) -> AnchoredCea:
    """An automaton with the same complex events as a formula, on every stream (FOUND Thm. 3).

    At most doubly exponential in the formula, quadratic in it if it is safe and in LP-normal form.
    Raises as `focel_to_epsilon_cea`.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> A = focel_to_cea(parse_cel("A AS x ; B AS y")[0])
    >>> A.states, len(A.Delta), sorted(A.F)
    (4, 6, [3])
    """
    return without_epsilon(focel_to_epsilon_cea(phi))


def focel_to_epsilon_cea(phi: Formula) -> EpsilonCea:
    """The same with empty moves; linear in a safe formula in LP-normal form (FOUND Thm. 3).

    Other formulas are first brought into that form. There is no automaton for formulas that are
    well-formed as printed and not scoped well-formed: their answers may depend on later events
    (erratum E4). Raises `IllFormed` for those, `Unsupported` for filters that are not over one
    variable, predicates from Python, strategies, and operators outside FO-CEL.
    """
    named = with_variables(phi)
    for psi in subformulas(named):
        if isinstance(psi, Select):
            _refuse(f"{psi.strategy.value}(..) inside a formula of FO-CEL")
        if isinstance(psi, Filter) and isinstance(psi.condition, Applied):
            _refuse(f"'{psi.condition.predicate.name}', a predicate from Python")
    if not unary(named):
        _refuse("filters over several variables")
    check_scopes(named)
    normal = lp_normal_form(named)
    return _construct(normal if safe(normal) else safe_form(normal))


def _refuse(what: str) -> NoReturn:
    raise Unsupported(
        "CER0403",
        f"there is no automaton for {what}",
        hint='evaluator="registers" may take it; evaluator="reference" takes it, on small streams',
    )


def _construct(psi: Formula) -> EpsilonCea:
    """One initial and one final state, of a safe formula in LP-normal form (FOUND App. C.2).

    In the initial state events may be skipped; the final state is entered at the last event.
    """
    match psi:
        case As(Atom() as atom, _):
            return _atom(atom, EVERYTHING)
        case Filter(As(Atom() as atom, _), On(_, P)):
            return _atom(atom, P)
        case Or(left, right):
            return _choice(_construct(left), _construct(right))
        case Seq(left, right):
            return _sequence(_construct(left), _construct(right))
        case Plus(body):
            return _iteration(_construct(body))
        case _:
            raise AssertionError(f"not a unary formula in safe LP-normal form: {psi}")


def _atom(atom: Atom, P: Predicate) -> EpsilonCea:
    """Skip any events, then take one."""
    stream = EVERYTHING if atom.stream is None else StreamIs(atom.stream)
    is_atom = conjunction(conjunction(stream, TypeIs(atom.type)), P)
    wait = Transition(0, EVERYTHING, Mark.SKIP, 0)
    return EpsilonCea(
        2, (wait, Transition(0, is_atom, Mark.TAKE, 1)), (), frozenset({0}), frozenset({1})
    )


def _choice(A: EpsilonCea, B: EpsilonCea) -> EpsilonCea:
    """Empty moves from a fresh initial state into both, and out of both to a fresh final one."""
    both = _beside(A, B)
    i, f = both.states, both.states + 1
    into = (EmptyMove(i, q) for q in sorted(both.I))
    out = (EmptyMove(q, f) for q in sorted(both.F))
    return EpsilonCea(f + 1, both.Delta, (*both.moves, *into, *out), frozenset({i}), frozenset({f}))


def _sequence(A: EpsilonCea, B: EpsilonCea) -> EpsilonCea:
    """An empty move from the end of A to the beginning of B."""
    both = _beside(A, B)
    (f1,), (i2,) = A.F, both.I - A.I
    return EpsilonCea(both.states, both.Delta, (*both.moves, EmptyMove(f1, i2)), A.I, both.F - A.F)


def _iteration(A: EpsilonCea) -> EpsilonCea:
    """An empty move from the end back to the beginning."""
    (i,), (f,) = A.I, A.F
    return EpsilonCea(A.states, A.Delta, (*A.moves, EmptyMove(f, i)), A.I, A.F)


def _beside(A: EpsilonCea, B: EpsilonCea) -> EpsilonCea:
    """Both, on disjoint states."""
    by = A.states
    Delta = (t._replace(source=t.source + by, target=t.target + by) for t in B.Delta)
    moves = (EmptyMove(p + by, q + by) for p, q in B.moves)
    I, F = (frozenset(q + by for q in states) for states in (B.I, B.F))
    return EpsilonCea(by + B.states, (*A.Delta, *Delta), (*A.moves, *moves), A.I | I, A.F | F)
