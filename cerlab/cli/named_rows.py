"""``cerlab run --columns``: rows with names, as CSV, NDJSON, a table or Parquet."""

from __future__ import annotations

import argparse
from itertools import chain, islice

from cerlab.cli.answer_warnings import AnswerWarnings
from cerlab.cli.command import OK
from cerlab.cli.options import comma_separated, whole_stream
from cerlab.cli.rows import write_tables
from cerlab.compile.pattern import AnyPattern, Pattern, SremoPattern
from cerlab.errors import Unsupported, UsageError
from cerlab.evaluate import answers_of
from cerlab.evaluate.labelled import answer_tables
from cerlab.io.answers import ROWS
from cerlab.io.sources import is_pipe


def run(query: AnyPattern, arguments: argparse.Namespace) -> int:
    """Read all events, also those of a pipe, and write a row for each answer.

    Aggregates by end are written as they come.
    """
    if isinstance(query, SremoPattern):
        raise Unsupported("CER0482", "a SREMO has no labels", hint="leave --columns out")
    for option, value in {"--labels": arguments.labels, "--events": arguments.show_events}.items():
        if value:
            message = f"rows with names do not carry what {option} adds"
            raise UsageError("CER0865", message, hint=f"leave {option} out, or --columns")
    if query.ast.aggregates:
        _aggregates(query, arguments)
        return OK
    stream, warnings = whole_stream(query, arguments), AnswerWarnings(query, arguments)
    warnings.read(stream)
    from cerlab.engine.answers import batched_answers  # NumPy loads here

    columns = None if arguments.columns is None else comma_separated(arguments.columns)
    answers = islice(answers_of(query, stream, arguments.evaluator), arguments.limit)
    batches = batched_answers(answers, ROWS)
    first = next(batches, None)
    some = () if first is None else chain((first,), batches)
    write_tables(answer_tables(query, stream, some, columns), arguments)
    warnings.finish(0 if first is None and arguments.limit != 0 else None)
    return OK


def _aggregates(query: Pattern, arguments: argparse.Namespace) -> None:
    """Write the table of ``SELECT COUNT(*), ..``."""
    from cerlab.evaluate.aggregates import group_totals, selected_request

    conflicts = {
        "--columns": arguments.columns,
        "--evaluator": arguments.evaluator not in _EVALUATORS,
    }
    for option in (name for name, value in conflicts.items() if value):
        message = f"{option} does not go with SELECT COUNT(*) and sums"
        raise UsageError("CER0865", message, hint=f"leave {option} out")
    request = selected_request(query)
    comes = is_pipe(arguments.events) and not arguments.sort and "end" in request.groups
    if comes and arguments.format in ("ndjson", "csv"):
        from cerlab.cli import live_totals

        live_totals.run(query, request, arguments)
        return
    stream, warnings = whole_stream(query, arguments), AnswerWarnings(query, arguments)
    warnings.read(stream)
    totals = group_totals(query, stream, request)
    write_tables([totals.table().slice(0, arguments.limit)], arguments)
    warnings.finish(None if totals.some or arguments.limit == 0 else 0)


_EVALUATORS = ("auto", "compiled")
