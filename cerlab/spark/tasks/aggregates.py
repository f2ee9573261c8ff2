"""Aggregates over the answers of a run: whole rows of its ends, or exact parts of other groups.

A part has the columns ``g0 g1 ..`` of its group, ``runs`` (how many answers), ``s0 p0 s1 p1 ..``
(sums, and how many values are in them) and ``m0 m1 ..`` (least and greatest values). Numbers are
integers of any size as bytes, doubles being multiples of the least one; so parts are put together
exactly, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cerlab import io
from cerlab.automata.machine import Machine
from cerlab.automata.plan import Plan
from cerlab.errors import ResourceLimit
from cerlab.model.clock import TimeAxis
from cerlab.spark.plan.reads import engine_column
from cerlab.spark.tasks.named_rows import in_types

if TYPE_CHECKING:
    from cerlab.evaluate.aggregates import GroupTotals, Request


@dataclass(frozen=True, slots=True)
class GroupRows:
    """The aggregates that are asked for: all of it plain values, for tasks."""

    request: Request
    schema: Any = None
    """The Arrow types of the rows that a task gives; None for those of the events."""

    @property
    def are_final(self) -> bool:
        """Whether all of a group is in one task, as the answers of an end are; else in parts."""
        return "end" in self.request.groups

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of events that the rows are made of."""
        names = (str(column.attribute) for column in self.request.columns)
        return tuple(dict.fromkeys((*self.request.key, *names)))


class GroupEvaluation:
    """One run of a plan, as `cerlab.spark.tasks.evaluation.Evaluation`; its events are kept.

    Answers that end before the row `own` do not count.
    """

    def __init__(
        self,
        rows: GroupRows,
        plan: Plan,
        machine: Machine,
        time: TimeAxis | None,
        attributes: Iterable[str],
    ) -> None:
        self._rows = rows
        self._plan = plan
        self._machine = machine
        self._time = time
        self._attributes = tuple(attributes)
        self._tables: list[Any] = []
        self.first = 0
        self.own: int | None = 0
        self.read = 0

    def push(self, rows: Any) -> Iterator[Any]:
        """Read a table; what there is to give is not known before the last one."""
        self._tables.append(rows)
        self.read += rows.num_rows
        return iter(())

    def finish(self) -> Iterator[Any]:
        """The rows of the groups, as record batches."""
        import pyarrow as pa

        from cerlab.evaluate.aggregates import GroupTotals  # the languages load here

        if not self.read:
            return
        rows, self._tables = pa.concat_tables(self._tables), []
        columns = {
            name: _values(rows.column(f"a{n}"), name) for n, name in enumerate(self._attributes)
        }
        stream = io.as_stream(pa.table(columns))
        positions = self.first + np.arange(self.read)
        if "position" in rows.column_names:
            positions = rows.column("position").combine_chunks().to_numpy()
        totals = GroupTotals(
            self._rows.request,
            self._plan,
            self._machine,
            stream if self._time is None else stream.on_time(self._time),
            own=self.read if self.own is None else self.own,
            positions=positions,
        )
        result = totals.table() if self._rows.are_final else _parts(totals, self._rows.request)
        yield from _fitting(result, self._rows.schema).to_batches()


def _values(column: Any, name: str) -> Any:
    """A column as the engine takes it; one of NULL alone has no type, as on one machine."""
    import pyarrow as pa

    if column.null_count == len(column):
        return pa.nulls(len(column))
    return engine_column(column, name)


def _parts(totals: GroupTotals, request: Request) -> Any:
    """The columns of parts."""
    import pyarrow as pa

    from cerlab.evaluate.aggregates import EXPONENT

    columns = {f"g{n}": totals.group(name) for n, name in enumerate(request.groups)}
    columns["runs"] = _binary(totals.totals.runs.tolist())
    for n, place in enumerate(request.summands):
        pairs, of = totals.sums(place)
        columns[f"s{n}"] = _binary(total << of.exponent + EXPONENT for total, _ in pairs)
        columns[f"p{n}"] = _binary(present for _, present in pairs)
    for n, measure in enumerate(request.extremes):
        columns[f"m{n}"] = totals.extreme(measure)
    return pa.table(columns)


def _binary(integers: Iterable[int]) -> Any:
    import pyarrow as pa

    sizes = (n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True) for n in integers)
    return pa.array(list(sizes), pa.binary())


def merge_parts(batches: Iterable[Any], rows: GroupRows) -> Iterator[Any]:
    """The rows of groups, each with the lists of all its parts but for ``m0 m1 ..``."""
    import pyarrow as pa

    from cerlab.evaluate.aggregates import EXPONENT, integer_column, sum_column

    request = rows.request
    for batch in batches:
        columns = {name: batch.column(f"g{n}") for n, name in enumerate(request.groups)}
        if request.count:
            columns["count"] = integer_column(_sums(batch.column("runs")), "count")
        for measure in request.measures:
            if measure in request.extremes:
                columns[measure.name] = batch.column(f"m{request.extremes.index(measure)}")
                continue
            at, kind = request.summands.index(measure.place), rows.schema.field(measure.name).type
            totals, present = (_sums(batch.column(f"{name}{at}")) for name in "sp")
            whole = not pa.types.is_floating(kind)
            exponent = 0 if whole else -EXPONENT
            totals = [total >> EXPONENT for total in totals] if whole else totals
            pairs = zip(totals, present, strict=True)
            columns[measure.name] = sum_column(measure, pairs, exponent, whole=whole)
        yield from _fitting(pa.table(columns), rows.schema).to_batches()


def _sums(lists: Any) -> list[int]:
    """The sum of each list of integers that were written by `_binary`."""
    return [
        sum(int.from_bytes(each, "little", signed=True) for each in some)
        for some in lists.to_pylist()
    ]


def _fitting(table: Any, schema: Any) -> Any:
    """The same rows in some types; raises `ResourceLimit` for integers beyond 64 bits."""
    import pyarrow as pa

    for field in () if schema is None else schema:
        if pa.types.is_int64(field.type) and pa.types.is_decimal(table.column(field.name).type):
            raise ResourceLimit(
                "CER0619",
                f"'{field.name}' needs more than the 64 bits of a bigint",
                hint="Matches.aggregate has decimals; GROUP BY end and WITHIN make smaller sums",
            )
    return in_types(table, schema)
