"""``cerlab convert``: events from one format to another."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cerlab.cli.options import add_input
from cerlab.cli.progress import whole_stream
from cerlab.cli.status import OK
from cerlab.errors import UsageError
from cerlab.io.formats import FORMATS
from cerlab.io.write_events import write_events, write_text


def add_options(parser: argparse.ArgumentParser) -> None:
    """IN, OUT, their formats, and how to read."""
    parser.add_argument("events", metavar="IN", help="a file, or - for standard input")
    parser.add_argument("output", metavar="OUT", help="a file, or - for standard output")
    parser.add_argument("--to", choices=sorted({*FORMATS.values()}), help="if OUT does not tell")
    parser.add_argument("--schema", metavar="FILE", help="CREATE STREAM declarations for the data")
    add_input(parser)


def run(arguments: argparse.Namespace) -> int:
    """``cerlab convert``."""
    kind = arguments.to or FORMATS.get(Path(arguments.output).suffix.lower())
    if kind is None:
        hint = "add --to csv, ndjson, core, parquet or arrow"
        raise UsageError("CER0867", f"'{arguments.output}' does not tell a format", hint=hint)
    stream = whole_stream(None, arguments)
    if arguments.output == "-":
        write_text(stream, sys.stdout, kind)
    else:
        write_events(stream, arguments.output, kind)
    return OK
