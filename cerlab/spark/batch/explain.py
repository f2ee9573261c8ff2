"""How a query would run on a DataFrame: its mode, where the stream is cut, what is read twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack, assert_never

from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_digest
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.spark.batch.files import why_not_files
from cerlab.spark.batch.first_pass import FirstPass, RowRanges, first_pass
from cerlab.spark.batch.relevant_events import RelevantEvents
from cerlab.spark.batch.request import Options, Request, request_of
from cerlab.spark.plan.assignment import starts_of
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.modes import Mode
from cerlab.spark.tasks.aggregates import GroupRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_CUTS = 8

_STAGES = {
    Mode.KEYS: "by bucket of keys (a hash), in order; an engine with PARTITION BY on each bucket",
    Mode.RANGES: "by range, with what its window reads before it; the engine on each range",
    Mode.ONE: "all rows in order, in one task",
}

_EXACT_SUMS = "exact sums of each part, which are put together by group"


def explain(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> str:
    """What `match` would do with the same arguments; the first pass runs, nothing else."""
    pattern = as_pattern(query)
    request = request_of(df, pattern, order_by, position, **options)
    return explanation(request, first_pass(request), pattern.text)


def explanation(request: Request, ranges: FirstPass, query: str) -> str:
    """The same of a request whose first pass has been made."""
    mode = ranges.mode
    lines = [*of_plan(request.plan, query), ("mode", mode.value)]
    lines += [("not by", f"{other.value}: {why}") for other, why in _other_modes(request, mode)]
    sizes = _sizes(ranges)
    count = f"{sum(sizes):,} events"
    if isinstance(ranges, RowRanges) and ranges.some:
        count = f"some of {count} in Parquet files"
    lines.append(("stream", f"{count}, {_order(request)}"))
    lines.append(("rows", _lie(ranges)))
    if not isinstance(ranges, FileRanges):
        lines.append(("files", f"not read by the tasks themselves: {why_not_files(request)}"))
        lines += _crossing(ranges.events)
    lines.append(("parts", f"{len(sizes)}, of {min(sizes):,} to {max(sizes):,} rows"))
    if mode is Mode.RANGES:
        lines += [("cut", _cut_text(request, cut)) for cut in _some(_cuts(ranges))]
        again = ranges.assignment.read_again
        share = again / sum(sizes) if any(sizes) else 0.0
        lines.append(("overlap", f"about {again:,} rows are read again ({share:.1%})"))
    lines += [("stage", stage) for stage in _stages(request, mode)]
    return in_columns(lines)


def of_plan(plan: Plan, query: str) -> list[tuple[str, str]]:
    """The lines on a query and its plan."""
    cea = plan.cea
    size = f"{cea.states} states, {len(cea.Delta)} transitions, {plan_digest(plan)[:12]}"
    return [("query", " ".join(query.split())), ("plan", size)]


def in_columns(lines: Iterable[tuple[str, str]]) -> str:
    """The text of lines with their names before them."""
    return "\n".join(f"{name:8} {text}" for name, text in lines)


def _order(request: Request) -> str:
    order = f"by {', '.join(request.labels.keys)}"
    return order if request.position is not None else f"{order}; positions are counted"


def _other_modes(request: Request, mode: Mode) -> list[tuple[Mode, str]]:
    reasons = list(request.choice.reasons.items())
    if mode is not request.choice.mode:
        why = "ranges read little again, and keys need not be gathered"
        reasons.append((request.choice.mode, why))
    return reasons


def _lie(ranges: FirstPass) -> str:
    match ranges:
        case FileRanges(clusters=clusters):
            groups = sum(map(len, clusters))
            return f"in {groups:,} row groups of Parquet, which the tasks read themselves"
        case RowRanges(in_order=True, assignment=assignment):
            return f"in order, in {len(assignment.rows):,} runs: none is sorted"
        case RowRanges(assignment=assignment):
            return f"not in order: tasks sort what they read, for {len(assignment.rows):,} runs"
        case _:
            assert_never(ranges)


def _crossing(events: RelevantEvents) -> list[tuple[str, str]]:
    """What leaves the JVM."""
    which = "those that a test of the query holds for" if events.why_all is None else "all"
    why = "" if events.why_all is None else f": {events.why_all}"
    return [("events", which + why), *(("python", reason) for reason in events.in_python)]


def _sizes(ranges: FirstPass) -> list[int]:
    """The rows of each part, of which there is one at least."""
    sizes = [0] * ranges.assignment.parts
    for part, rows in zip(ranges.assignment.part, ranges.assignment.rows, strict=True):
        sizes[part] += rows
    return sizes or [0]


def _cuts(ranges: FirstPass) -> Sequence[tuple[Any, ...]]:
    return [ranges.assignment.first[start] for start in starts_of(ranges.assignment.part)[1:]]


def _cut_text(request: Request, cut: tuple[Any, ...]) -> str:
    pairs = zip(request.labels.keys, cut, strict=True)
    return ", ".join(f"{name} = {value!r}" for name, value in pairs)


def _some(cuts: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    step = max(1, -(-len(cuts) // _MOST_CUTS))
    return list(cuts[::step])


def _stages(request: Request, mode: Mode) -> list[str]:
    first = [f"read {', '.join(request.attributes)}"]
    if request.is_numbered(mode):
        first.append("by part, in order: positions")
    if request.from_filter is not None:
        first.append(f"events of {', '.join(request.plan.streams)}")
    if isinstance(request.names, GroupRows):
        last = "no answer is listed: " + (
            "a row for each end" if request.names.are_final else _EXACT_SUMS
        )
        return [*first, _STAGES[mode], last]
    return [*first, _STAGES[mode]]
