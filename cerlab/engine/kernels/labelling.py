"""Which labels the positions of answers have: a machine with labels, run on each answer alone.

A run reads the events of the answer's interval that are in its substream, and takes those at the
answer's positions. What is in between is passed over: from a state that skips change nowhere before
the next position, in one step.
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, Symbols
from cerlab.engine.kernels.compiled import inline, kernel

EVERYWHERE = -1
"""In ``LabelTable.changes``: events are read one by one."""


class LabelTable(NamedTuple):
    """`LabelledStates` over the symbols of a stream; a row is filled when a run first needs it.

    State q takes an event with symbol s by ``takes[q, s]`` moves, from number ``first[q, s]`` on.
    Its skips lead elsewhere at the events ``change_at[change_first[q] :][: changes[q]]`` only.
    """

    has_row: Bytes  # (states,), whether there is a row
    final: Bytes  # (states,)
    skip: Int32s  # (states, symbols), NONE for nowhere
    first: Int32s  # (states, symbols)
    takes: Int32s  # (states, symbols)
    mark: Int32s  # (moves,)
    target: Int32s  # (moves,)
    changes: Int64s  # (states,), or EVERYWHERE
    change_first: Int64s  # (states,)
    change_at: Int64s  # (..,), increasing for each state


class Descent(NamedTuple):
    """The depth-first search through the moves of one answer, by the positions taken so far."""

    state: Int32s  # (longest answer + 1,)
    move: Int32s  # (longest answer + 1,), how many of its moves were tried
    before: Int64s  # (longest answer + 1,), rows listed when it was entered
    mark: Int32s  # (longest answer + 1,), by which it was left
    dead: Int64s  # ((longest answer + 1) * states,): the last answer that has no run from there


class Rows(NamedTuple):
    """A row for each way to give an answer its labels: the marks of its positions."""

    answer: Int64s  # (rows,), increasing
    marks: Int32s  # (positions of all rows,)


AT, STATE, ROWS, MARKS, REGISTERS = range(5)
"""Registers, int64: the answer being read, a state without a row, rows and marks listed; how many
there are."""


@kernel
def label_answers(
    table: LabelTable,
    symbols: Symbols,
    answers: k.Answers,
    descent: Descent,
    rows: Rows,
    reg: Int64s,
) -> int:
    """List the rows of all answers; DONE, FULL, or NEED_CELL for the row of register STATE.

    Called again with the same registers it goes on, with the answer that it was at.
    """
    while reg[AT] < answers.start.shape[0]:
        if label_one_way(table, symbols, answers, rows, reg):
            reg[AT] += 1
            continue
        rows_before, marks_before = reg[ROWS], reg[MARKS]
        status = label_answer(table, symbols, answers, descent, rows, reg)
        if status != k.DONE:
            reg[ROWS], reg[MARKS] = rows_before, marks_before
            return status
        reg[AT] += 1
    return k.DONE


@inline
def label_one_way(
    table: LabelTable, symbols: Symbols, answers: k.Answers, rows: Rows, reg: Int64s
) -> bool:
    """The row of an answer that has one way through known rows; False, and no row, for others."""
    n, place = reg[AT], reg[MARKS]
    begin, stop = answers.offsets[n], answers.offsets[n + 1]
    room = reg[ROWS] < rows.answer.shape[0] and place + stop - begin <= rows.marks.shape[0]
    if not room:
        return False
    q, at = 0, answers.start[n]
    for i in range(begin, stop):
        position = answers.positions[i]
        q = pass_over(table, symbols, q, at, position)
        if q <= k.NONE or not table.has_row[q]:
            return False
        s = symbols[position]
        if table.takes[q, s] != 1:
            return False
        o = table.first[q, s]
        rows.marks[place] = table.mark[o]
        place += 1
        q = table.target[o]
        at = position + 1
    q = pass_over(table, symbols, q, at, answers.end[n] + 1)
    if q <= k.NONE or not table.final[q]:
        return False
    rows.answer[reg[ROWS]] = n
    reg[ROWS] += 1
    reg[MARKS] = place
    return True


@inline
def label_answer(
    table: LabelTable,
    symbols: Symbols,
    answers: k.Answers,
    descent: Descent,
    rows: Rows,
    reg: Int64s,
) -> int:
    """The rows of one answer, depth first; what leads to none is not tried twice."""
    n = reg[AT]
    begin, length = answers.offsets[n], answers.offsets[n + 1] - answers.offsets[n]
    last, states = answers.end[n] + 1, table.has_row.shape[0]
    state, move = descent.state, descent.move
    until = answers.positions[begin] if length else last
    q = pass_over(table, symbols, 0, answers.start[n], until)
    if q < k.NONE:
        reg[STATE] = -2 - q
        return k.NEED_CELL
    depth = 0 if q != k.NONE else -1
    state[0], move[0], descent.before[0] = q, 0, reg[ROWS]
    while depth >= 0:
        if depth == length:
            if table.final[state[depth]] and not list_row(descent.mark, length, length, rows, reg):
                return k.FULL
            depth -= 1
            continue
        q, position = state[depth], answers.positions[begin + depth]
        if not table.has_row[q]:
            reg[STATE] = q
            return k.NEED_CELL
        s, number = symbols[position], move[depth]
        if number == table.takes[q, s]:
            if reg[ROWS] == descent.before[depth]:
                descent.dead[depth * states + q] = n
            depth -= 1
            continue
        move[depth] += 1
        o = table.first[q, s] + number
        until = answers.positions[begin + depth + 1] if depth + 1 < length else last
        after = pass_over(table, symbols, table.target[o], position + 1, until)
        if after < k.NONE:
            reg[STATE] = -2 - after
            return k.NEED_CELL
        if after != k.NONE and descent.dead[(depth + 1) * states + after] != n:
            descent.mark[depth] = table.mark[o]
            depth += 1
            state[depth], move[depth], descent.before[depth] = after, 0, reg[ROWS]
    return k.DONE


@inline
def list_row(marks: Int32s, steps: int, length: int, rows: Rows, reg: Int64s) -> bool:
    """One more row, of the `length` marks among the first `steps`; False if there is no room.

    The others are NONE: those of events that are not taken.
    """
    row, place = reg[ROWS], reg[MARKS]
    if row == rows.answer.shape[0] or place + length > rows.marks.shape[0]:
        return False
    rows.answer[row] = reg[AT]
    for step in range(steps):
        if marks[step] != k.NONE:
            rows.marks[place] = marks[step]
            place += 1
    reg[ROWS] = row + 1
    reg[MARKS] = place
    return True


@inline
def pass_over(table: LabelTable, symbols: Symbols, q: int, begin: int, end: int) -> int:
    """The state after the events from `begin` to before `end`, none of which is taken.

    NONE for nowhere; ``-2 - q`` if state q has no row yet.
    """
    i = begin
    while i < end:
        if not table.has_row[q]:
            return -2 - q
        i = next_change(table.changes[q], table.change_first[q], table.change_at, i, end)
        if i == end:
            return q
        q = table.skip[q, symbols[i]]
        if q == k.NONE:
            return k.NONE
        i += 1
    return q


@inline
def next_change(changes: int, first: int, change_at: Int64s, i: int, end: int) -> int:
    """The first of the events ``change_at[first : first + changes]`` from i to before `end`.

    That is `end` if there is none; i itself where `changes` is EVERYWHERE.
    """
    if changes == EVERYWHERE:
        return i
    low, high = first, first + changes
    while low < high:
        middle = (low + high) // 2
        if change_at[middle] < i:
            low = middle + 1
        else:
            high = middle
    if low == first + changes or change_at[low] >= end:
        return end
    return change_at[low]


@kernel
def hold(
    inside: Bytes,
    marks: Int32s,
    offsets: Int64s,
    positions: Int64s,
    selection_offsets: Int64s,
    selection: Int64s,
) -> int:
    """Write the positions of each row whose mark is `inside`, and their offsets; how many."""
    count = 0
    for n in range(offsets.shape[0] - 1):
        for i in range(offsets[n], offsets[n + 1]):
            if inside[marks[i]]:
                selection[count] = positions[i]
                count += 1
        selection_offsets[n + 1] = count
    return count
