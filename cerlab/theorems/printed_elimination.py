"""Empty moves removed by the rule that Foundations prints (FOUND App. C.2)."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from cerlab.automata.automaton import AnchoredCea, EmptyMove, EpsilonCea, Transition
from cerlab.errors import IllFormed


def printed_elimination(A: EpsilonCea) -> AnchoredCea:
    """The same answers by the paper's rule, one empty move at a time (FOUND App. C.2).

    A move from p to q is removed by giving q all that enters p, and then p all that leaves q, empty
    moves too. (At once would be wrong: a run that starts in p and ends in q may make the move
    twice, with a transition from q to p between.) The new moves are longer, so this ends if the
    moves form no cycle, as none does in what becomes of formulas; on a cycle it may go on for ever.
    Raises `IllFormed` for a cycle.
    """
    Delta = dict.fromkeys(A.Delta)
    moves = dict.fromkeys(move for move in A.moves if move.source != move.target)
    _check_acyclic(moves)
    while moves:
        p, q = first = next(iter(moves))
        del moves[first]
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
