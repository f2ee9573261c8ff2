"""``cerlab run`` of a row pattern, and ``cerlab sql``: rows of files in, rows of the result out."""

from __future__ import annotations

import argparse
import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO
from warnings import warn

from cerlab.cli.command import OK
from cerlab.cli.options import check_result, query_text, refuse_options, source_of
from cerlab.errors import AnswerWarning
from cerlab.io.answers import json_value
from cerlab.io.sink import open_sink
from cerlab.model.event import to_value
from cerlab.rows.recognise import RowPattern, match_recognize
from cerlab.rows.sql import sql


def run(query: RowPattern, arguments: argparse.Namespace) -> int:
    """``cerlab run`` of a row pattern; the result as NDJSON, CSV, a table or Parquet."""
    refuse_options(
        {
            "--labels": arguments.labels,
            "--events": arguments.show_events,
            "--quarantine": arguments.quarantine,
            "--schema": arguments.schema,
            "--sort": arguments.sort,
            "--lateness": arguments.lateness,
            "--time": arguments.time,
            "--type": arguments.type,
            "--columns": arguments.columns,
            "--evaluator": arguments.evaluator not in ("auto", "reference"),
        }
    )
    every = match_recognize(query, source_of(arguments), threads=arguments.threads)
    result = every.slice(0, arguments.limit)
    if not result.num_rows and arguments.limit != 0:
        warn(AnswerWarning("CER0910: no answer"), stacklevel=2)
    _write(result, arguments)
    return OK


def run_sql(arguments: argparse.Namespace) -> int:
    """``cerlab sql``: what `cerlab.sql` gives, written."""
    check_result(arguments)
    tables = dict(_named_file(text) for text in arguments.tables)
    result = sql(query_text(arguments), tables)
    if result is not None:
        _write(result, arguments)
    return OK


def _named_file(text: str) -> tuple[str, str]:
    """Return the name and the path of ``NAME=FILE``, or of a FILE."""
    name, equals, path = text.partition("=")
    if equals and name.isidentifier():
        return name, path
    return Path(text).stem, text


def _write(result: Any, arguments: argparse.Namespace) -> None:
    with open_sink(arguments.output, arguments.format, lines=_lines) as out:
        out.table(result)


def _lines(table: Any, file: TextIO, _: bool) -> None:
    rows = map(_finite, table.to_pylist())
    file.writelines(json.dumps(row, default=_json_text, allow_nan=False) + "\n" for row in rows)


def _finite(value: Any) -> Any:
    """Return a value with NaN and infinities as text, as all answers have them."""
    match value:
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case list():
            return [*map(_finite, value)]
        case _:
            return json_value(value)


def _json_text(value: Any) -> str:
    """Moments and durations as ISO 8601; what JSON has no form for as text."""
    if isinstance(value, timedelta):
        return str(to_value(value))
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
