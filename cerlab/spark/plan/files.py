"""Which range of a stream reads which row groups of its files."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.automata.plan import Plan
from cerlab.model.clock import TimeAxis
from cerlab.spark.plan.assignment import RangeAssignment, assign_ranges
from cerlab.spark.plan.bit_fields import BitFields, bit_fields
from cerlab.spark.plan.footers import Columns, Layout, RowGroup
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.order import Labels


@dataclass(frozen=True, slots=True)
class FileRanges:
    """The clusters of a stream, as tasks get them, and which range reads each of them."""

    mode: Mode
    clusters: tuple[tuple[RowGroup, ...], ...]
    assignment: RangeAssignment
    columns: Columns
    labels: Labels

    @property
    def parts(self) -> int:
        """How many ranges there are."""
        return self.assignment.parts


@dataclass(frozen=True, slots=True)
class UnorderedFiles:
    """Row groups that lie among one another, and the columns that order their rows."""

    groups: tuple[RowGroup, ...]
    columns: Columns

    @property
    def fields(self) -> BitFields | None:
        """Their keys and times as one integer, as far as the footers tell; None without room."""
        if self.columns.time is None or not self.groups:
            return None
        firsts = zip(*((*g.first, g.first_time) for g in self.groups), strict=True)
        lasts = zip(*((*g.last, g.last_time) for g in self.groups), strict=True)
        *keys, time = zip(map(min, firsts), map(max, lasts), strict=True)
        return bit_fields([(f"k{n}", *ends) for n, ends in enumerate(keys)], [("time", *time)])


def ranges_in_files(
    lie: Layout,
    columns: Columns,
    labels: Labels,
    plan: Plan,
    time: TimeAxis | None,
    mode: Mode,
    parts: int,
) -> FileRanges:
    """The clusters in at most so many ranges, each with one window before it; or all in one."""
    assignment = assign_ranges(lie.runs, plan, time, mode, parts, lie.unit)
    return FileRanges(mode, lie.clusters, assignment, columns, labels)
