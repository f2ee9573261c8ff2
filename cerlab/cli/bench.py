"""``cerlab bench``: the queries of the CORE paper on its kinds of streams, measured as ratios."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any, TextIO

from cerlab.api import Query, parse_query
from cerlab.cli.bench_papers import EVENTS, PAPERS, measure_paper, refused
from cerlab.cli.options import output
from cerlab.cli.status import OK
from cerlab.errors import Unsupported, UsageError, nearest
from cerlab.model.stream import Stream

STREAMS = ("stocks", "homes", "taxi")

PATH_RUNS = 3
"""Rounds of --paths, which starts a process for each format in each of them."""

DESCRIPTION = """\
Measure the compiled engine on the queries of the CORE paper, from columns in memory to flat arrays
of answers: medians of CPU and wall time with their spread (longest over shortest run), and ratios
to the predicate stage and to summing up the columns that a query reads, taken in the same run.
Reading, parsing, planning and the first run are not in the time.
"""

EPILOG = """\
names of queries: S3 to S24 on stocks, H3 to H24 on homes, T3 to T24 on taxi trips; S3' has no
output; S3' x2 to x4 in wider windows; S3 NEXT, LAST, MAX, STRICT; S3 ANY with CONSUME BY ANY and
S3 ANY 1000 with LIMIT 1000 besides; Q1 to Q7, Q1 ANY, Q1 ANY 1000 on stocks; "figures" are those
that figures/core_throughput.py draws.

Memory is the resident set of a process with the interpreter, the libraries, the stream and the run;
"loaded" is without the run. CORE's Python package copies each event and prints each answer, which
is in its figures; its windows are strict and are asked for one unit more; its selection strategies
do nothing, so that its number of answers differs there.

"registers" are the patterns of the SRT paper on stocks that compare prices: reg_1 to reg_4, k_1 to
k_4 with iterations, kn_1 to kn_4 with nested ones, q1 to q5, in windows of 500 to 30000 ms, beside
the match frequencies that the paper states and beside its Algorithm 1, with one run for each match,
on as many of the first events as that reads in a second. Each is checked to have the same complex
events as a query. "srt" are those in the windows that figures/srt_throughput.py draws.

"foundations" are Q1 to Q6 of the FOUND paper on its random streams: events of five types, processed
under selection strategies without output, and with CONSUME BY ANY and all output.

"rows" are row patterns on tables in memory, the four benchmarks that DuckDB's MATCH_RECOGNIZE came
with: scan, partitions, quantifier, navigation, each also on half of its rows.

  cerlab bench                                       a dozen queries on synthetic stocks
  cerlab bench --data stocks.stream --queries all    the whole catalogue on a real stream
  cerlab bench --queries "S3',S3' x4" --pairs 21     two queries side by side
  cerlab bench --queries "S3',S24'" --decoy          where no output cannot be foreseen
  cerlab bench --queries S3 --events 8000000 --pairs 11 --cores 2
  cerlab bench --queries S3 --events 20000000 --pairs 7 --halves
  cerlab bench --stream homes --memory --count       with peak memory and counting
  cerlab bench --against pycer --pycer-python PATH   beside CORE (pip install pycer)
  cerlab bench --queries registers --data stocks.stream
  cerlab bench --queries srt --data stocks.stream --memory
  cerlab bench --queries foundations --events 1000000
  cerlab bench --queries rows --runs 5
  cerlab bench --queries S3 --events 50000000 --spark 2
  cerlab bench --spark 1 --keys 10,1000            a stream that arrives, by the number of keys
  cerlab bench --paths --queries S3 --data stocks.stream --runs 5
  cerlab bench --lengths --queries S3,Q1 --data stocks.stream
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--stream",
        choices=(*STREAMS, "all"),
        default="stocks",
        help="what is generated, and which queries are asked (default: stocks)",
    )
    parser.add_argument("--data", metavar="PATH", help="the stocks from a file, not synthetic")
    parser.add_argument(
        "--events", type=int, default=EVENTS, help="of a synthetic stream (default: 200000)"
    )
    parser.add_argument(
        "--decoy",
        action="store_true",
        help="begin with the event that queries without output wait for, so that an engine cannot "
        "tell that it never occurs",
    )
    parser.add_argument(
        "--queries",
        metavar="S3,Q1",
        help="names, all, figures, registers, srt, foundations, or rows (default: a dozen)",
    )
    parser.add_argument("--runs", type=int, help="measured runs of each query (default: 11)")
    parser.add_argument("--count", action="store_true", help="also count() without enumeration")
    parser.add_argument(
        "--memory", action="store_true", help="also peak memory, in a fresh process for each query"
    )
    parser.add_argument(
        "--against",
        action="append",
        choices=("tecs", "pycer"),
        help="the tECS in pure Python on a prefix; CORE by its Python package; may be repeated",
    )
    parser.add_argument(
        "--prefix",
        type=int,
        help="events for --against tecs (default: 2000), or for Algorithm 1 of registers and srt "
        "(20000)",
    )
    parser.add_argument(
        "--pycer-python", metavar="PATH", help="a Python that has pycer (default: python3.13)"
    )
    parser.add_argument(
        "--pairs", type=int, metavar="N", help="interleave the queries in N rounds, give ratios"
    )
    parser.add_argument(
        "--cores",
        type=int,
        metavar="N",
        help="N threads against one, beside N processes against one, in --pairs rounds",
    )
    parser.add_argument(
        "--halves",
        action="store_true",
        help="the second half of the stream against the first, in --pairs rounds",
    )
    parser.add_argument(
        "--spark",
        type=int,
        metavar="N",
        help="the pipeline on Spark on 1 and on N cores, on the events and on a tenth of them, "
        "beside the local engine on one core",
    )
    parser.add_argument(
        "--keys",
        metavar="N,N,..",
        help="with --spark: streams with so many keys that arrive in micro-batches, rows for each "
        "second of CPU",
    )
    parser.add_argument(
        "--paths",
        action="store_true",
        help="what a user gets: whole processes and public calls on files of each format, as "
        "ratios to pyarrow reading and summing the same columns",
    )
    parser.add_argument(
        "--lengths",
        action="store_true",
        help='what "auto" costs beside the evaluators it has, on 10 to 100000 events',
    )
    parser.add_argument("--format", default="table", choices=("table", "ndjson"))
    parser.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")


def bench(arguments: argparse.Namespace) -> int:
    """Measure, stream by stream and query by query."""
    arguments.against = arguments.against or []
    _check(arguments)
    if arguments.queries in PAPERS:
        return measure_paper(arguments, partial(_stream, arguments, "stocks"))
    if arguments.spark:
        return _on_spark(arguments)
    chosen = _chosen(arguments)
    with output(arguments.output) as file:
        for name, texts in chosen.items():
            stream, source = _stream(arguments, name)
            queries = {each: parse_query(text) for each, text in texts.items()}
            head = {"stream": name, "source": source, "decoy": arguments.decoy}
            head["events"] = len(stream)
            _write(arguments, file, (head | row for row in _rows(arguments, name, stream, queries)))
    return OK


def _write(arguments: argparse.Namespace, file: TextIO, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as they come, a line each, or all of them as a table."""
    from cerlab.bench.table import write_table

    if arguments.format == "table":
        write_table(list(rows), file)
        return
    for row in rows:
        file.write(json.dumps(row) + "\n")
        file.flush()


def _on_spark(arguments: argparse.Namespace) -> int:
    """The pipeline; the stream is generated as files, so that neither side holds it."""
    from cerlab.bench.spark import measure_spark

    sizes = tuple(dict.fromkeys((max(1, arguments.events // 10), arguments.events)))
    cores = tuple(dict.fromkeys((1, arguments.spark)))
    if arguments.keys:
        from cerlab.bench.spark_streams import measure_streams

        costs = measure_streams(arguments.spark, _whole_numbers(arguments.keys))
        rows: Iterable[dict[str, Any]] = map(asdict, costs)
    else:
        rows = (
            {"stream": "stocks"} | asdict(row)
            for name, text in _chosen(arguments)["stocks"].items()
            for row in measure_spark(name, parse_query(text), sizes, cores)
        )
    with output(arguments.output) as file:
        _write(arguments, file, rows)
    return OK


def _whole_numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) for part in parts):
        raise UsageError("CER0821", f"--keys is {text}", hint="as in --keys 10,1000")
    return list(map(int, parts))


def _check(arguments: argparse.Namespace) -> None:
    """Every option has an effect, or is an error."""
    bounds = (("events", 1), ("runs", 1), ("prefix", 1), ("pairs", 2), ("cores", 2), ("spark", 1))
    for option, least in bounds:
        given = getattr(arguments, option)
        if given is not None and given < least:
            raise UsageError(
                "CER0821",
                f"--{option} is {given}: {least} is the least",
                hint="see cerlab bench --help",
            )
    paper = arguments.queries in PAPERS
    inner = (arguments.count, arguments.memory, arguments.against, arguments.pairs)
    without = {
        "--data needs --stream stocks": arguments.data
        and arguments.stream not in ("stocks", "all"),
        "--prefix needs --against tecs": arguments.prefix
        and not paper
        and "tecs" not in arguments.against,
        "--pycer-python needs --against pycer": arguments.pycer_python
        and "pycer" not in arguments.against,
        "--keys needs --spark, and no queries": arguments.keys
        and (not arguments.spark or arguments.queries),
        "--cores needs --pairs": arguments.cores and not arguments.pairs,
        "--halves needs --pairs": arguments.halves and not arguments.pairs,
        "--halves does not go with --count or --cores": arguments.halves
        and (arguments.count or arguments.cores),
        "--cores does not go with --count": arguments.cores and arguments.count,
        "--pairs does not go with --runs, --memory or --against": arguments.pairs
        and (arguments.runs or arguments.memory or arguments.against),
        "--paths and --lengths do not go with --count, --memory, --against, --pairs, --spark, or "
        "each other": (arguments.paths and arguments.lengths)
        or ((arguments.paths or arguments.lengths) and (any(inner) or arguments.spark or paper)),
        "--spark goes with --queries, --events, --stream stocks and --format alone": arguments.spark
        and (
            arguments.stream != "stocks"
            or any((*inner, paper, arguments.data, arguments.decoy, arguments.runs))
        ),
    } | refused(arguments)
    for message, wrong in without.items():
        if wrong:
            raise UsageError("CER0820", message, hint="see cerlab bench --help")


def _chosen(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """By stream the queries by name, with their texts."""
    from cerlab.bench.queries import QUICK, catalogue, of_figures

    streams = STREAMS if arguments.stream == "all" else (arguments.stream,)
    known = {stream: catalogue(stream) for stream in streams}
    match arguments.queries:
        case "all":
            return known
        case None | "figures":
            names = QUICK.__getitem__ if arguments.queries is None else of_figures
            return {s: {name: known[s][name] for name in names(s)} for s in streams}
    asked = [name.strip() for name in arguments.queries.split(",")]
    everything = {name for texts in known.values() for name in texts}
    for name in asked:
        if name not in everything:
            raise UsageError(
                "CER0816", f"no query is called '{name}'", hint=_hint(name, everything)
            )
    made = {s: {name: known[s][name] for name in asked if name in known[s]} for s in streams}
    return {stream: texts for stream, texts in made.items() if texts}


def _hint(name: str, known: set[str]) -> str:
    from cerlab.bench.queries import catalogue

    for stream in STREAMS:
        if name in catalogue(stream):
            return f"it is asked of --stream {stream}"
    return nearest(name, sorted(known))


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
        return _paired(arguments, stream, queries)
    return _measured(arguments, name, stream, queries)


def _on_paths(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.lengths import measure_lengths
    from cerlab.bench.paths import measure_paths

    measured = measure_lengths if arguments.lengths else measure_paths
    for name, query in queries.items():
        yield from measured(name, query, stream, arguments.runs or PATH_RUNS)


def _measured(
    arguments: argparse.Namespace, name: str, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.measure import measure, measure_count, measure_tecs
    from cerlab.bench.memory import MemoryOf
    from cerlab.bench.peer import Peer
    from cerlab.bench.streams import SCHEMAS

    with ExitStack() as opened:
        peer = memory = None
        if "pycer" in arguments.against:
            peer = opened.enter_context(Peer(stream, SCHEMAS[name], arguments.pycer_python))
        if arguments.memory:
            memory = opened.enter_context(MemoryOf(stream))
        for each, query in queries.items():
            made = measure(each, query, stream, arguments.runs or 11)
            row = asdict(made)
            if arguments.count:
                row |= asdict(measure_count(query, stream, made))
            if memory is not None:
                row |= asdict(memory.measure(query.text))
            if "tecs" in arguments.against:
                row |= asdict(measure_tecs(query, stream, arguments.prefix or 2_000))
            if peer is not None:
                row |= asdict(peer.measure(query, made))
            yield row


def _paired(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.measure import answers, count
    from cerlab.bench.pairs import paired

    runs = {name: partial(answers, query, stream) for name, query in queries.items()}
    if arguments.count:
        runs |= {f"count {name}": partial(count, query, stream) for name, query in queries.items()}
    if len(runs) < 2:
        raise UsageError(
            "CER0820", "--pairs needs two queries or more", hint="see cerlab bench --help"
        )
    for pair in paired(runs, arguments.pairs):
        yield asdict(pair)


def _on_cores(
    arguments: argparse.Namespace, stream: Stream, queries: dict[str, Query]
) -> Iterator[dict[str, Any]]:
    from cerlab.bench.cores import measure_cores
    from cerlab.engine.windowed.ranges import why_not_by_ranges

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
