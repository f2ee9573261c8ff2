"""The options of ``cerlab bench``, and which of them go together."""

from __future__ import annotations

import argparse

from cerlab.cli.bench_papers import EVENTS, PAPERS, conflicts
from cerlab.errors import UsageError

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
with: scan, partitions, quantifier, navigation, each also on half of its rows. With --against flink
they run in Flink SQL besides, which refuses the last two.

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
  cerlab bench --queries rows --against flink --flink-python env/bin/python
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
        choices=("tecs", "pycer", "flink"),
        help="the tECS in pure Python on a prefix; CORE by its Python package; with --queries rows "
        "Flink SQL; may be repeated",
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
        "--flink-python", metavar="PATH", help="a Python that has apache-flink (default: python3)"
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
        "beside the local engine on one core; each design is measured warm: in the third "
        "run on the same rows in one session",
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


def whole_numbers(text: str) -> list[int]:
    """Positive numbers with commas between them; raises `UsageError` for other texts."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) for part in parts):
        raise UsageError("CER0821", f"--keys is {text}", hint="as in --keys 10,1000")
    return list(map(int, parts))


def check(arguments: argparse.Namespace) -> None:
    """Every option has an effect, or is an error."""
    bounds = (("events", 1), ("runs", 1), ("prefix", 1), ("pairs", 2), ("cores", 2), ("spark", 1))
    for option, least in bounds:
        value = getattr(arguments, option)
        if value is not None and value < least:
            raise UsageError(
                "CER0821",
                f"--{option} is {value}: {least} is the least",
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
    } | conflicts(arguments)
    for message, wrong in without.items():
        if wrong:
            raise UsageError("CER0820", message, hint="see cerlab bench --help")
