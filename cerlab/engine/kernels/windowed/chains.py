"""Phase two where runs only gather: the tECS as one chain of records for each state (CORE 4.1).

A record is an output node with the union that would stand above it: it is the event taken, the
chain that it extends (`down`), and what the state had before (`older`). Where what enters a state
never starts earlier than what is there (`program.chained`), the chain is ordered by latest start,
newest first, so a search that stops at the window finds an answer at every step (CORE Thm. 2).
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels.arrays import (
    DONE,
    FULL,
    KEEP,
    NEED_ARENA,
    NEED_STACK,
    NONE,
    RESET_ALL,
    Answers,
    Ints,
    Ops,
)
from cerlab.engine.kernels.compiled import inlined, kernel


class Records(NamedTuple):
    """The records by id; a record's `down` and `older` have smaller ids.

    `event` is the index of the event taken, NONE where a run starts without taking its event.
    `down` is NONE for the first event of a run, whose `start` is that event.
    """

    event: Ints  # int32 (records,)
    down: Ints  # int32 (records,)
    older: Ints  # int32 (records,)
    start: Ints  # int32 (records,), the latest start


class Search(NamedTuple):
    """The depth-first search, kept between calls."""

    record: Ints  # int32 (longest answer,)
    event: Ints  # int32 (longest answer,)


(HEAD, AT, END, PHASE, OP, DEPTH, RECORD, FOUND, LISTED, TAKEN, EPOCH, STEPS, REGISTERS) = range(13)
"""Registers, int64: records used, next event to be read, number of the event that ends answers,
what is being done with it, the op being listed, depth of the search, its record, answers of this
end, answers and positions in the buffer, epoch, steps counted; how many there are."""

READING, ACCEPTING, SEARCHING = 0, 1, 2


@kernel
def list_chains(
    states: int,
    begin: Ops,
    move: Ops,
    taken: Ints,
    codes: Ints,
    positions: Ints,
    offset: int,
    ends: Ints,
    first: Ints,
    limit: int,
    consume: int,
    records: Records,
    heads: Ints,
    epoch: Ints,
    search: Search,
    answers: Answers,
    reg: Ints,
) -> int:
    """List the answers that end at the events `ends` (increasing); DONE, or what is lacking.

    `taken` (the actions), `codes` and `positions` (less `offset`) have shape (events,). Number n of
    `first` is the first event inside the window of ``ends[n]``: only the events in such windows are
    read. Called again with the same registers it goes on. ``heads[p * states + q]`` is the newest
    record of a state.
    """
    while reg[END] < ends.shape[0]:
        end = ends[reg[END]]
        if reg[PHASE] == READING:
            if first[reg[END]] > reg[AT]:
                reg[AT] = first[reg[END]]
                reg[HEAD] = 0
                reg[EPOCH] += 1
            if not read_until(states, begin, move, taken, codes, end, records, heads, epoch, reg):
                return NEED_ARENA
            reg[PHASE] = ACCEPTING
            reg[OP] = 0
            reg[FOUND] = 0
        row = codes[end] * states
        if epoch[codes[end]] != reg[EPOCH]:
            renew(heads, epoch, codes[end], states, reg[EPOCH])
        status = list_end(
            row,
            begin,
            move,
            taken[end],
            end,
            positions,
            offset,
            first[reg[END]],
            limit,
            records,
            heads,
            search,
            answers,
            reg,
        )
        if status != DONE:
            return status
        if consume == KEEP:
            if not take_event(
                states, begin, move, taken[end], codes[end], end, records, heads, reg
            ):
                return NEED_ARENA
        elif consume == RESET_ALL:
            reg[EPOCH] += 1
        else:
            epoch[codes[end]] = NONE
        reg[AT] = end + 1
        reg[END] += 1
        reg[PHASE] = READING
    return DONE


@inlined
def renew(heads: Ints, epoch: Ints, p: int, states: int, now: int) -> None:
    """Empty the states of a partition that was last read before what has been reset since."""
    epoch[p] = now
    for q in range(p * states, p * states + states):
        heads[q] = NONE


@inlined
def read_until(
    states: int,
    begin: Ops,
    move: Ops,
    taken: Ints,
    codes: Ints,
    end: int,
    records: Records,
    heads: Ints,
    epoch: Ints,
    reg: Ints,
) -> bool:
    """Read the events from register AT to before `end`; False if there is no room."""
    for i in range(reg[AT], end):
        p = codes[i]
        if p == NONE:
            continue
        if epoch[p] != reg[EPOCH]:
            renew(heads, epoch, p, states, reg[EPOCH])
        if not take_event(states, begin, move, taken[i], p, i, records, heads, reg):
            reg[AT] = i
            return False
    reg[AT] = end
    return True


@inlined
def take_event(
    states: int,
    begin: Ops,
    move: Ops,
    a: int,
    p: int,
    i: int,
    records: Records,
    heads: Ints,
    reg: Ints,
) -> bool:
    """The records of an event; False if there is no room for them, and nothing is changed."""
    row, head = p * states, reg[HEAD]
    low, high = move.first[a], move.first[a + 1]
    if head + high - low + 2 > records.event.shape[0]:
        return False
    lowest = head
    for o in range(low, high):
        source, target = heads[row + move.source[o]], move.target[o]
        if target != NONE and source != NONE:
            records.event[head] = i
            records.down[head] = source
            records.start[head] = records.start[source]
            records.older[head] = target
            head += 1
    for r in range(lowest, head):
        target = records.older[r]
        records.older[r] = heads[row + target]
        heads[row + target] = r
    for o in range(begin.first[a], begin.first[a + 1]):
        target = begin.target[o]
        if target != NONE:
            records.event[head] = i if begin.marks[o] else NONE
            records.down[head] = NONE
            records.start[head] = i
            records.older[head] = heads[row + target]
            heads[row + target] = head
            head += 1
    reg[HEAD] = head
    return True


@inlined
def list_end(
    row: int,
    begin: Ops,
    move: Ops,
    a: int,
    end: int,
    positions: Ints,
    offset: int,
    lowest: int,
    limit: int,
    records: Records,
    heads: Ints,
    search: Search,
    answers: Answers,
    reg: Ints,
) -> int:
    """The answers of the runs that an event accepts: those that it starts first."""
    starts = begin.first[a + 1] - begin.first[a]
    stop = starts + move.first[a + 1] - move.first[a]
    while reg[OP] < stop and reg[FOUND] < limit:
        if reg[PHASE] == ACCEPTING:
            op = reg[OP]
            if op < starts:
                o = begin.first[a] + op
                if begin.accepts[o]:
                    if is_full(answers, reg, 1):
                        return FULL
                    list_start(begin.marks[o] != 0, offset + positions[end], answers, reg)
                reg[OP] += 1
                continue
            o = move.first[a] + op - starts
            top = heads[row + move.source[o]]
            if not move.accepts[o] or top == NONE:
                reg[OP] += 1
                continue
            reg[PHASE] = SEARCHING
            reg[DEPTH] = 1
            reg[RECORD] = top
            search.event[0] = end
        status = search_chain(positions, offset, lowest, limit, end, records, search, answers, reg)
        if status != DONE:
            return status
        reg[PHASE] = ACCEPTING
        reg[OP] += 1
    reg[PHASE] = ACCEPTING
    return DONE


@inlined
def is_full(answers: Answers, reg: Ints, length: int) -> bool:
    """Whether the buffer has no room for one more answer of that length."""
    return reg[LISTED] == answers.start.shape[0] or reg[TAKEN] + length > answers.positions.shape[0]


@inlined
def list_start(marked: bool, position: int, answers: Answers, reg: Ints) -> None:
    """The answer that begins and ends with one event."""
    listed, taken = reg[LISTED], reg[TAKEN]
    answers.start[listed] = position
    answers.end[listed] = position
    if marked:
        answers.positions[taken] = position
        taken += 1
    answers.offsets[listed + 1] = taken
    reg[LISTED] = listed + 1
    reg[TAKEN] = taken
    reg[FOUND] += 1


@inlined
def search_chain(
    positions: Ints,
    offset: int,
    lowest: int,
    limit: int,
    end: int,
    records: Records,
    search: Search,
    answers: Answers,
    reg: Ints,
) -> int:
    """All ways down from register RECORD, newest first, each inside the window."""
    depth, r, found = reg[DEPTH], reg[RECORD], reg[FOUND]
    listed, taken, steps = reg[LISTED], reg[TAKEN], reg[STEPS]
    room, cells, deepest = (
        answers.start.shape[0],
        answers.positions.shape[0],
        search.record.shape[0],
    )
    status = DONE
    while found < limit:
        steps += 1
        if r == NONE or records.start[r] < lowest:
            if depth == 1:
                break
            depth -= 1
            r = records.older[search.record[depth]]
        elif records.down[r] != NONE:
            if depth == deepest:
                status = NEED_STACK
                break
            search.record[depth] = r
            search.event[depth] = records.event[r]
            depth += 1
            r = records.down[r]
        else:
            if listed == room or taken + depth + 1 > cells:
                status = FULL
                break
            answers.start[listed] = offset + positions[records.start[r]]
            answers.end[listed] = offset + positions[end]
            if records.event[r] != NONE:
                answers.positions[taken] = offset + positions[records.event[r]]
                taken += 1
            for k in range(depth - 1, -1, -1):
                answers.positions[taken] = offset + positions[search.event[k]]
                taken += 1
            listed += 1
            answers.offsets[listed] = taken
            found += 1
            r = records.older[r]
    reg[DEPTH], reg[RECORD], reg[FOUND] = depth, r, found
    reg[LISTED], reg[TAKEN], reg[STEPS] = listed, taken, steps
    return status
