"""Automata with empty moves, which read nothing, and how to be rid of them (FOUND App. C.2)."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from cerlab.automata.automaton import AnchoredCea, EmptyMove, EpsilonCea, Transition
from cerlab.automata.explore import explore
from cerlab.errors import IllFormed


def without_epsilon(A: EpsilonCea) -> AnchoredCea:
    """Each state also stands for all that empty moves reach from it (FOUND App. C.2).

    It has the transitions of those states, and is final if one of them is. As many states, at most
    quadratically many transitions.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> take = Transition(0, EVERYTHING, Mark.TAKE, 1)
    >>> again = EpsilonCea(2, (take,), (EmptyMove(1, 0),), frozenset({0}), frozenset({1}))
    >>> [(t.source, t.target) for t in without_epsilon(again).Delta]
    [(0, 1), (1, 1)]
    """
    silent: dict[int, list[int]] = {}
    leaving: dict[int, list[Transition]] = {}
    for move in A.moves:
        silent.setdefault(move.source, []).append(move.target)
    for t in A.Delta:
        leaving.setdefault(t.source, []).append(t)
    closure = [
        explore(q, lambda p: ((None, r) for r in silent.get(p, ())), lambda p: p in A.F)
        for q in range(A.states)
    ]
    Delta = dict.fromkeys(
        t._replace(source=q)
        for q, reached in enumerate(closure)
        for p in reached.states
        for t in leaving.get(p, ())
    )
    F = frozenset(q for q, reached in enumerate(closure) if reached.final)
    return AnchoredCea(A.states, tuple(Delta), A.I, F)


def printed_elimination(A: EpsilonCea) -> AnchoredCea:
    """The same answers by the paper's rule, one empty move at a time (FOUND App. C.2).

    A move from p to q is removed by giving q all that enters p, and then p all that leaves q, empty
    moves too. (At once would be wrong: a run that starts in p and ends in q may make the move
    twice, with a transition from q to p between.) What is made is longer, so this ends if the moves
    form no cycle, as none does in what becomes of formulas; on a cycle it may go on for ever.
    Raises `IllFormed` for a cycle.
    """
    Delta = dict.fromkeys(A.Delta)
    moves = dict.fromkeys(move for move in A.moves if move.source != move.target)
    _check_acyclic(moves)
    while moves:
        p, q = removed = next(iter(moves))
        del moves[removed]
        Delta |= _into(p, q, Delta)
        Delta |= _out_of(q, p, Delta)
        moves |= _into(p, q, moves)
        moves |= _out_of(q, p, moves)
    return AnchoredCea(A.states, tuple(Delta), A.I, A.F)


Step = TypeVar("Step", Transition, EmptyMove)


def _into(p: int, q: int, steps: Iterable[Step]) -> dict[Step, None]:
    """What enters p, entering q instead."""
    return dict.fromkeys(step._replace(target=q) for step in steps if step.target == p)


def _out_of(q: int, p: int, steps: Iterable[Step]) -> dict[Step, None]:
    """What leaves q, leaving p instead."""
    return dict.fromkeys(step._replace(source=p) for step in steps if step.source == q)


def _check_acyclic(moves: Iterable[EmptyMove]) -> None:
    order = TopologicalSorter[int]()
    for move in moves:
        order.add(move.source, move.target)
    try:
        order.prepare()
    except CycleError as error:
        cycle = ", ".join(map(str, error.args[1]))
        raise IllFormed(
            "CER0222",
            f"empty moves lead from a state back to it: {cycle}",
            hint="without_epsilon takes cycles too",
        ) from None
