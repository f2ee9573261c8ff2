"""Rows of measurements, as JSON lines or as tables for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple, TextIO, TypeAlias

Row: TypeAlias = Mapping[str, Any]


class Column(NamedTuple):
    """The title of a figure, its format, and what it is divided by before."""

    title: str
    form: str = "{}"
    unit: float = 1


TEXTS = {
    "stream": "stream",
    "benchmark": "benchmark",
    "query": "query",
    "against": "against",
    "path": "path",
    "floor": "floor",
    "form": "form",
    "strategy": "strategy",
    "design": "design",
}
"""Titles of what is no figure, and not set to the right."""

COLUMNS: Mapping[str, Column] = {
    **{key: Column(title) for key, title in TEXTS.items()},
    "window": Column("window ms", "{:,}"),
    "events": Column("events", "{:,}"),
    "rows": Column("rows", "{:,}"),
    "result": Column("result", "{:,}"),
    "keys": Column("keys", "{:,}"),
    "cores": Column("cores"),
    "answers": Column("answers", "{:,.0f}"),
    "first_answers": Column("answers of the first half", "{:,}"),
    "second_answers": Column("of the second", "{:,}"),
    "late": Column("late", "{:,}"),
    "listed": Column("listed"),
    "percent": Column("% of events", "{:,.3f}"),
    "paper_percent": Column("paper %", "{:g}"),
    "events_per_second": Column("M events/s", "{:.2f}", 1e6),
    "answers_per_second": Column("M answers/s", "{:.1f}", 1e6),
    "local_cpu": Column("local CPU s", "{:.2f}"),
    "local_engine_cpu": Column("its engine", "{:.2f}"),
    "seconds": Column("CPU s", "{:.4g}"),
    "cpu": Column("CPU s", "{:.4g}"),
    "cpu_spread": Column("spread", "{:.2f}"),
    "cpu_of_half": Column("of half", "{:.3f}"),
    "wall": Column("wall s", "{:.4g}"),
    "wall_spread": Column("spread", "{:.2f}"),
    "rows_per_cpu_second": Column("rows/s", "{:,.0f}"),
    "share": Column("local / Spark", "{:.3f}"),
    "share_of_sorting": Column("local that sorts / Spark", "{:.3f}"),
    "cpu_ratio": Column("times as fast", "{:.3f}"),
    "cpu_low": Column("lower quartile", "{:.3f}"),
    "cpu_high": Column("upper", "{:.3f}"),
    "wall_ratio": Column("by wall time", "{:.3f}"),
    "wall_low": Column("lower quartile", "{:.3f}"),
    "wall_high": Column("upper", "{:.3f}"),
    "threads": Column("threads, times one", "{:.2f}"),
    "processes": Column("processes, times one", "{:.2f}"),
    "of_predicate_stage": Column("of predicates", "{:.3f}"),
    "of_columns": Column("of columns", "{:.3f}"),
    "count_events_per_second": Column("count, M events/s", "{:.2f}", 1e6),
    "count_of_run": Column("of the run", "{:.3f}"),
    "of_floor": Column("times the floor", "{:.1f}"),
    "started": Column("without start", "{:.1f}"),
    "microseconds": Column("microseconds", "{:.1f}"),
    "p99": Column("p99", "{:.1f}"),
    "auto": Column("auto, s", "{:.3g}"),
    "tecs": Column("tECS, s", "{:.3g}"),
    "compiled": Column("compiled, s", "{:.3g}"),
    "run": Column("run, s", "{:.3g}"),
    "auto_of_best": Column("auto, times the best", "{:.2f}"),
    "of_first_window": Column("of first window", "{:.2f}"),
    "visits": Column("visits/event", "{:.3f}"),
    "per_end": Column("each time", "{:.1f}"),
    "paper_per_end": Column("in the paper"),
    "algorithm_1_events_per_second": Column("Algorithm 1, events/s", "{:,.0f}"),
    "algorithm_1_events": Column("on the first", "{:,}"),
    "against_algorithm_1": Column("times Algorithm 1", "{:,.0f}"),
    "memory_loaded": Column("MB loaded", "{:.0f}", 1e6),
    "memory_peak": Column("MB at peak", "{:.0f}", 1e6),
    "against_tecs": Column("times the tECS", "{:.0f}"),
    "pycer_times": Column("times pycer", "{:.1f}"),
    "pycer_result": Column("its answers", "{:,}"),
    "pycer_error": Column("pycer"),
    "flink_cpu": Column("Flink CPU s", "{:.2f}"),
    "flink_wall": Column("wall s", "{:.2f}"),
    "flink_reading": Column("of reading", "{:.2f}"),
    "flink_result": Column("its result", "{:,}"),
    "flink_times": Column("times Flink", "{:.0f}"),
    "machine": Column("machine"),
    "flink_error": Column("Flink"),
}
"""What tables show, in this order, by the key that a row has it under."""

_HUGE = 1e12
_WIDEST = 300


def write_rows(rows: Iterable[Row], form: str, file: TextIO) -> None:
    """Rows as they come, each as a line of JSON (``ndjson``), or all of them as ``table``."""
    if form == "table":
        write_table(list(rows), file)
        return
    for row in rows:
        file.write(json.dumps(row) + "\n")
        file.flush()


def write_table(rows: Iterable[Row], file: TextIO) -> None:
    """A table of each kind of rows, which have the same keys; the stream may be in its title."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=file, width=_WIDEST)
    for keys, group in groupby(rows, lambda row: frozenset(row) & COLUMNS.keys()):
        some = list(group)
        values = {key: {row[key] for row in some} for key in COLUMNS if key in keys}
        head = [key for key in ("stream", "events") if len(values.get(key, ())) == 1]
        columns = [key for key in values if key not in head and not values[key] <= {None, ""}]
        title = ", ".join(_text(key, some[0]) + " events" * (key == "events") for key in head)
        table = Table(title=title or None)
        for key in columns:
            side: Literal["left", "right"] = "left" if key in TEXTS else "right"
            table.add_column(COLUMNS[key].title, justify=side, no_wrap=True)
        for row in some:
            table.add_row(*(_text(key, row) for key in columns))
        console.print(table)


def _text(key: str, row: Row) -> str:
    """The text of a cell, empty where the row has no figure for it."""
    column, value = COLUMNS[key], row.get(key)
    if value is None:
        return ""
    if isinstance(value, float) and value >= _HUGE:
        return f"{value:.1e}"
    return column.form.format(value if column.unit == 1 else value / column.unit)
