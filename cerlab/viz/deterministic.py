"""Deterministic machines with readable guards, as graphs, tables and texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark, Transition, Vcea
from cerlab.automata.deterministic import DeterministicCea, Node, moves_over
from cerlab.automata.explicit import STUCK, ExplicitCea
from cerlab.automata.explore import crawl
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.automata.strategy import AFTER, INSIDE, Contender, Rivals, StrategyCea
from cerlab.display import Drawable
from cerlab.errors import Unsupported
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Not, Or, Predicate, atoms, conjunction
from cerlab.predicates.text import count_text, name_text, predicate_text
from cerlab.predicates.truth import satisfies
from cerlab.viz.graph import Edge, Graph, NodeKind, graph_of, picture
from cerlab.viz.html import Grid, grid_graph
from cerlab.viz.machines import mark_kind, state_graph, state_nodes


class GuardedMove(NamedTuple):
    """A transition ``source -- symbols / mark --> target``; it reads any of the symbols."""

    source: int
    symbols: tuple[int, ...]
    mark: Mark
    target: int


@dataclass(frozen=True, slots=True, repr=False)
class ExploredCea:
    """A deterministic machine, explored: its states, moves, and the predicates of its guards.

    `every` lists all truth vectors; `exact` is true if each of them is the vector of some event.
    `whole` is false if the moves of the last states were not explored.
    """

    kind: str
    states: tuple[str, ...]
    moves: tuple[GuardedMove, ...]
    final: frozenset[int]
    predicates: tuple[Predicate, ...]
    every: tuple[int, ...]
    exact: bool
    whole: bool = True

    def __repr__(self) -> str:
        """Return a summary with the size; `str` lists the transitions."""
        return f"<ExploredCea, {len(self.states)} states, {len(self.moves)} moves>"

    @property
    def legend(self) -> tuple[str, ...]:
        """The predicates as text, in the order of the bits in symbols."""
        return tuple(map(predicate_text, self.predicates))

    def guard(self, move: GuardedMove) -> str:
        """Return a guard as bit strings, one for each symbol; ``TRUE`` for all symbols."""
        if len(move.symbols) == len(self.every):
            return "TRUE"
        width = len(self.predicates)
        return " ".join(format(symbol, f"0{width}b")[::-1] for symbol in sorted(move.symbols))


def explore(machine: DeterministicCea | StrategyCea, *, limit: int | None = None) -> ExploredCea:
    """Explore the states of a machine that any events reach.

    The machine of a strategy starts with its idle states, which read the events before a run
    starts. With a `limit`, only that many states are explored, in the order of discovery. Raises
    `ResourceLimit` if there are too many.
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
    """Return the text of a macro-state."""
    return _state(machine, ("run", q))


def _contender(machine: StrategyCea, state: Contender) -> str:
    if machine.strategy is Strategy.STRICT:
        return states_text(state.runs) + {INSIDE: " in its block", AFTER: " after it"}.get(
            state.block, ""
        )
    return states_text(state.runs) + _rivals(machine, state.rivals)


def _rivals(machine: StrategyCea, rivals: Rivals) -> str:
    """Return the states of better and worse runs as text; ``n`` is the state before a start."""
    parts = (("better", rivals.better), ("worse", rivals.worse))
    return "".join(f", {name} {states_text(S, machine.cea.states)}" for name, S in parts if S)


def states_text(states: Iterable[int], before_start: int | None = None) -> str:
    """Return a set of states as text."""
    names = ("n" if q == before_start else str(q) for q in sorted(states))
    return "{" + ", ".join(names) + "}"


def as_cea(machine: DeterministicCea | StrategyCea) -> IntervalCea | AnchoredCea:
    """Return the explored machine as an automaton with predicates, for files.

    The machine of a strategy reads the stream from position 0. Raises `Unsupported` if it accepts
    after a skipped event, which `AnchoredCea` cannot express.
    """
    A = explore(machine)
    tests = guard_tests(A)
    Delta = tuple(Transition(m.source, _predicate(tests, m), m.mark, m.target) for m in A.moves)
    if isinstance(machine, DeterministicCea):
        return IntervalCea(len(A.states), Delta, frozenset({0}), A.final)
    if any(t.target in A.final and t.mark is Mark.SKIP for t in Delta):
        raise Unsupported(
            "CER0411",
            "this machine accepts after a skipped event, as projection allows; the formats "
            "of anchored automata cannot express that",
            hint="use --format text or dot",
        )
    return AnchoredCea(len(A.states), Delta, frozenset({0}), A.final)


def _predicate(tests: GuardTests, move: GuardedMove) -> Predicate:
    return reduce(Or, (predicate_of(cube, tests.predicates) for cube in tests.cover(move.symbols)))


class Cube(NamedTuple):
    """The set of bit vectors that equal `value` in the bits of `mask`."""

    mask: int
    value: int


def cubes(symbols: Sequence[int], every: Sequence[int], width: int) -> list[Cube]:
    """Return cubes that contain all `symbols` and no other element of `every`.

    Vectors outside `every` do not occur, so a cube may contain them. Each cube is prime: no bit of
    it can be dropped. Negative tests are dropped first, so the rest states properties that an event
    has.

    >>> cubes([0b01], [0b00, 0b01, 0b10], 2)
    [Cube(mask=1, value=1)]
    """
    inside = set(symbols)
    others = [v for v in every if v not in inside]
    cover: list[Cube] = []
    for symbol in symbols:
        if any(symbol & mask == value for mask, value in cover):
            continue
        mask = (1 << width) - 1
        bits = sorted(range(width), key=lambda bit: (symbol >> bit & 1, -bit))
        for bit in bits:
            wider = mask & ~(1 << bit)
            if all(v & wider != symbol & wider for v in others):
                mask = wider
        cover.append(Cube(mask, symbol & mask))
    return _irredundant(cover, inside)


def _irredundant(cover: list[Cube], symbols: Set[int]) -> list[Cube]:
    """Return the cubes that are needed to contain all symbols, dropping narrow ones first."""
    held = {cube: {v for v in symbols if v & cube.mask == cube.value} for cube in cover}
    for cube in sorted(cover, key=lambda cube: len(held[cube])):
        others = set().union(*(held[other] for other in cover if other != cube))
        if others >= symbols:
            cover = [other for other in cover if other != cube]
    return cover


MOST_TESTS = 8
"""Most tests for which guards are covered by tests: 256 truth vectors take 2 ms per machine."""


class GuardTests(NamedTuple):
    """Atomic tests of a machine's guards, and the truth vectors of these tests for each symbol.

    An event has one type, so `A AND NOT B` is `A`; atomic tests reveal this, whole predicates do
    not.
    """

    predicates: tuple[Predicate, ...]
    vectors: dict[int, list[int]]

    def cover(self, symbols: Sequence[int]) -> list[Cube]:
        """Return cubes over the tests that contain exactly the given symbols."""
        inside = [v for symbol in symbols for v in self.vectors[symbol]]
        every = [v for vectors in self.vectors.values() for v in vectors]
        return cubes(inside, every, len(self.predicates))


def guard_tests(A: ExploredCea) -> GuardTests:
    """Return the atomic tests of a machine, or its predicates if some test cannot be decided."""
    plain = GuardTests(A.predicates, {symbol: [symbol] for symbol in A.every})
    tests = tuple(dict.fromkeys(atom for P in A.predicates for atom in atoms(P)))
    if len(tests) > MOST_TESTS:
        return plain
    vectors: dict[int, list[int]] = {}
    for m in minterms(tests):
        if m.example is None:
            return plain
        holds = (satisfies(m.example, P) << k for k, P in enumerate(A.predicates))
        vectors.setdefault(sum(holds), []).append(m.symbol)
    return GuardTests(tests, vectors) if vectors.keys() == set(A.every) else plain


def guard_words(symbols: Sequence[int], tests: GuardTests, most: int = 3) -> str | None:
    """Return a guard as text; None if it needs more than `most` cubes."""
    cover = tests.cover(symbols)
    if len(cover) > most:
        return None
    alone = len(cover) == 1
    return " OR ".join(_cube_text(cube, tests.predicates, alone=alone) for cube in cover)


def predicate_of(cube: Cube, predicates: Sequence[Predicate]) -> Predicate:
    """Return the conjunction that a cube stands for."""
    way: Predicate = EVERYTHING
    for bit, P in enumerate(predicates):
        if cube.mask >> bit & 1:
            way = conjunction(way, P if cube.value >> bit & 1 else Not(P))
    return way


def _cube_text(cube: Cube, predicates: Sequence[Predicate], *, alone: bool) -> str:
    way = predicate_of(cube, predicates)
    text = predicate_text(way)
    return text if alone or way == EVERYTHING else f"({text})"


EXACT_NOTE = "LIKE, arithmetic and two-attribute comparisons are treated as independent"


@dataclass(frozen=True, slots=True, repr=False)
class MintermTable(Drawable):
    """The transition table of an explored deterministic machine."""

    machine: ExploredCea

    def __repr__(self) -> str:
        """Return the size; `str` is the table."""
        return (
            f"<MintermTable, {len(self.machine.states)} states, {len(self.machine.every)} minterms>"
        )

    @property
    def moves(self) -> dict[tuple[int, int], tuple[int | None, int | None]]:
        """The next state by •, and by ∘, for each state and minterm; None if no run continues."""
        moves: dict[tuple[int, int], tuple[int | None, int | None]] = {}
        for move in self.machine.moves:
            for symbol in move.symbols:
                take, skip = moves.get((move.source, symbol), (None, None))
                goes = (move.target, skip) if move.mark is Mark.TAKE else (take, move.target)
                moves[move.source, symbol] = goes
        return moves


def minterm_table(machine: DeterministicCea | StrategyCea) -> MintermTable:
    """Return the transition table of a deterministic machine."""
    return MintermTable(explore(machine))


@picture.register(DeterministicCea)
@picture.register(StrategyCea)
def det_graph(machine: DeterministicCea | StrategyCea, limit: int | None = None) -> Graph:
    """Return a deterministic machine as a graph; a state is named by its set of states."""
    return explored_graph(explore(machine, limit=limit))


@picture.register(ExploredCea)
def explored_graph(A: ExploredCea, limit: int | None = None) -> Graph:
    """Return an explored machine as a graph; long guards become bit strings with a legend."""
    nodes = state_nodes(A.states, {0}, A.final)
    tests = guard_tests(A)
    words = {move: guard_words(move.symbols, tests) for move in A.moves}
    edges = tuple(_edge(A, move, words[move]) for move in A.moves)
    in_bits = any(text is None for text in words.values())
    legend = [f"bit {k}: {text}" for k, text in enumerate(A.legend)] if in_bits else []
    legend += [] if A.exact else [EXACT_NOTE]
    note = "" if A.whole else "the moves of the last states were not explored"
    return state_graph(
        "det", A.kind, nodes, edges, legend=tuple(legend), note=note, predicates=A.predicates
    )


def _edge(A: ExploredCea, move: GuardedMove, words: str | None) -> Edge:
    label = f"{words or A.guard(move)} / {move.mark.value}"
    parts = {"symbols": move.symbols, "mark": move.mark}
    return Edge(f"q{move.source}", f"q{move.target}", label, mark_kind(move.mark), parts)


@picture.register(ExplicitCea)
def explicit_graph(A: ExplicitCea, limit: int | None = None) -> Graph:
    """Return an `ExplicitCea` as a graph; edges are labelled with truth vectors."""
    guards: dict[tuple[int, Mark, int], list[int]] = {}
    for q, row in enumerate(A.Delta):
        for (symbol, mark), target in zip(A.letters, row, strict=True):
            if target != STUCK:
                guards.setdefault((q, mark, target), []).append(symbol)
    return explored_graph(
        ExploredCea(
            "I/O-deterministic CEA, written out",
            tuple(map(str, range(A.states))),
            tuple(GuardedMove(p, tuple(s), mark, q) for (p, mark, q), s in guards.items()),
            A.F,
            A.predicates,
            A.symbols,
            exact=True,
        )
    )


@picture.register(MintermTable)
def table_graph(table: MintermTable, limit: int | None = None) -> Graph:
    """Return a transition table as a graph of one node."""
    A = table.machine
    title = f"{A.kind}: {len(A.states):,} macro-states by {len(A.every):,} minterms"
    return grid_graph("table", title, table_grid(table, limit))


def table_grid(table: MintermTable, limit: int | None = None) -> Grid:
    """Return a transition table as a grid with entries such as ``•3 ∘1``; ``-`` ends all runs.

    A state is shown as ``>0 {0}``: an arrow if runs start there, its number and its name; ``*``
    marks accepting states. The legend names the tests of the bits.

    >>> from cerlab.viz.html import grid_text
    >>> from cerlab.api import parse_query
    >>> print(grid_text(table_grid(minterm_table(parse_query("SELECT * WHERE A : B").det))))
    I/O-deterministic CEA: 3 states, bits are truth values of the tests
    state    00  10  01
    >0 {0}   -   •1  -
    1 {1}    -   -   •2
    2 {2} *  -   -   -
      bit 0: type = 'A'
      bit 1: type = 'B'
    """
    A, moves = table.machine, table.moves
    width = len(A.predicates)
    every = A.every[:limit]
    rows = [("state", *(format(v, f"0{width}b")[::-1] if width else "any" for v in every))]
    for q, name in list(enumerate(A.states))[:limit]:
        head = f"{'>' if q == 0 else ''}{q} {name}{' *' if q in A.final else ''}"
        rows.append((head, *(_cell(moves.get((q, v), (None, None))) for v in every)))
    title = f"{A.kind}: {count_text(len(A.states), 'state')}, bits are truth values of the tests"
    legend = tuple(f"bit {k}: {text}" for k, text in enumerate(A.legend))
    return Grid(title, tuple(rows), legend, _left_out(A, limit), has_names=True)


def _cell(goes: tuple[int | None, int | None]) -> str:
    moves = zip((Mark.TAKE.value, Mark.SKIP.value), goes, strict=True)
    return " ".join(f"{mark}{q}" for mark, q in moves if q is not None) or "-"


def _left_out(A: ExploredCea, limit: int | None) -> str:
    parts = []
    if limit is not None and len(A.states) > limit:
        parts.append(f"showing {limit:,} of {len(A.states):,} states")
    if limit is not None and len(A.every) > limit:
        parts.append(f"showing {limit:,} of {len(A.every):,} minterms")
    if not A.whole:
        parts.append("the moves of the last states were not explored")
    return "; ".join(parts)


def machine_text(machine: object) -> str:
    """Return a machine as text, one transition per line."""
    graph = graph_of(machine)
    names = {node.id: node.label for node in graph.nodes}
    edges = (f"  {names[e.source]} -> {names[e.target]}  {e.label}" for e in graph.edges)
    return "\n".join([_head(machine, graph), *edges])


def _head(machine: object, graph: Graph) -> str:
    states = count_text(len(graph.nodes), "state")
    final = _set(node.label for node in graph.nodes if node.kind is NodeKind.FINAL)
    match machine:
        case Vcea():
            return f"VCEA: {states}, initial {_set(map(str, sorted(machine.I)))}, final {final}"
        case IntervalCea():
            return f"CEA: {states}, initial {machine.q0}, final {final}"
        case Srt() | EpsilonSrt():
            registers = ", ".join(map(name_text, sorted(machine.R))) or "none"
            return f"SRT: {states}, initial {machine.q0}, final {final}, registers {registers}"
        case _:
            initial = _set(node.label for node in graph.nodes if node.is_initial)
            return f"{graph.title}, initial {initial}, final {final}"


def det_text(det: DeterministicCea | StrategyCea, *, limit: int | None = None) -> str:
    """Return an I/O-deterministic CEA as text with a legend.

    With a `limit`, only that many states are explored.
    """
    return explored_text(explore(det, limit=limit))


def explored_text(A: ExploredCea) -> str:
    """Return an explored machine as text, with a legend of its guards."""
    count = count_text(len(A.states), "macro-state")
    lines = [f"{A.kind}: {count}, initial 0, final {_set(map(str, sorted(A.final)))}"]
    lines += [f"  state {n} = {state}" for n, state in enumerate(A.states)]
    lines += [f"  {m.source} -> {m.target}  {A.guard(m)} / {m.mark.value}" for m in A.moves]
    lines += ["  guards, bit by bit:"] if A.legend else []
    lines += [f"    bit {bit}: {predicate}" for bit, predicate in enumerate(A.legend)]
    if not A.whole:
        lines.append("  .. and more: the moves of the last states were not explored")
    if not A.exact:
        lines.append(
            "  (LIKE, arithmetic and two-attribute comparisons are treated as independent)"
        )
    return "\n".join(lines)


def first_lines(text: str, most: int = 50) -> str:
    """Return the first lines of a text, and a note with the number of all lines.

    >>> print(first_lines("a\\nb\\nc\\nd", 2))
    a
    b
    .. showing 2 of 4 lines
    """
    lines = text.split("\n")
    if len(lines) <= most + 1:
        return text
    return "\n".join([*lines[:most], f".. showing {most} of {len(lines):,} lines"])


def _set(names: Iterable[str]) -> str:
    return f"{{{', '.join(names)}}}"
