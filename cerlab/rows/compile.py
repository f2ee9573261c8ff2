"""Row patterns compiled to automata whose transitions have an order of preference.

A macro-state is the rest of the pattern: a stack of patterns and of loops in progress, each with
the number of its finished iterations and whether the last iteration has mapped a row. Two runs in
one macro-state at one row have the same future, so the first one found is preferred.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias, assert_never

from cerlab.budget import TRANSITION, spend, step_budget
from cerlab.errors import BadData, DataPlace
from cerlab.model.clauses import TimeWindow
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.interpreter import (
    OfMapping,
    Register,
    at_row,
    of_mapping,
    of_row,
    registers_of,
    registers_read,
)
from cerlab.rows.machine import (
    ACCEPT,
    Accept,
    GrowingMapping,
    Memory,
    Open,
    PrioritisedAutomaton,
    ScanResult,
    Search,
)
from cerlab.rows.syntax import CODES, RowPattern
from cerlab.rows.types import Binding


class Todo(NamedTuple):
    """A part of the pattern that is still to be matched; `is_excluded`: inside ``{- -}``."""

    pattern: rp.Pattern
    is_excluded: bool


class Loop(NamedTuple):
    """A quantifier after `iterations` repetitions of its body.

    `has_mapped`: the last round has mapped a row.
    """

    pattern: rp.Repetition
    is_excluded: bool
    iterations: int
    has_mapped: bool


Stack: TypeAlias = tuple[Todo | Loop, ...]


def prioritised_automaton(p: rp.Pattern, *, every: bool = False) -> PrioritisedAutomaton[Stack]:
    """Return an automaton whose preferred accepting run from a row is the match there.

    With `every`, it also has the steps that are preferred less than accepting.
    """
    return PrioritisedAutomaton((Todo(p, False),), partial(follow, every=every))


def follow(
    w: Stack, at_start: bool, at_end: bool, *, every: bool = False
) -> tuple[Open[Stack] | Accept, ...]:
    """Return the steps of a stack of patterns, in order of preference.

    Choices that map no row are explored in order, depth first. A macro-state that was found before
    is skipped: its future is the same and its choices come later.
    """
    with step_budget("the automaton of a row pattern", "make bounds smaller", own=1):
        return _steps(w, at_start, at_end, every=every)


def _steps(
    w: Stack, at_start: bool, at_end: bool, *, every: bool
) -> tuple[Open[Stack] | Accept, ...]:
    steps: list[Open[Stack] | Accept] = []
    visited_stacks = set[Stack]()
    pending = [w]
    while pending:
        spend(TRANSITION)
        w = pending.pop()
        # an equal stack found later has equal steps, and is preferred less
        if w in visited_stacks:
            continue
        visited_stacks.add(w)
        if not w:
            steps.append(ACCEPT)
            # accepting always succeeds, so later steps are never tried
            if not every:
                break
            continue
        head, rest = w[0], w[1:]
        if isinstance(head, Todo) and isinstance(head.pattern, rp.Variable):
            steps.append(Open(head.pattern.name, head.is_excluded, _after_row(rest)))
        else:
            pending.extend(reversed(choices_of(head, rest, at_start, at_end)))
    return tuple(steps)


def _after_row(w: Stack) -> Stack:
    """Return the stack after a row was read: each loop on it has then read a row."""
    return tuple(each._replace(has_mapped=True) if isinstance(each, Loop) else each for each in w)


def choices_of(head: Todo | Loop, rest: Stack, at_start: bool, at_end: bool) -> list[Stack]:
    """Return the stacks that result from one step of the first item, in order of preference."""
    if isinstance(head, Loop):
        return iterations_of(head, rest)
    p, is_excluded = head
    match p:
        case rp.Variable():
            raise AssertionError("a variable has no choices: it reads a row")
        case rp.Empty():
            return [rest]
        case rp.PartitionStart():
            return [rest] if at_start else []
        case rp.PartitionEnd():
            return [rest] if at_end else []
        case rp.Concat(parts):
            return [(*(Todo(part, is_excluded) for part in parts), *rest)]
        case rp.Alternation(parts):
            return [(Todo(part, is_excluded), *rest) for part in parts]
        case rp.Permute():
            return [(Todo(rp.expand_permute(p), is_excluded), *rest)]
        case rp.Exclusion(body):
            return [(Todo(body, True), *rest)]
        case rp.Repetition():
            return [(Loop(p, is_excluded, 0, True), *rest)]
        case _:
            assert_never(p)


def iterations_of(loop: Loop, rest: Stack) -> list[Stack]:
    """Return the stacks for ending a loop and for another repetition, in order of preference."""
    p, is_excluded, n, has_mapped = loop
    if n >= p.lo and (not has_mapped or n == p.hi):
        return [rest]
    # without an upper bound, equal counts from lo on keep the number of states finite
    iterations = n + 1 if p.hi is not None else min(n + 1, p.lo)
    more: Stack = (Todo(p.body, is_excluded), Loop(p, is_excluded, iterations, False), *rest)
    if n < p.lo:
        return [more]
    return [rest, more] if p.reluctant else [more, rest]


Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Machine:
    """A row pattern compiled for a table: its automaton, conditions and measures."""

    query: RowPattern
    names: Mapping[str, str]
    automaton: PrioritisedAutomaton[Any]
    at_row: Mapping[str, Callable[[GrowingMapping, int], bool]]
    of_mapping: Mapping[str, Callable[[GrowingMapping], bool]]
    measures: tuple[OfMapping, ...]
    names_of: Mapping[str, Sequence[str | None]]
    memory: Memory
    registers: Callable[[GrowingMapping], Hashable] | None
    read: frozenset[Register]
    """The registers of the mapping that conditions read."""


def machine(query: RowPattern, binding: Binding) -> Machine:
    """Return the row pattern compiled for a table with the given columns."""
    sets = rp.members(query)
    reads = {definition.variable: definition.condition for definition in query.define}
    rowwise = {v for v, e in reads.items() if of_row(e, _own(v, sets))}
    read = [r for v, e in reads.items() for r in registers_read(e, _own(v, sets))]
    bodies = (*reads.values(), *(measure.expression for measure in query.measures))
    qualifiers = {None, *(x for body in bodies for x in ex.qualifiers(body))}
    names, registers = binding.names, registers_of(read)
    return Machine(
        query,
        names,
        prioritised_automaton(query.pattern),
        {v: _remembered(v, at_row(e, names)) for v, e in reads.items() if v in rowwise},
        {v: _truth(of_mapping(e, names)) for v, e in reads.items() if v not in rowwise},
        tuple(of_mapping(measure.expression, names) for measure in query.measures),
        {v: [x for x in qualifiers if v in sets[x]] for v in rp.variables(query.pattern)},
        _memory(query, read, registers),
        registers,
        frozenset(read),
    )


def _own(v: str, sets: Mapping[str | None, frozenset[str]]) -> frozenset[str | None]:
    return frozenset(x for x, members in sets.items() if v in members)


def _memory(
    query: RowPattern,
    read: Sequence[Register],
    registers: Callable[[GrowingMapping], Hashable] | None,
) -> Memory:
    """Return for how long a failed search stays valid, given what conditions read."""
    reads_number = any(
        isinstance(part, ex.MatchNumber)
        for definition in query.define
        for part in ex.subexpressions(definition.condition)
    )
    if read and registers is None:
        return Memory.NONE
    return Memory.MATCH if reads_number or query.within is not None else Memory.PARTITION


def _truth(function: Callable[..., Any]) -> Callable[..., bool]:
    return lambda *at: function(*at) is True


def truths_of(variable: str) -> tuple[str]:
    """Return the name of the column that caches the truth of a variable's condition."""
    return (variable,)


def _remembered(
    variable: str, function: Callable[[GrowingMapping, int], Any]
) -> Callable[[GrowingMapping, int], bool]:
    """Return a condition that stores its truth for each row; None means not evaluated yet."""
    name = truths_of(variable)

    def holds(m: GrowingMapping, row: int) -> bool:
        truths: Any = m.columns[name]
        truth: bool | None = truths[row]
        if truth is None:
            truth = truths[row] = function(m, row) is True
        return truth

    return holds


def without_truths(M: Machine, rows: int) -> dict[Any, list[bool | None]]:
    """Return empty caches for the truth of conditions on rows."""
    return {truths_of(variable): [None] * rows for variable in M.at_row}


def result_positions(
    M: Machine, columns: Columns, length: int
) -> tuple[list[int], list[list[Any]]]:
    """Return the rows of the table in the result, and the values of each measure.

    Raises `BadData` (`skip-absent`, `skip-first`) and `ResourceLimit`.
    """
    rows: list[int] = []
    measures: list[list[Any]] = [[] for _ in M.measures]
    for positions in partitions(M, columns, length):
        for row, values in _of_partition(M, columns, positions):
            rows.append(row)
            for column, value in zip(measures, values, strict=True):
                column.append(value)
    return rows, measures


def partitions(M: Machine, columns: Columns, length: int) -> list[list[int]]:
    """Return the rows of each partition, in the order of ORDER BY."""
    keys = [columns[M.names[column.name]] for column in M.query.partition_by]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i in range(length):
        groups.setdefault(tuple(same_key(key[i]) for key in keys), []).append(i)
    for positions in groups.values():
        for item in reversed(M.query.order_by):
            _sort(positions, columns[M.names[item.column.name]], item)
    return list(groups.values())


def same_key(value: Any) -> Any:
    """Return a key that equal values share, including NaN."""
    return "NaN" if value != value else (value,)


def _sort(positions: list[int], column: Sequence[Any], item: rp.OrderItem) -> None:
    """Sort rows stably by an item of ORDER BY; NaN comes after all numbers.

    NULLs come first or last, as the item says.
    """
    positions.sort(key=lambda i: order_key(column[i], item), reverse=item.descending)


def order_key(value: Any, item: rp.OrderItem) -> tuple[Any, ...]:
    """Return the sort key of a value for an item of ORDER BY.

    A descending item sorts in reverse.
    """
    if value is None:
        # descending items sort in reverse, which also reverses the place of NULL
        return (-1 if item.nulls_first != item.descending else 1, False, 0)
    return (0, True, 0) if value != value else (0, False, value)


def search_of(M: Machine, columns: Columns, positions: Sequence[int]) -> Search:
    """Return the search for matches in a partition."""
    values = {name: [columns[name][i] for i in positions] for name in set(M.names.values())}
    truths = without_truths(M, len(positions))
    mapping = GrowingMapping(values | truths, len(positions), M.names_of)
    resume, within = resume_of(M.query, positions), within_of(M, values)
    return Search(
        M.automaton, mapping, M.at_row, M.of_mapping, within, resume, M.memory, M.registers
    )


def _of_partition(
    M: Machine, columns: Columns, positions: Sequence[int]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows of the result from one partition, with measures."""
    search = search_of(M, columns, positions)
    mapping = search.mapping
    matched_end = 0
    for result in search.scan():
        for j, values in result_rows_of_match(M, mapping, result, matched_end):
            yield positions[j], values
        if result.labels:
            matched_end = max(matched_end, result.s + len(result.labels))


def result_rows_of_match(
    M: Machine, mapping: GrowingMapping, result: ScanResult, matched_end: int
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows of the result for one match, as rows of the partition, with measures.

    Rows before `matched_end` belong to earlier matches.
    """
    rows, s = M.query.rows, result.s
    if result.labels is None:
        if rows is rp.RowsPerMatch.WITH_UNMATCHED and s >= matched_end:
            yield s, (None,) * len(M.measures)
    elif rows is rp.RowsPerMatch.ONE:
        yield 0, tuple(measure(mapping) for measure in M.measures)
    elif not result.labels:
        if rows is not rp.RowsPerMatch.OMIT_EMPTY:
            yield s, tuple(measure(mapping) for measure in M.measures)
    else:
        for j, is_excluded in enumerate(result.is_excluded):
            if not is_excluded:
                mapping.visible = j + 1
                yield s + j, tuple(measure(mapping) for measure in M.measures)
        mapping.visible = None


def within_of(M: Machine, columns: Columns) -> Callable[[int, int], bool] | None:
    """Return a test of whether WITHIN permits a row in a match; None without WITHIN."""
    d = M.query.within
    if d is None:
        return None
    times = columns[M.names[M.query.order_by[0].column.name]]
    in_time = isinstance(d, TimeWindow)
    width = d.nanoseconds if isinstance(d, TimeWindow) else d

    def admits(s: int, i: int) -> bool:
        first, last = times[s], times[i]
        if first is None or last is None:
            return False
        length: int | float = last.nanoseconds - first.nanoseconds if in_time else last - first
        return length < width

    return admits


def resume_of(query: RowPattern, positions: Sequence[int]) -> Callable[[int, Sequence[str]], int]:
    """Return a function from a match to the row at which the scan continues."""
    skip = query.skip
    if isinstance(skip, rp.PastLastRow):
        return lambda s, labels: s + len(labels)
    if isinstance(skip, rp.ToNextRow):
        return lambda s, labels: s + 1
    targets = rp.members(query)[skip.name]

    def to_variable(s: int, labels: Sequence[str]) -> int:
        indices = range(len(labels))
        order = indices if isinstance(skip, rp.ToFirst) else reversed(indices)
        i = next((i for i in order if labels[i] in targets), None)
        if not i:
            raise stuck(positions[s], skip, absent=i is None)
        return s + i

    return to_variable


def stuck(row: int, skip: rp.Skip, *, absent: bool) -> BadData:
    """Return the error that AFTER MATCH SKIP TO finds no row, or the match's first row."""
    name, hint = "skip-first", "SKIP TO NEXT ROW continues at the next row"
    variable = skip.name if isinstance(skip, rp.ToFirst | rp.ToLast) else ""
    message = f"skipping to {variable} would find the same match again"
    if absent:
        name, hint, message = "skip-absent", "", f"the match has no row of {variable}"
    place = DataPlace("the table", row + 1)
    return BadData(CODES[name], f"{name}: {message}", place=place, hint=hint)


def failures(M: Machine) -> str:
    """Return a text about how long failed searches stay valid, for `explain`."""
    if M.memory is Memory.NONE:
        return (
            "it backtracks: no bounded number of registers holds what conditions read of the match"
        )
    scope = "the partition" if M.memory is Memory.PARTITION else "the search of one match"
    registers = "" if M.registers is None else " with the same registers (the rows that it reads)"
    return f"a state that failed at a row{registers} is not tried there again in {scope}"
