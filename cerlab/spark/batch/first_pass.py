"""The first pass on Spark: the runs that rows lie in; else cuts, and what is between them.

Rows that lie in order are read once, and stay where they are (`cerlab.spark.batch.runs_pass`).
Others are cut at quantiles of a sample, sorted, and told by one summary for each part; that also
says what is wrong with rows that are no stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab.model.clauses import EventWindow
from cerlab.spark.batch.files import file_ranges
from cerlab.spark.batch.frame import MICROSECOND, at_or_after, how_many
from cerlab.spark.batch.request import Request
from cerlab.spark.batch.runs_pass import runs_pass
from cerlab.spark.plan import cuts
from cerlab.spark.plan.assignment import Dealing
from cerlab.spark.plan.cuts import Halo
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.footers import Unproved
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.reads import window_width
from cerlab.spark.plan.survey import SUMMARY, Summary, summaries

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SAMPLE = 256
"""How many rows of the sample there are for each part."""


@dataclass(frozen=True)
class Sorted:
    """A stream whose rows had to be sorted: where it is cut, and what is between the cuts."""

    cuts: tuple[tuple[Any, ...], ...]
    """The keys of the first row of each part but the first."""
    summaries: tuple[Summary, ...]

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.summaries)


FirstPass: TypeAlias = FileRanges | Dealing | Sorted


def first_pass(asked: Request) -> FirstPass:
    """Where the rows of the stream lie: by the footers of its files, if it is no more than those.

    Else the columns that order the stream are read: once if its rows lie in order, else thrice.
    Raises `BadData` for events without a place, two in one, and times that are missing or go back.
    """
    try:
        return file_ranges(asked)
    except Unproved:
        return runs_pass(asked) or sorted_pass(asked)


def sorted_pass(asked: Request) -> Sorted:
    """The same for rows that lie in any order."""
    made = _cuts(asked)
    parts = len(made) + 1
    survey = partial(
        summaries, labels=asked.labels, whole_times=asked.whole_times, width=asked.width
    )
    rows = (
        spread(asked.source.frame.select(*_columns(asked, made)), "part", parts, _order(asked))
        .mapInArrow(survey, _schema(asked))
        .collect()
    )
    found = cuts.complete([Summary(**row.asDict()) for row in rows], parts)
    cuts.check(found, positions=asked.position is not None)
    return Sorted(tuple(made), tuple(found))


def _cuts(asked: Request) -> list[tuple[Any, ...]]:
    """Quantiles of a sample: the rows with the smallest hashes, so the same each time."""
    from pyspark.sql import functions as fn

    if asked.parts == 1:
        return []
    names = _order(asked)
    keys = asked.source.frame.select(
        *(key.alias(name) for key, name in zip(asked.keys, names, strict=True))
    ).dropna()
    least = (
        keys.select("*", fn.xxhash64(*names).alias("h")).orderBy("h").limit(SAMPLE * asked.parts)
    )
    return cuts.quantiles([tuple(row)[:-1] for row in least.orderBy(*names).collect()], asked.parts)


def part_of(asked: Request, made: Iterable[tuple[Any, ...]]) -> Column:
    """The number of the part that a row is in."""
    at = list(made)
    return how_many(lambda n: at_or_after(asked.keys, at[n]), len(at)).alias("part")


def spread(rows: DataFrame, part: str, parts: int, order: list[str]) -> DataFrame:
    """Each part in a task of its own, in order.

    It is not sorted by the part, which is the same in a task: one integer is sorted by its digits.
    """
    return rows.repartitionById(parts, part).sortWithinPartitions(*order)


def _columns(asked: Request, made: list[tuple[Any, ...]]) -> Iterator[Column]:
    """The columns of `cerlab.spark.plan.order`."""
    yield part_of(asked, made)
    for n, key in enumerate(asked.keys):
        yield key.alias(f"k{n}")
    yield asked.source.column("type").alias("type")
    if asked.position is not None:
        yield asked.position.alias("position")
    if asked.kept is not None:
        yield asked.kept.alias("kept")
    if asked.clock is not None:
        yield asked.clock.alias("time")


def _order(asked: Request) -> list[str]:
    return [f"k{n}" for n in range(len(asked.keys))]


def _schema(asked: Request) -> str:
    kinds = {"time": "bigint" if asked.whole_times else "double", "long": "bigint"}
    return ", ".join(f"`{name}` {kinds.get(kind, kind)}" for name, kind in SUMMARY)


def halo_of(asked: Request, found: Sorted) -> Halo:
    """What each part reads before its own rows; nothing where the stream is not cut into ranges."""
    if asked.choice.mode is not Mode.RANGES:
        return Halo(True, (), 0)
    if isinstance(asked.plan.window, EventWindow):
        positions = asked.position is not None
        return cuts.halo_in_events(found.summaries, asked.width, positions=positions)
    return cuts.halo_in_time(found.summaries, window_width(asked.plan, asked.time, MICROSECOND))
