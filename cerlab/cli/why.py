"""``cerlab why``: a derivation of a match, or the unmet conditions; or why there is no match."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from cerlab.cli.command import NO, OK
from cerlab.cli.options import (
    read_any,
    refuse_options,
    source_of,
    whole_stream,
)
from cerlab.compile.pattern import AnyPattern, SremoPattern
from cerlab.errors import Unsupported, UsageError
from cerlab.model.stream import Stream
from cerlab.rows.why import why_rows, why_rows_text, why_rows_to_json
from cerlab.why import why, why_none_to_json, why_text, why_to_json
from cerlab.why.none import why_none, why_none_text

if TYPE_CHECKING:
    from cerlab.rows.syntax import RowPattern

T = TypeVar("T")


def run(arguments: argparse.Namespace) -> int:
    """Run ``cerlab why``; return 0 for a match, 1 otherwise."""
    positions = None if arguments.positions is None else _positions(arguments.positions)
    if positions is None and not arguments.start is arguments.end is None:
        hint = 'write --positions "" for the empty answer'
        raise UsageError("CER0836", "--start and --end need --positions", hint=hint)
    query = read_any(arguments)
    if not isinstance(query, AnyPattern):
        return _why_rows(query, arguments, positions)
    stream = whole_stream(query, arguments)
    if positions is None:
        return _why_none(query, stream, arguments)
    explanation = why(query, stream, positions, arguments.start, arguments.end)
    _print(explanation, arguments.format, why_text, why_to_json)
    return OK if explanation.holds else NO


def _print(
    explanation: T, form: str, text: Callable[[T], str], to_json: Callable[[T], object]
) -> None:
    as_json = form == "json"
    print(json.dumps(to_json(explanation), ensure_ascii=False) if as_json else text(explanation))


def _why_rows(query: RowPattern, arguments: argparse.Namespace, rows: list[int] | None) -> int:
    """Explain a row pattern on the rows of a file."""
    refuse_options(
        {
            "--start": arguments.start is not None,
            "--end": arguments.end is not None,
            "--quarantine": arguments.quarantine,
            "--schema": arguments.schema,
            "--sort": arguments.sort,
            "--time": arguments.time,
            "--type": arguments.type,
            "--until": arguments.until,
        }
    )
    explanation = why_rows(query, source_of(arguments), rows)
    _print(explanation, arguments.format, why_rows_text, why_rows_to_json)
    return OK if explanation.holds else NO


def _why_none(query: AnyPattern, stream: Stream, arguments: argparse.Namespace) -> int:
    if isinstance(query, SremoPattern):
        raise Unsupported(
            "CER0495",
            "cannot explain why a SREMO has no answer at all",
            hint="give --positions",
        )
    explanation = why_none(query, stream)
    _print(explanation, arguments.format, why_none_text, why_none_to_json)
    return NO if explanation.answer is None else OK


def _positions(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(
            "CER0836", f"expected a list of positions, got '{text}'", hint="write --positions 3,7,9"
        ) from None
