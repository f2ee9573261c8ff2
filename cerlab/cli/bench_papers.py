"""``cerlab bench`` with ``--queries`` of a paper on its streams: SRT on registers, and FOUND."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict

from cerlab.cli.options import output
from cerlab.cli.status import OK
from cerlab.model.stream import Stream

PAPERS = ("registers", "srt", "foundations")
"""What ``--queries`` calls them."""


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
    return {
        f"--queries {arguments.queries} goes with --data, --events, --memory, --prefix and --runs "
        "alone": registers and others,
        "--queries foundations goes with --events and --runs alone": found
        and (others or arguments.data or arguments.memory or arguments.prefix),
    }


def measure_paper(arguments: argparse.Namespace, stocks: Callable[[], tuple[Stream, str]]) -> int:
    """Measure; `stocks` gives the stream and where it is from."""
    if arguments.queries == "foundations":
        return _foundations(arguments)
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

    rows = []
    with output(arguments.output) as file:
        for row in measure_foundations(arguments.events, arguments.runs or 11):
            rows.append(row)
            if arguments.format == "ndjson":
                file.write(json.dumps(asdict(row)) + "\n")
                file.flush()
        if arguments.format == "table":
            write_foundations(rows, file)
    return OK
