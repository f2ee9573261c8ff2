"""``cerlab trial``: engines side by side on random cases."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from cerlab.cli.options import text_of
from cerlab.cli.status import NO, OK
from cerlab.errors import UsageError
from cerlab.trial import ADAPTERS, FAULTS, Trial, Verdict, adapter, trial
from cerlab.trial.adapters import DEFAULT, PACKAGES
from cerlab.trial.report import cause_text, write_report

_ABOUT = """
Ask engines and the reference semantics the same random questions; make every fault small, and show
one smallest case for each cause.
"""

_HOW = f"""
An ENGINE is a name, or NAME=PLACE with the interpreter, program or command that runs it:
  {", ".join(ADAPTERS)}
Those of Python packages run in an interpreter that has the package, of an environment of its own:
{chr(10).join(f"  {name:24}pip install {package}" for name, package in PACKAGES.items())}
pycer needs Python 3.13 and is looked for in python3.13; flink needs Java 11 or newer. An engine
that is not there is left out, with the reason.

command=WORDS is a program in any language. It reads a JSON object from each line and answers with
one: {{"hello": true}} with {{"version": ".."}}, {{"query": "SELECT ..", "rows": [{{..}}]}} with
{{"answers": [{{..}}]}}, {{"refused": "why"}} or {{"crash": "how"}}. ceql-command=WORDS reads CEQL.

Verdicts: same; missing: answers are missing; extra: there are more; order; crash; hang; refused.
Exit status: 0 no fault, 1 a fault.

  cerlab trial --cases 200
  cerlab trial --engine flink=flink-env/bin/python --minutes 5 -o report
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which engines, how long, where to."""
    parser.description, parser.epilog = _ABOUT, _HOW
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--engine",
        action="append",
        metavar="ENGINE",
        help=f"may be given more than once (default: {', '.join(DEFAULT)})",
    )
    parser.add_argument("--cases", type=int, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--minutes", type=float, default=5.0, help="at most (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="other cases (default: 0)")
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds for a case, or for a batch of them"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", help="a page, and files to run again")
    parser.add_argument(
        "--sqllogictest",
        metavar="DIR",
        help="no trial: run an engine's test files, MATCH_RECOGNIZE by cerlab, the rest by DuckDB",
    )
    parser.add_argument(
        "--settled", metavar="FILE", help="with it: records that differ by a clause, one a line"
    )


def run(arguments: argparse.Namespace) -> int:
    """``cerlab trial``: exit 0 for no fault, 1 for one."""
    if arguments.sqllogictest is not None:
        return _sqllogictest(Path(arguments.sqllogictest), arguments.settled)
    if arguments.cases < 1 or arguments.minutes <= 0:
        hint = "see cerlab trial --help"
        raise UsageError("CER0857", "--cases and --minutes take positive numbers", hint=hint)
    outcome = trial(
        [adapter(text) for text in arguments.engine or DEFAULT],
        cases=arguments.cases,
        seconds=60 * arguments.minutes,
        case_seconds=arguments.timeout,
        seed=arguments.seed,
        watch=_watch,
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if arguments.output is not None:
        write_report(outcome, Path(arguments.output))
    _print(outcome)
    return NO if any(tally.causes or tally.unsorted_faults for tally in outcome.tallies) else OK


def _sqllogictest(folder: Path, file: str | None) -> int:
    """Every record that is not the same, with its message, and how many of each there are."""
    from cerlab.trial.report import check_files, settlements_in

    for path in (folder, *([] if file is None else [Path(file)])):
        if not path.exists():
            raise UsageError("CER0857", f"{path} is not there", hint="give the path of the tests")
    settlements = [] if file is None else settlements_in(text_of(Path(file)))
    counts: Counter[str] = Counter()
    faults = 0
    for outcome in check_files(folder, settlements):
        lacking = "needs a file" if outcome.lacks else outcome.verdict.value
        counts["settled" if outcome.clause else lacking] += 1
        faults += outcome.verdict in FAULTS and not (outcome.clause or outcome.lacks)
        if outcome.verdict is not Verdict.SAME:
            place = f"{outcome.path.relative_to(folder)}:{outcome.record.line}"
            by = f", settled by {outcome.clause}" if outcome.clause else ""
            print(f"{place}: {lacking}{by}: {outcome.lacks or outcome.message}")
    kinds = (*(v.value for v in Verdict), "settled", "needs a file")
    print(", ".join(f"{counts[kind]:,} {kind}" for kind in kinds if counts[kind]) or "no records")
    return NO if faults else OK


def _watch(cases: int, seconds: float) -> None:
    """How far it is, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{cases:,} cases, {seconds:,.0f} s", end="", file=sys.stderr, flush=True)


def _print(outcome: Trial) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("engine", "version", *(v.value for v in Verdict), "causes")
    for tally in outcome.tallies:
        counts = (f"{tally.verdicts[v]:,}" for v in Verdict)
        table.add_row(tally.name, tally.version, *counts, str(len(tally.causes)))
    Console(stderr=True).print(table)
    for name, why in outcome.absent:
        print(f"not there: {name}: {why}", file=sys.stderr)
    for tally in outcome.tallies:
        for number, cause in enumerate(tally.causes, 1):
            count = f"{cause.count:,} cases, after {cause.after:,.0f} s"
            print(f"\n{tally.name} {number}: {cause.verdict.value}, {count}")
            print(cause_text(cause))
