"""The partitions of a session as arrays, which pushes of many rows search together.

These are queries whose conditions read a row and rows before it, with one row for each match. Rows
are kept from the oldest open match on; the searches are in `cerlab.rows.live_kernels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.rows import expressions as ex
from cerlab.rows import live_kernels as k
from cerlab.rows import syntax as rp
from cerlab.rows.batch_conditions import BatchConditions, array_of_kind
from cerlab.rows.columns import REFUSALS
from cerlab.rows.compile import Machine, without_truths
from cerlab.rows.engine import Matches, flat_steps
from cerlab.rows.machine import GrowingMapping, Refused, step_table
from cerlab.rows.scan import ByValue, measures_of, result_rows_of
from cerlab.rows.times import row_truths
from cerlab.rows.types import Binding

MOST_STATES = 62
"""The most states, and the most variables: a row has a bit for each, in 64 bits."""

_FREE = NONE, NONE, NONE, 0, 0
"""The values of a partition without rows, as `k.Partitions` has them."""


class SavedPartition(NamedTuple):
    """A partition in a saved state; its rows are numbered from the first kept one."""

    dropped: int
    s: int
    """The row where the search for the next match begins."""
    matched_end: int
    number: int
    positions: list[int]
    columns: list[list[Any]]


def is_taken(M: Machine, conditions: BatchConditions) -> bool:
    """Return whether arrays can hold the search of a query."""
    query = M.query
    table = step_table(M.automaton, MOST_STATES - 1)
    looks_ahead = any(
        isinstance(part, ex.Next)
        for each in query.measures
        for part in ex.subexpressions(each.expression)
    )
    return not (
        table is None
        or M.of_mapping
        or set(M.at_row) - set(conditions.conditions)
        or query.within is not None
        or query.rows is not rp.RowsPerMatch.ONE
        or not isinstance(query.skip, rp.PastLastRow)
        or any(isinstance(part, rp.PartitionEnd) for part in rp.subpatterns(query.pattern))
        or len(rp.variables(query.pattern)) > MOST_STATES
        or looks_ahead
    )


class LivePartitions:
    """The rows and searches of all partitions of a session."""

    def __init__(
        self,
        M: Machine,
        binding: Binding,
        conditions: BatchConditions,
        *,
        reach: int,
        few: int,
        fewest: int,
    ) -> None:
        """Begin without partitions.

        Args:
            M: the machine, and the binding and the conditions of its query.
            reach: the number of rows that PREV steps back at most.
            few: batches of fewer rows have their conditions tested one by one.
            fewest: the number of kept rows below which none is dropped.
        """
        self._machine, self._binding, self._conditions = M, binding, conditions
        self._reach, self._few, self._fewest = reach, few, fewest
        self._variables = rp.variables(M.query.pattern)
        table = step_table(M.automaton)
        assert table is not None, "is_taken"
        flat = flat_steps(table, self._variables)
        self._steps, self._is_excluded = k.Steps(*flat[:3]), flat.is_excluded
        none, small = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self._rows = k.Rows(none, none, none, none, small, small, none)
        self._partitions = k.Partitions(none, none, none, small, none)
        self.columns: dict[str, NDArray[Any]] = {n: np.zeros(0, object) for n in binding.read}
        """The values of each column; rows after `count` are free."""
        self.positions = none
        """The number of each row in the session."""
        self.count, self._limit = 0, fewest
        self._touched, self._is_over = none, False
        self.last: list[int] = []
        """The last row of each partition."""
        self._cursor = np.zeros(1, np.int64)

    @property
    def attempts(self) -> int:
        """The number of tried steps, for tests of cost."""
        return int(self._cursor[0])

    # -- rows in ------------------------------------------------------------------------------

    def hold(self, batch: Mapping[str, Sequence[Any]], count: int) -> None:
        """Write the values of a batch behind the stored rows; raise `Refused` if unsuitable."""
        kinds = self._binding.kinds
        try:
            for name in self.columns:
                array_of_kind(batch.get(name, ()), kinds[name])
        except (*REFUSALS, TypeError, AttributeError):
            raise Refused from None
        if self.count >= self._limit:
            self._drop()
        end = self.count + count
        for name, column in self.columns.items():
            self.columns[name] = column = with_room(column, None, end)
            column[self.count : end] = batch.get(name) or [None] * count

    def read(self, partition: Sequence[int], first: int) -> None:
        """Link the held rows to their partitions, after `first` rows of the session.

        Raises `Refused` if columns cannot evaluate a condition; the rows are linked then.
        """
        begin, end = self.count, self.count + len(partition)
        numbers = np.array(partition, np.int64)
        self._rows = k.Rows._make(with_room(each, 0, end) for each in self._rows)
        self._partitions = k.Partitions._make(
            with_room(each, free, len(self.last))
            for each, free in zip(tuple[Any, ...](self._partitions), _FREE, strict=True)
        )
        self.positions = with_room(self.positions, 0, end)
        self.positions[begin:end] = np.arange(first, first + len(partition))
        k.add_rows(self._steps, self._rows, self._partitions, numbers, begin)
        self.count = end
        order = np.argsort(numbers, kind="stable")
        self._touched = np.unique(numbers)
        if len(numbers) < self._few:
            self._rows.letter[begin:end] = [*map(self._letter, range(begin, end))]
        else:
            self._set_letters(begin + order, numbers[order])

    def _letter(self, row: int) -> int:
        """Return the letter of a row by Python, which for few rows costs less than columns."""
        M, rows = self._machine, [row]
        while len(rows) <= self._reach and (row := int(self._rows.previous[row])) != NONE:
            rows.append(row)
        length = len(rows)
        values = self._values(self._conditions.read, np.array(rows[::-1]))
        mapping = GrowingMapping(values | without_truths(M, length), length, {})
        tests = [M.at_row.get(variable) for variable in self._variables]
        return sum(1 << v for v, e in enumerate(tests) if e is None or e(mapping, length - 1))

    def _set_letters(self, rows: Int64s, numbers: Int64s) -> None:
        """Evaluate the conditions at rows, sorted by partition; raises `Refused`."""
        previous = self._rows.previous
        first = np.flatnonzero(np.diff(numbers, prepend=NONE))
        every, of, before = [rows], [numbers], rows[first]
        where = numbers[first]
        for _ in range(self._reach):
            before = previous[before]
            before, where = before[before != NONE], where[before != NONE]
            every.append(before)
            of.append(where)
        read, part = np.concatenate(every), np.concatenate(of)
        order = np.lexsort((read, part))
        letter = np.zeros(len(read), np.int64)
        truths = self._truths(read[order], part[order])
        for v, variable in enumerate(self._variables):
            letter[order] |= np.int64(1 << v) * truths.get(variable, 1)
        self._rows.letter[rows] = letter[: len(rows)]

    def _truths(self, rows: Int64s, partition: Int64s) -> dict[str, NDArray[Any]]:
        C = self._conditions
        if not C.conditions:
            return {}
        try:
            R = C.rows(self._values(C.read, rows), partition)
            return {v: row_truths(e, R).astype(np.int64) for v, e in C.conditions.items()}
        except (*REFUSALS, TypeError):
            raise Refused from None

    def _values(self, names: Iterable[str], rows: Int64s) -> dict[str, list[Any]]:
        return {name: self.columns[name][rows].tolist() for name in names}

    # -- rows out -----------------------------------------------------------------------------

    def end(self) -> None:
        """Let the searches know that no further row comes."""
        self._is_over, self._touched = True, np.arange(len(self.last))

    def certain(self) -> tuple[dict[str, list[Any]], list[Any]] | None:
        """Return the result of the partitions that were read last; None if it has no rows.

        It has the values of columns by name, and the values of each measure.
        """
        F = k.Found(*np.zeros((4, self.count + len(self._touched)), np.int64))
        some, is_over = self._touched, int(self._is_over)
        found = k.search(self._steps, self._rows, self._partitions, some, is_over, F, self._cursor)
        self._touched = np.zeros(0, np.int64)
        if not found:
            return None
        query = self._machine.query
        M, rows, match = self._gathered(F, found)
        begins = np.flatnonzero(np.diff(match, prepend=NONE))[match]
        R = self._conditions.rows(self._values(self.columns, rows), match)
        result_rows = result_rows_of(query, M, begins)
        slow = ByValue(R, self._machine.names_of)
        measures = [*measures_of(query, M, result_rows, begins, slow)]
        return self._values(self._binding.inputs, rows[result_rows.row]), measures

    def _gathered(self, F: k.Found, found: int) -> tuple[Matches, Int64s, Int64s]:
        """Return the matches, the rows that their measures read, and each row's match."""
        length, number = F.length[:found].copy(), F.number[:found].copy()
        size = int(length.sum())
        room = size + found * (self._reach + 1)
        row, match, begin = (np.zeros(n, np.int64) for n in (room, room, found))
        G = k.Gathered(row, match, begin, np.zeros(size, np.int32))
        count, _ = k.gather(self._rows, F, found, self._reach, G)
        variable, is_excluded = self._steps.variable[G.step], self._is_excluded[G.step]
        return Matches(begin, length, number, variable, is_excluded), row[:count], match[:count]

    # -- rows that no match reads -------------------------------------------------------------

    def _drop(self) -> None:
        """Drop the rows that no match reads.

        It is called when the rows are twice as many as it left, so a row costs constant time.
        """
        kept = np.zeros(self.count, np.bool_)
        k.mark(self._rows, self._cut_partitions(), self._reach, kept)
        number = np.where(kept, np.cumsum(kept) - 1, NONE)
        rows = k.Rows._make(each[: self.count][kept] for each in self._rows)
        for links in (rows.previous, rows.following):
            links[:] = np.where(links == NONE, NONE, number[links])
        self._rows = rows
        for links in self._partitions[:3]:
            links[:] = np.where(links == NONE, NONE, number[links])
        self.last = self._cut_partitions().last.tolist()
        self.positions = self.positions[: self.count][kept]
        self.columns = {name: each[: self.count][kept] for name, each in self.columns.items()}
        self.count = len(rows.letter)
        self._limit = max(self._fewest, 2 * self.count)

    def _cut_partitions(self) -> k.Partitions:
        return k.Partitions._make(each[: len(self.last)] for each in self._partitions)

    # -- as a state of the session ------------------------------------------------------------

    def saved(self) -> Iterator[SavedPartition]:
        """Yield the partitions in order."""
        previous, ordinal = self._rows.previous, self._rows.ordinal
        starts, numbers = self._partitions.start.tolist(), self._partitions.number.tolist()
        for p, last in enumerate(self.last):
            s = ordinal[last] + 1 if starts[p] == NONE else ordinal[starts[p]]
            lowest = min(s - self._reach, ordinal[last])
            rows, row = list[int](), last
            while row != NONE and ordinal[row] >= lowest:
                rows.append(row)
                row = previous[row]
            rows.reverse()
            first = int(ordinal[rows[0]])
            columns = [self.columns[name][rows].tolist() for name in self._binding.read]
            positions = self.positions[rows].tolist()
            yield SavedPartition(first, int(s) - first, int(s), numbers[p], positions, columns)

    def add(self, parts: Sequence[SavedPartition], read: int) -> None:
        """Add partitions; raises `Refused`, and then no partition has been added."""
        if not parts:
            return
        names = self._binding.read
        columns = {n: [v for part in parts for v in part.columns[i]] for i, n in enumerate(names)}
        lengths = [len(part.positions) for part in parts]
        self.last = [NONE] * len(parts)
        self.hold(columns, sum(lengths))
        self.read(np.repeat(np.arange(len(parts)), lengths).tolist(), read)
        self.positions[: self.count] = [at for part in parts for at in part.positions]
        self.last = self._partitions.last[: len(parts)].tolist()
        R, P = self._rows, self._partitions
        R.ordinal[: self.count] += np.repeat([part.dropped for part in parts], lengths)
        P.number[: len(parts)] = [part.number for part in parts]
        firsts = np.cumsum([0, *lengths])[:-1]
        for p, (first, part, length) in enumerate(zip(firsts, parts, lengths, strict=True)):
            row = int(first) + part.s if part.s < length else NONE
            P.start[p] = P.at[p] = row
            if row != NONE:
                q = 0 if R.ordinal[row] else len(self._steps.first) - 2
                R.state[row], R.step[row] = q, self._steps.first[q]


def with_room(array: NDArray[Any], free: int | None, size: int) -> NDArray[Any]:
    """Return an array for at least `size` values; a larger one is filled up with `free`."""
    if len(array) >= size:
        return array
    larger = np.full(2 * size, free, array.dtype)
    larger[: len(array)] = array
    return larger
