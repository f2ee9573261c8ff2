"""Measurements as a table for people; a column without a figure in any row is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

_Row = Mapping[str, Any]

_MEASURED: dict[str, Callable[[_Row], str]] = {
    "query": lambda row: str(row["query"]),
    "answers": lambda row: f"{row['answers']:,}",
    "M events/s": lambda row: f"{row['events_per_second'] / 1e6:.2f}",
    "M answers/s": lambda row: f"{row['answers_per_second'] / 1e6:.1f}",
    "CPU ms (spread)": lambda row: f"{row['cpu'] * 1e3:.2f} ({row['cpu_spread']:.2f})",
    "wall ms (spread)": lambda row: f"{row['wall'] * 1e3:.2f} ({row['wall_spread']:.2f})",
    "of predicates": lambda row: f"{row['of_predicate_stage']:.3f}",
    "of columns": lambda row: f"{row['of_columns']:.3f}",
    "count, M events/s": lambda row: f"{row['count_events_per_second'] / 1e6:.2f}",
    "of the run": lambda row: f"{row['count_of_run']:.3f}",
    "MB loaded": lambda row: f"{row['memory_loaded'] / 1e6:.0f}",
    "MB at peak": lambda row: f"{row['memory_peak'] / 1e6:.0f}",
    "times the tECS": lambda row: f"{row['against_tecs']:.0f}",
    "times pycer": lambda row: f"{row['against_pycer']:.1f}",
    "its answers": lambda row: f"{row['pycer_answers']:,}",
    "pycer": lambda row: str(row["pycer_error"] or ""),
}
"""Title of a column and its text for a row; the text fails where the row has no such figure."""

_PAIRED: dict[str, Callable[[_Row], str]] = {
    "query": lambda row: str(row["query"]),
    "against": lambda row: str(row["against"]),
    "times as fast": lambda row: f"{row['cpu_ratio']:.3f}",
    "quartiles": lambda row: f"{row['cpu_low']:.3f} to {row['cpu_high']:.3f}",
    "by wall time": lambda row: f"{row['wall_ratio']:.3f}",
    "its quartiles": lambda row: f"{row['wall_low']:.3f} to {row['wall_high']:.3f}",
}

_ON_CORES: dict[str, Callable[[_Row], str]] = {
    "query": lambda row: str(row["query"]),
    "answers": lambda row: f"{row['answers']:,}",
    "cores": lambda row: str(row["cores"]),
    "threads, times one": lambda row: f"{row['threads']:.2f}",
    "processes, times one": lambda row: f"{row['processes']:.2f}",
}

_HALVES: dict[str, Callable[[_Row], str]] = {
    "query": lambda row: str(row["query"]),
    "answers of the first half": lambda row: f"{row['first_answers']:,}",
    "of the second": lambda row: f"{row['second_answers']:,}",
    "the second, times as fast": lambda row: f"{row['cpu_ratio']:.3f}",
    "quartiles": lambda row: f"{row['cpu_low']:.3f} to {row['cpu_high']:.3f}",
}

_ON_SPARK: dict[str, Callable[[_Row], str]] = {
    "query": lambda row: str(row["query"]),
    "events": lambda row: f"{row['events']:,}",
    "answers": lambda row: f"{row['answers']:,}",
    "cores": lambda row: str(row["cores"]),
    "design": lambda row: str(row["design"]),
    "local CPU, s": lambda row: f"{row['local_cpu']:.2f}",
    "its engine": lambda row: f"{row['local_engine_cpu']:.2f}",
    "Spark CPU, s": lambda row: f"{row['cpu']:.2f}",
    "wall, s": lambda row: f"{row['wall']:.2f}",
    "local / Spark": lambda row: f"{row['share']:.3f}",
}

_PATHS: dict[str, Callable[[_Row], str]] = {
    "query": lambda row: str(row["query"]),
    "path": lambda row: str(row["path"]),
    "CPU s": lambda row: f"{row['cpu']:.3f}",
    "floor": lambda row: str(row["floor"]),
    "times the floor": lambda row: f"{row['of_floor']:.1f}",
    "without start": lambda row: f"{row['started']:.1f}",
    "microseconds": lambda row: f"{row['microseconds']:.1f}",
    "p99": lambda row: f"{row['p99']:.1f}",
}

_WIDEST = 300


def write_table(rows: Sequence[_Row], file: TextIO) -> None:
    """Write rows of measurements of one stream: queries, pairs, several cores, or halves."""
    from rich.console import Console
    from rich.table import Table

    columns = _MEASURED
    if rows and "against" in rows[0]:
        columns = _PAIRED
    elif rows and "of_floor" in rows[0]:
        columns = _PATHS
    elif rows and "design" in rows[0]:
        columns = _ON_SPARK
    elif rows and "cores" in rows[0]:
        columns = _ON_CORES
    elif rows and "second_answers" in rows[0]:
        columns = _HALVES
    made = {title: [_text(cell, row) for row in rows] for title, cell in columns.items()}
    shown = {title: texts for title, texts in made.items() if any(texts)}
    size = "" if columns is _ON_SPARK else f", {rows[0]['events']:,} events" if rows else ""
    table = Table(title=f"{rows[0]['stream']}{size}" if rows else None)
    for title in shown:
        left = title in ("query", "against", "design", "path", "floor")
        table.add_column(title, justify="left" if left else "right", no_wrap=True)
    for texts in zip(*shown.values(), strict=True):
        table.add_row(*texts)
    Console(file=file, width=_WIDEST).print(table)


def _text(cell: Callable[[_Row], str], row: _Row) -> str:
    """The text of a cell, empty where the row has no figure for it."""
    try:
        return cell(row)
    except (KeyError, TypeError):  # not asked for, or None
        return ""
