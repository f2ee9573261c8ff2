"""Rows of many sequences, each sorted by time up to a lateness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias
from urllib.parse import unquote

import numpy as np

from cerlab.engine.row_order import ColumnNames, are_far, first_problem
from cerlab.errors import BadData, DataPlace
from cerlab.model.arrays import order_of
from cerlab.model.stream import OF_FAR

Instant: TypeAlias = int | float
"""A time in the unit of its column."""

_ORDER = [("time", "ascending"), ("position", "ascending")]


@dataclass(frozen=True, slots=True)
class Sequences:
    """For each sequence, its last released row and the rows that wait.

    The arrays are (sequences,): whether a row has been released, and time and position of the last
    one.
    """

    has_released: Any
    time: Any
    position: Any
    pending_rows: Any
    """The rows held back, a table, by sequence and in order."""

    def __len__(self) -> int:
        return len(self.has_released)

    def with_count(self, count: int) -> Sequences:
        """Return this state with new, empty sequences added, `count` in total."""
        more = count - len(self)
        has_released, time, position = (np.pad(array, (0, more)) for array in self.arrays())
        return Sequences(has_released, time, position, self.pending_rows)

    def only(self, numbers: Any) -> Sequences:
        """Return the state of some sequences, renumbered; the others must have no waiting rows."""
        new_number = np.full(len(self), -1, np.int64)
        new_number[numbers] = np.arange(len(numbers))
        sequence = new_number[_numbers(self.pending_rows, "sequence")]
        pending = with_sequence(self.pending_rows, sequence)
        has_released, time, position = (array[numbers] for array in self.arrays())
        return Sequences(has_released, time, position, pending)

    def arrays(self) -> tuple[Any, Any, Any]:
        """Return, by sequence, whether a row was released, and the last one's time and position."""
        return self.has_released, self.time, self.position

    def waiting(self) -> Any:
        """Return whether each sequence has waiting rows: bool (sequences,)."""
        waiting = np.zeros(len(self), bool)
        waiting[_numbers(self.pending_rows, "sequence")] = True
        return waiting

    def newest(self) -> Any:
        """Return the latest time in each sequence, including waiting rows: (sequences,)."""
        newest = self.time.copy()
        sequence = _numbers(self.pending_rows, "sequence")
        # sorted by time: the last assignment per sequence wins
        newest[sequence] = _numbers(self.pending_rows, "time")
        return newest


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arriving rows, divided into released, late, waiting and bad rows."""

    released_rows: Any
    """By sequence, in order."""
    late: Any
    after: Sequences
    bad: Any
    """The rows without a valid place in the order, with the reason in ``why``."""


def nothing(schema: Any) -> Sequences:
    """Return the state without sequences, for rows with the given schema."""
    rows = with_sequence(schema.empty_table(), np.zeros(0, np.int64))
    times = rows.column("time").to_numpy()
    return Sequences(np.zeros(0, bool), times, np.zeros(0, np.int64), rows)


def with_sequence(rows: Any, numbers: Any) -> Any:
    """Return the rows with `numbers` as their sequence column."""
    import pyarrow as pa

    if "sequence" in rows.column_names:
        rows = rows.drop_columns("sequence")
    return rows.append_column("sequence", pa.array(numbers, pa.int64()))


FILE = "file"
"""A column of arriving rows that no state has: the file that Spark read a row from, or ``""``."""


def arrive(
    before: Sequences,
    rows: Any,
    lateness: Instant,
    labels: ColumnNames,
    floor: Instant | None = None,
    *,
    quarantine: bool = False,
) -> Arrival:
    """Add rows to their sequences; divide them into released, late, waiting and bad rows.

    Rows without position, time or type, with a time out of range, repeated rows, and rows whose
    position does not increase along the times are set apart under `quarantine`; otherwise they
    raise `BadData`. `labels` are the names of time and position.
    """
    import pyarrow as pa

    bad = []
    if (why := _without_place(rows, labels)).null_count < rows.num_rows:
        if not quarantine:
            _refuse_cells(rows, labels)
        bad.append(rows.append_column("why", why).filter(why.is_valid()))
        rows = rows.filter(why.is_null())
    fresh = _in_order(rows)
    if not quarantine:
        _check_positions(before, fresh, labels, np.zeros(len(before), bool))
    late = _late(before, fresh, floor)
    whole = fresh if not late.any() else fresh.filter(pa.array(~late))
    if quarantine:
        why = _misplaced(before, whole, labels)
        bad.append(whole.append_column("why", why).filter(why.is_valid()))
        whole = whole.filter(why.is_null())
    if before.pending_rows.num_rows:
        both = [before.pending_rows, whole]
        whole = _in_order(pa.concat_tables(both, promote_options="default"))
    _check_positions(before, whole, labels, before.has_released)
    sequence, times = _numbers(whole, "sequence"), _numbers(whole, "time")
    newest = before.time.copy()
    newest[sequence] = times  # rows are sorted, so the last assignment wins
    due = _is_more(newest[sequence], times, lateness)
    if floor is not None:
        due |= times < floor
    has_released, time, position = (array.copy() for array in before.arrays())
    due_sequences = sequence[due]
    has_released[due_sequences] = True
    time[due_sequences] = times[due]
    position[due_sequences] = _numbers(whole, "position")[due]
    whole = _without_file(whole)
    return Arrival(
        released_rows=whole.filter(pa.array(due)),
        late=_without_file(fresh).filter(pa.array(late)),
        after=Sequences(has_released, time, position, whole.filter(pa.array(~due))),
        bad=pa.concat_tables(
            bad or [rows.slice(0, 0).append_column("why", pa.array([], "string"))]
        ),
    )


def _without_file(rows: Any) -> Any:
    return rows.drop_columns(FILE) if FILE in rows.column_names else rows


def _is_more(after: Any, before: Any, length: Instant) -> Any:
    """Return whether times exceed earlier times by more than a length, without overflow."""
    if after.dtype == np.int64:
        # unsigned: the difference of two int64 numbers may need all 64 bits
        return after.view(np.uint64) - before.view(np.uint64) > length
    return before < after - length


def _in_order(rows: Any) -> Any:
    names = ("sequence", "time", "position")
    return rows.take(order_of(*(_numbers(rows, name) for name in names)))


def _late(before: Sequences, rows: Any, floor: Instant | None) -> Any:
    """Return a mask of the rows that are late."""
    sequence, times, positions = (_numbers(rows, n) for n in ("sequence", "time", "position"))
    time, position = before.time[sequence], before.position[sequence]
    late = (times < time) | ((times == time) & (positions <= position))
    late &= before.has_released[sequence]
    if floor is not None:
        late |= times < floor
    return late


def _without_place(rows: Any, labels: ColumnNames) -> Any:
    """Return an error text for rows without a valid type, time or position; NULL for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    time, position = labels.keys
    types = rows.column("a0")
    why: Any = pa.nulls(rows.num_rows, pa.string())
    far = pc.fill_null(are_far(rows.column("time")), False) if labels.moments else pa.scalar(False)
    for wrong, text in (
        (pc.or_(pc.is_null(types), pc.fill_null(pc.equal(types, ""), False)), "it has no type"),
        (pc.invert(pc.fill_null(pc.is_finite(rows.column("time")), False)), f"'{time}' is missing"),
        (far, f"'{time}' is {OF_FAR}"),
        (pc.is_null(rows.column("position")), f"'{position}' is missing"),
    ):
        why = pc.if_else(wrong, text, why)
    return why.combine_chunks() if isinstance(why, pa.ChunkedArray) else why


def _misplaced(before: Sequences, fresh: Any, labels: ColumnNames) -> Any:
    """Return an error text for rows whose position contradicts their time; NULL for others.

    Rows that were read before stay. A new row is misplaced if its position is not below those of
    the staying rows after it, and not above those of all rows before it.
    """
    import pyarrow as pa

    last = np.flatnonzero(before.has_released)
    held = before.pending_rows
    sequence, time, position = (
        np.concatenate((of_last, _numbers(held, name), _numbers(fresh, name)))
        for name, of_last in (
            ("sequence", last),
            ("time", before.time[last]),
            ("position", before.position[last]),
        )
    )
    is_fresh = np.arange(len(sequence)) >= len(last) + held.num_rows
    order = order_of(sequence, time, position, is_fresh)
    sequence, time, position, is_fresh = (a[order] for a in (sequence, time, position, is_fresh))
    ranks = np.unique(position, return_inverse=True)[1]
    place = sequence * (len(ranks) + 1) + ranks + 1  # increases with (sequence, rank)
    stays = np.where(is_fresh, np.iinfo(np.int64).max, place)
    wrong = is_fresh & (place >= np.minimum.accumulate(stays[::-1])[::-1])
    above = np.maximum.accumulate(np.where(wrong, 0, place))
    wrong[1:] |= is_fresh[1:] & (place[1:] <= above[:-1])
    repeats = np.zeros(len(sequence), bool)
    repeats[1:] = np.logical_and.reduce([np.diff(a) == 0 for a in (sequence, time, position)])
    text = f"'{labels.keys[-1]}' does not increase along the stream"
    reasons = np.where(repeats, DUPLICATE, text)
    in_table = np.empty(len(order), np.int64)
    in_table[order] = np.arange(len(order))
    mine = in_table[len(order) - fresh.num_rows :]
    return pa.array(reasons[mine], pa.string(), mask=~wrong[mine])


DUPLICATE = "duplicate: the row has come before"


def _refuse_cells(rows: Any, labels: ColumnNames) -> NoReturn:
    """Raise `BadData` if a row has no position, time or type."""
    import pyarrow.compute as pc

    row = int(pc.index(_without_place(rows, labels).is_valid(), True).as_py())
    number = rows.column("sequence")[row].as_py()
    _refuse(None, rows.filter(pc.equal(rows.column("sequence"), number)).sort_by(_ORDER), labels)


def _check_positions(before: Sequences, rows: Any, labels: ColumnNames, has_released: Any) -> None:
    """Raise `BadData` if positions do not increase in a sequence sorted by time.

    If a sequence `has_released` rows, its rows must come after the last of them.
    """
    import pyarrow as pa

    sequence, position = _numbers(rows, "sequence"), _numbers(rows, "position")
    same = np.diff(sequence, prepend=-1) == 0
    wrong = ~same & has_released[sequence] & (position <= before.position[sequence])
    wrong[1:] |= same[1:] & (position[1:] <= position[:-1])
    if wrong.any():
        number = int(sequence[wrong.argmax()])
        last = None
        if has_released[number]:
            place = {"position": before.position[[number]], "time": before.time[[number]]}
            last = pa.table({**place, "a0": ["?"]})
        _refuse(last, rows.filter(pa.array(sequence == number)), labels)


HINT = "quarantine=True, --quarantine here, goes on without such rows from the same checkpoint"


def _refuse(last: Any, rows: Any, labels: ColumnNames) -> NoReturn:
    """Raise `BadData` for the first row that cannot follow `last` in its sequence."""
    problem = first_problem(None if last is None else _view(last), _view(rows), labels)
    assert problem is not None
    row, text = problem.row, problem.text
    cells = [rows.column(name).to_pylist() for name in ("time", "position")]
    if row and all(column[row - 1] == column[row] for column in cells):
        time = labels.text(labels.keys[0], cells[0][row])
        text = f"duplicate: two rows have {labels.keys[0]} = {time} and this position"
    files = rows.column(FILE) if FILE in rows.column_names else None
    file = None if files is None else files[row].as_py()
    place = DataPlace(unquote(file.removeprefix("file://"))) if file else None
    raise BadData(problem.code, f"at position {cells[1][row]}: {text}", place=place, hint=HINT)


def _view(rows: Any) -> Any:
    """Return rows with the column names that `first_problem` reads."""
    import pyarrow as pa

    position, time = rows.column("position"), rows.column("time")
    columns = {"k0": time, "k1": position, "position": position, "time": time}
    return pa.table({**columns, "type": rows.column("a0").cast(pa.string())})


def _numbers(rows: Any, name: str) -> Any:
    return rows.column(name).to_numpy()
