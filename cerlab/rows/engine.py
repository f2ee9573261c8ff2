"""The driver of the compiled scan: it prepares arrays, computes table cells, and yields matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
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
    flat,
)
from cerlab.rows import search_kernels as k
from cerlab.rows.machine import (
    MAX_STEPS,
    STEPS_PER_ROW,
    Accept,
    Letter,
    LiveSets,
    ReadRow,
    StepTable,
    too_long,
)
from cerlab.rows.search_kernels import ATTEMPTS, ROW, MatchBuffers, ScanOptions
from cerlab.rows.value_kernels import FIRST, LAST, OWN, MappedRows, Programs

BATCH = 1 << 18
"""The most matches in a batch, which has room for as many labels and one longest match."""


class Matches(NamedTuple):
    """Matches in the order of the scan; their labels are concatenated.

    A length of -1 is a row without a match.
    """

    start: Int64s  # (matches,)
    length: Int64s  # (matches,)
    number: Int64s  # (matches,)
    variable: Int32s  # (labels,), indices of variables
    is_excluded: Bytes  # (labels,)


class Stuck(Exception):
    """The error that AFTER MATCH SKIP TO a variable finds no row, or the match's first row."""

    def __init__(self, row: int, *, absent: bool) -> None:
        super().__init__(row)
        self.row, self.absent = row, absent


class LetteredRows(NamedTuple):
    """Rows, each with a letter: the set of variables whose conditions hold on the row."""

    variables: Sequence[str]
    letters: Sequence[Letter]
    letter: Int32s  # (rows,): the number of the row's letter
    last: Bytes  # (rows,): whether the row ends its partition


class Walk:
    """The compiled scan: first backwards for live states, then forwards for matches."""

    def __init__(self, live: LiveSets, rows: LetteredRows) -> None:
        self.live, self.table, self.letters = live, live.table, rows.letters
        self._rows = k.RowLetters(rows.letter, rows.last, np.zeros(len(rows.letter), np.int32))
        self._steps = flat_steps(live.table, rows.variables)
        self._table = k.WalkTable(
            *self._steps[:3],
            holding(rows.variables, rows.letters),
            np.zeros((0, len(rows.letters)), np.int32),
            np.zeros((0, len(live.table.steps)), np.uint8),
        )
        self._sets = 0
        self.cells = self.attempts = 0
        """The number of determinised cells and tried steps, for tests of cost."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._rows.letter)

    def look_ahead(self) -> None:
        """Compute the live states at every row, from the last to the first."""
        self._make_room()
        status, row = k.look_ahead(self._table, self._rows, self.rows - 1)
        while status == NEED_CELL:
            poll()
            following = 0 if self._rows.last[row] else int(self._rows.live[row + 1])
            letter = int(self._rows.letter[row])
            number = self.live.before(following, self.letters[letter])
            self._make_room()
            self._table.before[following, letter] = number
            self.cells += 1
            status, row = k.look_ahead(self._table, self._rows, row)

    def _make_room(self) -> None:
        """Enlarge the table to all known sets of live states."""
        sets, (size, states) = self.live.sets, self._table.alive.shape
        if size < len(sets):
            # doubled, because growing by one set would copy the whole table each time
            before = np.full((2 * len(sets), self._table.before.shape[1]), UNKNOWN, np.int32)
            before[:size] = self._table.before
            alive = np.zeros((2 * len(sets), states), np.uint8)
            alive[:size] = self._table.alive
            self._table = self._table._replace(before=before, alive=alive)
        for number in range(self._sets, len(sets)):
            self._table.alive[number] = [sets[number] >> q & 1 for q in range(states)]
        self._sets = len(sets)

    def matches(self, options: k.ScanOptions) -> Iterator[Matches]:
        """Yield the matches in batches; raises `Stuck`."""
        # backwards first, because the forward pass needs the live states
        self.look_ahead()
        cursor = np.zeros(k.ATTEMPTS + 1, np.int64)

        def run(B: k.MatchBuffers) -> int:
            poll()
            status = k.walk(self._table, self._rows, options, B, cursor)
            self.attempts = int(cursor[k.ATTEMPTS])
            return status

        return batches(self.rows, self._steps, cursor, run)


class FlatSteps(NamedTuple):
    """The steps of all states, concatenated; those of state q begin at ``first[q]``."""

    first: Int32s  # (states + 1,)
    variable: Int32s  # (steps,), or ACCEPTS
    target: Int32s  # (steps,)
    is_excluded: Bytes  # (steps,)


def flat_steps(table: StepTable, variables: Sequence[str]) -> FlatSteps:
    """Return the steps of a table, concatenated."""

    def columns(step: ReadRow | Accept) -> tuple[int, int, bool]:
        if isinstance(step, Accept):
            return k.ACCEPTS, k.ACCEPTS, False
        return variables.index(step.variable), step.target, step.excluded

    rows = [[*map(columns, of_state)] for of_state in table.steps]
    return FlatSteps(*flat(rows, np.int32, np.int32, np.uint8))


def holding(variables: Sequence[str], letters: Sequence[Letter]) -> Bytes:
    """Return whether each variable is in each letter: (letters, variables)."""
    table = [[v in letter for v in variables] for letter in letters]
    return np.array(table, np.uint8).reshape(len(letters), len(variables))


def batches(
    rows: int, steps: FlatSteps, cursor: Int64s, run: Callable[[k.MatchBuffers], int]
) -> Iterator[Matches]:
    """Yield the matches that a kernel writes, in batches; raises `Stuck`."""
    # room for a match of all rows, because a match cannot be split over batches
    room = min(BATCH, rows)
    B = k.MatchBuffers(
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(rows + room, np.int32),
    )
    status = FULL
    while status == FULL:
        cursor[k.MATCHES] = cursor[k.LABELS] = 0
        status = run(B)
        m, numbers = cursor[k.MATCHES], B.step[: cursor[k.LABELS]]
        # copied, because the kernel reuses its buffers
        yield Matches(
            B.start[:m].copy(),
            B.length[:m].copy(),
            B.number[:m].copy(),
            steps.variable[numbers],
            steps.is_excluded[numbers],
        )
    if status != DONE:
        raise Stuck(int(cursor[k.ROW]), absent=status == k.SKIP_ABSENT)


BETWEEN_POLLS = 1 << 22
"""The number of steps between two checks of the limits."""

MOST_KEPT = 1 << 24
"""The most numbers in the table of failures; a failure is a state, a row and registers."""


class MatchConditions(NamedTuple):
    """The compiled conditions that read other rows of the match."""

    programs: Programs
    has_name: Bytes  # (variables, names): whether a name includes a variable
    registers: Int32s | None  # what a failed search depends on; None if failures are not stored


class RegisterSearch:
    """The compiled search for matches whose conditions read other rows of the match.

    `limit` is the end of the rows that WITHIN admits from each row, empty without WITHIN.
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
        names, folds, limbs = has_name.shape[1], len(programs.fold), len(programs.limb)
        mapping = MappedRows(
            has_name,
            np.empty((names, longest), np.int64),
            np.zeros(names, np.int64),
            np.zeros((folds, longest + 1)),
            np.zeros((folds, longest + 1), np.int64),
            np.zeros((limbs, longest + 1), np.int64),
            np.zeros(limbs + 2, np.int64),
            np.zeros(1, np.int64),
            np.empty(longest, np.int32),
        )
        path = k.Path(np.empty(longest + 1, np.int32), np.empty(longest + 1, np.int32))
        is_used, read = registers is not None, np.zeros((0, 3), np.int32)
        read = read if registers is None else registers
        probe = np.zeros(2 + len(read), np.int64)
        failures = k.Failures(int(is_used), _free(1 << 10, read), probe, read)
        self._search = k.SearchArrays(in_rows, programs, mapping, path, failures)
        self._budget = MAX_STEPS + STEPS_PER_ROW * longest
        self.attempts = 0
        """The number of tried steps, for tests of cost."""

    def matches(self, options: ScanOptions) -> Iterator[Matches]:
        """Yield the matches in batches; raises `Stuck` and `ResourceLimit`."""
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
        """Double the table of failed searches, or empty it if it is too large."""
        old = self._search.failures
        keys = old.key[_may_come(old, int(cursor[ROW]))]
        capacity = len(old.key)
        # at most half full, so that searches in the hash table stay short
        if 4 * len(keys) >= capacity:
            if 2 * old.key.size <= MOST_KEPT:
                capacity *= 2
            else:
                keys = keys[:0]
        larger = old._replace(key=_free(capacity, old.register))
        self._search = self._search._replace(failures=larger)
        cursor[k.FAILURES] = k.copy_failures(keys, larger)


def _may_come(failures: k.Failures, s: int) -> NDArray[np.bool_]:
    """Return which failed searches a search from row s on may repeat."""
    key = failures.key
    may: NDArray[np.bool_] = (key[:, 0] != NONE) & (key[:, 1] >= s)
    for where, values in zip(failures.register[:, 0], key.T[2:], strict=True):
        if where == OWN:
            may &= values == s
        # a register with a row before s is from an earlier match
        elif where in (FIRST, LAST):
            may &= (values >= s) | (values == NONE)
    return may


def longest_of(last: Bytes) -> int:
    """Return the number of rows of the longest partition."""
    return int(np.diff(np.flatnonzero(last), prepend=-1).max(initial=0))


def _free(capacity: int, registers: Int32s) -> Int64s:
    """Return an empty table of failed searches."""
    return np.full((capacity, 2 + len(registers)), NONE, np.int64)
