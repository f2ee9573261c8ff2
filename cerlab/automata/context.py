"""Strategies inside a formula: automata whose events summarise earlier ones (CORE Sec. 4.4).

A strategy selects among all valuations of its operand with one end on the whole substream, so
whether it keeps one depends on events before the start of the answer around it, which no automaton
on an interval sees (erratum E13). Yet all that it has to know of them is finite: the rivals of a
run that has not started, which are a state of a deterministic automaton, the context. So each event
carries the state of the context before it, as the value of an attribute that only transitions read.

Construction. Let A be the automaton of f, n the context, with ``n(0)`` the idle state of
`StrategyCea` and ``n(j+1)`` the one after event j. The automaton of ``NXT(f)`` has the states
``(q, r)``: q is a state of A, r the rivals of the run. It begins with a transition of A from an
initial state to q at event j, of labels L, if the context is ``n(j)``: r is what the rivals
``n(j)`` become at j, by • if L is not empty, by ∘ if it is. It goes on likewise. ``(q, r)`` is
final if q is, and no better rival in r is.

Proof sketch. By induction on the events read, r has exactly the states of the runs of A, of any
start in the substream, by their marks compared with those of this run (equal, better, worse);
before the start the run has no marks, and the context has the rivals by the same induction, by ∘.
So a run of A over ``[i, j]`` is one of the new automaton, by the same labels, and it accepts if and
only if no accepting run that ends at j has better marks: that is the strategy at j. The new
automaton reads an interval of events with their contexts, so operators around it are composed as
ever. A strategy in a strategy reads the inner contexts, which come first. A substream that begins
again, as CONSUME BY says, begins with ``n(0)``.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.automaton import START, IntervalCea, Mark, Vcea, outgoing
from cerlab.automata.deterministic import type_of
from cerlab.automata.explore import explore, reachable, trim
from cerlab.automata.strategy import NONE, Rivals, StrategyCea
from cerlab.budget import TRANSITION, spend, spend_over
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event, Value
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import (
    EVERYTHING,
    Attribute,
    Comparison,
    Constant,
    Operator,
    Predicate,
    conjunction,
)


class Context(NamedTuple):
    """A strategy's machine, whose idle state before each event is an attribute called `name`."""

    name: str
    machine: StrategyCea


Place: TypeAlias = tuple[int, Rivals]
"""A state of the operand's automaton, and the rivals of the run."""

BEFORE: Place = (START, Rivals(NONE, NONE, NONE))


class ContextReader:
    """A reader that adds the contexts of strategies to the events of a substream."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        self._contexts = contexts
        self.reset()

    def reset(self) -> None:
        """Restart at the beginning of a substream."""
        self._idle = {context.name: context.machine.idle for context in self._contexts}

    def read(self, event: Event) -> Event:
        """Return the event with the current contexts as attributes, then update the contexts."""
        before: dict[str, Value] = {**self._idle}
        # a ChainMap reads no other attribute of the event, and reading one may raise
        within = replace(event, attributes=ChainMap(before, event.attributes))  # type: ignore[arg-type]  # only read
        for name, machine in self._contexts:
            self._idle[name] = machine.wait(self._idle[name], machine.symbol(within))
        return within


def selected(A: Vcea, cea: IntervalCea, strategy: Strategy, name: str) -> tuple[Vcea, Context]:
    """Return the automaton of the valuations that a strategy selects, and the context it reads.

    `cea` is the automaton of the answers of A. Exponential in A. Raises `ResourceLimit` if it has
    too many states.
    """
    machine = StrategyCea(cea, strategy)
    tests = machine.predicates
    symbols = [m.symbol for m in spend_over(minterms(tests), TRANSITION)]
    kinds = {symbol: type_of(tests, symbol) for symbol in symbols}
    bit_of = {P: 1 << bit for bit, P in enumerate(tests)}
    idles = [*reachable((machine.idle,), lambda idle: (machine.wait(idle, s) for s in symbols))]
    leaving = outgoing(A)

    def rivals_before(place: Place) -> Iterator[tuple[Predicate, Rivals]]:
        q, rivals = place
        if q != START:
            yield EVERYTHING, rivals
            return
        for idle in idles:
            is_before = Comparison(Operator.EQ, Attribute(name), Constant(idle))
            yield is_before, machine.idle_states[idle]

    def follow(place: Place) -> Iterator[tuple[tuple[Any, ...], Place]]:
        for context, rivals in rivals_before(place):
            for symbol, kind in kinds.items():
                after = {m: machine.rivals_after(rivals, symbol, m) for m in Mark}
                spend(TRANSITION * len(leaving[place[0]]))
                for t in leaving[place[0]]:
                    if t.predicate == EVERYTHING or symbol & bit_of[t.predicate]:
                        mark = Mark.TAKE if t.labels else Mark.SKIP
                        yield (conjunction(context, kind), t.labels), (t.target, after[mark])

    def final(place: Place) -> bool:
        return place[0] in A.F and place[1].better.isdisjoint(cea.F)

    return trim(explore(BEFORE, follow, final, Vcea)), Context(name, machine)
