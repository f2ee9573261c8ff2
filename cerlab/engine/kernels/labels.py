"""Labels for answers: kernels that run a machine with labels over the events of each answer.

A run reads the events of the answer's interval that are in its substream, and takes those at the
answer's positions. The events between are skipped in one step from a state that no skip changes
before the next position.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, Offsets, inline, kernel
from cerlab.engine.kernels.registers import HASH_MASK, Events, Rules, guard_holds, operand

Symbols: TypeAlias = NDArray[np.integer[Any]]


EVERYWHERE = -1
"""In ``LabelTables.changes``: events are read one by one."""


class LabelledRows(NamedTuple):
    """The labelled answers: each row is one way to label the positions of an answer."""

    answer: Int64s  # (rows,), increasing
    marks: Int32s  # (positions of all rows,)


AT, ROWS, MARKS, CONFIGURATIONS, LAYERS, STAMP, ALL = range(7)
"""Registers, int64: the current answer, listed rows and marks, configurations and layers of the
answer, number of sets so far; the number of registers."""


SEVERAL = -2
"""Sentinel: a position may have several marks."""


@kernel
def label_by_place(
    by_place: Int32s, symbols: Symbols, offsets: Offsets, positions: Int64s, marks: Int32s
) -> None:
    """Write the labels that an event and its place in the answer (first, last) determine."""
    for n in range(offsets.shape[0] - 1):
        mark_places(by_place, symbols, offsets, positions, n, marks, offsets[n])


@inline
def mark_places(
    by_place: Int32s,
    symbols: Symbols,
    offsets: Offsets,
    positions: Int64s,
    n: int,
    marks: Int32s,
    place: int,
) -> bool:
    """Write the labels of answer n; return False if a position may have several labels."""
    begin, stop, most = offsets[n], offsets[n + 1], by_place.shape[1] - 1
    for i in range(begin, stop):
        mark = by_place[symbols[positions[i]], min(i - begin, most), min(stop - 1 - i, most)]
        if mark == SEVERAL:
            return False
        marks[place + i - begin] = mark
    return True


@inline
def list_row(marks: Int32s, steps: int, length: int, rows: LabelledRows, counters: Int64s) -> bool:
    """Append a row with the `length` labels found in `steps` steps; return False without room.

    The other marks are NONE, of events that are not taken.
    """
    row, place = counters[ROWS], counters[MARKS]
    if row == rows.answer.shape[0] or place + length > rows.marks.shape[0]:
        return False
    rows.answer[row] = counters[AT]
    for step in range(steps):
        if marks[step] != k.NONE:
            rows.marks[place] = marks[step]
            place += 1
    counters[ROWS] = row + 1
    counters[MARKS] = place
    return True


@inline
def next_change(changes: int, first: int, change_at: Int64s, i: int, end: int) -> int:
    """Return the next event, from i to before `end`, that changes a state.

    Return `end` if there is none, and i itself if `changes` is EVERYWHERE.
    """
    if changes == EVERYWHERE or i == end:
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
    """Write each row's positions whose label is in `inside`, and where each row begins.

    Return their number.
    """
    count = 0
    for n in range(offsets.shape[0] - 1):
        for i in range(offsets[n], offsets[n + 1]):
            if inside[marks[i]]:
                selection[count] = positions[i]
                count += 1
        selection_offsets[n + 1] = count
    return count


class LabelTables(NamedTuple):
    """The tables of a transducer with labels; each symbol has one rule per state.

    A configuration of state q is unchanged by every event that is not taken, except those at
    ``change_at[change_first[q] :][: changes[q]]``.
    """

    final: Bytes  # (states,)
    mark: Int32s  # (moves,): the label set, NONE where the event is skipped
    by_place: Int32s  # (place symbols, before, after): the label set, or SEVERAL
    symbols: Int32s  # (events,), those for places
    changes: Int64s  # (states,), or EVERYWHERE
    change_first: Int64s  # (states,)
    change_at: Int64s  # (changes of all states,), increasing within a state


class Trellis(NamedTuple):
    """The runs over one answer as layers of configurations, and a depth-first walk through them.

    Configuration c leads by the steps ``first[c] .. first[c + 1]`` into the next layer, sorted by
    marks. At depth d the walk is in the configurations ``members[begin[d] : begin[d + 1]]``, which
    it left last by the steps with the mark ``mark_of[d]``.
    """

    state: Int32s  # (room,)
    slots: Int64s  # (room, slots)
    first: Int32s  # (room + 1,)
    accepts: Bytes  # (room,): whether some path from it accepts
    layer: Int32s  # (room + 1,)
    mark: Int32s  # (steps,)
    target: Int32s  # (steps,)
    bucket: Int32s  # (a power of two,): the newest configuration with a hash
    bucket_of: Int64s  # (a power of two,): the layer of that configuration
    next: Int32s  # (room,): the next older configuration with the same hash
    members: Int32s  # (room,)
    on: Int32s  # (room,): the next step of each configuration in the walk
    inside: Int64s  # (room,): the number of the last set of configurations that contains it
    begin: Int32s  # (room + 1,)
    mark_of: Int32s  # (room,)


@kernel
def label_by_runs(
    rules: Rules,
    labels: LabelTables,
    events: Events,
    answers: k.Answers,
    runs: Trellis,
    rows: LabelledRows,
    counters: Int64s,
) -> int:
    """List the labelled rows of all answers; return DONE, FULL, or NEED_SCRATCH.

    Another call with the same registers continues with the interrupted answer.
    """
    symbols, offsets, positions = labels.symbols, answers.offsets, answers.positions
    while counters[AT] < answers.start.shape[0]:
        n, row, place = counters[AT], counters[ROWS], counters[MARKS]
        length = offsets[n + 1] - offsets[n]
        status = k.DONE
        if row == rows.answer.shape[0] or place + length > rows.marks.shape[0]:
            status = k.FULL
        elif mark_places(labels.by_place, symbols, offsets, positions, n, rows.marks, place):
            rows.answer[row] = n
            counters[ROWS], counters[MARKS] = row + 1, place + length
        else:
            status = unroll(rules, labels, events, answers, runs, counters)
            if status == k.DONE and mark_accepting(labels, runs, counters):
                status = walk(answers, runs, rows, counters)
        if status != k.DONE:
            # the answer will be read again: remove the rows that it has so far
            counters[ROWS], counters[MARKS] = row, place
            return status
        counters[AT] += 1
    return k.DONE


@inline
def unroll(
    rules: Rules,
    labels: LabelTables,
    events: Events,
    answers: k.Answers,
    runs: Trellis,
    counters: Int64s,
) -> int:
    """Build the layers of configurations for answer AT; return DONE or NEED_SCRATCH."""
    n = counters[AT]
    i, last = answers.start[n], answers.end[n] + 1
    at, stop = answers.offsets[n], answers.offsets[n + 1]
    runs.state[0] = 0
    for s in range(runs.slots.shape[1]):
        runs.slots[0, s] = k.NONE
    runs.layer[0] = runs.first[0] = 0
    runs.layer[1] = 1
    counters[CONFIGURATIONS], counters[LAYERS] = 1, 0
    while i < last:
        position = answers.positions[at] if at < stop else last
        until = position
        for c in range(runs.layer[counters[LAYERS]], counters[CONFIGURATIONS]):
            q = runs.state[c]
            first = labels.change_first[q]
            until = next_change(labels.changes[q], first, labels.change_at, i, until)
        if until == last:
            break
        before, takes = counters[CONFIGURATIONS], until == position
        if not advance(rules, labels, events, runs, counters, until, takes, until + 1 == last):
            return k.NEED_SCRATCH
        if counters[CONFIGURATIONS] == before:  # no run continues
            break
        if takes:
            at += 1
        i = until + 1
    return k.DONE


@inline
def advance(
    rules: Rules,
    labels: LabelTables,
    events: Events,
    runs: Trellis,
    counters: Int64s,
    e: int,
    takes: bool,
    is_last: bool,
) -> bool:
    """Add the layer of configurations after event e; return False without room.

    After the last event of the answer, configurations differ only in whether they accept.
    """
    layer, low, high = counters[LAYERS], runs.layer[counters[LAYERS]], counters[CONFIGURATIONS]
    steps = runs.first[low]
    counters[STAMP] += 1
    for c in range(low, high):
        runs.first[c] = steps
        job = events.symbol[e] * labels.final.shape[0] + runs.state[c]
        for rule in range(rules.rules[job], rules.rules[job + 1]):
            move = rules.move[rule]
            mark = labels.mark[move]
            if (mark != k.NONE) != takes:
                continue
            target = rules.target[move]
            if is_last and not labels.final[target]:
                continue
            if not guard_holds(rules, runs.slots, events, c, e, rule):
                continue
            new = counters[CONFIGURATIONS]
            if new + 1 >= runs.state.shape[0] or steps == runs.mark.shape[0]:
                return False
            if is_last:
                runs.state[high] = target
                counters[CONFIGURATIONS] = high + 1
                to = high
            else:
                runs.state[new] = target
                for s in range(runs.slots.shape[1]):
                    runs.slots[new, s] = operand(runs.slots, events, c, e, rules.fill[move, s])
                to = find_or_add(runs, counters, new)
            again = runs.mark[steps - 1] == mark and runs.target[steps - 1] == to
            if steps == runs.first[c] or not again:
                runs.mark[steps] = mark
                runs.target[steps] = to
                steps += 1
    runs.layer[layer + 1] = high
    runs.layer[layer + 2] = counters[CONFIGURATIONS]
    runs.first[high] = steps
    counters[LAYERS] = layer + 1
    return True


@inline
def find_or_add(runs: Trellis, counters: Int64s, new: int) -> int:
    """Return the configuration in the new layer equal to `new`, which is added if there is none."""
    code = runs.state[new] + 1
    for s in range(runs.slots.shape[1]):
        code = (code * 1_000_003 + runs.slots[new, s] + 1) & HASH_MASK
    b = code & (runs.bucket.shape[0] - 1)
    # a bucket of another layer counts as empty, so the table is never cleared
    c = runs.bucket[b] if runs.bucket_of[b] == counters[STAMP] else k.NONE
    runs.next[new] = c
    while c != k.NONE:
        same = runs.state[c] == runs.state[new]
        for s in range(runs.slots.shape[1]):
            same = same and runs.slots[c, s] == runs.slots[new, s]
        if same:
            return c
        c = runs.next[c]
    runs.bucket[b] = new
    runs.bucket_of[b] = counters[STAMP]
    counters[CONFIGURATIONS] += 1
    return new


@inline
def mark_accepting(labels: LabelTables, runs: Trellis, counters: Int64s) -> bool:
    """Mark the configurations from which a path accepts; return whether the first one is marked."""
    last = runs.layer[counters[LAYERS]]
    # backwards: the next layer, which has the targets, is marked already
    for c in range(counters[CONFIGURATIONS] - 1, -1, -1):
        if c >= last:
            runs.accepts[c] = labels.final[runs.state[c]]
        else:
            runs.accepts[c] = 0
            for step in range(runs.first[c], runs.first[c + 1]):
                if runs.accepts[runs.target[step]]:
                    runs.accepts[c] = 1
    return runs.accepts[0] == 1


@inline
def walk(answers: k.Answers, runs: Trellis, rows: LabelledRows, counters: Int64s) -> int:
    """List the rows of answer AT, in ascending order of labels; return DONE or FULL."""
    layers, length = (
        counters[LAYERS],
        answers.offsets[counters[AT] + 1] - answers.offsets[counters[AT]],
    )
    members, begin, on, marks = runs.members, runs.begin, runs.on, runs.mark_of
    members[0] = begin[0] = depth = 0
    begin[1], on[0] = 1, runs.first[0]
    while depth >= 0:
        if depth == layers:
            if not list_row(marks, layers, length, rows, counters):
                return k.FULL
            depth -= 1
            continue
        low, high, end = begin[depth], begin[depth + 1], begin[depth + 1]
        mark = next_mark(runs, low, high)
        if mark == NO_MARK:
            depth -= 1
            continue
        counters[STAMP] += 1
        for m in range(low, high):
            step, stop = on[m], runs.first[members[m] + 1]
            while step < stop and runs.mark[step] == mark:
                c = runs.target[step]
                # several steps may lead to one configuration, but each row is listed once
                if runs.accepts[c] and runs.inside[c] != counters[STAMP]:
                    runs.inside[c] = counters[STAMP]
                    members[end], on[end] = c, runs.first[c]
                    end += 1
                step += 1
            on[m] = step
        marks[depth] = mark
        depth += 1
        begin[depth + 1] = end
    return k.DONE


NO_MARK = 1 << 30
"""Sentinel: greater than every mark."""


@inline
def next_mark(runs: Trellis, low: int, high: int) -> int:
    """Return the lowest label set by which the walk continues, or NO_MARK."""
    lowest = NO_MARK
    for m in range(low, high):
        step, stop = runs.on[m], runs.first[runs.members[m] + 1]
        while step < stop and not runs.accepts[runs.target[step]]:
            step += 1
        runs.on[m] = step
        if step < stop:
            lowest = min(lowest, runs.mark[step])
    return lowest
