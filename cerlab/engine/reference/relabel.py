"""Which labels the positions of an answer have: the VCEA, run once more on that answer alone."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.automata.automaton import LabelTransition
from cerlab.automata.plan import Plan
from cerlab.engine.reference.recogniser import Clauses
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event, is_of_streams
from cerlab.predicates.truth import partition_key, satisfies


def labels_of_answer(
    plan: Plan, events: Sequence[Event], answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """For each position of an answer, the labels that some accepting run gives it.

    Forward, the states that runs over the answer can be in; backward, those that go on to accept.
    Linear in the length of the answer's interval.
    """
    A = plan.vcea
    inside = substream(plan, events, answer)
    steps: list[list[LabelTransition]] = []
    states = set(A.I)
    for i in inside:
        takes = i in answer.positions
        usable = [
            t
            for t in A.Delta
            if t.source in states and bool(t.labels) == takes and satisfies(events[i], t.predicate)
        ]
        steps.append(usable)
        states = {t.target for t in usable}
    good = set(A.F)
    labels: dict[int, frozenset[str]] = {}
    for i, usable in zip(reversed(inside), reversed(steps), strict=True):
        useful = [t for t in usable if t.target in good]
        good = {t.source for t in useful}
        if i in answer.positions:
            labels[i] = frozenset[str]().union(*(t.labels for t in useful))
    return labels


def substream(plan: Clauses, events: Sequence[Event], answer: ComplexEvent) -> list[int]:
    """The positions of the answer's interval that are in its substream."""
    key = partition_key(events[answer.start], plan.partition)
    return [
        i
        for i in range(answer.start, answer.end + 1)
        if partition_key(events[i], plan.partition) == key
        and is_of_streams(events[i], plan.streams)
    ]
