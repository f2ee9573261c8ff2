"""How a query would run on a DataFrame: its mode, where the stream is cut, what is read twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, assert_never

from cerlab.automata.plan_json import plan_digest
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.spark.batch.files import why_not_files
from cerlab.spark.batch.first_pass import FirstPass, Sorted, first_pass, halo_of
from cerlab.spark.batch.match import Options, asked_of
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.assignment import Dealing, starts_of
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.modes import Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = 8

_STAGES = {
    Mode.KEYS: "by group (a hash of the key), sorted by position; the engine on each task's keys",
    Mode.RANGES: "by range, with what its window reads before it; the engine on each range",
    Mode.ONE: "all rows in order, in one task",
}


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
    mode = found.mode if isinstance(found, FileRanges) else asked.choice.mode
    lines.append(("mode", mode.value))
    lines += [("not by", f"{mode.value}: {why}") for mode, why in asked.choice.passed_over.items()]
    sizes = _sizes(found)
    lines.append(("stream", f"{sum(sizes):,} events, {_order(asked)}"))
    lines.append(("rows", _lie(found)))
    if not isinstance(found, FileRanges):
        lines.append(("files", f"not read by the tasks themselves: {why_not_files(asked)}"))
    lines.append(("parts", f"{len(sizes)}, of {min(sizes):,} to {max(sizes):,} rows"))
    if mode is Mode.RANGES:
        lines += [("cut", _cut(asked, cut)) for cut in _some(_cuts(found))]
        again = _read_again(asked, found)
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


def _lie(found: FirstPass) -> str:
    match found:
        case FileRanges(clusters=clusters):
            groups = sum(map(len, clusters))
            return f"in {groups:,} row groups of Parquet, which the tasks read themselves"
        case Dealing(rows=runs):
            return f"in order, in {len(runs):,} runs: none is sorted, and packs of them are moved"
        case Sorted():
            return "not in order: all are moved and sorted, for the first pass too"
        case _:
            assert_never(found)


def _sizes(found: FirstPass) -> list[int]:
    """The rows of each part, of which there is one at least."""
    match found:
        case FileRanges(assignment=Dealing(rows=rows, part=part)) | Dealing(rows=rows, part=part):
            sizes = [0] * len(set(part))
            for number, count in zip(part, rows, strict=True):
                sizes[number] += count
            return sizes or [0]
        case Sorted(summaries=summaries):
            return [each.rows for each in summaries]
        case _:
            assert_never(found)


def _cuts(found: FirstPass) -> Sequence[tuple[Any, ...]]:
    match found:
        case (
            FileRanges(assignment=Dealing(first=first, part=part)) | Dealing(first=first, part=part)
        ):
            return [first[start] for start in starts_of(part)[1:]]
        case Sorted(cuts=cuts):
            return cuts
        case _:
            assert_never(found)


def _read_again(asked: Request, found: FirstPass) -> int:
    match found:
        case (
            FileRanges(assignment=Dealing(rows=rows, part=part, reader=reader))
            | Dealing(rows=rows, part=part, reader=reader)
        ):
            return sum(n * (last - own) for n, own, last in zip(rows, part, reader, strict=True))
        case Sorted():
            return halo_of(asked, found).rows
        case _:
            assert_never(found)


def _cut(asked: Request, cut: tuple[Any, ...]) -> str:
    named = zip(asked.labels.keys, cut, strict=True)
    return ", ".join(f"{name} = {value!r}" for name, value in named)


def _some(cuts: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    step = max(1, -(-len(cuts) // _SHOWN))
    return list(cuts[::step])


def _stages(asked: Request, mode: Mode) -> list[str]:
    first = [f"read {', '.join(asked.attributes)}"]
    if asked.is_numbered and mode is asked.choice.mode:
        first.append("by part, in order: positions")
    if asked.kept is not None:
        first.append(f"events of {', '.join(asked.plan.streams)}")
    return [*first, _STAGES[mode]]
