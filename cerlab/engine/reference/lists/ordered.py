"""NXT and LAST without determinisation: one node per state, best first (FOUND Thm. 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.automata.compose import single_final
from cerlab.engine.reference.lists.evaluation import ListEvaluation
from cerlab.engine.reference.lists.moves import Successors, moves
from cerlab.engine.reference.lists.nodes import NodeList, only_bottom
from cerlab.model.event import Event

Class: TypeAlias = tuple[int, ...]
"""States whose best runs took the same positions."""

Order: TypeAlias = Callable[[list[Class]], Iterator[tuple[Class, Mark]]]
"""Given the classes, best first: which class moves by which mark, best result first."""


def next_order(O: list[Class]) -> Iterator[tuple[Class, Mark]]:
    """What was better stays better; of the same, to take is better (FOUND Alg. 5)."""
    for A in O:
        yield A, Mark.TAKE
        yield A, Mark.SKIP


def last_order(O: list[Class]) -> Iterator[tuple[Class, Mark]]:
    """To take is better whatever was before; then what was better is (FOUND Alg. 6)."""
    for A in O:
        yield A, Mark.TAKE
    for A in O:
        yield A, Mark.SKIP


class OrderedEvaluation(ListEvaluation[int]):
    """``NextEvaluate`` and ``LastEvaluate``, by their order (FOUND Alg. 5; FOUND Alg. 6).

    The list of a state has at most one node, for the best of all runs that are in that state. `O`
    is the queue of classes, best first. An event costs at most two steps for each transition.

    The algorithms need one final state that is entered by • only; without it they answer too much
    or too little (erratum E6). `single_final` brings the automaton into that form here.
    """

    def __init__(self, cea: AnchoredCea, order: Order) -> None:
        self.cea = single_final(cea)
        self._order = order
        self.O: list[Class] = []  # the paper's letter
        super().__init__()

    def reset(self) -> None:
        """Start anew in one class, the initial states, with nothing taken."""
        self.lists = {q: only_bottom() for q in sorted(self.cea.I)}
        self.O = [tuple(self.lists)]

    def _update(self, event: Event, old: Mapping[int, NodeList]) -> None:
        Delta = moves(self.cea, event)
        O, self.O = self.O, []
        for A, mark in self._order(O):
            if B := tuple(self._update_marking(A, mark, Delta[mark], old)):
                self.O.append(B)

    def _update_marking(
        self, A: Class, mark: Mark, Delta: Successors, old: Mapping[int, NodeList]
    ) -> Iterator[int]:
        """``UpdateMarking``: the states that a class is the first to reach.

        The paper lets a second state of the class write over what the first wrote; both have taken
        the same positions, so here the first stays.
        """
        for q in A:
            for p in Delta.get(q, ()):
                self.steps.update += 1
                if p not in self.lists:
                    (self._take if mark is Mark.TAKE else self._skip)(p, old[q])
                    yield p

    def _is_final(self, state: int) -> bool:
        return state in self.cea.F
