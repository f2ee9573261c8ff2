"""Two scans of all tables at once, and the shortest table on which they do something else.

The row that decides between two choices may be far ahead, so a search forwards needs to know the
future: which states are live at each row. These sets are determinised from the last row backwards
(`cerlab.automata.live`), over all tables at once; a node of the search is a row with the live sets
of both queries. From the first row on both scans are then functions of the nodes, row by row, and
two scans differ if a path leads to a row where they do something else. Breadth first, with the
shortest rest of each node known, the table is a shortest one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.live import Letter, LiveSets, step_table
from cerlab.budget import poll
from cerlab.compile.rows_to_prioritised import prioritised_automaton
from cerlab.decisions.row_letters import RowGraph, undecidable
from cerlab.errors import ResourceLimit
from cerlab.logic.rows import syntax as rp

MAX_NODES = 200_000
"""Nodes and configurations that a search may meet."""


class ScanStep(NamedTuple):
    """What a scan does at a row."""

    ends: bool = False
    """The match that it was in ends before the row."""
    empty: bool = False
    """An empty match begins."""
    begins: bool = False
    """A match begins that maps the row."""
    label: str | None = None
    """The variable that the row is mapped to."""


class Side:
    """The scan of a query, row by row; a state is that of the match it is in, or None."""

    def __init__(self, query: rp.RowPattern, number: int, graph: RowGraph) -> None:
        table = step_table(prioritised_automaton(query.pattern))
        if table is None:
            raise undecidable("a pattern has too many states")
        self.query, self.live = query, LiveSets(table)
        self.letters: list[Letter] = [
            frozenset(v for side, v in letter if side == number) for letter in graph.letters
        ]

    def before(self, following: int, node: int) -> int:
        """The live set at a row, from that at the next one."""
        return self.live.before(following, self.letters[node])

    def go_on(self, q: int, R: SideRow) -> tuple[str | None, int | None]:
        """What a match in a state does: a label and the state after it, or it ends."""
        step = self.live.step(q, self.letters[R.node], R.following)
        return (None, None) if step is None else (step.variable, step.target)

    def begin(self, R: SideRow) -> tuple[ScanStep, int | None]:
        """What begins at a row: a match, an empty one, or nothing."""
        q = self.live.table.first_row if R.first else 0
        if not self.live.lives(self.before(R.following, R.node), q):
            return ScanStep(), None
        label, target = self.go_on(q, R)
        return ScanStep(empty=label is None, begins=label is not None, label=label), target

    def scan(self, q: int | None, R: SideRow) -> tuple[ScanStep, int | None]:
        """What a scan past the last row of each match does."""
        if q is None:
            return self.begin(R)
        label, target = self.go_on(q, R)
        if label is not None:
            return ScanStep(label=label), target
        step, target = self.begin(R)
        return step._replace(ends=True), target


class SideRow(NamedTuple):
    """A row of a side: its node, the live set at the next row, whether it is the first one."""

    node: int
    following: int
    first: bool


Bad: TypeAlias = Callable[[ScanStep, ScanStep], bool]
"""Whether what the two scans do at a row is a difference."""
Moves: TypeAlias = Iterator[tuple[bool, Hashable]]
"""Of a configuration at a row: whether there is a difference, and the next configuration."""


@dataclass(frozen=True, slots=True)
class Scans:
    """Both scans go on past the last row of each match; a configuration is the state of each."""

    sides: tuple[Side, Side]
    bad: Bad
    initial: Hashable = (None, None)

    def moves(self, config: Any, at: tuple[SideRow, SideRow]) -> Moves:
        """The one thing that both do."""
        (left, p), (right, q) = (
            side.scan(state, R) for side, state, R in zip(self.sides, config, at, strict=True)
        )
        yield self.bad(left, right), (p, q)


@dataclass(frozen=True, slots=True)
class Starts:
    """Matches begin at every row, each by itself: the configuration is where one of each is."""

    sides: tuple[Side, Side]
    bad: Bad
    initial: Hashable = None

    def moves(self, config: Any, at: tuple[SideRow, SideRow]) -> Moves:
        """Pass a row over, or let the match of each begin there; then go on in both."""
        if config is None:
            yield False, None
            steps = [side.begin(R) for side, R in zip(self.sides, at, strict=True)]
        else:
            steps = [
                (ScanStep(ends=label is None, label=label), q)
                for label, q in (
                    (None, None) if state is None else side.go_on(state, R)
                    for side, state, R in zip(self.sides, config, at, strict=True)
                )
            ]
        (left, p), (right, q) = steps
        bad = self.bad(left, right)
        if bad or (p is not None and (config is None or not left.ends)):
            yield bad, (p, q)


@dataclass(frozen=True, slots=True)
class Covers:
    """Matches begin at every row, and may overlap: the states of all that a row may be in."""

    sides: tuple[Side, Side]
    bad: Bad
    initial: Hashable = (frozenset(), frozenset())

    def moves(self, config: Any, at: tuple[SideRow, SideRow]) -> Moves:
        """All matches go on together."""
        steps, after = [], []
        for side, states, R in zip(self.sides, config, at, strict=True):
            step, target = side.begin(R)
            going = {side.go_on(q, R)[1] for q in states} | {target}
            after.append(frozenset(q for q in going if q is not None))
            steps.append(step._replace(label="" if after[-1] else None))
        yield self.bad(*steps), tuple(after)


# -- the search ------------------------------------------------------------------------------------


class Rest(NamedTuple):
    """A node with the live sets of both sides: all there is to know of the rows from it on."""

    node: int
    live: tuple[int, int]


@dataclass(slots=True)
class Future:
    """Of each `Rest` those at the next row, None for no row, and how many rows it has at least."""

    following: dict[Rest, list[Rest | None]] = field(default_factory=dict)
    length: dict[Rest, int] = field(default_factory=dict)


def _future(G: RowGraph, sides: tuple[Side, Side]) -> Future:
    """All that tables may end with, from the last row backwards."""
    F, pending = Future(), deque[Rest]()
    preceding: list[list[int]] = [[] for _ in G.letters]
    for n, nexts in enumerate(G.following):
        for m in nexts:
            preceding[m].append(n)

    def reach(n: int, following: Rest | None) -> None:
        live = following.live if following else (0, 0)
        left, right = (side.before(b, n) for side, b in zip(sides, live, strict=True))
        rest = Rest(n, (left, right))
        if rest not in F.following:
            F.following[rest] = []
            F.length[rest] = 1 + (F.length[following] if following else 0)
            pending.append(rest)
        F.following[rest].append(following)

    for n in sorted(G.last):
        reach(n, None)
    while pending:
        _limit(len(F.following))
        rest = pending.popleft()
        for n in preceding[rest.node]:
            reach(n, rest)
    return F


class SearchRow(NamedTuple):
    """A row of the search: whether it is the first, what both are in, all that may follow."""

    first: bool
    config: Hashable
    rest: Rest


def shortest_path(G: RowGraph, both: Scans | Starts | Covers) -> list[int] | None:
    """The nodes of a shortest table with a difference, None if there is no such table."""
    F, first = _future(G, both.sides), frozenset(G.first)
    level = [SearchRow(True, both.initial, rest) for rest in F.following if rest.node in first]
    parents: dict[SearchRow, SearchRow | None] = dict.fromkeys(level)
    depth, best = 1, None
    end: tuple[SearchRow, Rest | None] | None = None
    while level and (best is None or depth < best):
        _limit(len(parents))
        after = []
        for row in level:
            for following in F.following[row.rest]:
                live = following.live if following else (0, 0)
                left, right = (SideRow(row.rest.node, b, row.first) for b in live)
                for bad, target in both.moves(row.config, (left, right)):
                    length = depth + (F.length[following] if following else 0)
                    if bad and (best is None or length < best):
                        best, end = length, (row, following)
                    if bad or following is None:
                        continue
                    if (next_row := SearchRow(False, target, following)) not in parents:
                        parents[next_row] = row
                        after.append(next_row)
        level, depth = after, depth + 1
    return None if end is None else _path(F, parents, *end)


def _path(
    F: Future, parents: dict[SearchRow, SearchRow | None], row: SearchRow, following: Rest | None
) -> list[int]:
    """The nodes up to a row, and the shortest rest."""
    path: list[int] = []
    at: SearchRow | None = row
    while at is not None:
        path.append(at.rest.node)
        at = parents[at]
    path.reverse()
    while following is not None:
        path.append(following.node)
        shorter = F.length[following] - 1
        following = next(f for f in F.following[following] if (F.length[f] if f else 0) == shorter)
    return path


def _limit(count: int) -> None:
    poll()
    if count > MAX_NODES:
        message = f"the question has more than {MAX_NODES:,} configurations"
        raise ResourceLimit("CER0694", message, hint="give fewer rows, or smaller bounds")
