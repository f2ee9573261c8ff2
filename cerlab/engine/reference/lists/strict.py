"""STRICT by tracking the run that has taken nothing (FOUND Thm. 6)."""

from __future__ import annotations

from collections.abc import Mapping

from cerlab.automata.automaton import AnchoredCea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.engine.reference.lists.evaluation import ListEvaluation
from cerlab.engine.reference.lists.nodes import NodeList, only_bottom
from cerlab.model.event import Event


class StrictEvaluation(ListEvaluation[int]):
    """``StrictEvaluate``: the complex events without gaps (FOUND Alg. 8).

    States are macro-states, as in Algorithm 4. `q_init` is that of the run that has taken nothing
    so far, None once there is none; only that run may skip, and it may only before it takes.
    """

    def __init__(self, cea: AnchoredCea) -> None:
        self.automaton = DeterministicCea(cea)
        self.q_init: int | None = None
        super().__init__()

    def reset(self) -> None:
        """Start anew in q0, with nothing taken."""
        self.q_init = self.automaton.q0
        self.lists = {self.automaton.q0: only_bottom()}

    def _update(self, event: Event, old: Mapping[int, NodeList]) -> None:
        symbol = self.automaton.symbol(event)
        for q, nodes in old.items():
            take, _ = self.automaton.step(q, symbol)
            if take is not None:
                self._take(take, nodes)
        if self.q_init is not None:
            _, self.q_init = self.automaton.step(self.q_init, symbol)
        if self.q_init is not None:
            self._skip(self.q_init, only_bottom())

    def _is_final(self, state: int) -> bool:
        return self.automaton.final[state]
