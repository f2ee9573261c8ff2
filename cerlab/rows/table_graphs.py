"""Graphs whose paths are all possible tables, for questions about all tables.

A letter is the set of variables whose conditions hold at a row. Over a list of rows, a node is
a row with as many neighbours as conditions read. Over all tables, where conditions only compare,
a column's values fall into regions: a constant, the open interval between two, NULL, or another
text. A node is the region of each column, the region at the row before if that is read, and the
order of the two values: conditions distinguish no more. Numbers are dense, so every sequence of
compatible regions is realised by a table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple, TypeAlias

from cerlab.automata.explore import coarsest
from cerlab.errors import Unsupported
from cerlab.model.event import Duration, Timestamp, Value, to_value
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.interpreter import at_row, of_row
from cerlab.rows.machine import GrowingMapping

Row: TypeAlias = dict[str, Value]

SideVariable: TypeAlias = tuple[int, str]
"""A variable of the first query or of the second."""


@dataclass(frozen=True, slots=True)
class RowGraph:
    """A graph of rows; each path from a first to a last row is a table."""

    letters: tuple[frozenset[SideVariable], ...]
    following: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    last: frozenset[int]
    rows: Callable[[Sequence[int]], list[Row]]
    """The function from a path to its table."""


Conditions: TypeAlias = Mapping[SideVariable, ex.Expression]


def conditions_of(queries: Sequence[rp.RowPattern]) -> dict[SideVariable, ex.Expression]:
    """Return the conditions of all variables; a variable without one is always true.

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
    """Return the error that a question about all tables cannot be decided."""
    return Unsupported("CER0453", f"this is not decided: {why}", hint=hint)


def letter_at(conditions: Conditions, rows: Sequence[Row], i: int) -> frozenset[SideVariable]:
    """Return the variables whose conditions hold on a row of a table."""
    names = {c.name for e in conditions.values() for c in columns_of(e)}
    columns = {name: [cell(row, name) for row in rows] for name in names}
    table = GrowingMapping(columns, len(rows), {})
    same = {name: name for name in names}
    return frozenset(v for v, e in conditions.items() if at_row(e, same)(table, i) is True)


def cell(row: Row, name: str) -> Value:
    """Return the value of a column by its exact name, or by its name ignoring case."""
    if name in row:
        return to_value(row[name], name)
    return next(to_value(v, c) for c, v in row.items() if c.casefold() == name.casefold())


def columns_of(e: ex.Expression) -> Iterator[ex.Column]:
    """Yield the columns that an expression reads."""
    yield from (part for part in ex.subexpressions(e) if isinstance(part, ex.Column))


def of_rows(conditions: Conditions, rows: Sequence[Row]) -> RowGraph:
    """Return the graph of all tables that consist of the given rows."""
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
    """Return the graph with equivalent nodes merged: all paths from them have equal letters."""
    nodes, first, kinds = range(len(G.letters)), frozenset(G.first), dict[Hashable, int]()
    kind = {n: kinds.setdefault((G.letters[n], n in first, n in G.last), len(kinds)) for n in nodes}
    block = coarsest(kind, lambda n, block: frozenset(block[m] for m in G.following[n]))
    node_of_block = {block[n]: n for n in reversed(nodes)}

    def rows(path: Sequence[int]) -> list[Row]:
        """Return a table for a path of merged nodes."""
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
    """Yield windows of row numbers, with None before the first and after the last row."""
    for before in range(back + 1):
        for after in range(ahead + 1):
            for there in product(range(count), repeat=before + 1 + after):
                yield (*[None] * (back - before), *there, *[None] * (ahead - after))


def _ends(node: Window, back: int) -> bool:
    return len(node) == back + 1 or node[back + 1] is None


_ORDER = frozenset(ex.ComparisonOperator) - {ex.ComparisonOperator.EQ, ex.ComparisonOperator.NE}


class Region(NamedTuple):
    """A set of values: one value (``is``), an interval (``between``), or all ``other`` texts."""

    kind: Literal["is", "between", "other"]
    low: Any = None
    high: Any = None


Relation: TypeAlias = Literal["<", "=", ">", "<>", ""]

_RELATIONS: dict[str, tuple[Relation, ...]] = {
    "is": ("",),
    "between": ("<", "=", ">"),
    "other": ("=", "<>"),
}


class Place(NamedTuple):
    """The region of a column's value in a row, and in the row before if PREV reads it."""

    region: Region
    before: Region | None = None
    relation: Relation = ""


class Node(NamedTuple):
    """A node: the region of each column's value, and whether it is a first row."""

    first: bool
    places: tuple[Place, ...]


def of_all(conditions: Conditions) -> RowGraph:
    """Return the graph of all tables; raise `Unsupported` if conditions do more than compare."""
    prev_columns = set[str]()
    constants: dict[str, set[Any]] = {}
    for e in conditions.values():
        for column in columns_of(e):
            constants.setdefault(column.name.casefold(), set())
        for name, constant in _constants(e, prev_columns):
            constants.setdefault(name, set()).add(constant)
    spellings = {c.name.casefold(): c.name for e in conditions.values() for c in columns_of(e)}
    with_order = {n for e in conditions.values() for n in _order_columns(e)}
    names = tuple(constants)
    regions = [_regions(name, constants[name], name in with_order) for name in names]
    nodes = [
        Node(first, places)
        for first in ((True, False) if prev_columns else (True,))
        for places in product(
            *(
                _places(each, steps=name in prev_columns and not first)
                for name, each in zip(names, regions, strict=True)
            )
        )
    ]
    columns = [spellings[name] for name in names]
    by_regions: dict[tuple[Region | None, ...], list[int]] = {}
    for k, node in enumerate(nodes):
        if not prev_columns or not node.first:
            by_regions.setdefault(tuple(place.before for place in node.places), []).append(k)
    following = []
    for node in nodes:
        own = tuple(
            place.region if name in prev_columns else None
            for name, place in zip(names, node.places, strict=True)
        )
        following.append(tuple(by_regions.get(own, ())))
    return quotient(
        RowGraph(
            tuple(_letter(conditions, columns, node) for node in nodes),
            tuple(following),
            tuple(k for k, node in enumerate(nodes) if node.first),
            frozenset(range(len(nodes))),
            lambda path: _table(columns, [nodes[k] for k in path]),
        )
    )


def _constants(e: ex.Expression, prev_columns: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield the constants compared with each column; add columns of PREV to `prev_columns`."""
    match e:
        case ex.And(left, right) | ex.Or(left, right):
            yield from (*_constants(left, prev_columns), *_constants(right, prev_columns))
        case ex.Not(body):
            yield from _constants(body, prev_columns)
        case ex.Is(body, truth):
            if (name := _operand(body, prev_columns)) is None:
                yield from _constants(body, prev_columns)
            elif truth is not None:
                yield name, truth
        case ex.Comparison(_, left, right):
            yield from _pair(left, right, prev_columns)
        case ex.In(body, members):
            for member in members:
                yield from _pair(body, member, prev_columns)
        case ex.Between(body, low, high):
            yield from (*_pair(body, low, prev_columns), *_pair(body, high, prev_columns))
        case ex.Literal():
            return
        case _:
            if (name := _operand(e, prev_columns)) is None:
                raise _more_than_comparing(e)
            yield name, True


def _pair(
    left: ex.Expression, right: ex.Expression, prev_columns: set[str]
) -> Iterator[tuple[str, Any]]:
    one, other = _operand(left, prev_columns), _operand(right, prev_columns)
    for name, e in ((one, right), (other, left)):
        if name is not None and isinstance(e, ex.Literal):
            if e.value is not None:
                yield name, e.value
        elif name is None and not isinstance(left if e is right else right, ex.Literal):
            raise _more_than_comparing(left if e is right else right)
    if one is not None and other is not None and one != other:
        raise undecidable(f"it compares the columns {one} and {other}", _GIVE)


def _operand(e: ex.Expression, prev_columns: set[str]) -> str | None:
    """Return the column that an operand reads, in its row or by PREV; None for others."""
    match e:
        case ex.Column(name) | ex.Prev(ex.Column(name), 0) | ex.Next(ex.Column(name), 0):
            return name.casefold()
        case ex.Prev(ex.Column(name), 1):
            prev_columns.add(name.casefold())
            return name.casefold()
        case _:
            return None


_GIVE = "give the rows there may be, as rows=[{..}, ..]"


def _more_than_comparing(e: ex.Expression) -> Exception:
    from cerlab.rows.text import expression_text

    return undecidable(f"{expression_text(e)} is not a comparison with constants or PREV", _GIVE)


def _order_columns(e: ex.Expression) -> Iterator[str]:
    """Yield the columns compared by ``<``, ``>`` and similar operators."""
    for part in ex.subexpressions(e):
        if isinstance(part, ex.Between) or (
            isinstance(part, ex.Comparison) and part.operator in _ORDER
        ):
            yield from (
                c.name.casefold() for c in ex.subexpressions(part) if isinstance(c, ex.Column)
            )


def _regions(name: str, constants: set[Any], has_order: bool) -> list[Region]:
    kinds = {
        bool if isinstance(c, bool) else str if isinstance(c, str) else float for c in constants
    }
    absent = Region("is", None)
    if any(isinstance(constant, Timestamp | Duration) for constant in constants):
        raise undecidable(f"column {name} is compared with moments or durations", _GIVE)
    if len(kinds) > 1 or any(not isinstance(c, bool | str | int | float) for c in constants):
        raise undecidable(f"column {name} is compared with constants of different kinds", _GIVE)
    if kinds == {bool}:
        return [Region("is", False), Region("is", True), absent]
    if kinds == {str}:
        if has_order:
            raise undecidable(f"the texts of column {name} are compared by their order", _GIVE)
        return [*(Region("is", c) for c in sorted(constants)), Region("other"), absent]
    values = sorted(constants)
    # NULL is a region too, since only IS NULL is true for it
    ends = [None, *values, None]
    open_ones = [Region("between", low, high) for low, high in pairwise(ends)]
    return [*(Region("is", c) for c in values), *open_ones, absent]


def _places(regions: Sequence[Region], *, steps: bool) -> list[Place]:
    if not steps:
        return [Place(region) for region in regions]
    places = []
    for region, before in product(regions, regions):
        # values of different regions compare like their regions
        relations: tuple[Relation, ...] = ("",)
        if region == before:
            relations = _RELATIONS[region.kind]
        places += [Place(region, before, relation) for relation in relations]
    return places


def _letter(conditions: Conditions, columns: Sequence[str], node: Node) -> Any:
    """Return the variables whose conditions hold on a node."""
    before: Row = {}
    for name, place in zip(columns, node.places, strict=True):
        before[name] = _some(place.before or place.region)
    own = _next_row(columns, before, node)
    rows = [own] if node.first else [before, own]
    return letter_at(conditions, rows, len(rows) - 1)


def _table(columns: Sequence[str], path: Sequence[Node]) -> list[Row]:
    rows: list[Row] = []
    for node in path:
        rows.append(_next_row(columns, rows[-1] if rows else {}, node))
    return rows


def _next_row(columns: Sequence[str], before: Mapping[str, Any], node: Node) -> Row:
    return {
        name: _value(place, before.get(name))
        for name, place in zip(columns, node.places, strict=True)
    }


def _value(place: Place, before: Any) -> Any:
    region = place.region
    match place.relation:
        case "=":
            return before
        # between any two numbers there is another
        case ">":
            return before + 1 if region.high is None else (before + region.high) / 2
        case "<":
            return before - 1 if region.low is None else (before + region.low) / 2
        case "<>":
            return f"{before}'"
        case _:
            return _some(region)


def _some(region: Region) -> Any:
    """Return some value in a region."""
    match region.kind:
        case "is":
            return region.low
        case "other":
            return "(another)"
        case _:
            if region.low is None:
                return 0 if region.high is None else region.high - 1
            return region.low + 1 if region.high is None else (region.low + region.high) / 2
