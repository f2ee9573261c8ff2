"""The driver of the compiled search: arrays for what kernels work on, and what has failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.live import StepTable
from cerlab.budget import poll
from cerlab.engine.kernels import row_search as k
from cerlab.engine.kernels.arrays import NEED_ARENA, NONE, Bytes, Int32s, Int64s
from cerlab.engine.kernels.row_values import FIRST, LAST, OWN, MappedRows, Programs
from cerlab.engine.kernels.row_walk import ATTEMPTS, ROW, MatchBuffers, ScanOptions
from cerlab.engine.row_search import MAX_STEPS, STEPS_PER_ROW, too_long
from cerlab.engine.row_walk import LetteredRows, Matches, batches, flat_steps, holding

BETWEEN_POLLS = 1 << 22
"""Steps between two looks at the limits."""

MOST_KEPT = 1 << 24
"""How many numbers the table of failures has at most; a failure is a state, a row, registers."""


class MatchConditions(NamedTuple):
    """The conditions that read the match, which letters leave open."""

    programs: Programs
    has_name: Bytes  # (variables, names), whether a row of the variable is one of the name
    registers: Int32s | None  # what a failure depends on, None where no failure is kept


class RegisterSearch:
    """The search of rows.

    `limit` is where the rows end that WITHIN admits from each row, empty without.
    """

    def __init__(
        self, table: StepTable, rows: LetteredRows, conditions: MatchConditions, limit: Int64s
    ) -> None:
        self.table, self.letters = table, rows.letters
        self._steps = flat_steps(table, rows.variables)
        final = [table.final >> q & 1 for q in range(len(table.steps))]
        holds = holding(rows.variables, rows.letters)
        steps, longest = self._steps[:3], longest_of(rows.last)
        in_rows = k.SearchTable(
            *steps, np.array(final, np.uint8), holds, rows.letter, rows.last, limit
        )
        programs, has_name, registers = conditions
        names, folds = has_name.shape[1], len(programs.fold)
        mapping = MappedRows(
            has_name,
            np.empty((names, longest), np.int64),
            np.zeros(names, np.int64),
            np.zeros((folds, longest + 1)),
            np.zeros((folds, longest + 1), np.int64),
            np.zeros(1, np.int64),
            np.empty(longest, np.int32),
        )
        path = k.Path(np.empty(longest + 1, np.int32), np.empty(longest + 1, np.int32))
        is_used, read = registers is not None, np.zeros((0, 3), np.int32)
        read = read if registers is None else registers
        probe = np.zeros(2 + len(read), np.int64)
        failures = k.Failures(int(is_used), _free(1 << 10, read), probe, read)
        self._search = k.Search(in_rows, programs, mapping, path, failures)
        self._budget = MAX_STEPS + STEPS_PER_ROW * longest
        self.attempts = 0
        """How many steps were tried, for tests of cost."""

    def matches(self, options: ScanOptions) -> Iterator[Matches]:
        """The matches, a batch at a time; raises `Stuck` and `ResourceLimit`."""
        cursor = np.zeros(k.PAUSE + 1, np.int64)
        cursor[k.DEPTH] = NONE

        def run(B: MatchBuffers) -> int:
            status = k.AT_PAUSE
            while status in (k.AT_PAUSE, NEED_ARENA):
                poll()
                cursor[k.PAUSE] = cursor[ATTEMPTS] + BETWEEN_POLLS
                if status == NEED_ARENA:
                    self._grow(cursor)
                status = k.search(self._search, options, B, cursor, self._budget)
                self.attempts = int(cursor[ATTEMPTS])
            if status == k.TOO_LONG:
                raise too_long()
            return status

        return batches(len(self._search.table.letter), self._steps, cursor, run)

    def _grow(self, cursor: Int64s) -> None:
        """Room for more failures: of those that may come again, of none where that is too many."""
        old = self._search.failures
        keys = old.key[_may_come(old, int(cursor[ROW]))]
        capacity = len(old.key)
        if 4 * len(keys) >= capacity:
            if 2 * old.key.size <= MOST_KEPT:
                capacity *= 2
            else:
                keys = keys[:0]
        larger = old._replace(key=_free(capacity, old.register))
        self._search = self._search._replace(failures=larger)
        cursor[k.FAILURES] = k.copy_failures(keys, larger)


def _may_come(failures: k.Failures, s: int) -> NDArray[np.bool_]:
    """Which failures the search of the match at s may meet: it reads no row before s."""
    key = failures.key
    may: NDArray[np.bool_] = (key[:, 0] != NONE) & (key[:, 1] >= s)
    for where, values in zip(failures.register[:, 0], key.T[2:], strict=True):
        if where == OWN:
            may &= values == s
        elif where in (FIRST, LAST):
            may &= (values >= s) | (values == NONE)
    return may


def longest_of(last: Bytes) -> int:
    """How many rows the longest partition has."""
    return int(np.diff(np.flatnonzero(last), prepend=-1).max(initial=0))


def _free(capacity: int, registers: Int32s) -> Int64s:
    """A table without failures."""
    return np.full((capacity, 2 + len(registers)), NONE, np.int64)
