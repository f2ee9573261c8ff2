"""Decisions about row patterns on all tables, with a shortest table as witness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from cerlab.automata.explore import reachable
from cerlab.errors import ResourceLimit, UsageError, keywords_by_name, nearest
from cerlab.rows import syntax as rp
from cerlab.rows.compile import machine, partitions, prioritised_automaton, search_of
from cerlab.rows.machine import Letter, LiveSets, step_table
from cerlab.rows.recognise import RowQuery, Rows, read_patterns
from cerlab.rows.table_graphs import (
    Row,
    RowGraph,
    cell,
    columns_of,
    conditions_of,
    of_all,
    of_rows,
    undecidable,
)
from cerlab.rows.text import pattern_text
from cerlab.rows.types import Binding

Same: TypeAlias = Literal["labels", "matches", "rows"]
"""The observation to compare: `labels`, the matches with their labels (visible by CLASSIFIER);
`matches`, regardless of labels; or `rows`, the set of rows in some match."""


class Found(NamedTuple):
    """A match, or a row in a match, that only one of two patterns has.

    Its rows are from `start` to `end`; an empty match has no rows, and begins at both.
    """

    side: Literal["left", "right"]
    start: int
    end: int
    rows: tuple[int, ...]
    words: str
    """The labels that differ, in words; empty if the matches differ in more than labels."""


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """The answer to a question about all tables, with a shortest counterexample."""

    holds: bool
    table: list[Row] | None = None
    found: Found | None = None

    def __bool__(self) -> bool:
        return self.holds


def equivalent(
    left: RowQuery, right: RowQuery, *, same: Same = "labels", rows: Rows = None
) -> RowVerdict:
    """Decide whether two row patterns have equal matches on every table, or every table of `rows`.

    Raises `Unsupported` if the clauses are outside the decidable ones, and `ResourceLimit`.
    """

    def bad(a: ScanStep, b: ScanStep) -> bool:
        return observation(a, same) != observation(b, same)

    return _decide(read_patterns(rows, left, right), same, rows, bad, ("left", "right"))


def contained(
    left: RowQuery, right: RowQuery, *, same: Same = "labels", rows: Rows = None
) -> RowVerdict:
    """Decide whether the right pattern has every match of the left one."""

    def bad(a: ScanStep, b: ScanStep) -> bool:
        if same == "rows":
            return a.label is not None and b.label is None
        if a.ends > b.ends or a.empty > b.empty or a.begins > b.begins:
            return True
        if a.label is None:
            return False
        return b.begins != a.begins or observation(a, same)[-1] != observation(b, same)[-1]

    return _decide(read_patterns(rows, left, right), same, rows, bad, ("left",))


def satisfiable(query: RowQuery, *, rows: Rows = None) -> RowVerdict:
    """Decide whether a row pattern has a nonempty match, with a shortest table."""
    (pattern,) = read_patterns(rows, query)
    verdict = contained(
        pattern, replace(pattern, pattern=_NOTHING, define=()), same="rows", rows=rows
    )
    if verdict.table is None:
        return RowVerdict(False)
    found = next((s, labels) for s, labels in _matches_on(pattern, verdict.table) if labels)
    return RowVerdict(True, verdict.table, _found("left", *found))


_NOTHING = rp.Concat((rp.Variable("A"), rp.PartitionStart()))
"""A pattern that no row matches."""


@keywords_by_name
def row_remarks(query: RowQuery, *, rows: Rows = None) -> list[str]:
    """Return warnings about parts of a row pattern that have no effect on any table.

    Remarks name conditions that never or always hold, quantifiers that could be greedy or reluctant
    alike, and a pattern without matches.
    """
    (pattern,) = read_patterns(rows, query)
    graph = _graph_of((pattern,), rows)
    remarks = []
    for definition in pattern.define:
        holds = {(0, definition.variable) in letter for letter in graph.letters}
        if len(holds) == 1:
            how = "always" if True in holds else "never"
            remarks.append(f"the condition of {definition.variable} {how} holds")
    if not satisfiable(pattern, rows=rows):
        return [*remarks, "no table has a match"]
    for part, variant in reluctance_variants(pattern.pattern):
        if equivalent(pattern, replace(pattern, pattern=variant), rows=rows):
            words = "reluctant or greedy" if part.reluctant else "greedy or reluctant"
            remarks.append(f"{pattern_text(part)} is the same, {words}")
    return remarks


def _graph_of(queries: Sequence[rp.RowPattern], rows: Rows) -> RowGraph:
    """Return the graph of all tables, or of the tables with the given rows."""
    conditions = conditions_of(queries)
    return of_all(conditions) if rows is None else of_rows(conditions, [dict(row) for row in rows])


def reluctance_variants(p: rp.Pattern) -> Iterator[tuple[rp.Repetition, rp.Pattern]]:
    """Yield each quantifier, and the pattern with it greedy instead of reluctant or vice versa."""
    if isinstance(p, rp.Repetition):
        yield p, replace(p, reluctant=not p.reluctant)
    below = rp.children(p)
    for i, part in enumerate(below):
        for quantifier, variant in reluctance_variants(part):
            if isinstance(p, rp.Concat | rp.Alternation | rp.Permute):
                yield quantifier, type(p)((*below[:i], variant, *below[i + 1 :]))
            elif isinstance(p, rp.Repetition | rp.Exclusion):
                yield quantifier, replace(p, body=variant)


def observation(step: ScanStep, same: Same) -> tuple[object, ...]:
    """Return the part of a scan's step that must be equal in equivalent patterns."""
    is_mapped = step.label is not None
    if same == "rows":
        return (is_mapped,)
    return step.empty, step.begins, step.label if same == "labels" else is_mapped


def _decide(
    queries: Sequence[rp.RowPattern],
    same: Same,
    rows: Rows,
    bad: Bad,
    sides: Sequence[Literal["left", "right"]],
) -> RowVerdict:
    if same not in get_args(Same):
        hint = nearest(same, get_args(Same))
        raise UsageError("CER0858", f"same is '{same}'", hint=hint or "labels, matches or rows")
    left, right = queries
    _check_scans(left, right)
    conditions = conditions_of((left, right))
    _check_keys(left, {c.name.casefold() for e in conditions.values() for c in columns_of(e)})
    graph = _graph_of((left, right), rows)
    both = Side(left, 0, graph), Side(right, 1, graph)
    # matches overlap under SKIP TO NEXT ROW: follow each start, or the covered rows
    overlapping = COVERS if same == "rows" else STARTS
    joint = SCANS if isinstance(left.skip, rp.PastLastRow) else overlapping
    path = shortest_path(graph, both, bad, joint)
    if path is None:
        return RowVerdict(True)
    table = _with_keys(left, graph.rows(path))
    return RowVerdict(False, table, _difference(left, right, table, same, sides))


def _difference(
    left: rp.RowPattern,
    right: rp.RowPattern,
    table: list[Row],
    same: Same,
    sides: Sequence[Literal["left", "right"]],
) -> Found:
    """Return a match, or a row, that only one pattern finds on a table."""
    matches = {"left": _matches_on(left, table), "right": _matches_on(right, table)}
    for side in sides:
        ours, others = matches[side], matches["right" if side == "left" else "left"]
        theirs = {place for match in others for place in _places(*match, same)}
        for s, labels in ours:
            missing = [place for place in _places(s, labels, same) if place not in theirs]
            if missing and same == "rows":
                return Found(side, missing[0][0], missing[0][0], missing[0], "")
            if missing:
                twin = next((m for at, m in others if at == s and len(m) == len(labels)), labels)
                return _found(side, s, labels, twin)
    raise AssertionError("the decision and the search disagree on a table")


def _places(s: int, labels: Sequence[str], same: Same) -> list[tuple[Any, ...]]:
    """Return what must be equal in two matches: their rows, their extent, or their labels."""
    if same == "rows":
        return [(s + i,) for i in range(len(labels))]
    return [(s, len(labels), *(labels if same == "labels" else ()))]


def _found(
    side: Literal["left", "right"], s: int, labels: Sequence[str], twin: Sequence[str] = ()
) -> Found:
    """Return a match as `Found`; `twin` are the other pattern's labels of its rows."""
    words = ""
    for j, (ours, theirs) in enumerate(zip(labels, twin, strict=False)):
        if ours != theirs:
            left, right = (ours, theirs) if side == "left" else (theirs, ours)
            words = f"row {s + j} is {left} on the left, {right} on the right"
            break
    return Found(side, s, s + max(len(labels), 1) - 1, tuple(range(s, s + len(labels))), words)


def _matches_on(query: rp.RowPattern, table: Sequence[Row]) -> list[tuple[int, tuple[str, ...]]]:
    """Return the matches on a table of one partition, as (start, labels)."""
    keys = [*query.partition_by, *(item.column for item in query.order_by)]
    read = [c for definition in query.define for c in columns_of(definition.condition)]
    names = {column.name: column.name for column in (*keys, *read)}
    columns = {name: [cell(row, name) for row in table] for name in names}
    M = machine(replace(query, measures=()), Binding(names, ()))
    (positions,) = partitions(M, columns, len(table))
    results = search_of(M, columns, positions).scan()
    return [(r.s, tuple(r.labels)) for r in results if r.labels is not None]


def _check_scans(left: rp.RowPattern, right: rp.RowPattern) -> None:
    """Raise `Unsupported` if clauses differ or do not permit a comparison of scans."""
    for name in ("partition_by", "order_by", "skip"):
        if getattr(left, name) != getattr(right, name):
            text = name.replace("_", " ").upper()
            raise undecidable(f"{text} is not the same in both", "make it the same")
    if not isinstance(left.skip, rp.PastLastRow | rp.ToNextRow):
        raise undecidable("SKIP TO a variable", "use PAST LAST ROW or TO NEXT ROW")
    if left.within is not None or right.within is not None:
        raise undecidable("WITHIN", "leave it out")


def _check_keys(query: rp.RowPattern, columns: set[str]) -> None:
    for column in (*query.partition_by, *(item.column for item in query.order_by)):
        if column.name.casefold() in columns:
            raise undecidable(f"a condition reads the key {column.name}", "read another column")


def _with_keys(query: rp.RowPattern, rows: list[Row]) -> list[Row]:
    """Return the rows as one partition, with keys that put them in order."""
    keys: list[Row] = []
    for i in range(len(rows)):
        partition: Row = {column.name: 0 for column in query.partition_by}
        order: Row = {item.column.name: -i if item.descending else i for item in query.order_by}
        keys.append(partition | order)
    return [key | row for key, row in zip(keys, rows, strict=True)]


MAX_NODES = 200_000
"""The most nodes and configurations that a search may visit."""


class ScanStep(NamedTuple):
    """The step of a scan at a row: whether a match ends, is empty, begins, and the row's label."""

    ends: bool = False
    """True if the match in progress ends before the row."""
    empty: bool = False
    """True if an empty match begins."""
    begins: bool = False
    """True if a match begins that maps the row."""
    label: str | None = None
    """The variable that the row is mapped to, or None."""


class Side:
    """One of two scans that are compared; its state is the state of its current match, or None."""

    def __init__(self, query: rp.RowPattern, number: int, graph: RowGraph) -> None:
        table = step_table(prioritised_automaton(query.pattern))
        if table is None:
            raise undecidable("a pattern has too many states")
        self.query, self.live = query, LiveSets(table)
        self.letters: list[Letter] = [
            frozenset(v for side, v in letter if side == number) for letter in graph.letters
        ]

    def before(self, following: int, node: int) -> int:
        """Return the live states at a row, given those at the next row."""
        return self.live.before(following, self.letters[node])

    def go_on(self, q: int, R: SideRow) -> tuple[str | None, int | None]:
        """Continue a match: return the row's label and the next state; (None, None) at its end."""
        step = self.live.step(q, self.letters[R.node], R.following)
        return (None, None) if step is None else (step.variable, step.target)

    def begin(self, R: SideRow) -> tuple[ScanStep, int | None]:
        """Try to begin a match at a row: return the step and the next state."""
        q = self.live.table.first_row if R.first else 0
        if not self.live.lives(self.before(R.following, R.node), q):
            return ScanStep(), None
        label, target = self.go_on(q, R)
        return ScanStep(empty=label is None, begins=label is not None, label=label), target

    def scan(self, q: int | None, R: SideRow) -> tuple[ScanStep, int | None]:
        """Read one row with AFTER MATCH SKIP PAST LAST ROW; return the step and the next state."""
        if q is None:
            return self.begin(R)
        label, target = self.go_on(q, R)
        if label is not None:
            return ScanStep(label=label), target
        step, target = self.begin(R)
        return step._replace(ends=True), target


class SideRow(NamedTuple):
    """A row in the search for a difference, as one of the scans reads it."""

    node: int
    following: int
    first: bool


Sides: TypeAlias = tuple[Side, Side]
Bad: TypeAlias = Callable[[ScanStep, ScanStep], bool]
"""The test whether the steps of the two scans at a row are a difference."""

Moves: TypeAlias = Iterator[tuple[bool, Hashable]]
"""Pairs of one configuration at a row: whether it shows a difference, and its successor."""


class Joint(NamedTuple):
    """A comparison of two scans: the initial configuration, and the moves at a row."""

    initial: Hashable
    moves: Callable[[Sides, Bad, Any, tuple[SideRow, SideRow]], Moves]


def scans(sides: Sides, bad: Bad, config: Any, at: tuple[SideRow, SideRow]) -> Moves:
    """Yield the only move of a pair of scans that continue after the last row of a match."""
    (left, p), (right, q) = (
        side.scan(state, R) for side, state, R in zip(sides, config, at, strict=True)
    )
    yield bad(left, right), (p, q)


def starts(sides: Sides, bad: Bad, config: Any, at: tuple[SideRow, SideRow]) -> Moves:
    """Yield the moves of two scans for one start: skip the row, or begin a match there.

    A configuration is the state of each match, None before the start.
    """
    if config is None:
        yield False, None
        steps = [side.begin(R) for side, R in zip(sides, at, strict=True)]
    else:
        steps = [
            (ScanStep(ends=label is None, label=label), q)
            for label, q in (
                (None, None) if state is None else side.go_on(state, R)
                for side, state, R in zip(sides, config, at, strict=True)
            )
        ]
    (left, p), (right, q) = steps
    is_bad = bad(left, right)
    if is_bad or (p is not None and (config is None or not left.ends)):
        yield is_bad, (p, q)


def covers(sides: Sides, bad: Bad, config: Any, at: tuple[SideRow, SideRow]) -> Moves:
    """Yield the only move of a pair of scans that start a match at every row.

    Each side has the set of states of the row's matches.
    """
    steps, after = [], []
    for side, states, R in zip(sides, config, at, strict=True):
        step, target = side.begin(R)
        going = {side.go_on(q, R)[1] for q in states} | {target}
        after.append(frozenset(q for q in going if q is not None))
        steps.append(step._replace(label="" if after[-1] else None))
    yield bad(*steps), tuple(after)


SCANS, STARTS = Joint((None, None), scans), Joint(None, starts)
COVERS = Joint((frozenset(), frozenset()), covers)


class Rest(NamedTuple):
    """A node of the graph of rows, with the live states of both scans there."""

    node: int
    live: tuple[int, ...]


def _futures(G: RowGraph, sides: Sides) -> dict[Rest, list[Rest | None]]:
    """Return the successors of each node; live states of both scans are part of a node.

    None ends the table.
    """
    preceding: list[list[int]] = [[] for _ in G.letters]
    for n, nexts in enumerate(G.following):
        for m in nexts:
            preceding[m].append(n)
    following: dict[Rest, list[Rest | None]] = {}

    def before(after: Rest | None) -> Iterator[Rest]:
        _limit(len(following))
        for n in preceding[after.node] if after else sorted(G.last):
            live = (side.before(b, n) for side, b in zip(sides, _live(after), strict=True))
            rest = Rest(n, tuple(live))
            following.setdefault(rest, []).append(after)
            yield rest

    deque(reachable([None], before), maxlen=0)
    return following


def _live(rest: Rest | None) -> tuple[int, ...]:
    return rest.live if rest else (0, 0)


class SearchRow(NamedTuple):
    """A node of the search for a difference."""

    first: bool
    config: Hashable
    rest: Rest | None


_DIFFERENT = "different"
"""The configuration after a difference: the table may end in any way."""

_FOUND = SearchRow(False, _DIFFERENT, None)


def shortest_path(G: RowGraph, sides: Sides, is_bad: Bad, joint: Joint) -> list[int] | None:
    """Return the nodes of a shortest table on which the scans differ, or None."""
    following, first = _futures(G, sides), frozenset(G.first)
    parents: dict[SearchRow, SearchRow] = {}

    def after(row: SearchRow) -> Iterator[SearchRow]:
        _limit(len(parents))
        assert row.rest is not None  # the table may end here
        for rest in following[row.rest]:
            if row.config is _DIFFERENT:
                moves: Iterable[tuple[bool, Hashable]] = [(True, None)]
            else:
                left, right = (SideRow(row.rest.node, b, row.first) for b in _live(rest))
                moves = joint.moves(sides, is_bad, row.config, (left, right))
            for bad, target in moves:
                if bad or rest is not None:
                    next_row = SearchRow(False, _DIFFERENT if bad else target, rest)
                    parents.setdefault(next_row, row)
                    yield next_row

    start = [SearchRow(True, joint.initial, rest) for rest in following if rest.node in first]
    for _ in reachable(start, after):
        if _FOUND in parents:
            return _path(parents)
    return None


def _path(parents: Mapping[SearchRow, SearchRow]) -> list[int]:
    path, row = list[int](), _FOUND
    while not row.first:
        row = parents[row]
        assert row.rest is not None
        path.append(row.rest.node)
    return path[::-1]


def _limit(count: int) -> None:
    if count > MAX_NODES:
        message = f"the question has more than {MAX_NODES:,} configurations"
        raise ResourceLimit("CER0694", message, hint="give fewer rows, or smaller bounds")
