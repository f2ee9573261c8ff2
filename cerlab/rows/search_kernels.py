"""Kernels that find matches: a backward pass for live states, a forward pass, and a search.

Rows are those of all partitions, one partition after the other. `cerlab.rows.machine` defines
the passes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import (
    DONE,
    FULL,
    NEED_ARENA,
    NEED_CELL,
    NONE,
    UNKNOWN,
    Bytes,
    Int32s,
    Int64s,
    inline,
    kernel,
)
from cerlab.rows import value_kernels as do
from cerlab.rows.value_kernels import holds

ACCEPTS = -1
"""In ``WalkTable.variable``: the step that ends the match."""

PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = range(4)
"""Continuations of the scan after a match."""

SKIP_ABSENT, SKIP_FIRST = -1, -2
"""Statuses: the match has no row to skip to, or that row is its first one."""

ROW, NUMBER, COVER_END, MATCHES, LABELS, ATTEMPTS = range(6)
"""Indices of the cursor: the row of the scan, the last match's number, the end of the rows that
matches cover, the numbers of written matches and labels, and the number of tried steps."""


class RowLetters(NamedTuple):
    """The letter of each row (the variables that hold), and the last rows of partitions."""

    letter: Int32s  # (rows,)
    last: Bytes  # (rows,)
    live: Int32s  # (rows,): the number of the live states


class WalkTable(NamedTuple):
    """The steps of all states, concatenated, and the known sets of live states.

    The steps of state q are from ``first[q]`` to ``first[q + 1]``.
    """

    first: Int32s  # (states + 1,)
    variable: Int32s  # (steps,), or ACCEPTS
    target: Int32s  # (steps,)
    holds: Bytes  # (letters, variables)
    before: Int32s  # (live sets, letters): UNKNOWN if not computed yet
    alive: Bytes  # (live sets, states)


class ScanOptions(NamedTuple):
    """The options of AFTER MATCH and ROWS PER MATCH, as integers for the kernel."""

    skip: int
    targets: Bytes  # (variables,): whether to skip to their rows
    with_unmatched: int  # whether to list rows without a match


class MatchBuffers(NamedTuple):
    """Matches in the order of the scan; length -1 is a row without a match."""

    start: Int64s  # (matches,)
    length: Int64s  # (matches,)
    number: Int64s  # (matches,)
    step: Int32s  # (labels,): the step that read each row


@kernel
def look_ahead(T: WalkTable, R: RowLetters, row: int) -> tuple[int, int]:
    """Compute the live states from a row back to the first; return NEED_CELL at an unknown one."""
    while row >= 0:
        following = 0 if R.last[row] else R.live[row + 1]
        before = T.before[following, R.letter[row]]
        if before == UNKNOWN:
            return NEED_CELL, row
        R.live[row] = before
        row -= 1
    return DONE, row


@inline
def row_after_match(
    variable: Int32s, O: ScanOptions, step: Int32s, first: int, s: int, end: int
) -> int:
    """Return the row where the scan continues after a match, or an error status.

    ``step[first:]`` are the steps of the match, which maps the rows from s to `end`.
    """
    if end == s or O.skip == TO_NEXT:
        return s + 1
    if O.skip == PAST_LAST:
        return end
    at, by = (0, 1) if O.skip == TO_FIRST else (end - s - 1, -1)
    while 0 <= at < end - s and not O.targets[variable[step[first + at]]]:
        at += by
    if not 0 <= at < end - s:
        return SKIP_ABSENT
    return SKIP_FIRST if at == 0 else s + at


@kernel
def walk(T: WalkTable, R: RowLetters, O: ScanOptions, B: MatchBuffers, cursor: Int64s) -> int:
    """Scan from the cursor on; return FULL, with the cursor unmoved, if a match does not fit."""
    rows, first_row = len(R.letter), len(T.first) - 2
    while cursor[ROW] < rows:
        s, matches, labels = cursor[ROW], cursor[MATCHES], cursor[LABELS]
        q = 0
        if s == 0 or R.last[s - 1]:
            q = first_row
            cursor[NUMBER] = 0
            cursor[COVER_END] = s
        # not live: no run from this state accepts
        if not T.alive[R.live[s], q]:
            if O.with_unmatched and s >= cursor[COVER_END]:
                if matches == len(B.start):
                    return FULL
                B.start[matches], B.length[matches], B.number[matches] = s, -1, cursor[NUMBER]
                cursor[MATCHES] = matches + 1
            cursor[ROW] = s + 1
            continue
        if matches == len(B.start):
            return FULL
        i, inside = s, True
        while inside:
            following = 0 if R.last[i] else R.live[i + 1]
            k = T.first[q]
            # invariant: some step leads to a live state, and the first such step is preferred
            while T.variable[k] != ACCEPTS and not (
                T.holds[R.letter[i], T.variable[k]] and T.alive[following, T.target[k]]
            ):
                k += 1
            cursor[ATTEMPTS] += 1 + k - T.first[q]
            if T.variable[k] == ACCEPTS:
                inside = False
                continue
            if labels == len(B.step):
                return FULL
            B.step[labels] = k
            labels += 1
            q = T.target[k]
            inside = not R.last[i]
            i += 1
        next_row = row_after_match(T.variable, O, B.step, cursor[LABELS], s, i)
        if next_row < 0:
            return next_row
        cursor[NUMBER] += 1
        B.start[matches], B.length[matches], B.number[matches] = s, i - s, cursor[NUMBER]
        cursor[MATCHES], cursor[LABELS], cursor[ROW] = matches + 1, labels, next_row
        cursor[COVER_END] = max(cursor[COVER_END], i)
    return DONE


DEPTH, FAILURES, BUDGET, PAUSE = range(ATTEMPTS + 1, ATTEMPTS + 5)
"""Further indices of the cursor: the number of mapped rows (NONE between matches), the number of
known failures, the step budget of this match, and the steps before a pause."""

AT_PAUSE, TOO_LONG, MATCH, NO_MATCH = range(20, 24)
"""Further statuses."""


class SearchTable(NamedTuple):
    """The steps of all states, concatenated, and the rows."""

    first: Int32s  # (states + 1,)
    variable: Int32s  # (steps,), or ACCEPTS
    target: Int32s  # (steps,)
    final: Bytes  # (states,): whether it accepts after the last row
    holds: Bytes  # (letters, variables): whether the condition may hold, judged by the row alone
    letter: Int32s  # (rows,)
    last: Bytes  # (rows,)
    limit: Int64s  # (rows,): end of the rows that WITHIN permits; empty without WITHIN


class Path(NamedTuple):
    """The current path of the search: states, and the next step to try at each."""

    state: Int32s  # (longest partition + 1,)
    step: Int32s  # (longest partition + 1,)


class Failures(NamedTuple):
    """A hash table of failed searches by state, row and registers; free slots hold NONE."""

    is_used: int
    """True if the table is used."""
    key: Int64s  # (capacity, 2 + registers); capacity is a power of 2
    probe: Int64s  # (2 + registers,)
    register: Int32s  # (registers, 3): the kind of each (row, label, size, own row), name, offset


class SearchArrays(NamedTuple):
    """All arrays of the search: automaton, rows, conditions, path and failures."""

    table: SearchTable
    programs: do.Programs
    mapping: do.MappedRows
    path: Path
    failures: Failures


@kernel
def search(S: SearchArrays, O: ScanOptions, B: MatchBuffers, cursor: Int64s, budget: int) -> int:
    """Search from the cursor on, trying at most `budget` steps for a match.

    The call can be repeated after FULL, NEED_ARENA and AT_PAUSE.
    """
    T, M, path = S.table, S.mapping, S.path
    rows, first_row = len(T.letter), len(T.first) - 2
    while cursor[ROW] < rows:
        s = cursor[ROW]
        if cursor[MATCHES] == len(B.start):
            return FULL
        # after a pause, the match in progress still has its path and its rows
        if cursor[DEPTH] == NONE:
            q = 0
            if s == 0 or T.last[s - 1]:
                q = first_row
                cursor[NUMBER] = 0
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
                B.start[m], B.length[m], B.number[m] = s, -1, cursor[NUMBER]
                cursor[MATCHES] = m + 1
            cursor[ROW] = s + 1
            continue
        if status != MATCH:
            return status
        if labels + length > len(B.step):
            return FULL
        for j in range(length):
            # `path.step` is the next step to try, so the step taken is the one before
            B.step[labels + j] = path.step[j] - 1
        # before moving the cursor, because an error names the row of this match
        next_row = row_after_match(T.variable, O, B.step, labels, s, s + length)
        if next_row < 0:
            return next_row
        cursor[NUMBER] += 1
        B.start[m], B.length[m], B.number[m] = s, length, cursor[NUMBER]
        cursor[MATCHES], cursor[LABELS], cursor[ROW] = m + 1, labels + length, next_row
        cursor[COVER_END] = max(cursor[COVER_END], s + length)
        cursor[DEPTH] = NONE
    return DONE


@kernel
def _match(S: SearchArrays, cursor: Int64s) -> int:
    """Continue the search for a match at the cursor; return MATCH, NO_MATCH or a pause.

    Return MATCH, NO_MATCH, or the reason for a pause.
    """
    T, P, M, path, F = S.table, S.programs, S.mapping, S.path, S.failures
    s, depth, number = cursor[ROW], cursor[DEPTH], cursor[NUMBER] + 1
    while depth >= 0:
        cursor[DEPTH] = depth
        if cursor[ATTEMPTS] > cursor[BUDGET]:
            return TOO_LONG
        if cursor[ATTEMPTS] > cursor[PAUSE]:
            return AT_PAUSE
        q, row, k, deeper = path.state[depth], s + depth, path.step[depth], False
        end = T.first[q + 1]
        # after the partition's last row a state can only accept
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
                # the condition reads the current row as part of the match, so add it first
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
            # nothing has changed yet: the driver can enlarge the table and call again
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
    """Return the value of a register, on which a failure depends."""
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
    """Write the key of a failed search (state, row and registers) into `probe`."""
    F.probe[0], F.probe[1] = q, row
    for k in range(len(F.register)):
        F.probe[2 + k] = _register(F, M, k, s)


@kernel
def _place(F: Failures) -> int:
    """Return the slot of `probe` in the hash table, or the free slot where it belongs."""
    # a power of 2, so that a mask replaces a division
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
    """Return whether a search from a state and row has failed with the present registers."""
    _seek(F, M, q, row, s)
    return F.key[_place(F), 0] != NONE


@inline
def _add(F: Failures) -> int:
    """Add `probe` to the failed searches; return 1 if it is new, otherwise 0."""
    at = _place(F)
    if F.key[at, 0] != NONE:
        return 0
    for k in range(len(F.probe)):
        F.key[at, k] = F.probe[k]
    return 1


@kernel
def copy_failures(keys: Int64s, F: Failures) -> int:
    """Add keys to the failed searches; return the number of new ones."""
    count = 0
    for i in range(len(keys)):
        for k in range(len(F.probe)):
            F.probe[k] = keys[i, k]
        count += _add(F)
    return count


@kernel
def admitted_ends(time: NDArray[Any], null: Bytes, last: Bytes, width: float, end: Int64s) -> None:
    """Write, for each row, the end of the rows that are less than the width later."""
    i = 0
    for s in range(len(time)):
        # times ascend in a partition, so the end never moves back: linear in total
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
