"""How a query would run on a DataFrame: its mode, where the stream is cut, what is read twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, assert_never

from cerlab.automata.plan_json import plan_digest
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.spark.batch.files import why_not_files
from cerlab.spark.batch.first_pass import FirstPass, RowRanges, first_pass
from cerlab.spark.batch.match import Options, asked_of
from cerlab.spark.batch.relevant_events import RelevantEvents
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.assignment import starts_of
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.modes import Mode
from cerlab.spark.tasks.aggregates import GroupRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = 8

_STAGES = {
    Mode.KEYS: "by bucket of keys (a hash), in order; an engine with PARTITION BY on each bucket",
    Mode.RANGES: "by range, with what its window reads before it; the engine on each range",
    Mode.ONE: "all rows in order, in one task",
}

_PUT = "exact sums of each part, which are put together by group"


def explain(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> str:
    """What `match` would do with the same arguments; the first pass runs, nothing else."""
    made = as_pattern(query)
    asked = asked_of(df, made, order_by, position, **options)
    return explained(asked, first_pass(asked), made.text)


def explained(asked: Request, found: FirstPass, query: str) -> str:
    """The same of a request whose first pass has been made."""
    lines = [("query", " ".join(query.split()))]
    lines.append(("plan", _plan(asked)))
    mode = found.mode
    lines.append(("mode", mode.value))
    lines += [("not by", f"{other.value}: {why}") for other, why in _passed_over(asked, mode)]
    sizes = _sizes(found)
    count = f"{sum(sizes):,} events"
    if isinstance(found, RowRanges) and found.some:
        count = f"some of {count} in Parquet files"
    lines.append(("stream", f"{count}, {_order(asked)}"))
    lines.append(("rows", _lie(found)))
    if not isinstance(found, FileRanges):
        lines.append(("files", f"not read by the tasks themselves: {why_not_files(asked)}"))
        lines += _crossing(found.sent)
    lines.append(("parts", f"{len(sizes)}, of {min(sizes):,} to {max(sizes):,} rows"))
    if mode is Mode.RANGES:
        lines += [("cut", _cut(asked, cut)) for cut in _some(_cuts(found))]
        again = found.assignment.read_again
        share = again / sum(sizes) if any(sizes) else 0.0
        lines.append(("overlap", f"about {again:,} rows are read again ({share:.1%})"))
    lines += [("stage", stage) for stage in _stages(asked, mode)]
    return "\n".join(f"{name:8} {text}" for name, text in lines)


def _plan(asked: Request) -> str:
    cea = asked.plan.cea
    return f"{cea.states} states, {len(cea.Delta)} transitions, {plan_digest(asked.plan)[:12]}"


def _order(asked: Request) -> str:
    order = f"by {', '.join(asked.labels.keys)}"
    return order if asked.position is not None else f"{order}; positions are counted"


def _passed_over(asked: Request, mode: Mode) -> list[tuple[Mode, str]]:
    made = list(asked.choice.passed_over.items())
    if mode is not asked.choice.mode:
        made.append((asked.choice.mode, "ranges read little again, and keys need not be gathered"))
    return made


def _lie(found: FirstPass) -> str:
    match found:
        case FileRanges(clusters=clusters):
            groups = sum(map(len, clusters))
            return f"in {groups:,} row groups of Parquet, which the tasks read themselves"
        case RowRanges(in_order=True, assignment=assignment):
            return f"in order, in {len(assignment.rows):,} runs: none is sorted"
        case RowRanges(assignment=assignment):
            return f"not in order: tasks sort what they read, for {len(assignment.rows):,} runs"
        case _:
            assert_never(found)


def _crossing(sent: RelevantEvents) -> list[tuple[str, str]]:
    """What leaves the JVM."""
    events = "those that a test of the query holds for" if sent.why_all is None else "all"
    why = "" if sent.why_all is None else f": {sent.why_all}"
    return [("events", events + why), *(("python", reason) for reason in sent.in_python)]


def _sizes(found: FirstPass) -> list[int]:
    """The rows of each part, of which there is one at least."""
    sizes = [0] * found.assignment.parts
    for part, rows in zip(found.assignment.part, found.assignment.rows, strict=True):
        sizes[part] += rows
    return sizes or [0]


def _cuts(found: FirstPass) -> Sequence[tuple[Any, ...]]:
    return [found.assignment.first[start] for start in starts_of(found.assignment.part)[1:]]


def _cut(asked: Request, cut: tuple[Any, ...]) -> str:
    named = zip(asked.labels.keys, cut, strict=True)
    return ", ".join(f"{name} = {value!r}" for name, value in named)


def _some(cuts: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    step = max(1, -(-len(cuts) // _SHOWN))
    return list(cuts[::step])


def _stages(asked: Request, mode: Mode) -> list[str]:
    first = [f"read {', '.join(asked.attributes)}"]
    if asked.is_numbered(mode):
        first.append("by part, in order: positions")
    if asked.kept is not None:
        first.append(f"events of {', '.join(asked.plan.streams)}")
    if isinstance(asked.names, GroupRows):
        last = "no answer is listed: " + ("a row for each end" if asked.names.are_final else _PUT)
        return [*first, _STAGES[mode], last]
    return [*first, _STAGES[mode]]
