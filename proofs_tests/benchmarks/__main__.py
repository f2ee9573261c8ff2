"""Measurements of the engines, as ratios taken in one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

from cerlab import CerlabError, Query, parse_query
from cerlab.engine.whole_stream import why_not_by_ranges
from cerlab.errors import nearest
from cerlab.io.output import whole_text
from cerlab.model.stream import Stream
from proofs_tests.benchmarks import engine, queries, registers, streams, timing
from proofs_tests.benchmarks.memory import MemoryOf
from proofs_tests.benchmarks.peers import Core
from proofs_tests.benchmarks.timing import Row

DESCRIPTION = """\
Measure the compiled engine on the queries of the CORE paper, from columns in memory to flat arrays
of answers: medians of CPU and wall time with their spread (longest over shortest run), and ratios
to the predicate stage and to summing up the columns that a query reads, taken in the same run.
Reading, parsing, planning and the first run are not in the time.
"""

EPILOG = """\
names of queries: S3 to S24 on stocks, H3 to H24 on homes, T3 to T24 on taxi trips; S3' has no
output; S3' x2 to x4 have wider windows; S3 NEXT, LAST, MAX, STRICT; S3 ANY with CONSUME BY ANY and
S3 ANY 1000 also with LIMIT 1000; Q1 to Q7, Q1 ANY, Q1 ANY 1000 on stocks; "figures" are those that
figures/core_throughput.py draws.

Memory is the resident set of a process with the interpreter, the libraries, the stream and the run;
"loaded" is without the run. CORE's Python package copies each event and prints each answer, which
is in its figures; its windows are strict and are asked for one unit more; its selection strategies
do nothing, so its number of answers differs there.

"registers" are the patterns of the SRT paper on stocks that compare prices: reg_1 to reg_4, k_1 to
k_4 with iterations, kn_1 to kn_4 with nested ones, q1 to q5, in windows of 500 to 30000 ms, beside
the match frequencies that the paper states and beside its Algorithm 1, with one run for each match,
on as many of the first events as that reads in a second. Each is checked to have the same complex
events as a query. "srt" are those in the windows that figures/srt_throughput.py draws.

"foundations" are Q1 to Q6 of the FOUND paper on its random streams: events of five types, processed
under selection strategies without output, and with CONSUME BY ANY and all output.

"time" is an absence over many keys, counted, listed and pushed to a session; bursts of events on
1,000 hosts; and arithmetic between labels and a count, each beside the simpler query with the same
steps.

"rows" are row patterns on tables in memory, the four benchmarks that DuckDB's MATCH_RECOGNIZE came
with: scan, partitions, quantifier, navigation, each also on half of its rows. With --against flink
Flink SQL runs them, too, which refuses the last two.

"live" is a log of 100,000 users by row patterns: pushed to a session row by row and in batches, and
piped to cerlab run beside reading the pipe alone.

"questions" are what users ask of a shop's log, each as a whole process on a file of Parquet, beside
DuckDB and, where they are installed and say it shortly, ClickHouse (chdb) and polars.

examples, after python -m proofs_tests.benchmarks:

                                           a dozen queries on synthetic stocks
  --data stocks.stream --queries all       the whole catalogue on a real stream
  --queries "S3',S3' x4" --pairs 21        two queries side by side
  --queries "S3',S24'" --decoy             where no output cannot be foreseen
  --queries S3 --events 8000000 --pairs 11 --cores 2
  --queries S3 --events 20000000 --pairs 7 --halves
  --stream homes --memory --count          with peak memory and counting
  --against pycer --pycer-python PATH      beside CORE (pip install pycer)
  --queries srt --data stocks.stream --memory
  --queries foundations --events 1000000
  --queries time --events 10000000 --runs 1
  --queries rows --against flink --flink-python PATH
  --queries live --events 1000000
  --queries questions --events 10000000
  --events 20000000 --spark 2                a query with three tests on the price, by key
  --queries S3 --events 50000000 --spark 2
  --spark 1 --keys 10,1000                 a stream that arrives, by the number of keys
  --spark 2 --growth --events 16000000     CPU and memory of Spark as rows grow, in other layouts
  --paths --queries S3 --data stocks.stream --runs 5
  --lengths --queries S3,Q1 --data stocks.stream
"""

EVENTS, RUNS, PATH_RUNS = 200_000, 11, 3

_STREAMS = {"stream", "data", "events", "decoy", "queries"}
READS: dict[str, set[str]] = {
    "throughput": {*_STREAMS, "runs", "count", "memory", "against", "prefix", "pycer_python"},
    "pairs": {*_STREAMS, "pairs", "count"},
    "cores": {*_STREAMS, "pairs", "cores"},
    "halves": {*_STREAMS, "pairs", "halves"},
    "paths": {*_STREAMS, "runs", "paths"},
    "lengths": {*_STREAMS, "runs", "lengths"},
    "keys": {"spark", "keys"},
    "growth": {"spark", "growth", "events"},
    "spark": {"spark", "events", "queries"},
    "registers": {"queries", "data", "events", "runs", "prefix", "memory"},
    "srt": {"queries", "data", "events", "runs", "prefix", "memory"},
    "foundations": {"queries", "events", "runs"},
    "time": {"queries", "events", "runs"},
    "rows": {"queries", "runs", "against", "flink_python"},
    "live": {"queries", "events", "runs"},
    "questions": {"queries", "events", "runs"},
}
"""The options that each kind of measurement reads; all others are errors there."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="python -m proofs_tests.benchmarks",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = partial(result.add_argument, default=None)
    number = partial(add, type=int, metavar="N")
    switch = partial(add, action="store_true")
    add("--stream", choices=(*queries.FAMILIES, "all"), help="generated stream (default: stocks)")
    add("--data", metavar="PATH", help="stocks from a file, not synthetic")
    number("--events", help=f"events of a synthetic stream (default: {EVENTS})")
    switch("--decoy", help="begin with the event that queries without output wait for")
    add(
        "--queries",
        metavar="S3,Q1",
        help="names, all, figures, registers, srt, foundations, time, rows, live, questions",
    )
    number("--runs", help=f"measured runs of each query (default: {RUNS}; of paths {PATH_RUNS})")
    switch("--count", help="also count() without enumeration")
    switch("--memory", help="also peak memory, in a fresh process for each query")
    add(
        "--against",
        action="append",
        choices=("tecs", "pycer", "flink"),
        help="the tECS in pure Python on a prefix; CORE by its Python package; Flink SQL (rows)",
    )
    number("--prefix", help="events for the tECS (default: 2000) or Algorithm 1 (20000)")
    add("--pycer-python", metavar="PATH", help="a Python that has pycer (default: python3.13)")
    add("--flink-python", metavar="PATH", help="a Python that has apache-flink (default: python3)")
    number("--pairs", help="interleave the queries in N rounds, give ratios")
    number("--cores", help="N threads against one, beside N processes, in --pairs rounds")
    switch("--halves", help="the second half of the stream against the first, in --pairs rounds")
    number("--spark", help="Spark on 1 and on N cores, on the events and on a tenth of them")
    add("--keys", metavar="N,N,..", help="with --spark: streams of N keys, in micro-batches")
    switch("--growth", help="with --spark: the events against a sixteenth of them, and layouts")
    switch("--paths", help="whole processes and public calls, beside pyarrow reading the same file")
    switch("--lengths", help='"auto" beside the evaluators it chooses from, on 10 to 100000 events')
    result.add_argument("--format", default="table", choices=("table", "ndjson"))
    result.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")
    return result


def kind_of(arguments: argparse.Namespace) -> str:
    """Return the kind of measurement; raises ValueError for options that it does not read."""
    given = {
        name
        for name, value in vars(arguments).items()
        if value is not None and value is not False and name not in ("format", "output")
    }
    kinds = ("keys", "growth", "spark", "cores", "halves", "paths", "lengths", "pairs")
    kind = next((kind for kind in kinds if kind in given), "throughput")
    if arguments.queries in READS:
        kind = arguments.queries
    if unread := sorted(given - READS[kind]):
        raise ValueError(f"--{unread[0].replace('_', '-')} has no effect on {kind}")
    against = set(arguments.against or ())
    needs = {
        "--against flink needs --queries rows": kind != "rows" and "flink" in against,
        "--queries rows goes with --against flink alone": kind == "rows" and against - {"flink"},
        "--prefix needs --against tecs": kind == "throughput"
        and arguments.prefix
        and "tecs" not in against,
        "--pycer-python needs --against pycer": arguments.pycer_python and "pycer" not in against,
        "--flink-python needs --against flink": arguments.flink_python and not against,
        f"--{kind} needs --pairs": kind in ("cores", "halves") and not arguments.pairs,
        f"--{kind} needs --spark": kind in ("keys", "growth") and not arguments.spark,
        "--data needs --stream stocks": arguments.data
        and arguments.stream not in (None, "stocks", "all"),
    }
    for message in (message for message, wrong in needs.items() if wrong):
        raise ValueError(message)
    least = {"events": 1, "runs": 1, "prefix": 1, "pairs": 2, "cores": 2, "spark": 1}
    for name, bound in least.items():
        value = getattr(arguments, name)
        if value is not None and value < bound:
            raise ValueError(f"--{name} is {value}: {bound} is the least")
    return kind


def main(words: list[str] | None = None) -> int:
    """Measure and write rows; exit status 2 for wrong options."""
    program = parser()
    arguments = program.parse_args(words)
    try:
        rows = _rows(kind_of(arguments), arguments)
        if arguments.output is None:
            timing.write_rows(rows, arguments.format, sys.stdout)
        else:
            with whole_text(arguments.output) as file:
                timing.write_rows(rows, arguments.format, file)
    except (ValueError, OSError, CerlabError) as error:
        program.error(str(error))
    return 0


def _rows(kind: str, arguments: argparse.Namespace) -> Iterator[Row]:
    events, runs = arguments.events or EVENTS, arguments.runs or RUNS
    match kind:
        case "foundations":
            from proofs_tests.benchmarks.foundations import measure_foundations

            return measure_foundations(events, runs)
        case "questions":
            from proofs_tests.benchmarks.questions import measure_questions

            return measure_questions(events, arguments.runs or PATH_RUNS)
        case "live":
            from proofs_tests.benchmarks.rows import measure_live

            return measure_live(events, arguments.runs or PATH_RUNS)
        case "rows":
            from proofs_tests.benchmarks.rows import measure_rows

            flink, python = bool(arguments.against), arguments.flink_python
            return measure_rows(runs, against_flink=flink, python=python)
        case "time":
            from proofs_tests.benchmarks.times import measure_times

            return measure_times(events, runs)
        case "registers" | "srt":
            return _registers(arguments, runs)
        case "keys":
            from proofs_tests.benchmarks.spark import measure_streams

            return measure_streams(arguments.spark, _whole_numbers(arguments.keys))
        case "growth":
            from proofs_tests.benchmarks.growth import measure_growth

            return measure_growth(events, arguments.spark)
        case "spark":
            from proofs_tests.benchmarks.spark import PRICES, measure_spark

            sizes = tuple(dict.fromkeys((max(1, events // 10), events)))
            cores = tuple(dict.fromkeys((1, arguments.spark)))
            texts = _texts(arguments)["stocks"] if arguments.queries else {"prices": PRICES}
            each = (measure_spark(n, parse_query(t), sizes, cores) for n, t in texts.items())
            return (row for rows in each for row in rows)
    return _by_stream(kind, arguments, _texts(arguments))


def _whole_numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) for part in parts):
        raise ValueError(f"--keys is {text}: as in --keys 10,1000")
    return list(map(int, parts))


def _texts(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """Return by stream the texts of the queries that are asked for."""
    some = tuple(queries.FAMILIES) if arguments.stream == "all" else (arguments.stream or "stocks",)
    texts = {stream: queries.catalogue(stream) for stream in some}
    match arguments.queries:
        case "all":
            return texts
        case None | "figures":
            of = queries.QUICK.__getitem__ if arguments.queries is None else queries.of_figures
            return {s: {name: texts[s][name] for name in of(s)} for s in some}
    names = [name.strip() for name in arguments.queries.split(",")]
    everything = {name for each in texts.values() for name in each}
    for name in names:
        if name not in everything:
            streams_of = [s for s in queries.FAMILIES if name in queries.catalogue(s)]
            near = nearest(name, sorted(everything)) or "see --help"
            hint = f"it is on --stream {streams_of[0]}" if streams_of else near
            raise ValueError(f"no query is called '{name}': {hint}")
    chosen = {s: {name: texts[s][name] for name in names if name in texts[s]} for s in some}
    return {stream: each for stream, each in chosen.items() if each}


def _stream(arguments: argparse.Namespace, name: str) -> tuple[Stream, str]:
    """Return a stream and its source."""
    if name == "stocks" and arguments.data:
        stream, source = streams.from_file(arguments.data), "file"
    else:
        stream, source = streams.synthetic(name, arguments.events or EVENTS), "synthetic"
    return (streams.with_decoy(name, stream) if arguments.decoy else stream), source


def _registers(arguments: argparse.Namespace, runs: int) -> Iterator[Row]:
    stream, source = _stream(arguments, "stocks")
    windows = registers.OF_FIGURES if arguments.queries == "srt" else None
    with ExitStack() as resources:
        memory = resources.enter_context(MemoryOf(stream)) if arguments.memory else None
        prefix = arguments.prefix or 20_000
        for row in registers.measure_registers(stream, runs, prefix, windows):
            if memory is not None:
                sremo = registers.sremo(registers.PATTERNS[row["query"]], row["window"])
                row |= memory.measure(sremo=sremo, is_listed=row["listed"])
            yield {"stream": "stocks", "source": source, "events": len(stream)} | row


def _by_stream(
    kind: str, arguments: argparse.Namespace, texts: dict[str, dict[str, str]]
) -> Iterator[Row]:
    for name, some in texts.items():
        stream, source = _stream(arguments, name)
        parsed = {each: parse_query(text) for each, text in some.items()}
        head = {"stream": name, "source": source, "decoy": bool(arguments.decoy)}
        head |= {"events": len(stream)}
        measure: dict[str, Callable[..., Iterator[Row]]] = {
            "pairs": _pairs,
            "throughput": partial(_throughput, name),
        }
        for row in measure.get(kind, partial(_single, kind))(arguments, stream, parsed):
            yield head | row


def _pairs(
    arguments: argparse.Namespace, stream: Stream, parsed: dict[str, Query]
) -> Iterator[Row]:
    runs: dict[str, Any] = {n: partial(engine.answers, q, stream) for n, q in parsed.items()}
    if arguments.count:
        runs |= {f"count {n}": partial(engine.count, q, stream) for n, q in parsed.items()}
    if len(runs) < 2:
        raise ValueError("--pairs needs two queries or more")
    yield from timing.pairs(runs, arguments.pairs)


def _single(
    kind: str, arguments: argparse.Namespace, stream: Stream, parsed: dict[str, Query]
) -> Iterator[Row]:
    """Measure query by query."""
    for name, query in parsed.items():
        match kind:
            case "cores":
                if (reason := why_not_by_ranges(query.plan)) is not None:
                    raise ValueError(f"'{name}' cannot be read in ranges: {reason}")
                yield engine.cores(name, query, stream, arguments.cores, arguments.pairs)
            case "halves":
                yield engine.halves(name, query, stream, arguments.pairs)
            case "lengths":
                yield from engine.lengths(name, query, stream, arguments.runs or PATH_RUNS)
            case "paths":
                from proofs_tests.benchmarks.paths import measure_paths

                yield from measure_paths(name, query, stream, arguments.runs or PATH_RUNS)


def _throughput(
    of: str, arguments: argparse.Namespace, stream: Stream, parsed: dict[str, Query]
) -> Iterator[Row]:
    against = arguments.against or ()
    with ExitStack() as resources:
        core = memory = None
        if "pycer" in against:
            core = Core(stream, streams.SCHEMAS[of], arguments.pycer_python)
            resources.enter_context(core)
        if arguments.memory:
            memory = resources.enter_context(MemoryOf(stream))
        for name, query in parsed.items():
            row = engine.throughput(name, query, stream, arguments.runs or RUNS)
            if arguments.count:
                row |= engine.counting(query, stream, row)
            if memory is not None:
                row |= memory.measure(query=query.text)
            if "tecs" in against:
                row |= engine.against_tecs(query, stream, arguments.prefix or 2_000)
            if core is not None:
                row |= core.measure(query, row)
            yield row


if __name__ == "__main__":
    sys.exit(main())
