"""UCEA evaluated with linked lists, answers with constant delay (SOCEL Prop. 1)."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.automaton import Ucea
from cerlab.engine.reference.lists.evaluation import Evaluation
from cerlab.model.answer import Labels
from cerlab.model.event import Event
from cerlab.theorems.label_by_label import labels_at, positions_of_labels


class UceaEvaluation:
    """The lists of the automaton that reads labels one by one (FOUND Alg. 4; FOUND Alg. 3).

    An event costs a number of steps that the automaton bounds alone; between two answers there are
    a constant number, and within one as many as it gives labels. `advance` raises `ResourceLimit`
    if determinisation meets too many macro-states.

    >>> from cerlab.automata.automaton import LabelTransition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> step = LabelTransition(0, EVERYTHING, frozenset({"x", "y"}), 0)
    >>> running = UceaEvaluation(Ucea(1, (step,), frozenset({0}), frozenset({0})))
    >>> for n, event in enumerate([Event("A"), Event("B")]):
    ...     running.advance(event, n)
    >>> list(running.answers())
    [{'x': (0, 1), 'y': (0, 1)}]
    """

    def __init__(self, A: Ucea) -> None:
        self.machine = positions_of_labels(A)
        self.lists = Evaluation(self.machine.cea)

    def advance(self, event: Event, position: int) -> None:
        """Read the next event."""
        first = position * self.machine.steps
        for step in range(first, first + self.machine.steps):
            self.lists.advance(event, step)

    def answers(self) -> Iterator[Labels]:
        """``[[A]]_n(S)`` at the event just read, each complex event once (SOCEL Sec. 5.1)."""
        for C in self.lists.answers(0):
            yield labels_at(C.positions, self.machine)
