"""Which labels an answer has: a transducer with labels, run on that answer alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import outgoing
from cerlab.automata.labelled import LabelledSrt
from cerlab.engine.reference.recogniser import Clauses
from cerlab.engine.reference.relabel import substream
from cerlab.model.answer import ComplexEvent, Registers
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

Marks: TypeAlias = tuple[frozenset[str], ...]
"""The labels of each position of an answer."""


class _Configuration(NamedTuple):
    state: int
    registers: Registers


class _Move(NamedTuple):
    source: _Configuration
    labels: frozenset[str]
    target: _Configuration


def labels_of_answer(
    A: LabelledSrt, clauses: Clauses, events: Sequence[Event], answer: ComplexEvent
) -> Iterator[Marks]:
    """The ways to give the positions of an answer their labels, each once.

    Forward, the configurations that runs over the answer can be in; backward, those that go on to
    accept; among these no way is a dead end.
    """
    leaving, positions = outgoing(A), set(answer.positions)
    current = {_Configuration(A.q0, Registers())}
    layers: list[list[_Move]] = []
    for i in substream(clauses, events, answer):
        moves = [
            _Move(c, t.labels, _Configuration(t.target, c.registers.written(t.writes, events[i])))
            for c in current
            for t in leaving[c.state]
            if bool(t.labels) == (i in positions) and satisfies(events[i], t.guard, c.registers)
        ]
        layers.append(moves)
        current = {move.target for move in moves}
    ways: dict[_Configuration, set[Marks]] = {c: {()} for c in current if c.state in A.F}
    for moves in reversed(layers):
        before: dict[_Configuration, set[Marks]] = {}
        for source, labels, target in moves:
            for way in ways.get(target, ()):
                longer = (labels, *way) if labels else way
                before.setdefault(source, set()).add(longer)
        ways = before
    return iter(sorted(set().union(*ways.values()), key=lambda way: [sorted(L) for L in way]))
