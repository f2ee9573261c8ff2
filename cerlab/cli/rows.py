"""``cerlab run`` of a row pattern, and ``cerlab sql``: rows of files in, rows of the result out."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO
from warnings import warn

from cerlab import io
from cerlab.cli.command import OK
from cerlab.cli.options import check_result, query_text, refuse_options, source_of
from cerlab.errors import AnswerWarning, BadData
from cerlab.io.answers import json_value
from cerlab.io.sink import open_sink
from cerlab.io.source import NO_TYPE
from cerlab.model.event import Event, Value, to_value
from cerlab.model.paths import with_objects
from cerlab.rows.recognise import RowPattern, match_recognize
from cerlab.rows.session import RowPatternSession
from cerlab.rows.sql import sql


def run(query: RowPattern, arguments: argparse.Namespace) -> int:
    """Run a row pattern; write the result as NDJSON, CSV, a table or Parquet."""
    reads_pipe = source_of(arguments).is_pipe and arguments.evaluator == "auto"
    refuse_options(
        {
            "--labels": arguments.labels,
            "--events": arguments.show_events,
            "--quarantine": arguments.quarantine and not reads_pipe,
            "--schema": arguments.schema,
            "--sort": arguments.sort,
            "--lateness": arguments.lateness is not None and not reads_pipe,
            "--time": arguments.time,
            "--type": arguments.type,
            "--columns": arguments.columns,
            "--evaluator": arguments.evaluator not in ("auto", "reference"),
        }
    )
    if reads_pipe:
        return _run_on_pipe(query, arguments)
    every = match_recognize(query, source_of(arguments), threads=arguments.threads)
    result = every.slice(0, arguments.limit)
    if not result.num_rows and arguments.limit != 0:
        warn(AnswerWarning("CER0910: no answer"), stacklevel=2)
    _write(result, arguments)
    return OK


def _run_on_pipe(query: RowPattern, arguments: argparse.Namespace) -> int:
    """Write each row of the result when it is certain, before waiting for further rows."""
    on_bad_row, left, count = arguments.quarantine, arguments.limit, 0

    def set_aside(index: int, error: BadData) -> None:
        on_bad_row(json.dumps(_row(part.events[index]), default=str, ensure_ascii=False), error)

    aside = None if on_bad_row is None else set_aside
    session = RowPatternSession(query, None, arguments.lateness, aside)
    opened = open_sink(arguments.output, arguments.format, lines=_lines, types_grow=True)
    with opened as out:

        def write(table: Any) -> None:
            nonlocal count
            if table.num_columns:
                table = table.slice(0, None if left is None else left - count)
                out.table(table)
                count += table.num_rows

        parts = io.batches(
            source_of(arguments), before_reading=out.flush, type=NO_TYPE, quarantine=on_bad_row
        )
        for part in parts if left != 0 else ():
            try:
                write(session.push(_rows(part)))
            except BadData as error:
                if not isinstance(error.matches, tuple):
                    write(error.matches)
                out.flush()
                raise
            if count == left:
                break
        else:
            write(session.advance("end"))
    if not count and left != 0:
        warn(AnswerWarning("CER0910: no answer"), stacklevel=2)
    return OK


def _rows(part: io.Stream) -> Any:
    """Return the events of a pipe as a table, or as dicts if a column has no type of Arrow."""
    try:
        table = part.to_arrow()
    except BadData:  # objects, lists, or values of several types
        return [*map(_row, part.events)]
    types = set(table["type"].unique().to_pylist())
    if NO_TYPE in types and len(types) > 1:
        return [*map(_row, part.events)]
    first = [name for name in ("type", "stream") if name in table.column_names]
    others = [name for name in table.column_names if name not in first]
    return table.select([*(n for n in first if n != "type" or NO_TYPE not in types), *others])


def _row(event: Event) -> dict[str, Any]:
    """Return an event of a pipe as a row, omitting a missing type or stream."""
    of_event = {"type": event.type, "stream": event.stream}
    own = {name: word for name, word in of_event.items() if word not in (None, NO_TYPE)}
    return {**own, **with_objects(event)}


def run_sql(arguments: argparse.Namespace) -> int:
    """Run ``cerlab sql``: write the result of `cerlab.sql`."""
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
    file.writelines(json.dumps(row, default=_json_form, allow_nan=False) + "\n" for row in rows)


def _finite(value: Any) -> Any:
    """Return a value; NaN and infinities become text, as in all answers."""
    match value:
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case list():
            return [*map(_finite, value)]
        case _:
            return json_value(value)


def _json_form(value: Any) -> Value:
    """Return moments and durations as ISO 8601, decimals as numbers, and other values as text."""
    if isinstance(value, Decimal):
        with suppress(BadData):  # a decimal may have more digits than a double
            return to_value(value)
    if isinstance(value, timedelta):
        return str(to_value(value))
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
