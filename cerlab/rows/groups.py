"""Row patterns on long files, evaluated in groups of partitions, one group in memory at a time.

One pass over a file numbers the keys by their first rows and counts the rows of each. A second pass
puts the rows of each group together in a temporary file. A group has keys of consecutive numbers,
so the results of all groups, one after the other, are in the order of the partitions of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.errors import BadData, DataPlace
from cerlab.io.arrow import FileTable
from cerlab.io.parts import one_array
from cerlab.model.arrays import array_from, numbers_of
from cerlab.model.stream import PART
from cerlab.predicates.columns.grouped_rows import GroupedRows, temporary_file
from cerlab.rows.syntax import RowPattern
from cerlab.rows.types import Binding, InputColumn, references

ROWS = 2 * PART
"""Rows of a group, unless one key has more. Sessions of 10 million rows take 110 bytes a row."""

Evaluate: TypeAlias = Callable[[Any], Callable[[], Any]]
"""Searches a table for matches, and returns what makes the table of the result."""


class Clause(NamedTuple):
    """A row pattern bound to the columns of a file."""

    query: RowPattern
    binding: Binding
    check: Callable[[Any, int], None]
    """Sees the rows of each part, with the number of rows before it."""
    evaluate: Evaluate

    @property
    def key_names(self) -> list[str]:
        """The columns of PARTITION BY, by name."""
        return [self.binding.names[column.name] for column in self.query.partition_by]

    @property
    def names(self) -> list[str]:
        """The columns that the query reads, by name."""
        shown = (c.column for c in self.binding.output if isinstance(c, InputColumn))
        return [*dict.fromkeys((*self.binding.names.values(), *shown))]

    @property
    def only_keys(self) -> set[str]:
        """The columns that are read only as keys of PARTITION BY."""
        others = islice(references(self.query), len(self.query.partition_by), None)
        return {*self.key_names} - {self.binding.names[column.name] for column in others}


def result_by_groups(clause: Clause, rows: FileTable) -> Any | None:
    """Return the result on a long file, group by group; None if that is not possible.

    Raises as the functions of the clause, and `OSError` where the parts have no room on the disk.
    """
    if not _has_groups(clause, rows):
        return None
    keys = _Keys(clause.key_names)
    with temporary_file() as codes, temporary_file() as file:
        if (groups := _groups_of_keys(keys, rows, codes)) is None:
            return None
        tables = _write_groups(clause, rows, groups, file)
        return _results(clause, tables, keys, groups)


def _has_groups(clause: Clause, rows: FileTable) -> bool:
    """Return whether a query on a file can be evaluated in groups.

    Values of the keys are equal if they are equal in Arrow, which is not so of zeros of doubles.
    Batches of one file share a dictionary, and parts of a file do not.
    """
    if not clause.key_names or rows.num_rows <= ROWS:
        return False
    kinds = {field.name: field.type for field in rows.schema}
    of_keys = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_temporal, _is_plain_text)
    if not all(any(holds(kinds[name]) for holds in of_keys) for name in clause.key_names):
        return False
    others = (pa.types.is_dictionary, pa.types.is_nested)
    if any(holds(kinds[name]) for holds in others for name in clause.names):
        return False
    return bool(next(rows.parts(PART)).num_rows < rows.num_rows)


def _is_plain_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class _Numbers:
    """Numbers for the values of a column, in order of first occurrence."""

    def __init__(self) -> None:
        self.values: Any = None

    def of(self, column: Any) -> NDArray[np.int64]:
        """Return the number of each value, including NULL."""
        coded = pc.dictionary_encode(column, null_encoding="encode")
        own = coded.dictionary
        if self.values is None:
            self.values, numbers = own, np.arange(len(own))
        else:
            known = pc.index_in(own, value_set=self.values)
            is_new = numbers_of(known.is_null().cast(pa.uint8())).astype(np.bool_)
            numbers = numbers_of(known.fill_null(0)).astype(np.int64)
            numbers[is_new] = len(self.values) + np.arange(np.count_nonzero(is_new))
            self.values = pa.concat_arrays([self.values, own.filter(array_from(is_new))])
        codes: NDArray[np.int64] = numbers[numbers_of(coded.indices)]
        return codes


class _Keys:
    """Numbers for the keys of several columns, in order of first occurrence."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._numbers = [_Numbers() for _ in names]
        self._pairs = [_Numbers() for _ in names[1:]]
        """Numbers of the first columns, paired with that of the next one."""

    def of(self, part: FileTable) -> NDArray[np.int64]:
        """Return the number of the key in each row."""
        columns = (one_array(part.column(name)) for name in self._names)
        first, *others = (n.of(c) for n, c in zip(self._numbers, columns, strict=True))
        for pair, other in zip(self._pairs, others, strict=True):
            first = pair.of(array_from(first << 32 | other))
        return first

    def values(self) -> dict[str, Any]:
        """Return the key columns, with one value for each key number."""
        rest = np.arange(len((self._pairs or self._numbers)[-1].values))
        columns = list[Any]()
        for pair, numbers in zip(self._pairs[::-1], self._numbers[:0:-1], strict=True):
            words = numbers_of(pair.values)[rest]
            columns.append(numbers.values.take(array_from(words & 0xFFFF_FFFF)))
            rest = words >> 32
        columns.append(self._numbers[0].values.take(array_from(rest)))
        return dict(zip(self._names, columns[::-1], strict=True))


class _Groups(NamedTuple):
    """The group of each key, and a temporary file with the key number of each row."""

    of_key: NDArray[np.int64]
    codes: IO[bytes]

    @property
    def number(self) -> int:
        """The number of groups."""
        return int(self.of_key[-1]) + 1

    def next_codes(self, rows: int) -> NDArray[np.int64]:
        """Return the key numbers of the next rows in the file."""
        return np.fromfile(self.codes, np.int32, rows).astype(np.int64)

    def row(self, group: int, row: int) -> int:
        """Return the row in the input file of a row in a group."""
        self.codes.seek(0)
        before = 0
        while len(codes := self.next_codes(PART)):
            own = np.flatnonzero(self.of_key[codes] == group)
            if row < len(own):
                return before + int(own[row])
            before, row = before + len(codes), row - len(own)
        raise AssertionError("the group has fewer rows than expected")


def _groups_of_keys(keys: _Keys, rows: FileTable, file: IO[bytes]) -> _Groups | None:
    """Write the key number of each row to a file; return None if one group holds all keys."""
    sizes = np.zeros(0, np.int64)
    for part in rows.parts(PART):
        poll()
        codes = keys.of(part)
        codes.astype(np.int32).tofile(file)
        more = np.bincount(codes, minlength=len(sizes))
        more[: len(sizes)] += sizes
        sizes = more
    groups, of_key = np.unique((np.cumsum(sizes) - 1) // ROWS, return_inverse=True)
    return _Groups(of_key.astype(np.int64), file) if len(groups) > 1 else None


def _write_groups(
    clause: Clause, rows: FileTable, groups: _Groups, file: IO[bytes]
) -> Iterator[Any]:
    """Write the rows by groups, and return the table of each group.

    In place of a column that is a key alone stands the number of the key.
    """
    groups.codes.seek(0)
    numbered, before = clause.only_keys, 0
    written = GroupedRows(file, groups.number)
    for part in rows.parts(PART):
        codes = groups.next_codes(part.num_rows)
        clause.check(part, before)
        before += part.num_rows
        columns = {
            name: array_from(codes) if name in numbered else one_array(part.column(name))
            for name in clause.names
        }
        written.write(columns, groups.of_key[codes])
    return written.tables()


def _results(clause: Clause, tables: Iterator[Any], keys: _Keys, groups: _Groups) -> Any | None:
    """Return the results of all groups; None if their column types differ.

    An error of a search comes before errors of measures, as on a table.
    """
    results, errors, values = [], list[BadData](), keys.values()
    for number, table in enumerate(tables):
        try:
            result = clause.evaluate(table)
        except BadData as error:
            if isinstance(place := error.place, DataPlace) and place.row:
                error.place = replace(place, row=groups.row(number, place.row - 1) + 1)
            raise
        try:
            results.append(_with_keys(result(), clause, values))
        except BadData as error:
            errors.append(error)
    if errors:
        names = [column.name for column in clause.binding.output]
        raise min(errors, key=lambda error: names.index(error.column or names[0]))
    same = all(result.schema.equals(results[0].schema) for result in results)
    return pa.concat_tables(results) if same else None


def _with_keys(result: Any, clause: Clause, values: Mapping[str, Any]) -> Any:
    """Return a result with key values in place of key numbers."""
    numbered = clause.only_keys
    for n, column in enumerate(clause.binding.output):
        if isinstance(column, InputColumn) and column.column in numbered:
            shown = values[column.column].take(result.column(n))
            result = result.set_column(n, column.name, shown)
    return result
