"""MAX by pairs of sets of states (FOUND Thm. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.engine.reference.lists.evaluation import ListEvaluation
from cerlab.engine.reference.lists.moves import Successors, image, moves
from cerlab.engine.reference.lists.nodes import NodeList, only_bottom
from cerlab.model.event import Event


class MaxState(NamedTuple):
    """`U` are the states of the runs that took more than these positions, strictly.

    `T` are those of the runs that took just these, without the states in `U`: whatever such a run
    goes on to answer, a run that took more answers more.
    """

    T: frozenset[int]
    U: frozenset[int]


class MaxEvaluation(ListEvaluation[MaxState]):
    """``MaxEvaluate``: the complex events that no other strictly contains (FOUND Alg. 7).

    The pairs are made while events are read, so the automaton need not be I/O-deterministic.
    """

    def __init__(self, cea: AnchoredCea) -> None:
        self.cea = cea
        super().__init__()

    def reset(self) -> None:
        """Start anew in (I, ∅), with nothing taken."""
        self.lists = {MaxState(self.cea.I, frozenset()): only_bottom()}

    def _update(self, event: Event, old: Mapping[MaxState, NodeList]) -> None:
        Delta = moves(self.cea, event)
        take, skip = Delta[Mark.TAKE], Delta[Mark.SKIP]
        for r, nodes in old.items():
            if (after_take := move_marking(r, take)).T:
                self._take(after_take, nodes)
            if (after_skip := move_not_marking(r, take, skip)).T:
                self._skip(after_skip, nodes)

    def _is_final(self, state: MaxState) -> bool:
        F = self.cea.F
        return not state.T.isdisjoint(F) and state.U.isdisjoint(F)


def move_marking(r: MaxState, take: Successors) -> MaxState:
    """``MoveMarking``: who took more still has if it takes too."""
    U = image(take, r.U)
    return MaxState(image(take, r.T) - U, U)


def move_not_marking(r: MaxState, take: Successors, skip: Successors) -> MaxState:
    """``MoveNotMarking``: who took more still has; who took the same has more if it takes."""
    U = image(take, r.U) | image(skip, r.U) | image(take, r.T)
    return MaxState(image(skip, r.T) - U, U)
