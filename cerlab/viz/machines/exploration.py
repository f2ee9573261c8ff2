"""A deterministic machine, explored over its minterms, with readable guards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.deterministic import Node, moves_over
from cerlab.automata.explore import crawl
from cerlab.automata.strategy import AFTER, INSIDE, Contender, Rivals, StrategyCea
from cerlab.errors import Unsupported
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Or, Predicate
from cerlab.predicates.text import predicate_text
from cerlab.viz.machines.guards import Cube, predicate_of


class GuardedMove(NamedTuple):
    """``source -- symbols / mark --> target``; the guard is the set of truth vectors."""

    source: int
    symbols: tuple[int, ...]
    mark: Mark
    target: int


@dataclass(frozen=True, slots=True)
class ExploredCea:
    """All of a deterministic machine: what its states are, moves, and the predicates of the guards.

    `exact` says that every listed vector is had by some event; `every` are all listed vectors.
    `whole` is false if the moves of the last states were not looked at.
    """

    kind: str
    states: tuple[str, ...]
    moves: tuple[GuardedMove, ...]
    final: frozenset[int]
    predicates: tuple[Predicate, ...]
    every: tuple[int, ...]
    exact: bool
    whole: bool = True

    @property
    def legend(self) -> tuple[str, ...]:
        """The predicates as text, bit by bit."""
        return tuple(map(predicate_text, self.predicates))

    def guard(self, move: GuardedMove) -> str:
        """Bit strings, bit k (from the left) for predicate k; ``TRUE`` is all of them."""
        if len(move.symbols) == len(self.every):
            return "TRUE"
        width = len(self.predicates)
        return " ".join(format(symbol, f"0{width}b")[::-1] for symbol in sorted(move.symbols))


def explore(machine: DeterministicCea | StrategyCea, *, limit: int | None = None) -> ExploredCea:
    """Explore every state on every minterm; raises `ResourceLimit` where that is too much.

    A strategy's machine begins with its idle states, which read the events before a run starts.
    With a `limit`, only the moves of so many states are looked at, in the order of discovery.
    """
    every = minterms(machine.predicates)
    visits: list[Node] = []
    moves = moves_over(machine, [m.symbol for m in every])

    def follow(node: Node) -> Iterator[tuple[tuple[int, Mark], Node]]:
        if limit is None or len(visits) < limit:
            visits.append(node)
            yield from moves(node)

    start: Node = ("run", machine.q0) if isinstance(machine, DeterministicCea) else ("idle", 0)
    graph = crawl(start, follow)
    guards: dict[tuple[int, Mark, int], list[int]] = {}
    for source, (symbol, mark), target in graph.edges:
        guards.setdefault((source, mark, target), []).append(symbol)
    return ExploredCea(
        kind=_kind(machine),
        states=tuple(_state(machine, node) for node in graph.states),
        moves=tuple(GuardedMove(p, tuple(s), mark, q) for (p, mark, q), s in guards.items()),
        final=frozenset(
            n for n, (kind, q) in enumerate(graph.states) if kind == "run" and machine.final[q]
        ),
        predicates=tuple(machine.predicates),
        every=tuple(m.symbol for m in every),
        exact=all(m.example is not None for m in every),
        whole=len(visits) == len(graph.states),
    )


def _kind(machine: DeterministicCea | StrategyCea) -> str:
    if isinstance(machine, DeterministicCea):
        return "I/O-deterministic CEA"
    return f"I/O-deterministic CEA of {machine.strategy.value}"


def _state(machine: DeterministicCea | StrategyCea, node: Node) -> str:
    kind, q = node
    if isinstance(machine, DeterministicCea):
        return states_text(machine.macro_states[q])
    if kind == "idle":
        rivals = machine.idle_states[q]
        return "idle" + _rivals(machine, Rivals(frozenset(), rivals.better, rivals.worse))
    return _contender(machine, machine.macro_states[q])


def run_state_text(machine: DeterministicCea | StrategyCea, q: int) -> str:
    """What a macro-state of runs is called."""
    return _state(machine, ("run", q))


def _contender(machine: StrategyCea, state: Contender) -> str:
    if machine.strategy is Strategy.STRICT:
        return states_text(state.runs) + {INSIDE: " in its block", AFTER: " after it"}.get(
            state.block, ""
        )
    return states_text(state.runs) + _rivals(machine, state.rivals)


def _rivals(machine: StrategyCea, rivals: Rivals) -> str:
    """The better and worse rivals; an unstarted one is ``n``, as in the literature."""
    parts = (("better", rivals.better), ("worse", rivals.worse))
    return "".join(f", {name} {states_text(S, machine.cea.states)}" for name, S in parts if S)


def states_text(states: Iterable[int], before_start: int | None = None) -> str:
    """A set of states."""
    names = ("n" if q == before_start else str(q) for q in sorted(states))
    return "{" + ", ".join(names) + "}"


def as_cea(machine: DeterministicCea | StrategyCea) -> IntervalCea | AnchoredCea:
    """The explored machine as a value whose guards are predicates, for files.

    That of a strategy reads the stream from position 0; raises `Unsupported` if it accepts after a
    skipped event, which `AnchoredCea` cannot say.
    """
    A = explore(machine)
    Delta = tuple(Transition(m.source, _predicate(A, m), m.mark, m.target) for m in A.moves)
    if isinstance(machine, DeterministicCea):
        return IntervalCea(len(A.states), Delta, frozenset({0}), A.final)
    if any(t.target in A.final and t.mark is Mark.SKIP for t in Delta):
        raise Unsupported(
            "CER0411",
            "this machine accepts after a skipped event, as projection allows; the formats of "
            "anchored automata cannot say that",
            hint="use --format text or dot",
        )
    return AnchoredCea(len(A.states), Delta, frozenset({0}), A.final)


def _predicate(A: ExploredCea, move: GuardedMove) -> Predicate:
    if len(move.symbols) == len(A.every):
        return EVERYTHING
    whole = (1 << len(A.predicates)) - 1
    ways = (predicate_of(Cube(whole, symbol), A.predicates) for symbol in move.symbols)
    return reduce(Or, ways)
