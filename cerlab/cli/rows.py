"""``cerlab run --language rows``: a row pattern on the rows of a file, the rows of its result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from warnings import warn

from cerlab.api.row_patterns import match_recognize
from cerlab.cli.options import output, query_text
from cerlab.cli.status import OK
from cerlab.errors import AnswerWarning, Unsupported
from cerlab.io.output import whole_columns
from cerlab.io.row_lines import csv_rows


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
    if arguments.format == "parquet":
        with whole_columns(arguments.output, result.schema) as writer:
            writer.write_table(result)
        return OK
    with output(arguments.output) as file:
        if arguments.format == "table":
            print_table(result, file)
        elif arguments.format == "csv":
            csv_rows([result], file)
        else:
            for row in result.to_pylist():
                file.write(json.dumps(row, default=_written) + "\n")
    return OK


def refuse_options(given: Mapping[str, object]) -> None:
    """Raise `Unsupported` for the first option that is given and says nothing of row patterns."""
    if option := next((name for name, value in given.items() if value), None):
        message, hint = f"{option} does not go with row patterns", "leave it out"
        raise Unsupported("CER0451", message, hint=hint)


def print_table(result: Any, file: Any) -> None:
    """The rows of an Arrow table for a terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*result.column_names)
    for row in result.to_pylist():
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    Console(file=file).print(table)


def _written(value: Any) -> str:
    """Moments as ISO 8601; what JSON has no form for as text."""
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
