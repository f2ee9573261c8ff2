"""``cerlab run --language rows``: a row pattern on the rows of a file, the rows of its result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any, TextIO
from warnings import warn

from cerlab.cli.command import OK
from cerlab.cli.options import output, query_text
from cerlab.errors import AnswerWarning, Unsupported
from cerlab.io.output import whole_columns
from cerlab.io.writers import csv_rows, ndjson_rows
from cerlab.rows.recognise import match_recognize


def run(arguments: argparse.Namespace) -> int:
    """``cerlab run --language rows``; the result as NDJSON, CSV, a table or Parquet."""
    refuse_options(
        {
            "--labels": arguments.labels,
            "--events": arguments.show_events,
            "--quarantine": arguments.quarantine,
            "--schema": arguments.schema,
            "--sort": arguments.sort,
            "--time": arguments.time,
            "--type": arguments.type,
            "--columns": arguments.columns,
            "--evaluator": arguments.evaluator not in ("auto", "reference"),
        }
    )
    result = match_recognize(query_text(arguments), arguments.events).slice(0, arguments.limit)
    if not result.num_rows and arguments.limit != 0:
        warn(AnswerWarning("CER0910: no answer"), stacklevel=2)
    write_tables([result], arguments, _lines)
    return OK


def refuse_options(options: Mapping[str, object]) -> None:
    """Raise `Unsupported` for the first option that is given and says nothing of row patterns."""
    if option := next((name for name, value in options.items() if value), None):
        message, hint = f"{option} does not go with row patterns", "leave it out"
        raise Unsupported("CER0451", message, hint=hint)


def write_tables(
    tables: Iterable[Any],
    arguments: argparse.Namespace,
    lines: Callable[[Iterable[Any], TextIO], None] = ndjson_rows,
) -> None:
    """Arrow tables of one schema in the format that is asked for; `lines` writes NDJSON."""
    if arguments.format == "parquet":
        first, *others = tables
        with whole_columns(arguments.output, first.schema) as writer:
            for table in (first, *others):
                writer.write_table(table)
        return
    writers = {"csv": csv_rows, "table": _print}
    with output(arguments.output) as file:
        writers.get(arguments.format, lines)(tables, file)


def _print(tables: Iterable[Any], file: TextIO) -> None:
    """The rows as a table for a terminal."""
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table

    result = pa.concat_tables(tables)
    table = Table(*result.column_names)
    for row in result.to_pylist():
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    Console(file=file).print(table)


def _lines(tables: Iterable[Any], file: TextIO) -> None:
    for table in tables:
        file.writelines(json.dumps(row, default=_json_text) + "\n" for row in table.to_pylist())


def _json_text(value: Any) -> str:
    """Moments as ISO 8601; what JSON has no form for as text."""
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
