"""``cerlab why``: a derivation of a match, or the first obligation that is not met."""

from __future__ import annotations

import argparse
import json
import sys

from cerlab import io
from cerlab.cli.options import (
    NO,
    OK,
    add_input,
    add_query,
    input_options,
    read_pattern,
    time_option,
)
from cerlab.errors import Unsupported, UsageError
from cerlab.progress import watched
from cerlab.why import why
from cerlab.why.encoding import why_to_json
from cerlab.why.text import why_text
from cerlab.workbench import Query


def add_options(parser: argparse.ArgumentParser) -> None:
    """QUERY, EVENTS, the positions and how to say it."""
    add_query(parser)
    parser.add_argument("events", metavar="EVENTS", help="a file, or - for standard input")
    parser.add_argument(
        "--positions", required=True, metavar="3,7,9", help="of the events of the answer, from 0"
    )
    parser.add_argument("--start", type=int, metavar="I", help="where the answer's interval starts")
    parser.add_argument("--end", type=int, metavar="J", help="where it ends")
    parser.add_argument("--format", default="text", choices=("text", "json"))
    add_input(parser)


def run(arguments: argparse.Namespace) -> int:
    """``cerlab why``: exit 0 for a match, 1 if the positions are none."""
    positions = _positions(arguments.positions)
    query = read_pattern(arguments)
    if not isinstance(query, Query):
        raise Unsupported("CER0495", "why explains CEQL and CEL formulas, not a SREMO")
    time, unit = time_option(arguments)
    stream = io.read(
        arguments.events,
        time=time,
        unit=unit,
        sort=arguments.sort,
        watch=lambda events: watched(events, "reading"),
        **input_options(arguments, query),
    )
    found = why(query, stream, positions, arguments.start, arguments.end)
    if arguments.format == "json":
        json.dump(why_to_json(found), sys.stdout, ensure_ascii=False)
        print()
    else:
        print(why_text(found))
    return OK if found.holds else NO


def _positions(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(
            "CER0836", f"'{text}' is no list of positions", hint="write --positions 3,7,9"
        ) from None
