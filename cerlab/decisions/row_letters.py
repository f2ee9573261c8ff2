"""What rows there can be, for questions about all tables: a graph of rows, each with its letter.

A letter is the set of variables whose conditions hold at a row. Over a list of rows, a node is
a row with as many neighbours as conditions read; over all tables see `row_regions`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from cerlab.automata.partition import coarsest
from cerlab.compile.row_expressions import at_row, of_row
from cerlab.engine.row_search import GrowingMapping
from cerlab.errors import Unsupported
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.model.event import Value

Row: TypeAlias = dict[str, Value]
SideVariable: TypeAlias = tuple[int, str]
"""A variable of the first query or of the second."""


@dataclass(frozen=True, slots=True)
class RowGraph:
    """Rows and which may follow which; every path from a first to a last one is a table."""

    letters: tuple[frozenset[SideVariable], ...]
    following: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    last: frozenset[int]
    rows: Callable[[Sequence[int]], list[Row]]
    """The table of a path."""


Conditions: TypeAlias = Mapping[SideVariable, ex.Expression]


def conditions_of(queries: Sequence[rp.RowPattern]) -> dict[SideVariable, ex.Expression]:
    """The conditions of all variables; one that a query does not define is true.

    Raises `Unsupported` for conditions that read other rows of the match.
    """
    conditions: dict[SideVariable, ex.Expression] = {}
    for side, query in enumerate(queries):
        sets = rp.members(query)
        definitions = {d.variable: d.condition for d in query.define}
        for v in rp.variables(query.pattern):
            e = definitions.get(v, ex.Literal(True))
            if not of_row(e, frozenset(x for x, members in sets.items() if v in members)):
                raise undecidable(f"the condition of {v} reads other rows of the match")
            conditions[side, v] = e
    return conditions


def undecidable(why: str, hint: str = "compare them on tables: match_recognize") -> Unsupported:
    """The error that a question is not decided."""
    return Unsupported("CER0453", f"this is not decided: {why}", hint=hint)


def letter_at(conditions: Conditions, rows: Sequence[Row], i: int) -> frozenset[SideVariable]:
    """The variables that hold at a row of a table."""
    names = {c.name for e in conditions.values() for c in columns_of(e)}
    columns = {name: [_value(row, name) for row in rows] for name in names}
    table = GrowingMapping(columns, len(rows), {})
    same = {name: name for name in names}
    return frozenset(v for v, e in conditions.items() if at_row(e, same)(table, i) is True)


def _value(row: Row, name: str) -> Value:
    """A column by its name, else by one that agrees but for case."""
    if name in row:
        return row[name]
    return next(v for c, v in row.items() if c.casefold() == name.casefold())


def columns_of(e: ex.Expression) -> Iterator[ex.Column]:
    """The columns that an expression reads."""
    yield from (part for part in ex.subexpressions(e) if isinstance(part, ex.Column))


def of_rows(conditions: Conditions, rows: Sequence[Row]) -> RowGraph:
    """The tables of which every row is one of these."""
    steps = [p for e in conditions.values() for p in ex.subexpressions(e)]
    back = max((p.offset for p in steps if isinstance(p, ex.Prev)), default=0)
    ahead = max((p.offset for p in steps if isinstance(p, ex.Next)), default=0)
    nodes = list(_windows(len(rows), back, ahead))
    number = {node: k for k, node in enumerate(nodes)}
    letters, following = [], []
    for node in nodes:
        there = [rows[k] for k in node if k is not None]
        before = sum(k is not None for k in node[:back])
        letters.append(letter_at(conditions, there, before))
        nexts = [(*node[1:], k) for k in (*range(len(rows)), None)]
        following.append(tuple(number[n] for n in nexts if n in number))
    first = tuple(k for k, node in enumerate(nodes) if all(r is None for r in node[:back]))
    last = frozenset(k for k, node in enumerate(nodes) if _ends(node, back))
    return quotient(
        RowGraph(
            tuple(letters),
            tuple(following),
            first,
            last,
            lambda path: [dict(rows[_own(nodes[k], back)]) for k in path],
        )
    )


def quotient(G: RowGraph) -> RowGraph:
    """The graph with nodes made one that have the same letters for ever."""
    nodes, first, kinds = range(len(G.letters)), frozenset(G.first), dict[Hashable, int]()
    kind = {n: kinds.setdefault((G.letters[n], n in first, n in G.last), len(kinds)) for n in nodes}
    block = coarsest(kind, lambda n, block: frozenset(block[m] for m in G.following[n]))
    node_of_block = {block[n]: n for n in reversed(nodes)}

    def rows(path: Sequence[int]) -> list[Row]:
        """Of a path of blocks: that of nodes that follow each other."""
        at = [n for n in nodes if block[n] == path[0]][:1] if path else []
        for b in path[1:]:
            at.append(next(m for m in G.following[at[-1]] if block[m] == b))
        return G.rows(at)

    return RowGraph(
        tuple(G.letters[node_of_block[b]] for b in range(len(node_of_block))),
        tuple(
            tuple(dict.fromkeys(block[m] for m in G.following[node_of_block[b]]))
            for b in range(len(node_of_block))
        ),
        tuple(dict.fromkeys(block[n] for n in G.first)),
        frozenset(block[n] for n in G.last),
        rows,
    )


Window: TypeAlias = tuple[int | None, ...]


def _own(node: Window, back: int) -> int:
    own = node[back]
    assert own is not None
    return own


def _windows(count: int, back: int, ahead: int) -> Iterator[Window]:
    """Rows with neighbours: none before the first row, none after the last."""
    for before in range(back + 1):
        for after in range(ahead + 1):
            for there in product(range(count), repeat=before + 1 + after):
                yield (*[None] * (back - before), *there, *[None] * (ahead - after))


def _ends(node: Window, back: int) -> bool:
    return len(node) == back + 1 or node[back + 1] is None
