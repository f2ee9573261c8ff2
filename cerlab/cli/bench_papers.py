"""``cerlab bench`` with ``--queries`` that bring their data: SRT, FOUND, row patterns."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, TextIO

from cerlab.cli.options import output
from cerlab.cli.status import OK
from cerlab.model.stream import Stream

PAPERS = ("registers", "srt", "foundations", "rows")
"""What ``--queries`` calls them."""

EVENTS = 200_000
"""Of a synthetic stream, if not said otherwise."""


def refused(arguments: argparse.Namespace) -> dict[str, object]:
    """By message, if it is so, what such queries do not go with."""
    others = (
        arguments.decoy
        or arguments.count
        or arguments.against
        or arguments.pairs
        or arguments.stream != "stocks"
    )
    registers = arguments.queries in ("registers", "srt")
    found = arguments.queries == "foundations"
    of_rows = arguments.queries == "rows"
    sized = arguments.data or arguments.memory or arguments.prefix
    return {
        f"--queries {arguments.queries} goes with --data, --events, --memory, --prefix and --runs "
        "alone": registers and others,
        "--queries foundations goes with --events and --runs alone": found and (others or sized),
        "--queries rows goes with --runs alone": of_rows
        and (others or sized or arguments.events != EVENTS),
    }


def measure_paper(arguments: argparse.Namespace, stocks: Callable[[], tuple[Stream, str]]) -> int:
    """Measure; `stocks` gives the stream and where it is from."""
    if arguments.queries == "foundations":
        return _foundations(arguments)
    if arguments.queries == "rows":
        return _row_patterns(arguments)
    return _registers(arguments, *stocks())


def _registers(arguments: argparse.Namespace, stream: Stream, source: str) -> int:
    from cerlab.bench.memory import MemoryOf
    from cerlab.bench.register_memory import PROGRAM, asked
    from cerlab.bench.register_patterns import OF_FIGURES, PATTERNS, sremo
    from cerlab.bench.registers import measure_patterns, write_measured

    windows = OF_FIGURES if arguments.queries == "srt" else None
    head = {"stream": "stocks", "source": source, "events": len(stream)}
    rows, memories = [], []
    with output(arguments.output) as file, ExitStack() as opened:
        memory = opened.enter_context(MemoryOf(stream, PROGRAM)) if arguments.memory else None
        runs, prefix = arguments.runs or 11, arguments.prefix or 20_000
        for row in measure_patterns(stream, runs, prefix, windows):
            rows.append(row)
            told = head | asdict(row)
            if memory is not None:
                expression = sremo(PATTERNS[row.query], row.window)
                memories.append(memory.measure(asked(expression, listed=row.listed)))
                told |= asdict(memories[-1])
            if arguments.format == "ndjson":
                file.write(json.dumps(told) + "\n")
                file.flush()
        if arguments.format == "table":
            write_measured(rows, len(stream), file, memories)
    return OK


def _foundations(arguments: argparse.Namespace) -> int:
    from cerlab.bench.foundations import measure_foundations, write_foundations

    return _written(
        arguments, measure_foundations(arguments.events, arguments.runs or 11), write_foundations
    )


def _row_patterns(arguments: argparse.Namespace) -> int:
    from cerlab.bench.row_patterns import measure_row_patterns, write_row_runs

    return _written(arguments, measure_row_patterns(arguments.runs or 11), write_row_runs)


def _written(
    arguments: argparse.Namespace,
    measured: Iterable[Any],
    write: Callable[[list[Any], TextIO], None],
) -> int:
    """Rows as they come, a line each, or all of them as a table."""
    rows = []
    with output(arguments.output) as file:
        for row in measured:
            rows.append(row)
            if arguments.format == "ndjson":
                file.write(json.dumps(asdict(row)) + "\n")
                file.flush()
        if arguments.format == "table":
            write(rows, file)
    return OK
