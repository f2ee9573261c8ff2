"""Kernels of the search on rows that arrive, over many partitions together.

Rows are numbered in the order of arrival, and linked in each partition. A search path has one step
for each row, so it is stored beside the rows; so are the failures, one bit for each state. A push
resumes each search where it waits, and costs the same however long the open match is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Int32s, Int64s, kernel
from cerlab.rows.search_kernels import ACCEPTS


class Steps(NamedTuple):
    """The steps of all states, concatenated; the steps of state q begin at ``first[q]``."""

    first: Int32s  # (states + 1,)
    variable: Int32s  # (steps,), or ACCEPTS
    target: Int32s  # (steps,)


class Rows(NamedTuple):
    """The kept rows of all partitions."""

    previous: Int64s  # (rows,): the row before it in its partition, or NONE
    following: Int64s  # (rows,): the row after it in its partition, or NONE
    ordinal: Int64s  # (rows,), the number of rows before it in its partition
    letter: Int64s  # (rows,), bit v: the condition of variable v holds
    state: Int32s  # (rows,): the state of the path before the row
    step: Int32s  # (rows,), the next step to try; the step before it maps a row of the path
    failed: Int64s  # (rows,), bit q: no match continues from state q here


class Partitions(NamedTuple):
    """The search in each partition: it is at row `at`, or waits in state `waits` for a row."""

    last: Int64s  # (partitions,), the last row, or NONE
    start: Int64s  # (partitions,), the row where the match begins, or NONE
    at: Int64s  # (partitions,), the row to read next, or NONE
    waits: Int32s  # (partitions,)
    number: Int64s  # (partitions,), the number of matches


class Found(NamedTuple):
    """Matches in the order of the search."""

    partition: Int64s
    start: Int64s
    length: Int64s
    number: Int64s


class Gathered(NamedTuple):
    """The rows of matches, one match after the other."""

    row: Int64s
    match: Int64s  # (rows,)
    begin: Int64s  # (matches,), the place of the first row of each match
    step: Int32s  # (mapped rows,), the step that maps each


@kernel
def add_rows(S: Steps, R: Rows, P: Partitions, partition: Int64s, first: int) -> None:
    """Link the rows from `first` on to their partitions, where the searches wait."""
    for i in range(len(partition)):
        row, p = first + i, partition[i]
        before = P.last[p]
        R.previous[row], R.following[row], R.failed[row] = before, NONE, 0
        R.ordinal[row] = 0
        if before != NONE:
            R.following[before] = row
            R.ordinal[row] = R.ordinal[before] + 1
        P.last[p] = row
        if P.start[p] == NONE:
            P.start[p] = row
            # the last state is the beginning before the first row of a partition
            P.waits[p] = 0 if R.ordinal[row] else len(S.first) - 2
        if P.at[p] == NONE:
            P.at[p] = row
            R.state[row], R.step[row] = P.waits[p], S.first[P.waits[p]]


@kernel
def search(
    S: Steps, R: Rows, P: Partitions, some: Int64s, is_over: int, F: Found, cursor: Int64s
) -> int:
    """Resume the searches of some partitions until each waits; return the number of matches.

    With `is_over` no further row comes. ``cursor[0]`` counts the tried steps.
    """
    matches = 0
    for n in range(len(some)):
        p = some[n]
        while P.start[p] != NONE:
            row, s = P.at[p], P.start[p]
            q = P.waits[p] if row == NONE else R.state[row]
            k = S.first[q] if row == NONE else R.step[row]
            end = S.first[q + 1]
            if row == NONE:
                while is_over and k < end and S.variable[k] != ACCEPTS:
                    k += 1
                if k < end and S.variable[k] != ACCEPTS:
                    break
            is_read, accepts = False, False
            while k < end and not is_read and not accepts:
                cursor[0] += 1
                if S.variable[k] == ACCEPTS:
                    accepts = True
                elif R.letter[row] >> S.variable[k] & 1:
                    target, following = S.target[k], R.following[row]
                    if following == NONE or not R.failed[following] >> target & 1:
                        is_read = True
                        R.step[row] = k + 1
                        P.at[p], P.waits[p] = following, target
                        if following != NONE:
                            R.state[following], R.step[following] = target, S.first[target]
                k += 1
            if is_read:
                continue
            before = P.last[p] if row == NONE else R.previous[row]
            if accepts:
                length = 0 if row == s else R.ordinal[before] - R.ordinal[s] + 1
                P.number[p] += 1
                F.partition[matches], F.start[matches] = p, s
                F.length[matches], F.number[matches] = length, P.number[p]
                matches += 1
                P.start[p] = row if length else R.following[s]
            else:
                # invariant: all steps of a failure were tried and failed
                if row != NONE:
                    R.failed[row] |= 1 << q
                if row != s:
                    P.at[p] = before
                    continue
                P.start[p] = R.following[s]
            P.at[p], P.waits[p] = P.start[p], 0
            if P.at[p] != NONE:
                R.state[P.at[p]], R.step[P.at[p]] = 0, S.first[0]
    return matches


@kernel
def gather(R: Rows, F: Found, matches: int, reach: int, G: Gathered) -> tuple[int, int]:
    """Gather the rows of matches, each after up to `reach` rows before it.

    Return the numbers of rows and of steps. An empty match has the row where it is.
    """
    count = labels = 0
    for m in range(matches):
        before, row = 0, F.start[m]
        while before < reach and R.previous[row] != NONE:
            row = R.previous[row]
            before += 1
        G.begin[m] = count + before
        for i in range(before + max(F.length[m], 1)):
            G.row[count], G.match[count] = row, m
            if before <= i < before + F.length[m]:
                G.step[labels] = R.step[row] - 1
                labels += 1
            count += 1
            row = R.following[row]
    return count, labels


@kernel
def mark(R: Rows, P: Partitions, reach: int, kept: NDArray[Any]) -> None:
    """Mark the rows that later matches read, and the last row of each partition."""
    for p in range(len(P.last)):
        row = P.last[p]
        end = R.ordinal[row] + 1 if P.start[p] == NONE else R.ordinal[P.start[p]]
        lowest = min(end - reach, R.ordinal[row])
        while row != NONE and R.ordinal[row] >= lowest:
            kept[row] = True
            row = R.previous[row]
