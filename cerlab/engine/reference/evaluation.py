"""Evaluation of an I/O-deterministic CEA with a tECS (CORE Alg. 1)."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.deterministic import Deterministic, Moves
from cerlab.engine.reference.tecs import (
    Node,
    Tecs,
    UnionList,
    enumerate_latest_first,
    enumerate_node,
)
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event


class TecsEvaluation:
    """The state of Algorithm 1: which macro-states are active, with which open complex events.

    A machine that compares answers across starts has an idle state that reads every event; the run
    that starts there leaves it.

    `T` maps active macro-states to union-lists, in the order of insertion. That order, and q0
    first, keep max-starts decreasing from key to key, which is the precondition of `Tecs.insert`.
    With `latest_first` answers come in that order, which LIMIT needs.
    """

    def __init__(self, automaton: Deterministic, *, latest_first: bool = False) -> None:
        self.automaton = automaton
        self._latest_first = latest_first
        self.tecs = Tecs()
        self.T: dict[int, UnionList] = {}
        self._idle = automaton.idle
        self._position = -1
        self._forgotten = 0

    def advance(self, event: Event, position: int) -> None:
        """One iteration of the main loop: q0 on a fresh bottom node, then the active states."""
        symbol = self.automaton.symbol(event)
        before, self.T = self.T, {}
        starting = self.automaton.begin(self._idle, symbol)
        self._execute(starting, [self.tecs.bottom(position)], position)
        for p, ul in before.items():
            self._execute(self.automaton.step(p, symbol), ul, position)
        self._idle = self.automaton.wait(self._idle, symbol)
        self._position = position

    def _execute(self, moves: Moves, ul: UnionList, position: int) -> None:
        """``ExecTrans``: the marking transition first, then the other."""
        take, skip = moves
        if take is None and skip is None:
            return
        node = self.tecs.merge(ul)
        if take is not None:
            output = self.tecs.extend(node, position)
            self._add(take, output, [output])
        if skip is not None:
            self._add(skip, node, ul)

    def _add(self, q: int, node: Node, ul: UnionList) -> None:
        """``Add``: the first to reach q hands its list over, the others insert their node."""
        if q in self.T:
            self.tecs.insert(self.T[q], node)
        else:
            self.T[q] = ul

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """``Output``: enumerate the final active states; the answers of two are disjoint."""
        final = [self.tecs.merge(ul) for q, ul in self.T.items() if self.automaton.final[q]]
        if self._latest_first:
            return enumerate_latest_first(final, self._position, lowest_start)
        end = self._position
        return (answer for n in final for answer in enumerate_node(n, end, lowest_start))

    def forget(self, before: int) -> None:
        """Drop what starts before a position, and the nodes that only led there."""
        if before <= self._forgotten:
            return
        self._forgotten = before
        alive = {q: [n for n in ul if n.max_start >= before] for q, ul in self.T.items()}
        self.T = {q: ul for q, ul in alive.items() if ul}
        self.tecs.forget(before)

    def reset(self) -> None:
        """Drop all open complex events; an enumeration that goes on keeps its own nodes."""
        self.T = {}
        self.tecs = Tecs()
        self._idle = self.automaton.idle
