"""The matches of a row pattern: one pass backwards for the live states, one forwards to walk them.

Rows are those of all partitions, one after the other. What the passes mean is in
`cerlab.automata.live`.
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels.arrays import DONE, FULL, NEED_CELL, UNKNOWN, Bytes, Int32s, Int64s
from cerlab.engine.kernels.compiled import inline, kernel

ACCEPTS = -1
"""In ``WalkTable.variable``: the step that ends the match."""

PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = range(4)
"""How the scan goes on after a match (rows.md 7.2)."""

SKIP_ABSENT, SKIP_FIRST = -1, -2
"""Statuses: the match has no row to skip to; that row is the first one."""

ROW, NUMBER, COVER_END, MATCHES, LABELS, ATTEMPTS = range(6)
"""Places of the cursor: the row of the scan, the last match's number, the end of the rows that
matches cover, how many matches and labels are written, and how many steps were tried."""


class RowLetters(NamedTuple):
    """The rows: which variables hold at each, and which are the last of their partition."""

    letter: Int32s  # (rows,)
    last: Bytes  # (rows,)
    live: Int32s  # (rows,), the number of the live set


class WalkTable(NamedTuple):
    """A `StepTable`, steps of all states one after the other, and what is known of its live sets.

    State q has the steps from ``first[q]`` to ``first[q + 1]``.
    """

    first: Int32s  # (states + 1,)
    variable: Int32s  # (steps,), or ACCEPTS
    target: Int32s  # (steps,)
    holds: Bytes  # (letters, variables)
    before: Int32s  # (live sets, letters), UNKNOWN where not determinised yet
    alive: Bytes  # (live sets, states)


class ScanOptions(NamedTuple):
    """What the scan does between matches."""

    skip: int
    targets: Bytes  # (variables,), whether the skip goes to their rows
    with_unmatched: int  # whether rows without a match are listed


class MatchBuffers(NamedTuple):
    """Matches in the order of the scan. A length of -1 is a row without a match."""

    start: Int64s  # (matches,)
    length: Int64s  # (matches,)
    number: Int64s  # (matches,)
    step: Int32s  # (labels,), the step that mapped each row


@kernel
def look_ahead(T: WalkTable, R: RowLetters, row: int) -> tuple[int, int]:
    """Number the live sets from a row backwards to the first; NEED_CELL at a row without one."""
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
    """Where the scan goes on after a match, or why it cannot (rows.md 7.2).

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
    """Scan from the cursor on; FULL when a match has no room, with the cursor before it."""
    rows, first_row = len(R.letter), len(T.first) - 2
    while cursor[ROW] < rows:
        s, matches, labels = cursor[ROW], cursor[MATCHES], cursor[LABELS]
        q = 0
        if s == 0 or R.last[s - 1]:
            q = first_row
            cursor[NUMBER] = 0
            cursor[COVER_END] = s
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
