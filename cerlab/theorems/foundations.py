"""Anchored automata: Boolean operations, selection, lists (FOUND Prop. 1; FOUND App. C.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import NamedTuple, TypeVar

from cerlab.automata.automaton import AnchoredCea, Mark, Transition, Ucea, outgoing
from cerlab.automata.compose import pairs, single_final
from cerlab.automata.deterministic import Deterministic, States, Successors, moves_over, type_of
from cerlab.automata.explore import crawl, explore
from cerlab.engine.reference.list_nodes import Evaluation
from cerlab.model.answer import Labels, Positions
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event
from cerlab.predicates.minterms import disjoint, minterms
from cerlab.predicates.syntax import EVERYTHING, Predicate, conjunction


def intersection(A: AnchoredCea, B: AnchoredCea) -> AnchoredCea:
    """Return the intersection, whose states pair states of both machines (FOUND App. C.1).

    >>> from cerlab import parse_query
    >>> A, B = (parse_query(f"SELECT * WHERE {f}").anchored[0] for f in ("A+", "A ; A"))
    >>> intersection(A, B).states <= A.states * B.states
    True
    """

    def joint(s: Transition, t: Transition) -> tuple[Predicate, Mark] | None:
        return (conjunction(s.predicate, t.predicate), s.mark) if s.mark is t.mark else None

    return pairs(A, B, joint, AnchoredCea)


def complement(A: AnchoredCea) -> AnchoredCea:
    """Return the complement of A among complex events ending at the last event (FOUND App. C.1).

    In the determinised automaton, each stream and complex event have exactly one run, so final and
    other states are exchanged, the sink included. Exponential.

    >>> every = (Transition(0, EVERYTHING, TAKE, 0), Transition(0, EVERYTHING, SKIP, 0))
    >>> bool(complement(AnchoredCea(1, every, frozenset({0}), frozenset({0}))).F)
    False
    """
    D = determinise(A)
    return replace(D, F=frozenset(range(D.states)) - D.F)


def determinise(A: AnchoredCea) -> AnchoredCea:
    """Return an equivalent machine in which marks determine the run (FOUND Prop. 1).

    A state is the set of states of A's runs with the same marks; the empty set is a state too, so
    that every event has a move with either mark. Predicates are satisfiable conjunctions of the
    predicates that leave the set and their complements. Exponential; raises `ResourceLimit` above
    100,000 states.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> twice = (Transition(0, EVERYTHING, Mark.TAKE, 0), Transition(0, TypeIs("A"), Mark.TAKE, 1))
    >>> D = determinise(AnchoredCea(2, twice, frozenset({0}), frozenset({1})))
    >>> D.states, sorted(D.F)
    (3, [2])
    """
    types = cache(predicate_types)

    def follow(T: frozenset[int]) -> Iterator[tuple[tuple[Predicate, Mark], frozenset[int]]]:
        transitions = [t for t in A.Delta if t.source in T]
        for one in types(tuple(t.predicate for t in transitions)):
            for mark in (Mark.SKIP, Mark.TAKE):
                U = (t.target for t in transitions if t.mark is mark and t.predicate in one.members)
                yield (one.predicate, mark), frozenset(U)

    return explore(A.I, follow, lambda T: not T.isdisjoint(A.F), AnchoredCea)


class PredicateType(NamedTuple):
    """A set of predicates with TRUE, and a predicate for events that satisfy exactly this set."""

    predicate: Predicate
    members: frozenset[Predicate]


def predicate_types(predicates: Sequence[Predicate]) -> tuple[PredicateType, ...]:
    """Return the types of some predicates; each event has exactly one type (FOUND App. C.3.2).

    Only satisfiable types are returned; undecided ones (see `cerlab.predicates.minterms`) count as
    satisfiable.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> len(predicate_types([TypeIs("A"), TypeIs("B")]))
    3
    """
    tests = [P for P in dict.fromkeys(predicates) if P != EVERYTHING]
    return tuple(_type_of(tests, minterm.symbol) for minterm in minterms(tests))


def _type_of(tests: Sequence[Predicate], symbol: int) -> PredicateType:
    """Return the type of events with given truth values: a conjunction of literals."""
    members = {EVERYTHING, *(P for bit, P in enumerate(tests) if symbol >> bit & 1)}
    return PredicateType(type_of(tests, symbol), frozenset(members))


def is_io_deterministic(A: AnchoredCea) -> bool | None:
    """Return whether each stream and complex event have at most one run (FOUND Sec. 6).

    This requires one initial state, and different marks on two transitions of a state that an event
    satisfies together. Return None if it is undecided whether an event satisfies both.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> step = Transition(0, TypeIs("A"), TAKE, 0)
    >>> A = AnchoredCea(2, (step,), frozenset({0}), frozenset({0}))
    >>> two = replace(A, Delta=(step, step._replace(target=1)))
    >>> is_io_deterministic(A), is_io_deterministic(two)
    (True, False)
    """
    if len(A.I) != 1:
        return False
    leaving = outgoing(A)
    both = dict.fromkeys(
        (s.predicate, t.predicate)
        for q in range(A.states)
        for s, t in combinations(dict.fromkeys(leaving[q]), 2)
        if s.mark is t.mark
    )
    apart = [disjoint(P, Q) for P, Q in both]
    if False in apart:
        return False
    return None if None in apart else True


Macro = TypeVar("Macro", tuple[States, States], tuple[States, States, States])
Image = Callable[[States, Mark], States]
TAKE, SKIP = Mark.TAKE, Mark.SKIP


def select(A: AnchoredCea, strategy: Strategy) -> AnchoredCea:
    """Return the automaton of the complex events that a strategy selects, at each last position."""
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
    """Return the machine that selects by STRICT (FOUND App. C.3.1), with twice as many states.

    A state is a state of A before the first mark (``q``), or after it (``q + states``), where no
    event is skipped.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> A = AnchoredCea(1, (Transition(0, TypeIs("A"), TAKE, 0),), frozenset({0}), frozenset({0}))
    >>> strict(A).states
    2
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
    """Return the machine that selects by MAX (FOUND App. C.3.4).

    A state is (S, T): the states of runs with these marks, and of runs with strictly more.
    """

    def step(state: tuple[States, States], mark: Mark, image: Image) -> tuple[States, States]:
        S, T = state
        more = image(T, TAKE)
        if mark is SKIP:
            more |= image(T, SKIP) | image(S, TAKE)
        return image(S, mark) - more, more

    return _machine(A, (A.I, frozenset[int]()), step)


def next_selected(A: AnchoredCea) -> AnchoredCea:
    """Return the machine that selects by NEXT (FOUND App. C.3.2, E6).

    A state is (R, S): the states of runs with these marks, and of runs with older marks. Older
    marks win permanently; of two runs with equal marks so far, the one that takes this event wins.
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
    """Return the machine that selects by LAST (FOUND App. C.3.3, corrected: E7).

    A state is (R, S, T): the states of runs with these marks, of better and of worse ones. The
    latest difference decides, so a worse run that takes an event that this run skips becomes
    better.
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
    """Return the machine whose states are macro-states, over all types of events.

    A macro-state has its runs first, then its rivals. Macro-states without runs are omitted; one is
    final if a run is in F and no better rival is.
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


@dataclass(frozen=True, slots=True)
class LabelByLabel:
    """An automaton that reads each event `steps` times, so that positions encode labels.

    Position ``n * steps + i`` is the i-th label, from 1, of the event at position n; the last
    position of an answer closes it.
    """

    cea: AnchoredCea
    labels: tuple[str, ...]

    @property
    def steps(self) -> int:
        """The number of times that an event is read."""
        return len(self.labels) + 2


def positions_of_labels(A: Ucea) -> LabelByLabel:
    """Return an automaton for the complex events of a UCEA under ordinary runs (SOCEL Sec. 5.1).

    The steps after the choice of a transition form one chain for each pair of labels and target, so
    it has at most ``|Q| + |Delta| (k + 1) + 1`` states.

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
    """Return the complex event that the positions of an answer encode.

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
    """The list algorithm on an automaton that reads labels one by one (FOUND Alg. 3; FOUND Alg. 4).

    The cost of an event is bounded by the automaton alone; the delay between two answers is
    constant, and an answer takes time proportional to its labels. `advance` raises `ResourceLimit`
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
        """Read the next event of the stream."""
        first = position * self.machine.steps
        for step in range(first, first + self.machine.steps):
            self.lists.advance(event, step)

    def answers(self) -> Iterator[Labels]:
        """Yield ``[[A]]_n(S)`` at the event just read, each complex event once (SOCEL Sec. 5.1)."""
        for C in self.lists.answers(0):
            yield labels_at(C.positions, self.machine)


def reachable_states(machine: Deterministic, symbols: Sequence[int], *, most: int = 50_000) -> int:
    """Return the number of run states and idle states that streams of these symbols reach.

    Raises `ResourceLimit` above `most`.
    """
    return len(crawl(("idle", machine.idle), moves_over(machine, symbols), most=most).states)
