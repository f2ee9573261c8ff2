"""The command line (DESIGN 2.2): data to stdout, everything else to stderr.

Exit status: 0, or 1 for a "no"; 2 for bad usage, queries, data and limits; 130 on interrupt; 70
for an internal error.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from cerlab import __version__
from cerlab.cli import bench, check, fuzz, run, show, spark, why
from cerlab.cli.options import BAD, INTERNAL, INTERRUPTED, OK, add_input, add_query
from cerlab.compile.text_to_pattern import LANGUAGES
from cerlab.decisions import contained, equivalent
from cerlab.errors import CerlabError, CerlabWarning
from cerlab.evaluate import EVALUATORS

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status and never lets a traceback out, but for bugs."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed its own message
        return int(stop.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", CerlabWarning)
        return _status(arguments)


def _status(arguments: argparse.Namespace) -> int:
    try:
        status: int = arguments.command(arguments)
        sys.stdout.flush()
        return status
    except CerlabError as error:
        print(error, file=sys.stderr)
        return BAD
    except BrokenPipeError:  # the reader of our output has gone, as in `cerlab run .. | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        print(f"CER0807: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return BAD
    except Exception:
        traceback.print_exc()
        print("CER0700: an internal error; please report it with the lines above", file=sys.stderr)
        return INTERNAL


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cerlab", description="A research workbench for complex event recognition."
    )
    parser.add_argument("--version", action="version", version=f"cerlab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run_command = commands.add_parser("run", help="evaluate a query on events")
    add_query(run_command, languages=(*LANGUAGES, "rows"))
    run_command.add_argument("events", metavar="EVENTS", help="a file, or - for standard input")
    run_command.add_argument("--evaluator", default="auto", help=f"{', '.join(EVALUATORS)} or auto")
    run_command.add_argument("--limit", type=int, metavar="N", help="at most N answers in all")
    run_command.add_argument(
        "--labels", action="store_true", help="valuations instead of positions"
    )
    run_command.add_argument(
        "--events", dest="show_events", action="store_true", help="with the events"
    )
    run_command.add_argument("--format", default="ndjson", choices=("ndjson", "table", "parquet"))
    run_command.add_argument(
        "-o", "--output", metavar="OUT", help="a file instead of standard output"
    )
    add_input(run_command)
    run_command.set_defaults(command=run.run)

    check_command = commands.add_parser("check", help="what can be said of a query without events")
    add_query(check_command)
    check_command.set_defaults(command=check.check)

    show_command = commands.add_parser("show", help="draw a query and its automata")
    show.add_options(show_command)
    show_command.set_defaults(command=show.show)

    for name, decide, what in (
        ("equivalent", equivalent, "have A and B the same answers on every stream"),
        ("contained", contained, "is each answer of A one of B, on every stream"),
    ):
        pair = commands.add_parser(name, help=f"decide: {what}")
        add_query(pair, "a", "b")
        pair.set_defaults(command=check.compare, decide=decide)

    why_command = commands.add_parser("why", help="why positions are an answer, or why not")
    why.add_options(why_command)
    why_command.set_defaults(command=why.run)

    fuzz_command = commands.add_parser("fuzz", help="compare another engine with the reference")
    fuzz.add_options(fuzz_command)
    fuzz_command.set_defaults(command=fuzz.run)

    bench_command = commands.add_parser("bench", help="measure the compiled engine")
    bench.add_options(bench_command)
    bench_command.set_defaults(command=bench.bench)

    spark_command = commands.add_parser("spark", help="evaluate a query on files by Spark")
    spark.add_options(spark_command)
    spark_command.set_defaults(command=spark.run)

    fmt_command = commands.add_parser("fmt", help="print a query in its canonical form")
    add_query(fmt_command)
    fmt_command.set_defaults(command=show.fmt)

    tour = commands.add_parser("demo", help="the tour that the README starts with")
    tour.set_defaults(command=_demo)
    return parser


def _demo(_: argparse.Namespace) -> int:
    from cerlab import demo

    demo.run(sys.stdout)
    return OK
