"""The evaluators of Foundations, one for each strategy (FOUND Sec. 7.2; FOUND Thm. 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.automata.compose import single_final
from cerlab.automata.deterministic import DeterministicCea
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.list_nodes import Evaluation, ListEvaluation, NodeList, only_bottom
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies


def lists_recogniser(cea: AnchoredCea, strategy: Strategy | None) -> Recogniser[ComplexEvent]:
    """Return the evaluator of the complex events that a strategy selects (FOUND Thm. 6).

    An answer's interval is from its first position to its last. STRICT requires events that are
    read consecutively, whatever their positions. Without a strategy and for STRICT, `advance`
    raises `ResourceLimit` if determinisation finds too many macro-states.
    """
    match strategy:
        case None:
            return Evaluation(cea)
        case Strategy.NXT:
            return OrderedEvaluation(cea, next_order)
        case Strategy.LAST:
            return OrderedEvaluation(cea, last_order)
        case Strategy.MAX:
            return MaxEvaluation(cea)
        case Strategy.STRICT:
            return StrictEvaluation(cea)
        case _:
            assert_never(strategy)


class StrictEvaluation(ListEvaluation[int]):
    """The evaluator of STRICT, ``StrictEvaluate``: complex events without gaps (FOUND Alg. 8).

    States are macro-states, as in Algorithm 4. `q_init` is that of the run that has taken nothing
    so far, None without such a run; only that run may skip, and only before it takes an event.
    """

    def __init__(self, cea: AnchoredCea) -> None:
        self.automaton = DeterministicCea(cea)
        self.q_init: int | None = None
        super().__init__()

    def reset(self) -> None:
        """Restart in q0, with no event taken."""
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


Class: TypeAlias = tuple[int, ...]
"""States whose best runs have taken the same positions."""


Order: TypeAlias = Callable[[list[Class]], Iterator[tuple[Class, Mark]]]
"""A function from the classes, best first, to pairs of class and mark, best result first."""


def next_order(O: list[Class]) -> Iterator[tuple[Class, Mark]]:
    """Yield each class with TAKE, then with SKIP, the best class first (FOUND Alg. 5)."""
    for A in O:
        yield A, Mark.TAKE
        yield A, Mark.SKIP


def last_order(O: list[Class]) -> Iterator[tuple[Class, Mark]]:
    """Yield all classes with TAKE, then all classes with SKIP (FOUND Alg. 6)."""
    for A in O:
        yield A, Mark.TAKE
    for A in O:
        yield A, Mark.SKIP


class OrderedEvaluation(ListEvaluation[int]):
    """``NextEvaluate`` and ``LastEvaluate``, for NEXT and LAST (FOUND Alg. 5; FOUND Alg. 6).

    The list of a state has at most one node, for the best of all runs in that state. `O` is the
    queue of classes, best first. An event costs at most two steps for each transition. The
    algorithms need a single final state that is entered by • only; without it they return too many
    or too few answers (erratum E6). `single_final` transforms the automaton accordingly here.
    """

    def __init__(self, cea: AnchoredCea, order: Order) -> None:
        self.cea = single_final(cea)
        self._order = order
        self.O: list[Class] = []  # the paper's letter
        super().__init__()

    def reset(self) -> None:
        """Restart with one class, the initial states, and no event taken."""
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
        """Yield the states that the class A reaches before any other class (``UpdateMarking``).

        In the paper a second state of the class overwrites the result of the first; both have taken
        the same positions, so here the first result stays.
        """
        for q in A:
            for p in Delta.get(q, ()):
                self.steps.update += 1
                # the best class comes first: the first class to reach a state has its best run
                if p not in self.lists:
                    (self._take if mark is Mark.TAKE else self._skip)(p, old[q])
                    yield p

    def _is_final(self, state: int) -> bool:
        return state in self.cea.F


class MaxState(NamedTuple):
    """A macro-state of MAX: states T of runs with equal positions, U of runs with strictly more.

    `T` are the states of the runs that took exactly these positions, without the states in `U`: if
    such a run accepts later, a run that took more accepts more.
    """

    T: frozenset[int]
    U: frozenset[int]


class MaxEvaluation(ListEvaluation[MaxState]):
    """``MaxEvaluate``, for MAX: the complex events that no other contains (FOUND Alg. 7).

    The pairs are built while events are read, so the automaton need not be I/O-deterministic.
    """

    def __init__(self, cea: AnchoredCea) -> None:
        self.cea = cea
        super().__init__()

    def reset(self) -> None:
        """Restart in (I, ∅), with no event taken."""
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
    """Return the macro-state after • (``MoveMarking``): U and T take the event."""
    U = image(take, r.U)
    return MaxState(image(take, r.T) - U, U)


def move_not_marking(r: MaxState, take: Successors, skip: Successors) -> MaxState:
    """Return the macro-state after ∘ (``MoveNotMarking``): runs of T that take the event join U.

    Equal runs that take join them.
    """
    U = image(take, r.U) | image(skip, r.U) | image(take, r.T)
    return MaxState(image(skip, r.T) - U, U)


Successors: TypeAlias = dict[int, list[int]]
"""``Delta(q, t, m)`` for one event and one mark, in the order of the transitions."""


def moves(cea: AnchoredCea, event: Event) -> dict[Mark, Successors]:
    """Return the successors of each state by • and by ∘, omitting states without any."""
    Delta: dict[Mark, Successors] = {mark: {} for mark in Mark}
    for t in cea.Delta:
        if satisfies(event, t.predicate):
            Delta[t.mark].setdefault(t.source, []).append(t.target)
    return Delta


def image(Delta: Successors, T: Iterable[int]) -> frozenset[int]:
    """Return ``Delta(T, t, m)``, all successors of the states in T."""
    return frozenset(p for q in T for p in Delta.get(q, ()))
