"""Answers of chained programs: the tECS as one chain of records for each state (CORE 4.1).

A record is an output node combined with the union above it: the event taken, the chain that it
extends (`down`), and the earlier chain of the state (`older`). If runs that enter a state never
start earlier than the runs in it (`is_chained`), the chain is ordered by latest start, newest
first, so a search that stops at the window finds an answer at every step (CORE Thm. 2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int32s, Int64s, Symbols, inline, kernel


class Records(NamedTuple):
    """Records in arrays by id; `down` and `older` refer to records with smaller ids.

    `event` is the index of the event taken, NONE if a run starts without taking its event.
    `down` is NONE for the first event of a run, whose `start` is that event.
    """

    event: Int32s  # (records,)
    down: Int32s  # (records,)
    older: Int32s  # (records,)
    start: Int32s  # (records,), the latest start


class ChainSearch(NamedTuple):
    """The depth-first search through the records, kept between calls."""

    record: Int32s  # (longest answer,)
    position: Int64s  # (longest answer,): events taken; at depth 0, the end


class Chains(NamedTuple):
    """All arrays of `list_chains`, kept between calls."""

    records: Records
    heads: Int32s  # (partitions * states,): at p * states + q, the newest record in state q
    epoch: Int64s  # (partitions,): the last reset (CONSUME BY ANY) that each has applied
    search: ChainSearch
    answers: k.Answers
    counters: Int64s  # (REGISTERS,)


class Events(NamedTuple):
    """The relevant events, and which of them end answers."""

    actions: Symbols  # (events,)
    codes: Int32s  # (events,): the partition of each event, or NONE
    positions: NDArray[np.signedinteger[Any]]  # (events,), less `offset`
    offset: int
    ends: Int32s  # (ends,), increasing
    first: Int32s  # (ends,): the first event in each end's window


(
    HEAD,
    AT,
    END,
    PHASE,
    OP,
    DEPTH,
    RECORD,
    END_ANSWERS,
    ANSWERS,
    POSITIONS,
    EPOCH,
    STEPS,
    REGISTERS,
) = range(13)
"""Registers, int64: used records, next event to read, number of the event that ends answers, its
phase, the op being listed, depth of the search, its record, answers of this end, answers and
positions in the buffer, epoch, counted steps; the number of registers."""


READING, ACCEPTING, SEARCHING = 0, 1, 2


@kernel
def list_chains(moves: k.Moves, events: Events, limits: k.Limits, chains: Chains) -> int:
    """List the answers at the events `ends`; return DONE or a NEED status.

    Only the events in the windows of these ends are read. Another call with the same registers
    continues.
    """
    counters, epoch, ends = chains.counters, chains.epoch, events.ends
    while counters[END] < ends.shape[0]:
        end = ends[counters[END]]
        p = events.codes[end]
        if counters[PHASE] == READING:
            # events between two windows are skipped, and after such a gap all chains are empty
            if events.first[counters[END]] > counters[AT]:
                counters[AT] = events.first[counters[END]]
                counters[HEAD] = 0
                counters[EPOCH] += 1
            if not read_until(moves, events, chains, end):
                return k.NEED_ARENA
            counters[PHASE] = ACCEPTING
            counters[OP] = 0
            counters[END_ANSWERS] = 0
        if epoch[p] != counters[EPOCH]:
            renew(moves, chains, p)
        status = list_end(moves, events, limits, chains, end)
        if status != k.DONE:
            return status
        # answers come from the chains before this event, so its records are added afterwards
        if limits.consume == k.KEEP:
            if not take_event(moves, chains, events.actions[end], p, end):
                return k.NEED_ARENA
        elif limits.consume == k.RESET_ALL:
            counters[EPOCH] += 1
        else:
            epoch[p] = k.NONE
        counters[AT] = end + 1
        counters[END] += 1
        counters[PHASE] = READING
    return k.DONE


@inline
def renew(moves: k.Moves, chains: Chains, p: int) -> None:
    """Empty the chains of a partition that has not been read since the last reset."""
    chains.epoch[p] = chains.counters[EPOCH]
    for q in range(p * moves.states, p * moves.states + moves.states):
        chains.heads[q] = k.NONE


@inline
def read_until(moves: k.Moves, events: Events, chains: Chains, end: int) -> bool:
    """Read the events from register AT up to `end`; return False if records lack room."""
    counters = chains.counters
    for i in range(counters[AT], end):
        p = events.codes[i]
        if p == k.NONE:
            continue
        if chains.epoch[p] != counters[EPOCH]:
            renew(moves, chains, p)
        if not take_event(moves, chains, events.actions[i], p, i):
            counters[AT] = i
            return False
    counters[AT] = end
    return True


@inline
def take_event(moves: k.Moves, chains: Chains, a: int, p: int, i: int) -> bool:
    """Add the records of an event; return False, with nothing changed, without room."""
    begin, move, records, heads = moves.begin, moves.move, chains.records, chains.heads
    row, head = p * moves.states, chains.counters[HEAD]
    low, high = move.first[a], move.first[a + 1]
    # a run that starts here adds at most two records: it takes the event, or skips it
    if head + high - low + 2 > records.event.shape[0]:
        return False
    lowest = head
    # read all heads before writing one, since one op's source may be another op's target
    for o in range(low, high):
        source, target = heads[row + move.source[o]], move.target[o]
        if target != k.NONE and source != k.NONE:
            records.event[head] = i
            records.down[head] = source
            records.start[head] = records.start[source]
            # for now the target of the op; the next loop stores the chain's old head here
            records.older[head] = target
            head += 1
    for r in range(lowest, head):
        target = records.older[r]
        records.older[r] = heads[row + target]
        heads[row + target] = r
    for o in range(begin.first[a], begin.first[a + 1]):
        target = begin.target[o]
        if target != k.NONE:
            records.event[head] = i if begin.marks[o] != k.NONE else k.NONE
            records.down[head] = k.NONE
            records.start[head] = i
            records.older[head] = heads[row + target]
            heads[row + target] = head
            head += 1
    chains.counters[HEAD] = head
    return True


@inline
def list_end(moves: k.Moves, events: Events, limits: k.Limits, chains: Chains, end: int) -> int:
    """List the answers that end at an event; answers that also start there come first."""
    begin, move, counters = moves.begin, moves.move, chains.counters
    a, row = events.actions[end], events.codes[end] * moves.states
    starts = begin.first[a + 1] - begin.first[a]
    stop = starts + move.first[a + 1] - move.first[a]
    while counters[OP] < stop and counters[END_ANSWERS] < limits.limit:
        if counters[PHASE] == ACCEPTING:
            op = counters[OP]
            if op < starts:
                o = begin.first[a] + op
                if begin.accepts[o]:
                    if is_full(chains.answers, counters, 1):
                        return k.FULL
                    position = events.offset + events.positions[end]
                    list_start(begin.marks[o] != k.NONE, position, chains.answers, counters)
                counters[OP] += 1
                continue
            o = move.first[a] + op - starts
            top = chains.heads[row + move.source[o]]
            if not move.accepts[o] or top == k.NONE:
                counters[OP] += 1
                continue
            counters[PHASE] = SEARCHING
            counters[DEPTH] = 1
            counters[RECORD] = top
            chains.search.position[0] = events.offset + events.positions[end]
        status = search_chain(events, limits, chains)
        if status != k.DONE:
            return status
        counters[PHASE] = ACCEPTING
        counters[OP] += 1
    counters[PHASE] = ACCEPTING
    return k.DONE


@inline
def is_full(answers: k.Answers, counters: Int64s, length: int) -> bool:
    """Return whether the answer buffer lacks room for another answer with `length` positions."""
    return (
        counters[ANSWERS] == answers.start.shape[0]
        or counters[POSITIONS] + length > answers.positions.shape[0]
    )


@inline
def list_start(has_mark: bool, position: int, answers: k.Answers, counters: Int64s) -> None:
    """Write the answer that starts and ends at one event; the buffer must have room."""
    answer, place = counters[ANSWERS], counters[POSITIONS]
    answers.start[answer] = position
    answers.end[answer] = position
    if has_mark:
        answers.positions[place] = position
        place += 1
    answers.offsets[answer + 1] = place
    counters[ANSWERS] = answer + 1
    counters[POSITIONS] = place
    counters[END_ANSWERS] += 1


@inline
def search_chain(events: Events, limits: k.Limits, chains: Chains) -> int:
    """List the chain's answers whose starts are in the window, newest first.

    Indices are unsigned: Numba would otherwise check for negative ones.
    """
    records, search, answers, counters = (
        chains.records,
        chains.search,
        chains.answers,
        chains.counters,
    )
    event, down, older, start = records.event, records.down, records.older, records.start
    positions, offset, lowest = events.positions, events.offset, events.first[counters[END]]
    end, open_record, open_position = search.position[0], search.record, search.position
    room, cells = np.uintp(answers.start.shape[0]), np.uintp(answers.positions.shape[0])
    depth, deepest = np.uintp(counters[DEPTH]), np.uintp(open_record.shape[0])
    answer, place = np.uintp(counters[ANSWERS]), np.uintp(counters[POSITIONS])
    one, r, steps, left = (
        np.uintp(1),
        counters[RECORD],
        counters[STEPS],
        limits.limit - counters[END_ANSWERS],
    )
    status = k.DONE
    while left > 0:
        steps += 1
        n = np.uintp(r)
        # newest first: the rest of this chain starts no later, so it is outside the window too
        if r == k.NONE or start[n] < lowest:
            if depth == one:
                break
            depth -= one
            r = np.int64(older[np.uintp(open_record[depth])])
        elif down[n] != k.NONE:
            if depth == deepest:
                status = k.NEED_STACK
                break
            open_record[depth] = r
            open_position[depth] = offset + positions[np.uintp(event[n])]
            depth += one
            r = np.int64(down[n])
        else:
            if answer == room or place + depth >= cells:
                status = k.FULL
                break
            first = offset + positions[np.uintp(start[n])]
            answers.start[answer] = first
            answers.end[answer] = end
            if event[n] != k.NONE:
                answers.positions[place] = first
                place += one
            level = depth
            # the search found the positions backwards
            while level > np.uintp(0):
                level -= one
                answers.positions[place] = open_position[level]
                place += one
            answer += one
            answers.offsets[answer] = place
            left -= 1
            r = np.int64(older[n])
    counters[DEPTH], counters[RECORD], counters[END_ANSWERS] = depth, r, limits.limit - left
    counters[ANSWERS], counters[POSITIONS], counters[STEPS] = answer, place, steps
    return status
