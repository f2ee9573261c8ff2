"""UCEA evaluated with linked lists, answers with constant delay (SOCEL Prop. 1).

They are read as automata that take positions, by a step for each label. With k labels each event is
read k + 2 times: a transition is chosen, then each label is taken or skipped, then the answer is
closed or the run goes on. So labels become positions, and all that is known of automata with • and
∘ holds of automata with labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cerlab.automata.automaton import AnchoredCea, Mark, Transition, Ucea
from cerlab.engine.reference.lists.evaluation import Evaluation
from cerlab.model.answer import Labels, Positions
from cerlab.model.event import Event
from cerlab.predicates.syntax import EVERYTHING


@dataclass(frozen=True, slots=True)
class LabelByLabel:
    """An automaton that reads each event `steps` times, and what its positions stand for.

    Position ``n * steps + i`` is the i-th label, from 1, of the event at position n; the last
    position of an answer closes it.
    """

    cea: AnchoredCea
    labels: tuple[str, ...]

    @property
    def steps(self) -> int:
        """How many times an event is read."""
        return len(self.labels) + 2


def positions_of_labels(A: Ucea) -> LabelByLabel:
    """An automaton for the complex events of a UCEA under ordinary runs (SOCEL Sec. 5.1).

    The steps after the one that chooses a transition are one chain for each pair of labels and
    target, so it has at most ``|Q| + |Delta| (k + 1) + 1`` states.

    >>> from cerlab.automata.automaton import LabelTransition
    >>> step = LabelTransition(0, EVERYTHING, frozenset({"x"}), 1)
    >>> machine = positions_of_labels(Ucea(2, (step,), frozenset({0}), frozenset({1})))
    >>> [(t.source, t.mark.value, t.target) for t in machine.cea.Delta]
    [(0, '∘', 2), (2, '•', 3), (3, '∘', 1), (3, '•', 4)]
    """
    labels = tuple(sorted({X for t in A.Delta for X in t.labels}))
    choices = dict.fromkeys((t.labels, t.target) for t in A.Delta)
    chains = {each: A.states + n * (len(labels) + 1) for n, each in enumerate(choices)}
    final = A.states + len(chains) * (len(labels) + 1)
    Delta = [
        Transition(t.source, t.predicate, Mark.SKIP, chains[t.labels, t.target]) for t in A.Delta
    ]
    for (L, target), first in chains.items():
        for q, X in enumerate(labels, first):
            Delta.append(Transition(q, EVERYTHING, Mark.TAKE if X in L else Mark.SKIP, q + 1))
        last = first + len(labels)
        Delta.append(Transition(last, EVERYTHING, Mark.SKIP, target))
        if target in A.F:
            Delta.append(Transition(last, EVERYTHING, Mark.TAKE, final))
    cea = AnchoredCea(final + 1, tuple(dict.fromkeys(Delta)), A.I, frozenset({final}))
    return LabelByLabel(cea, labels)


def labels_at(positions: Positions, machine: LabelByLabel) -> Labels:
    """The complex event that an answer stands for.

    >>> machine = LabelByLabel(AnchoredCea(0, (), frozenset(), frozenset()), ("x", "y"))
    >>> labels_at((1, 2, 6, 11), machine)
    {'x': (0,), 'y': (0, 1)}
    """
    positions_of: dict[str, list[int]] = {X: [] for X in machine.labels}
    for position in positions[:-1]:
        n, i = divmod(position, machine.steps)
        positions_of[machine.labels[i - 1]].append(n)
    return Labels({X: tuple(D) for X, D in positions_of.items()})


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
