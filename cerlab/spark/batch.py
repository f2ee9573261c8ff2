"""Evaluation of a query on a DataFrame of events, as a DataFrame of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Unpack, assert_never

from cerlab.automata.plan import Plan, PlanClauses, plan_digest
from cerlab.compile.pattern import Pattern, QueryInput, as_pattern
from cerlab.errors import lists_options, refuse_misspelt
from cerlab.evaluate.missing_names import Requirements, requirements_of, warn_of
from cerlab.model.stream import Stream
from cerlab.spark.failures import failures
from cerlab.spark.files import answers_in_files, answers_in_packets, why_not_files
from cerlab.spark.first_pass import FirstPass, RowRanges, first_pass
from cerlab.spark.footers import local_path
from cerlab.spark.frame import (
    OrderBy,
    Source,
    source_of,
    with_order,
    with_types,
)
from cerlab.spark.plan import Mode, warn_of_one_task
from cerlab.spark.ranges import FileRanges, starts_of
from cerlab.spark.relevant_events import RelevantEvents
from cerlab.spark.request import (
    Options,
    Request,
    correlated_answers,
    merged_groups,
    names_of,
    parts_of,
    refuse_correlated,
    request_of,
    runs_in_groups,
    time_of,
)
from cerlab.spark.task_outputs import GroupRows
from cerlab.spark.writer import TaskAnswers, refuse_input

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@lists_options(Options)
def match(
    df: DataFrame,
    query: QueryInput,
    order_by: OrderBy = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """Return the answers of a query on a DataFrame, equal to those of the local engine.

    The stream is the rows sorted by `order_by`, numbered from 0, or by `position`. The result has
    the columns ``start``, ``end`` (bigint) and ``positions`` (array<bigint>), in no order; with
    `columns`, it has ``start``, ``end``, the attributes of PARTITION BY, then `columns`. The call
    itself reads the columns that order the stream, to cut and check it; answers are evaluated when
    Spark needs them.

    With ``ends_in=("2024-03-01", "2024-03-02")``, for a daily run, only the rows of these times and
    of one window before them are read and checked; positions are those in the whole stream. Moments
    without a zone are UTC. Footers exclude files and row groups; filters on folders do so before.

    If SELECT asks for aggregates, ``SELECT COUNT(*), SUM(b.price) .. GROUP BY b.name``, the rows
    are those of ``Matches.aggregate``, with a bigint for counts and sums of integers, and a double
    for others. Answers are not listed.

    Args:
        df: a DataFrame of events, also of Spark Connect.
        query: the query.
        order_by: the columns that order the stream: names, nested fields such as ``"user.ts"``, or
            columns of Spark such as ``F.col("ts")``.
        position: a column of integers that are the positions of the answers; with `order_by` too,
            they must increase along it.
        type: the event type of all rows, if no column contains it.
        type_column: the column of event types, if it is not named ``type``.
        time: the time attribute for windows in hours, minutes or seconds.
        unit: the unit of a numeric time.
        mode: ``"keys"``, ``"ranges"`` or ``"one"`` (default: the first exact one; `cerlab.spark`
            has the table).
        parts: the number of parts of the stream (default: two for each parallel task).
        partition: add the key of each answer as a struct ``partition``.
        ends_in: times ``(from, to)``: only answers that end from the first to before the second,
            for a query with a window in time.
        columns: rows with named columns instead of positions: ``["a.price", "first(b.price)"]``, or
            ``"*"`` for those of SELECT, as in ``Matches.table``.

    Raises:
        BadData: for events without a place in the stream, or two in one place, for times that are
            missing or go back, and for Parquet files that are damaged or have two types for a
            column.
        Unsupported: for a mode that is not exact.
        UsageError: for missing columns.

    Actions on the answers raise exceptions of Spark; `cerlab.spark.error_of` returns the errors in
    them. The call warns of attributes that no column has, and of columns that some files lack.
    """
    refuse_misspelt(options, Options.__optional_keys__)
    pattern = as_pattern(query)
    df, order_by = with_order(with_types(df, options.get("type_column")), order_by)
    warn_about_attributes(pattern, df.columns)
    if not runs_in_groups(pattern) or pattern.ast.aggregates:
        with failures():
            return answers(request_of(df, pattern, order_by, position, **options))
    source = source_of(df, options.get("type"))
    if options.get("mode") not in (None, Mode.KEYS.value):
        refuse_correlated(pattern)
    return correlated_answers(
        source,
        pattern,
        position,
        time_of(source, options),
        parts_of(source, options),
        names_of(pattern, source, options),
        options.get("ends_in"),
    )


@lists_options(Options)
def matching(
    query: QueryInput,
    order_by: OrderBy = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> Callable[[DataFrame], DataFrame]:
    """Return `match` as a function for ``df.transform(matching(query, ..))``."""
    refuse_misspelt(options, Options.__optional_keys__)
    return lambda df: match(df, query, order_by, position, **options)


def write(
    request: Request,
    ranges: FirstPass,
    output: str,
    *,
    overwrite: bool = False,
    events: Sequence[str] = (),
) -> int:
    """Write the answers as a folder of Parquet files; return the number of answers.

    Raises `UsageError` if `output` exists, unless `overwrite`, and if it would replace the files of
    the events: those that Spark reads, and `events`.
    """
    if local_path(output) is not None:
        refuse_input(output, filter(local_path, request.source.frame.inputFiles()))
    return _answers(request, ranges).write(output, events, overwrite=overwrite)


def answers(request: Request, ranges: FirstPass | None = None) -> DataFrame:
    """Return the DataFrame of the answers; without `ranges`, the first pass runs here."""
    return _answers(request, ranges or first_pass(request)).frame


def _answers(request: Request, ranges: FirstPass) -> TaskAnswers:
    warn_of_one_task(request.choice, stacklevel=4)
    match ranges:
        case FileRanges():
            task_answers = answers_in_files(request, ranges)
        case RowRanges(mode=mode, assignment=assignment, events=events, files=files):
            task_answers = answers_in_packets(request, assignment, mode, events, files)
        case _:
            assert_never(ranges)
    rows = request.names
    # tasks return parts of aggregates, which are merged here
    if isinstance(rows, GroupRows) and not rows.are_final:
        return merged_groups(task_answers.frame, request.source, rows)
    return task_answers


_MOST_CUTS = 8

_STAGES = {
    Mode.KEYS: "by bucket of keys (a hash), in order; an engine with PARTITION BY on each bucket",
    Mode.RANGES: "by range, with what its window reads before it; the engine on each range",
    Mode.ONE: "all rows in order, in one task",
}

_EXACT_SUMS = "exact sums of each part, which are put together by group"


@lists_options(Options)
def explain(
    df: DataFrame,
    query: QueryInput,
    order_by: OrderBy = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> str:
    """Return a description of how `match` would run with the same arguments.

    Only the first pass runs.
    """
    refuse_misspelt(options, Options.__optional_keys__)
    pattern = as_pattern(query)
    df, order_by = with_order(with_types(df, options.get("type_column")), order_by)
    request = request_of(df, pattern, order_by, position, **options)
    return explanation(request, first_pass(request), pattern.text)


def explanation(request: Request, ranges: FirstPass, query: str) -> str:
    """Return the description of a request, after its first pass has run."""
    mode = ranges.mode
    lines = [*of_plan(request.plan, query), ("mode", mode.value)]
    lines += [("not by", f"{other.value}: {why}") for other, why in _other_modes(request, mode)]
    sizes = _sizes(ranges)
    count = f"{sum(sizes):,} events"
    if isinstance(ranges, RowRanges) and ranges.some:
        count = f"some of {count} in Parquet files"
    lines.append(("stream", f"{count}, {_order(request)}"))
    if request.ends is not None:
        lines.append(("ends", request.ends.text()))
    lines.append(("rows", _lie(ranges)))
    if isinstance(ranges, RowRanges) and ranges.files is not None:
        lines.append(("files", f"read by tasks, and their rows moved: {why_not_files(request)}"))
    elif not isinstance(ranges, FileRanges):
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


def of_plan(
    plan: PlanClauses | None, query: str, machine: str = "registers: filters compare labels"
) -> list[tuple[str, str]]:
    """Return the query and the size of its automaton as text; without automaton, `machine`."""
    size = machine
    if isinstance(plan, Plan):
        cea = plan.cea
        size = f"{cea.states} states, {len(cea.Delta)} transitions, {plan_digest(plan)[:12]}"
    return [("query", " ".join(query.split())), ("plan", size)]


def in_columns(lines: Iterable[tuple[str, str]]) -> str:
    """Return named lines as text, in two columns."""
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
    """Return the columns that leave the JVM, as lines of the description."""
    which = "those that a test of the query holds for" if events.why_all is None else "all"
    why = "" if events.why_all is None else f": {events.why_all}"
    return [("events", which + why), *(("python", reason) for reason in events.in_python)]


def _sizes(ranges: FirstPass) -> list[int]:
    """Return the number of rows of each part, or [0] without parts."""
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


FIRST = 1 << 12
"""Rows that are searched first for missing attributes: most streams show all attributes in them."""


def warn_about_answers(pattern: Pattern, source: Source, answers: int, ask: str) -> None:
    """Warn about attributes that a stream lacks, and about an empty result.

    `ask` is a command that explains.
    """
    requirements = requirements_of(pattern)
    requirements.note(source.names)
    columns = _relevant_columns(requirements, source)
    first = source.frame.select(*(source.column(n).alias(n) for n in columns)).limit(FIRST)
    rows = first.toArrow()
    requirements.read(_stream(rows))
    # if fewer rows than requested came, these are all rows
    if requirements.open and rows.num_rows == FIRST:
        requirements.read(_stream(_examples(requirements, source, columns)))
    requirements.warn(rows.num_rows > 0, answers, ask)


def warn_about_attributes(pattern: Pattern, columns: Sequence[str]) -> None:
    """Warn about attributes that a query reads and no column has, as `cerlab.evaluate` does."""
    requirements = requirements_of(pattern)
    requirements.note(columns)
    for name in columns:
        requirements.attributes.pop(name, None)
    kinds = ("attribute", "quotes")
    warn_of((each for each in requirements.absent() if each.kind in kinds), True, None, "")


def _relevant_columns(requirements: Requirements, source: Source) -> list[str]:
    """Return the columns that the query's needs refer to, ``type`` first."""
    candidates = (
        *requirements.attributes,
        *(name for name, _ in (*requirements.kinds, *requirements.texts)),
    )
    columns = [name for name in dict.fromkeys(("stream", *candidates)) if name in source.names]
    return ["type", *columns]


def _stream(rows: Any) -> Stream:
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    return Stream.from_columns(columns, rows.num_rows, tuple)


def _examples(requirements: Requirements, source: Source, columns: list[str]) -> Any:
    """Return a few rows that show together which of the query's needs the stream meets."""
    import pyarrow as pa

    arrays = source.frame.agg(*_aggregates(requirements, source, columns)).toArrow()
    rows = max(1, *(len(arrays.column(name)[0]) for name in columns))
    examples = {}
    for name in columns:
        values = arrays.column(name)[0].values
        fallback = list(requirements.names[name]) if name in ("type", "stream") else [None]
        cells = values.to_pylist() or fallback or [None]
        examples[name] = pa.array(islice(cycle(cells), rows), values.type)
    return pa.table(examples)


def _aggregates(requirements: Requirements, source: Source, columns: list[str]) -> Iterator[Column]:
    """Yield the required values that occur in each column, as an array."""
    from pyspark.sql import functions as fn

    for name in columns:
        column = source.column(name)
        if name in ("type", "stream"):
            values = requirements.types if name == "type" else requirements.streams
            yield fn.collect_set(fn.when(column.isin(*values), column)).alias(name)
            continue
        texts = [text.lower() for each, text in requirements.texts if each == name]
        if texts and source.kind(name) == "string":
            alike = fn.lower(column).isin(*texts)
            some = fn.array_compact(fn.array(fn.any_value(column, fn.lit(True))))
            yield fn.array_union(fn.collect_set(fn.when(alike, column)), some).alias(name)
        else:
            some = fn.array(fn.any_value(column, fn.lit(True)))
            yield fn.array_compact(some).alias(name)
