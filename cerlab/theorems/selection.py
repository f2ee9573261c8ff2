"""STRICT, NXT, LAST and MAX of an anchored CEA, as anchored CEA (FOUND Thm. 4).

For automata that need not be I/O-deterministic. STRICT and MAX are the printed constructions. NXT
needs final states that are entered by marks only (erratum E6), and LAST is not "NXT with one
condition changed" (erratum E7): the forms here follow sets of better and worse rivals, which is
enough, and are I/O-deterministic. Events are seen through the types of the predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from cerlab.automata.anchored import single_final
from cerlab.automata.automaton import AnchoredCea, Mark, Transition
from cerlab.automata.explore import explore
from cerlab.automata.successors import States, Successors, type_of
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import Predicate

Macro = TypeVar("Macro", tuple[States, States], tuple[States, States, States])
Image = Callable[[States, Mark], States]

TAKE, SKIP = Mark.TAKE, Mark.SKIP


def select(A: AnchoredCea, strategy: Strategy) -> AnchoredCea:
    """The automaton of the complex events that a strategy selects, at each last position."""
    match strategy:
        case Strategy.STRICT:
            return strict(A)
        case Strategy.NXT:
            return next_selected(A)
        case Strategy.LAST:
            return last_selected(A)
        case Strategy.MAX:
            return maximal(A)


def strict(A: AnchoredCea) -> AnchoredCea:
    """A state is one of A, before the first mark or after it, where nothing is skipped.

    The state q before the first mark is ``q``, after it ``q + states`` (FOUND App. C.3.1). Twice as
    many states.
    """
    n = A.states
    Delta: list[Transition] = []
    for p, P, mark, q in A.Delta:
        if mark is SKIP:
            Delta.append(Transition(p, P, SKIP, q))
        else:
            Delta.append(Transition(p, P, TAKE, q + n))
            Delta.append(Transition(p + n, P, TAKE, q + n))
    return AnchoredCea(2 * n, tuple(Delta), A.I, frozenset(q + n for q in A.F))


def maximal(A: AnchoredCea) -> AnchoredCea:
    """A state is (S, T): where runs with these marks are, where runs with strictly more are.

    (FOUND App. C.3.4)
    """

    def step(state: tuple[States, States], mark: Mark, image: Image) -> tuple[States, States]:
        S, T = state
        more = image(T, TAKE)
        if mark is SKIP:
            more |= image(T, SKIP) | image(S, TAKE)
        return image(S, mark) - more, more

    return _machine(A, (A.I, frozenset[int]()), step)


def next_selected(A: AnchoredCea) -> AnchoredCea:
    """A state is (R, S): where runs with these marks are, where runs with older marks are.

    Older marks win for good; of two runs with the same marks so far, the one that takes this event
    (FOUND App. C.3.2, E6).
    """
    A = single_final(A)

    def step(state: tuple[States, States], mark: Mark, image: Image) -> tuple[States, States]:
        R, S = state
        older = image(S, TAKE) | image(S, SKIP)
        if mark is SKIP:
            older |= image(R, TAKE)
        return image(R, mark) - older, older

    return _machine(A, (A.I, frozenset[int]()), step)


def last_selected(A: AnchoredCea) -> AnchoredCea:
    """A state is (R, S, T): where runs with these marks are, better ones, and worse ones.

    The latest difference decides, so a worse run that takes what this one skips becomes better
    (FOUND App. C.3.3, corrected: E7).
    """

    def step(
        state: tuple[States, States, States], mark: Mark, image: Image
    ) -> tuple[States, States, States]:
        R, S, T = state
        if mark is TAKE:
            better = image(S, TAKE)
            worse = image(T, TAKE) | image(T | R | S, SKIP)
        else:
            better = image(S, SKIP) | image(S | R | T, TAKE)
            worse = image(T, SKIP)
        equal = image(R, mark) - better
        return equal, better, worse - better - equal

    return _machine(A, (A.I, frozenset[int](), frozenset[int]()), step)


def _machine(
    A: AnchoredCea, start: Macro, step: Callable[[Macro, Mark, Image], Macro]
) -> AnchoredCea:
    """What is reached, on every type of event; runs come first in a state, rivals second.

    A state without runs is left out; one is final if a run is in F and no better rival is.
    """
    successors = Successors(A.Delta)
    tests = successors.predicates
    types = [(m.symbol, type_of(tests, m.symbol)) for m in minterms(tests)]

    def follow(state: Macro) -> Iterator[tuple[tuple[Predicate, Mark], Macro]]:
        for symbol, predicate in types:
            image = _image(successors, symbol)
            for mark in Mark:
                target = step(state, mark, image)
                if target[0]:
                    yield (predicate, mark), target

    def final(state: Macro) -> bool:
        runs, better = state[0], state[1]
        return not runs.isdisjoint(A.F) and better.isdisjoint(A.F)

    return explore(start, follow, final, AnchoredCea)


def _image(successors: Successors, symbol: int) -> Image:
    return lambda states, mark: successors.after(states, symbol, mark)
