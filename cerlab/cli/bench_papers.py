"""``cerlab bench`` with ``--queries`` that bring their data: SRT, FOUND, row patterns."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from cerlab.model.stream import Stream

PAPERS = ("registers", "srt", "foundations", "rows")
"""What ``--queries`` calls them."""

EVENTS = 200_000
"""Of a synthetic stream, if not said otherwise."""


def conflicts(arguments: argparse.Namespace) -> dict[str, object]:
    """By message, whether an option is there that such queries do not go with."""
    others = (
        arguments.decoy
        or arguments.count
        or arguments.against
        or arguments.pairs
        or arguments.stream != "stocks"
    )
    registers = arguments.queries in ("registers", "srt")
    foundations = arguments.queries == "foundations"
    of_rows = arguments.queries == "rows"
    has_size = arguments.data or arguments.memory or arguments.prefix
    beside = set(arguments.against or ()) - {"flink"}
    if of_rows:
        others = arguments.decoy or arguments.count or arguments.pairs or beside
    return {
        f"--queries {arguments.queries} goes with --data, --events, --memory, --prefix and --runs "
        "alone": registers and others,
        "--queries foundations goes with --events and --runs alone": foundations
        and (others or has_size),
        "--queries rows goes with --runs and --against flink alone": of_rows
        and (others or has_size or arguments.stream != "stocks" or arguments.events != EVENTS),
        "--against flink needs --queries rows": "flink" in (arguments.against or ())
        and not of_rows,
        "--flink-python needs --against flink": arguments.flink_python
        and "flink" not in (arguments.against or ()),
    }


def paper_rows(
    arguments: argparse.Namespace, stocks: Callable[[], tuple[Stream, str]]
) -> Iterator[dict[str, Any]]:
    """The rows of measurements; `stocks` gives the stream and where it is from."""
    runs = arguments.runs or 11
    match arguments.queries:
        case "foundations":
            from cerlab.bench.foundations import measure_foundations

            return map(asdict, measure_foundations(arguments.events, runs))
        case "rows":
            from cerlab.bench.row_patterns import beside_flink, measure_row_patterns

            if not arguments.against:
                return map(asdict, measure_row_patterns(runs))
            both = beside_flink(runs, arguments.flink_python)
            return (asdict(run) | flink.row("flink") for run, flink in both)
        case _:
            return _registers(arguments, runs, *stocks())


def _registers(
    arguments: argparse.Namespace, runs: int, stream: Stream, source: str
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.memory import MemoryOf
    from cerlab.bench.register_memory import PROGRAM, run_text
    from cerlab.bench.register_patterns import OF_FIGURES, PATTERNS, sremo
    from cerlab.bench.registers import measure_patterns

    windows = OF_FIGURES if arguments.queries == "srt" else None
    head = {"stream": "stocks", "source": source, "events": len(stream)}
    with ExitStack() as resources:
        memory = resources.enter_context(MemoryOf(stream, PROGRAM)) if arguments.memory else None
        for row in measure_patterns(stream, runs, arguments.prefix or 20_000, windows):
            figures = head | asdict(row)
            if memory is not None:
                expression = sremo(PATTERNS[row.query], row.window)
                figures |= asdict(memory.measure(run_text(expression, is_listed=row.listed)))
            yield figures
