"""Selection strategies as deterministic automata on any interval CEA (FOUND Thm. 4; FOUND Sec. 4).

Answers with the same end compete, whatever their starts; a CEA on an interval cannot decide
this (erratum E13). So a run must track its rivals, including those that started before it: the
idle state follows the rivals of a run that has not started and has no marks yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.automaton import IntervalCea, Mark, Transition
from cerlab.automata.deterministic import DeterministicCea, Moves, Numbering, States, Successors
from cerlab.automata.explore import reachable, successors_by
from cerlab.automata.plan import Plan
from cerlab.display import Drawable
from cerlab.errors import BadData
from cerlab.model.clauses import Strategy
from cerlab.predicates.syntax import EVERYTHING

NONE: States = frozenset()

BEFORE, INSIDE, AFTER = 0, 1, 2
"""The positions of a run of STRICT: before its block of marks, in it, after a later gap."""


class Rivals(NamedTuple):
    """States of competing runs, whose marks so far equal, beat, or lose to those of a run.

    `equal` are the states of the runs with the same marks, `better` of those whose marks win over
    this run's, `worse` of those whose marks lose (LAST only: a later mark may reverse the order). A
    state is kept in the best of the three: with equal marks from here on, better stays better.
    """

    equal: States
    better: States
    worse: States


class Contender(NamedTuple):
    """A macro-state: the states of runs with equal start and marks, and the states of their rivals.

    States that a better rival is in as well are dropped: they cannot be selected any more. STRICT
    needs no rivals; `block` is the phase of the run's block of marked events.
    """

    runs: States
    rivals: Rivals
    block: int


class StrategyCea(Drawable):
    """The I/O-deterministic automaton of the answers that a strategy selects, computed when needed.

    It accepts if one of its runs does and no better rival does. An answer keeps the start of its
    run, so a window can be applied afterwards.
    """

    def __init__(self, cea: IntervalCea, strategy: Strategy) -> None:
        self.cea = cea
        self.strategy = strategy
        self._before_start = cea.states
        skips = ((t.target, t.source) for t in cea.Delta if t.mark is Mark.SKIP)
        self._silent = frozenset(reachable(cea.F, successors_by(skips)))
        """The states that may still accept when nothing is marked any more."""
        waits = Transition(cea.states, EVERYTHING, Mark.SKIP, cea.states)
        starts = [t._replace(source=cea.states) for t in cea.Delta if t.source == cea.q0]
        self._successors = Successors((*cea.Delta, waits, *starts))
        self.predicates, self.symbol = self._successors.predicates, self._successors.symbol
        numbering, idle = Numbering[Contender](self._accepts), Numbering[Rivals](lambda _: False)
        self.macro_states, self.final = numbering.states, numbering.final
        self.number_of = numbering.of
        self.idle_states, self.idle_number_of = idle.states, idle.of
        self._steps: dict[tuple[int, int], Moves] = {}
        self._begins: dict[tuple[int, int], Moves] = {}
        self._waits: dict[tuple[int, int], int] = {}
        self.idle = self.idle_number_of(Rivals(frozenset({self._before_start}), NONE, NONE))

    def begin(self, idle: int, symbol: int) -> Moves:
        """Return the moves of a run that starts at an event; its rivals are in the idle state."""
        key = (idle, symbol)
        if key not in self._begins:
            start = Contender(frozenset({self.cea.q0}), self.idle_states[idle], BEFORE)
            self._begins[key] = self._moves(start, symbol)
        return self._begins[key]

    def wait(self, idle: int, symbol: int) -> int:
        """Return the idle state after an event: the rivals that a later run will have."""
        key = (idle, symbol)
        if key not in self._waits:
            after = self.rivals_after(self.idle_states[idle], symbol, Mark.SKIP)
            self._waits[key] = self.idle_number_of(after)
        return self._waits[key]

    def step(self, state: int, symbol: int) -> Moves:
        """Return the moves of a run that started at an earlier event."""
        key = (state, symbol)
        if key not in self._steps:
            self._steps[key] = self._moves(self.macro_states[state], symbol)
        return self._steps[key]

    def _moves(self, state: Contender, symbol: int) -> Moves:
        return Moves(
            self._successor(state, symbol, Mark.TAKE), self._successor(state, symbol, Mark.SKIP)
        )

    def _successor(self, state: Contender, symbol: int, mark: Mark) -> int | None:
        block = state.block
        if self.strategy is Strategy.STRICT:
            if mark is Mark.TAKE and block == AFTER:
                return None
            if mark is Mark.TAKE or block != BEFORE:
                block = INSIDE if mark is Mark.TAKE else AFTER
        rivals = self.rivals_after(state.rivals, symbol, mark)
        runs = self._successors.after(state.runs, symbol, mark) - rivals.better
        if block == AFTER:
            # after the block no mark may follow: keep only states that can accept without one
            runs &= self._silent
        return self.number_of(Contender(runs, rivals, block)) if runs else None

    def rivals_after(self, rivals: Rivals, symbol: int, mark: Mark) -> Rivals:
        """Return the rivals of a run after an event that the run takes or skips."""

        def after(states: States, mark: Mark) -> States:
            return self._successors.after(states, symbol, mark)

        if self.strategy is Strategy.STRICT:
            return rivals
        E, B, W = rivals
        takes, skips = Mark.TAKE, Mark.SKIP
        equal, better, worse = after(E, mark), after(B, mark), after(W, mark)
        match self.strategy, mark:
            # the first difference decides, so a better rival stays better
            case Strategy.NXT, Mark.TAKE:
                better |= after(B, skips)
            case Strategy.NXT, Mark.SKIP:
                better |= after(B | E, takes)
            case Strategy.MAX, Mark.TAKE:  # a rival that skips the event no longer contains the run
                pass
            case Strategy.MAX, Mark.SKIP:
                better |= after(B | E, takes)
            # the last difference decides, so a rival that skips the event loses
            case Strategy.LAST, Mark.TAKE:
                worse |= after(B | E | W, skips)
            case Strategy.LAST, Mark.SKIP:
                better |= after(B | E | W, takes)
        return Rivals(equal - better, better, worse - equal - better)

    def _accepts(self, state: Contender) -> bool:
        F = self.cea.F
        return not state.runs.isdisjoint(F) and state.rivals.better.isdisjoint(F)

    def __repr__(self) -> str:
        count = len(self.macro_states)
        return f"<StrategyCea {self.strategy.value}, {count} macro-states so far>"


Machine: TypeAlias = DeterministicCea | StrategyCea
"""The machines that engines step through; they grow meanwhile."""


def machine_of(plan: Plan) -> Machine:
    """Return a new deterministic machine for a plan, with its strategy if it has one."""
    if plan.strategy is None:
        return DeterministicCea(plan.cea)
    return StrategyCea(plan.cea, plan.strategy)


def name_of_state(machine: Machine, state: int) -> Any:
    """Return a macro-state, given by its number, as JSON."""
    if isinstance(machine, DeterministicCea):
        return sorted(machine.macro_states[state])
    macro = machine.macro_states[state]
    return [sorted(macro.runs), _rivals(macro.rivals), macro.block]


def state_of_name(machine: Machine, name: Any) -> int:
    """Return the number of a macro-state in this machine; raise `BadData` for a malformed name."""
    with _reading("a state"):
        if isinstance(machine, DeterministicCea):
            return machine.number_of(frozenset(_states(name)))
        runs, rivals, block = name
        return machine.number_of(
            Contender(frozenset(_states(runs)), _read_rivals(rivals), int(block))
        )


def name_of_idle(machine: Machine, idle: int) -> Any:
    """Return an idle state, given by its number, as JSON."""
    if isinstance(machine, DeterministicCea):
        return None
    return _rivals(machine.idle_states[idle])


def idle_of_name(machine: Machine, name: Any) -> int:
    """Return the number of an idle state in this machine; raise `BadData` for a malformed name."""
    if isinstance(machine, DeterministicCea):
        return machine.idle
    with _reading("an idle state"):
        return machine.idle_number_of(_read_rivals(name))


@contextmanager
def _reading(noun: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise BadData(
            "CER0770",
            f"this is not {noun} of the machine: {error}",
            hint="start again from the events",
        ) from None


def _rivals(rivals: Rivals) -> list[list[int]]:
    return [sorted(S) for S in rivals]


def _read_rivals(name: Any) -> Rivals:
    equal, better, worse = (frozenset(_states(S)) for S in name)
    return Rivals(equal, better, worse)


def _states(name: Any) -> Iterable[int]:
    if not isinstance(name, list | tuple) or not all(type(q) is int for q in name):
        raise TypeError(f"expected a list of states, got {name!r}")
    return name
