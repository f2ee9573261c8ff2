"""Deliberate wrong versions of the algorithms with lists, all seen (FOUND Thm. 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cerlab import ComplexEvent, Event
from cerlab.automata.automaton import AnchoredCea
from cerlab.engine.reference import list_nodes as evaluation
from cerlab.engine.reference import lists
from cerlab.engine.reference.list_nodes import (
    Node,
    NodeList,
    Steps,
    complex_events,
    enumerate_all_star,
    only_bottom,
)
from cerlab.engine.reference.lists import MaxState, StrictEvaluation, Successors, image
from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import check, random_case
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds


def append_one(self: NodeList, other: NodeList) -> None:
    """``append`` that links the other list and ends after its first cell."""
    _APPEND(self, other)
    if self.first is not other.first:
        self.last = other.first


_APPEND = NodeList.append


def add_behind(self: NodeList, node: Node) -> None:
    """``add`` at the end, so that the newest nodes are not in front."""
    single = NodeList()
    _ADD(single, node)
    self.append(single)


_ADD = NodeList.add


def at_most_two_nodes(
    lists: Iterable[NodeList], now: int, lowest_start: int, steps: Steps
) -> Iterator[ComplexEvent]:
    """Enumerate that stops after two nodes of a list."""
    for nodes in lists:
        for n in list(nodes)[:2]:
            if n.position == now and n.max_start >= lowest_start:
                yield from complex_events(enumerate_all_star(n, lowest_start, steps))


def copy_all_into_final(cea: AnchoredCea) -> AnchoredCea:
    """The remedy of erratum E6 as printed."""
    qf = cea.states
    copies = [t._replace(target=qf) for t in cea.Delta if t.target in cea.F]
    return AnchoredCea(qf + 1, (*cea.Delta, *copies), cea.I, frozenset({qf}))


def as_it_is(cea: AnchoredCea) -> AnchoredCea:
    """No remedy at all."""
    return cea


def rivals_never_skip(r: MaxState, take: Successors, skip: Successors) -> MaxState:
    """MoveNotMarking where those who took more all take."""
    U = image(take, r.U) | image(take, r.T)
    return MaxState(image(skip, r.T) - U, U)


def new_rivals_only_if_none(r: MaxState, take: Successors, skip: Successors) -> MaxState:
    """MoveNotMarking that counts those who take now only if nobody took more before."""
    U = image(take, r.U) | image(skip, r.U) or image(take, r.T)
    return MaxState(image(skip, r.T) - U, U)


def rivals_forgotten(r: MaxState, take: Successors) -> MaxState:
    """MoveMarking after which nobody has taken more."""
    return MaxState(image(take, r.T) - image(take, r.U), frozenset())


def bottom_replaces(self: StrictEvaluation, event: Event, old: Mapping[int, NodeList]) -> None:
    """Algorithm 8 that loses the marked runs in the state of the unmarked one."""
    _STRICT(self, event, old)
    if self.q_init is not None:
        self.lists[self.q_init] = only_bottom()


def gaps_after_marks(self: StrictEvaluation, event: Event, old: Mapping[int, NodeList]) -> None:
    """Algorithm 8 where all runs in the state of the unmarked one may skip."""
    before = self.q_init
    _STRICT(self, event, old)
    if before is not None and self.q_init is not None:
        self.lists[self.q_init] = NodeList()
        for q, nodes in old.items():
            take, _ = self.automaton.step(q, self.automaton.symbol(event))
            if take == self.q_init:
                self._take(take, nodes)
        self._skip(self.q_init, old[before])


_STRICT = StrictEvaluation._update


def unmarked_run_lives_on(self: StrictEvaluation) -> None:
    """A reset that forgets the lists and not the unmarked run."""
    self.lists = {self.automaton.q0: only_bottom()}
    if self.q_init is None:
        self.q_init = self.automaton.q0


def on(strategy: Strategy | None) -> Judge:
    """The evaluator of a strategy against all runs."""
    return on_seeds(lambda rng: check(random_case(rng), strategy), 500)


ON_ALL, ON_NXT, ON_LAST, ON_MAX, ON_STRICT = map(
    on, (None, Strategy.NXT, Strategy.LAST, Strategy.MAX, Strategy.STRICT)
)

MUTANTS = [
    mutant(ON_ALL, NodeList, "append", append_one, id="append-one"),
    mutant(ON_ALL, NodeList, "add", add_behind, id="newest-last"),
    mutant(ON_ALL, evaluation, "enumerate_lists", at_most_two_nodes, id="two-nodes"),
    mutant(ON_NXT, lists, "single_final", copy_all_into_final, id="next-e6"),
    mutant(ON_NXT, lists, "single_final", as_it_is, id="next-finals"),
    mutant(ON_LAST, lists, "single_final", as_it_is, id="last-finals"),
    mutant(ON_NXT, lists, "next_order", lists.last_order, id="next-as-last"),
    mutant(ON_LAST, lists, "last_order", lists.next_order, id="last-as-next"),
    mutant(ON_MAX, lists, "move_not_marking", rivals_never_skip, id="max-skip"),
    mutant(ON_MAX, lists, "move_not_marking", new_rivals_only_if_none, id="max-new"),
    mutant(ON_MAX, lists, "move_marking", rivals_forgotten, id="max-take"),
    mutant(ON_STRICT, StrictEvaluation, "_update", bottom_replaces, id="strict-lost"),
    mutant(ON_STRICT, StrictEvaluation, "_update", gaps_after_marks, id="strict-gap"),
    mutant(ON_STRICT, StrictEvaluation, "reset", unmarked_run_lives_on, id="reset"),
]


test_the_suite_kills = kills(MUTANTS)
