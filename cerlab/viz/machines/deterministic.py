"""Deterministic machines as graphs and as tables, explored over their minterms.

A table has a row for each macro-state and a column for each minterm: what an event of that kind
does with a run, by • and by ∘.
"""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.automata.automaton import Mark
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.explicit import STUCK, ExplicitCea
from cerlab.automata.strategy import StrategyCea
from cerlab.display import drawable
from cerlab.predicates.words import count_text
from cerlab.viz.graph import Edge, Graph, picture
from cerlab.viz.machines.exploration import ExploredCea, GuardedMove, explore
from cerlab.viz.machines.grid import Grid, grid_graph
from cerlab.viz.machines.guards import guard_words
from cerlab.viz.machines.states import mark_kind, state_graph, state_nodes

EXACT_NOTE = "LIKE, arithmetic and two-attribute comparisons are taken as independent"


@drawable
@dataclass(frozen=True, slots=True)
class MintermTable:
    """The table of a deterministic machine, as far as it was explored."""

    machine: ExploredCea

    @property
    def moves(self) -> dict[tuple[int, int], tuple[int | None, int | None]]:
        """By state and minterm: where the run goes by • and by ∘, None where it does not go on."""
        moves: dict[tuple[int, int], tuple[int | None, int | None]] = {}
        for move in self.machine.moves:
            for symbol in move.symbols:
                take, skip = moves.get((move.source, symbol), (None, None))
                goes = (move.target, skip) if move.mark is Mark.TAKE else (take, move.target)
                moves[move.source, symbol] = goes
        return moves


def minterm_table(machine: DeterministicCea | StrategyCea) -> MintermTable:
    """The table; raises `ResourceLimit` as `explore`."""
    return MintermTable(explore(machine))


@picture.register(DeterministicCea)
@picture.register(StrategyCea)
def det_graph(machine: DeterministicCea | StrategyCea, limit: int | None = None) -> Graph:
    """A deterministic machine, explored; its states are named by the sets that they are."""
    return explored_graph(explore(machine, limit=limit))


@picture.register(ExploredCea)
def explored_graph(A: ExploredCea, limit: int | None = None) -> Graph:
    """The machine; a guard that takes many words is its bits, and the legend names them."""
    nodes = state_nodes(A.states, {0}, A.final)
    words = {move: _guard(A, move) for move in A.moves}
    edges = tuple(_edge(A, move, words[move]) for move in A.moves)
    in_bits = any(text is None for text in words.values())
    legend = [f"bit {k}: {text}" for k, text in enumerate(A.legend)] if in_bits else []
    legend += [] if A.exact else [EXACT_NOTE]
    note = "" if A.whole else "the moves of the last states were not looked at"
    return state_graph(
        "det", A.kind, nodes, edges, legend=tuple(legend), note=note, predicates=A.predicates
    )


def _guard(A: ExploredCea, move: GuardedMove) -> str | None:
    return guard_words(move.symbols, A.every, A.predicates)


def _edge(A: ExploredCea, move: GuardedMove, words: str | None) -> Edge:
    label = f"{words or A.guard(move)} / {move.mark.value}"
    parts = {"symbols": move.symbols, "mark": move.mark}
    return Edge(f"q{move.source}", f"q{move.target}", label, mark_kind(move.mark), parts)


@picture.register(ExplicitCea)
def explicit_graph(A: ExplicitCea, limit: int | None = None) -> Graph:
    """A machine written out, whose letters are events that its tests tell apart."""
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
    """The table as one node; with a `limit`, so many rows and columns."""
    A = table.machine
    title = f"{A.kind}: {len(A.states):,} macro-states by {len(A.every):,} minterms"
    return grid_graph("table", title, table_grid(table, limit))


def table_grid(table: MintermTable, limit: int | None = None) -> Grid:
    """The table as words: a cell says ``•3 ∘1``, and ``-`` where no run goes on.

    A state is ``>0 {0}``: an arrow where runs begin, its number and name; ``*`` where they accept.
    The legend says what the bits test.

    >>> from cerlab.viz.machines.grid import grid_text
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
        parts.append("the moves of the last states were not looked at")
    return "; ".join(parts)
