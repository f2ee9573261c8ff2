"""The matches of a row pattern whose conditions read the rows of the match: a search with memory.

It takes the steps that `cerlab.engine.row_search` takes, and knows what has failed: a state at a
row, with the registers that conditions read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from cerlab.engine.kernels import row_values as do
from cerlab.engine.kernels.arrays import DONE, FULL, NEED_ARENA, NONE, Bytes, Int32s, Int64s
from cerlab.engine.kernels.compiled import inline, kernel
from cerlab.engine.kernels.row_values import holds
from cerlab.engine.kernels.row_walk import (
    ACCEPTS,
    ATTEMPTS,
    COVER_END,
    LABELS,
    MATCHES,
    ROW,
    MatchBuffers,
    ScanOptions,
    row_after_match,
)
from cerlab.engine.kernels.row_walk import NUMBER as NUMBERED

DEPTH, FAILURES, BUDGET, PAUSE = range(ATTEMPTS + 1, ATTEMPTS + 5)
"""More places of the cursor: how many rows are mapped, NONE between matches; how many failures are
known; how many steps may be tried for this match, and before a pause."""

AT_PAUSE, TOO_LONG, MATCH, NO_MATCH = range(20, 24)
"""More statuses."""


class SearchTable(NamedTuple):
    """A `StepTable`, steps of all states one after the other, and rows, as in `row_walk`."""

    first: Int32s  # (states + 1,)
    variable: Int32s  # (steps,), or ACCEPTS
    target: Int32s  # (steps,)
    final: Bytes  # (states,), which accept after the last row
    holds: Bytes  # (letters, variables): whether it may hold, as far as the row alone decides
    letter: Int32s  # (rows,)
    last: Bytes  # (rows,)
    limit: Int64s  # (rows,): where the rows end that WITHIN admits from there; empty without


class Path(NamedTuple):
    """The depth-first search: states, and the next step of each."""

    state: Int32s  # (longest partition + 1,)
    step: Int32s  # (longest partition + 1,)


class Failures(NamedTuple):
    """A hash table of what has failed: a state, a row, the registers. NONE where it is free."""

    is_used: int
    """Whether anything is."""
    key: Int64s  # (capacity, 2 + registers), a power of 2
    probe: Int64s  # (2 + registers,)
    register: Int32s  # (registers, 3): a row or label of a name, and offset; SIZE and name; OWN


class Search(NamedTuple):
    """The automaton on the rows, its conditions, and what the search for a match writes."""

    table: SearchTable
    programs: do.Programs
    mapping: do.MappedRows
    path: Path
    failures: Failures


@kernel
def search(S: Search, O: ScanOptions, B: MatchBuffers, cursor: Int64s, budget: int) -> int:
    """Scan from the cursor on, with so many steps for a match at most.

    It can go on after FULL, NEED_ARENA and AT_PAUSE.
    """
    T, M, path = S.table, S.mapping, S.path
    rows, first_row = len(T.letter), len(T.first) - 2
    while cursor[ROW] < rows:
        s = cursor[ROW]
        if cursor[MATCHES] == len(B.start):
            return FULL
        if cursor[DEPTH] == NONE:
            q = 0
            if s == 0 or T.last[s - 1]:
                q = first_row
                cursor[NUMBERED] = 0
                cursor[COVER_END] = s
            M.size[:] = 0
            M.start[0] = s
            path.state[0], path.step[0] = q, T.first[q]
            cursor[DEPTH] = 0
            cursor[BUDGET] = cursor[ATTEMPTS] + budget
        status = _match(S, cursor)
        m, labels, length = cursor[MATCHES], cursor[LABELS], cursor[DEPTH]
        if status == NO_MATCH:
            if O.with_unmatched and s >= cursor[COVER_END]:
                B.start[m], B.length[m], B.number[m] = s, -1, cursor[NUMBERED]
                cursor[MATCHES] = m + 1
            cursor[ROW] = s + 1
            continue
        if status != MATCH:
            return status
        if labels + length > len(B.step):
            return FULL
        for j in range(length):
            B.step[labels + j] = path.step[j] - 1
        next_row = row_after_match(T.variable, O, B.step, labels, s, s + length)
        if next_row < 0:
            return next_row
        cursor[NUMBERED] += 1
        B.start[m], B.length[m], B.number[m] = s, length, cursor[NUMBERED]
        cursor[MATCHES], cursor[LABELS], cursor[ROW] = m + 1, labels + length, next_row
        cursor[COVER_END] = max(cursor[COVER_END], s + length)
        cursor[DEPTH] = NONE
    return DONE


@kernel
def _match(S: Search, cursor: Int64s) -> int:
    """Search on for the match at the cursor's row: MATCH, NO_MATCH, or why it stops for now."""
    T, P, M, path, F = S.table, S.programs, S.mapping, S.path, S.failures
    s, depth, number = cursor[ROW], cursor[DEPTH], cursor[NUMBERED] + 1
    while depth >= 0:
        cursor[DEPTH] = depth
        if cursor[ATTEMPTS] > cursor[BUDGET]:
            return TOO_LONG
        if cursor[ATTEMPTS] > cursor[PAUSE]:
            return AT_PAUSE
        q, row, k, deeper = path.state[depth], s + depth, path.step[depth], False
        end = T.first[q + 1]
        if depth > 0 and T.last[row - 1]:
            cursor[ATTEMPTS] += 1
            if T.final[q]:
                return MATCH
            k = end
        is_inside = len(T.limit) == 0 or k == end or row < T.limit[s]
        while k < end and not deeper:
            v = T.variable[k]
            cursor[ATTEMPTS] += 1
            if v == ACCEPTS:
                return MATCH
            if is_inside and T.holds[T.letter[row], v]:
                do.push(P, M, v, row)
                passes = P.first[v] == P.first[v + 1] or holds(P, M, v, row, number)
                deeper = passes and not (F.is_used and _has_failed(F, M, T.target[k], row + 1, s))
                if not deeper:
                    do.pop(M, v)
            k += 1
        path.step[depth] = k
        if deeper:
            depth += 1
            q = T.target[k - 1]
            path.state[depth], path.step[depth] = q, T.first[q]
            continue
        if F.is_used:
            if 2 * cursor[FAILURES] >= len(F.key):
                return NEED_ARENA
            _seek(F, M, q, row, s)
            cursor[FAILURES] += _add(F)
        depth -= 1
        if depth >= 0:
            do.pop(M, T.variable[path.step[depth] - 1])
    cursor[DEPTH] = NONE
    return NO_MATCH


@inline
def _register(F: Failures, M: do.MappedRows, k: int, s: int) -> int:
    """The value of a register: a row, its label, how many there are, or where the match begins."""
    where, name, offset = F.register[k, 0], F.register[k, 1], F.register[k, 2]
    if where == do.OWN:
        return s
    size = M.size[name]
    if where == do.SIZE:
        return size
    if size <= offset:
        return NONE
    row = M.rows[name, offset if where in (do.FIRST, do.FIRST_LABEL) else size - 1 - offset]
    return M.variable[row - s] if where >= do.FIRST_LABEL else row


@inline
def _seek(F: Failures, M: do.MappedRows, q: int, row: int, s: int) -> None:
    """Make the key of a state at a row the one that is sought."""
    F.probe[0], F.probe[1] = q, row
    for k in range(len(F.register)):
        F.probe[2 + k] = _register(F, M, k, s)


@kernel
def _place(F: Failures) -> int:
    """Where the key that is sought stands in the table, or the free place where it would."""
    h, width, mask = 0, len(F.probe), len(F.key) - 1
    for k in range(width):
        h = (h * 1_000_003 + F.probe[k]) & 0x7FFFFFFF
        h ^= h >> 15
    at = h & mask
    while F.key[at, 0] != NONE:
        k = 0
        while k < width and F.key[at, k] == F.probe[k]:
            k += 1
        if k == width:
            return at
        at = (at + 1) & mask
    return at


@inline
def _has_failed(F: Failures, M: do.MappedRows, q: int, row: int, s: int) -> bool:
    """Whether a state at a row has failed with these registers."""
    _seek(F, M, q, row, s)
    return F.key[_place(F), 0] != NONE


@inline
def _add(F: Failures) -> int:
    """Add the key that is sought; how many more there are."""
    at = _place(F)
    if F.key[at, 0] != NONE:
        return 0
    for k in range(len(F.probe)):
        F.key[at, k] = F.probe[k]
    return 1


@kernel
def copy_failures(keys: Int64s, F: Failures) -> int:
    """Add keys to the table; how many more there are."""
    count = 0
    for i in range(len(keys)):
        for k in range(len(F.probe)):
            F.probe[k] = keys[i, k]
        count += _add(F)
    return count


@kernel
def admitted_ends(time: NDArray[Any], null: Bytes, last: Bytes, width: float, end: Int64s) -> None:
    """Where the rows end that are less than the width after each row (rows.md 9.1)."""
    i = 0
    for s in range(len(time)):
        i = max(i, s)
        if null[s]:
            end[s] = s
            continue
        while (
            i < len(time)
            and (i == s or not last[i - 1])
            and not null[i]
            and time[i] - time[s] < width
        ):
            i += 1
        end[s] = i
