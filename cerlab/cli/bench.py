"""``cerlab bench``: the queries of the CORE paper on its kinds of streams, measured as ratios."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any

from cerlab.api import Query, parse_query
from cerlab.cli.bench_options import PATH_RUNS, STREAMS, add_options, check, whole_numbers
from cerlab.cli.bench_papers import PAPERS, paper_rows
from cerlab.cli.command import OK
from cerlab.cli.options import output
from cerlab.errors import Unsupported, UsageError, nearest
from cerlab.model.stream import Stream

__all__ = ["add_options", "bench"]


def bench(arguments: argparse.Namespace) -> int:
    """Measure, stream by stream and query by query."""
    from cerlab.bench.table import write_rows

    arguments.against = arguments.against or []
    check(arguments)
    if arguments.queries in PAPERS:
        rows = paper_rows(arguments, partial(_stream, arguments, "stocks"))
    elif arguments.spark:
        rows = _on_spark(arguments)
    else:
        rows = _by_stream(arguments, _query_texts(arguments))
    with output(arguments.output) as file:
        write_rows(rows, arguments.format, file)
    return OK


def _by_stream(
    arguments: argparse.Namespace, selection: dict[str, dict[str, str]]
) -> Iterator[dict[str, Any]]:
    for name, texts in selection.items():
        stream, source = _stream(arguments, name)
        queries = {each: parse_query(text) for each, text in texts.items()}
        head = {"stream": name, "source": source, "decoy": arguments.decoy, "events": len(stream)}
        yield from (head | row for row in _rows(arguments, name, stream, queries))


def _on_spark(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The pipeline; the stream is generated as files, so that neither side holds it."""
    from cerlab.bench.spark import measure_spark

    sizes = tuple(dict.fromkeys((max(1, arguments.events // 10), arguments.events)))
    cores = tuple(dict.fromkeys((1, arguments.spark)))
    if arguments.keys:
        from cerlab.bench.spark_streams import measure_streams

        return map(asdict, measure_streams(arguments.spark, whole_numbers(arguments.keys)))
    queries = {name: parse_query(text) for name, text in _query_texts(arguments)["stocks"].items()}
    return (
        {"stream": "stocks"} | asdict(row)
        for name, query in queries.items()
        for row in measure_spark(name, query, sizes, cores)
    )


def _query_texts(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """By stream the queries by name, with their texts."""
    from cerlab.bench.queries import QUICK, catalogue, of_figures

    streams = STREAMS if arguments.stream == "all" else (arguments.stream,)
    catalogues = {stream: catalogue(stream) for stream in streams}
    match arguments.queries:
        case "all":
            return catalogues
        case None | "figures":
            names_of = QUICK.__getitem__ if arguments.queries is None else of_figures
            return {s: {name: catalogues[s][name] for name in names_of(s)} for s in streams}
    names = [name.strip() for name in arguments.queries.split(",")]
    everything = {name for texts in catalogues.values() for name in texts}
    for name in names:
        if name not in everything:
            raise UsageError(
                "CER0816", f"no query is called '{name}'", hint=_hint(name, everything)
            )
    selection = {
        s: {name: catalogues[s][name] for name in names if name in catalogues[s]} for s in streams
    }
    return {stream: texts for stream, texts in selection.items() if texts}


def _hint(name: str, names: set[str]) -> str:
    from cerlab.bench.queries import catalogue

    for stream in STREAMS:
        if name in catalogue(stream):
            return f"it is asked of --stream {stream}"
    return nearest(name, sorted(names))


def _stream(arguments: argparse.Namespace, name: str) -> tuple[Stream, str]:
    """A stream and where it is from."""
    from cerlab.bench.streams import from_file, synthetic, with_decoy

    if name == "stocks" and arguments.data:
        stream, source = from_file(arguments.data), "file"
    else:
        stream, source = synthetic(name, arguments.events), "synthetic"
    return (with_decoy(name, stream) if arguments.decoy else stream), source


def _rows(
    arguments: argparse.Namespace, name: str, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    if arguments.paths or arguments.lengths:
        return _on_paths(arguments, stream, queries)
    if arguments.cores:
        return _on_cores(arguments, stream, queries)
    if arguments.halves:
        return _in_halves(arguments, stream, queries)
    if arguments.pairs:
        return _pairs(arguments, stream, queries)
    return _measurements(arguments, name, stream, queries)


def _on_paths(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.lengths import measure_lengths
    from cerlab.bench.paths import measure_paths

    measure = measure_lengths if arguments.lengths else measure_paths
    for name, query in queries.items():
        yield from measure(name, query, stream, arguments.runs or PATH_RUNS)


def _measurements(
    arguments: argparse.Namespace, name: str, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.measure import measure, measure_count, measure_tecs
    from cerlab.bench.memory import MemoryOf
    from cerlab.bench.peer import Peer
    from cerlab.bench.streams import SCHEMAS

    with ExitStack() as resources:
        peer = memory = None
        if "pycer" in arguments.against:
            peer = resources.enter_context(Peer(stream, SCHEMAS[name], arguments.pycer_python))
        if arguments.memory:
            memory = resources.enter_context(MemoryOf(stream))
        for each, query in queries.items():
            ours = measure(each, query, stream, arguments.runs or 11)
            row = asdict(ours)
            if arguments.count:
                row |= asdict(measure_count(query, stream, ours))
            if memory is not None:
                row |= asdict(memory.measure(query.text))
            if "tecs" in arguments.against:
                row |= asdict(measure_tecs(query, stream, arguments.prefix or 2_000))
            if peer is not None:
                row |= peer.measure(query, ours).row("pycer")
            yield row


def _pairs(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.measure import answers, count
    from cerlab.bench.pairs import pair_runs

    runs = {name: partial(answers, query, stream) for name, query in queries.items()}
    if arguments.count:
        runs |= {f"count {name}": partial(count, query, stream) for name, query in queries.items()}
    if len(runs) < 2:
        raise UsageError(
            "CER0820", "--pairs needs two queries or more", hint="see cerlab bench --help"
        )
    for pair in pair_runs(runs, arguments.pairs):
        yield asdict(pair)


def _on_cores(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.cores import measure_cores
    from cerlab.engine.whole_stream import why_not_by_ranges

    for name, query in queries.items():
        if (reason := why_not_by_ranges(query.plan)) is not None:
            raise Unsupported(
                "CER0414",
                f"'{name}' cannot be read in ranges: {reason}",
                hint="leave --cores out for it",
            )
        yield asdict(measure_cores(name, query, stream, arguments.cores, arguments.pairs))


def _in_halves(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.halves import measure_halves

    for name, query in queries.items():
        yield asdict(measure_halves(name, query, stream, arguments.pairs))
