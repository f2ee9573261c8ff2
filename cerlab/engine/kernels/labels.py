"""Which labels the positions of answers have: a machine with labels, run on each answer alone.

A run reads the events of the answer's interval that are in its substream, and takes those at the
answer's positions. What is in between is passed over: from a state that skips change nowhere before
the next position, in one step.
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, Symbols, inline, kernel
from cerlab.engine.kernels.registers import HASH_MASK, Events, Rules, guard_holds, operand

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
            # the answer is read anew, so the rows that it has so far are taken back
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
            # no row was listed below this state, so none will be for this answer
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
    """Append the row of the `length` marks among the first `steps`; return False without room.

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


CONFIGURATIONS, LAYERS, STAMP, ALL = range(REGISTERS, REGISTERS + 4)
"""More registers than `labelling` has: configurations and layers of the answer being read, sets
made so far; how many registers there are."""


class Labels(NamedTuple):
    """The tables of a transducer with labels; each symbol has one rule per state.

    A configuration of state q is what it was after each event that is not taken but those
    ``change_at[change_first[q] :][: changes[q]]``.
    """

    begin: int
    """The state before the answer's interval."""
    final: Bytes  # (states,)
    mark: Int32s  # (moves,), NONE where the event is not taken
    changes: Int64s  # (states,), or EVERYWHERE
    change_first: Int64s  # (states,)
    change_at: Int64s  # (..,), increasing for each state


class Trellis(NamedTuple):
    """The runs over one answer by layers, and a walk through them; layer n begins at ``layer[n]``.

    Configuration c leads by the steps ``first[c] .. first[c + 1]`` into the next layer. The walk
    is at depth d in the configurations ``members[begin[d] : begin[d + 1]]``, having gone on with
    the marks up to ``mark_of[d]``.
    """

    state: Int32s  # (room,)
    slots: Int64s  # (room, slots)
    first: Int32s  # (room + 1,)
    accepts: Bytes  # (room,), whether some way from it does
    layer: Int32s  # (room + 1,)
    mark: Int32s  # (steps,)
    target: Int32s  # (steps,)
    bucket: Int32s  # (a power of two,): the last configuration of a hash
    bucket_of: Int64s  # (the same,): the layer that it is of, as a stamp
    next: Int32s  # (room,): the one before of the same hash
    members: Int32s  # (room,)
    inside: Int64s  # (room,): the set that a configuration was put into last
    begin: Int32s  # (room + 1,)
    mark_of: Int32s  # (room,)


@kernel
def label_by_registers(
    rules: Rules,
    labels: Labels,
    events: Events,
    answers: k.Answers,
    runs: Trellis,
    rows: Rows,
    reg: Int64s,
) -> int:
    """List the rows of all answers; DONE, FULL, or NEED_SCRATCH for more room to unroll.

    Called again with the same registers it goes on, with the answer that it was at.
    """
    while reg[AT] < answers.start.shape[0]:
        rows_before, marks_before = reg[ROWS], reg[MARKS]
        status = unroll(rules, labels, events, answers, runs, reg)
        if status == k.DONE and mark_accepting(labels, runs, reg):
            status = walk(answers, runs, rows, reg)
        if status != k.DONE:
            reg[ROWS], reg[MARKS] = rows_before, marks_before
            return status
        reg[AT] += 1
    return k.DONE


@inline
def unroll(
    rules: Rules, labels: Labels, events: Events, answers: k.Answers, runs: Trellis, reg: Int64s
) -> int:
    """The layers of the answer at AT: DONE or NEED_SCRATCH."""
    n = reg[AT]
    i, last = answers.start[n], answers.end[n] + 1
    at, stop = answers.offsets[n], answers.offsets[n + 1]
    runs.state[0] = labels.begin
    for s in range(runs.slots.shape[1]):
        runs.slots[0, s] = k.NONE
    runs.layer[0] = runs.first[0] = 0
    runs.layer[1] = 1
    reg[CONFIGURATIONS], reg[LAYERS] = 1, 0
    while i < last:
        position = answers.positions[at] if at < stop else last
        until = position
        for c in range(runs.layer[reg[LAYERS]], reg[CONFIGURATIONS]):
            q = runs.state[c]
            first = labels.change_first[q]
            until = next_change(labels.changes[q], first, labels.change_at, i, until)
        if until == last:
            break
        before, takes = reg[CONFIGURATIONS], until == position
        if advance(rules, labels, events, runs, reg, until, takes) != k.DONE:
            return k.NEED_SCRATCH
        if reg[CONFIGURATIONS] == before:  # no run goes on
            break
        if takes:
            at += 1
        i = until + 1
    return k.DONE


@inline
def advance(
    rules: Rules, labels: Labels, events: Events, runs: Trellis, reg: Int64s, e: int, takes: bool
) -> int:
    """Add a layer, by the moves that take event e or by the moves that skip it."""
    layer, low, high = reg[LAYERS], runs.layer[reg[LAYERS]], reg[CONFIGURATIONS]
    steps = runs.first[low]
    reg[STAMP] += 1
    for c in range(low, high):
        runs.first[c] = steps
        job = events.symbol[e] * labels.final.shape[0] + runs.state[c]
        for rule in range(rules.rules[job], rules.rules[job + 1]):
            move = rules.move[rule]
            mark = labels.mark[move]
            if (mark != k.NONE) != takes:
                continue
            if not guard_holds(rules, runs.slots, events, c, e, rule):
                continue
            new = reg[CONFIGURATIONS]
            if new + 1 >= runs.state.shape[0] or steps == runs.mark.shape[0]:
                return k.NEED_SCRATCH
            runs.state[new] = rules.target[move]
            for s in range(runs.slots.shape[1]):
                runs.slots[new, s] = operand(runs.slots, events, c, e, rules.fill[move, s])
            runs.mark[steps] = mark
            runs.target[steps] = find_or_add(runs, reg, new)
            steps += 1
    runs.layer[layer + 1] = high
    runs.layer[layer + 2] = reg[CONFIGURATIONS]
    runs.first[high] = steps
    reg[LAYERS] = layer + 1
    return k.DONE


@inline
def find_or_add(runs: Trellis, reg: Int64s, new: int) -> int:
    """The configuration of the layer being made that is as `new`; that one is kept if none is."""
    code = runs.state[new] + 1
    for s in range(runs.slots.shape[1]):
        code = (code * 1_000_003 + runs.slots[new, s] + 1) & HASH_MASK
    b = code & (runs.bucket.shape[0] - 1)
    # a bucket of another layer counts as empty: that saves clearing the table for each
    c = runs.bucket[b] if runs.bucket_of[b] == reg[STAMP] else k.NONE
    runs.next[new] = c
    while c != k.NONE:
        same = runs.state[c] == runs.state[new]
        for s in range(runs.slots.shape[1]):
            same = same and runs.slots[c, s] == runs.slots[new, s]
        if same:
            return c
        c = runs.next[c]
    runs.bucket[b] = new
    runs.bucket_of[b] = reg[STAMP]
    reg[CONFIGURATIONS] += 1
    return new


@inline
def mark_accepting(labels: Labels, runs: Trellis, reg: Int64s) -> bool:
    """Write `accepts` of all configurations; whether that of the first one is so."""
    last = runs.layer[reg[LAYERS]]
    # backwards: the targets of a layer are in the next one, so they are known
    for c in range(reg[CONFIGURATIONS] - 1, -1, -1):
        if c >= last:
            runs.accepts[c] = labels.final[runs.state[c]]
        else:
            runs.accepts[c] = 0
            for step in range(runs.first[c], runs.first[c + 1]):
                if runs.accepts[runs.target[step]]:
                    runs.accepts[c] = 1
    return runs.accepts[0] == 1


@inline
def walk(answers: k.Answers, runs: Trellis, rows: Rows, reg: Int64s) -> int:
    """The rows of the answer at AT, by marks in ascending order: DONE or FULL."""
    layers, length = reg[LAYERS], answers.offsets[reg[AT] + 1] - answers.offsets[reg[AT]]
    runs.members[0] = runs.begin[0] = depth = 0
    runs.begin[1] = 1
    runs.mark_of[0] = k.NONE - 1
    while depth >= 0:
        if depth == layers:
            if not list_row(runs.mark_of, layers, length, rows, reg):
                return k.FULL
            depth -= 1
            continue
        mark = mark_after(runs, depth)
        runs.mark_of[depth] = mark
        if mark < k.NONE:
            depth -= 1
            continue
        reg[STAMP] += 1
        end = runs.begin[depth + 1]
        for m in range(runs.begin[depth], runs.begin[depth + 1]):
            c = runs.members[m]
            for step in range(runs.first[c], runs.first[c + 1]):
                other = runs.target[step]
                goes_on = runs.mark[step] == mark and runs.accepts[other] == 1
                if goes_on and runs.inside[other] != reg[STAMP]:
                    runs.inside[other] = reg[STAMP]
                    runs.members[end] = other
                    end += 1
        depth += 1
        runs.begin[depth + 1] = end
        runs.mark_of[depth] = k.NONE - 1
    return k.DONE


@inline
def mark_after(runs: Trellis, depth: int) -> int:
    """The lowest mark above ``mark_of[depth]`` by which the walk goes on; below NONE for no such.

    NONE itself is that of an event that is not taken.
    """
    lowest, before = k.NONE - 1, runs.mark_of[depth]
    for m in range(runs.begin[depth], runs.begin[depth + 1]):
        c = runs.members[m]
        for step in range(runs.first[c], runs.first[c + 1]):
            mark = runs.mark[step]
            lower = mark > before and (lowest < k.NONE or mark < lowest)
            if lower and runs.accepts[runs.target[step]] == 1:
                lowest = mark
    return lowest
