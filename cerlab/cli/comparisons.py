"""``cerlab fuzz``, ``conformance`` and ``trial``: other engines compared with the reference."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cerlab.cli.command import NO, OK, UNDECIDED
from cerlab.cli.options import text_of
from cerlab.conformance import cases, groups
from cerlab.conformance.run import (
    FEATURES,
    LANGUAGES,
    ON_DEMAND,
    Judged,
    Mark,
    judge_cerlab,
    judge_engine,
    request_of,
)
from cerlab.display import terminal
from cerlab.errors import UsageError, nearest
from cerlab.fuzz import CEL, CLAUSES, FAMILY, Progress, Summary, engine, fuzz, wanted
from cerlab.testing import ATTRIBUTES, SMALL
from cerlab.testing.features import FEATURES as OF_QUERIES
from cerlab.testing.features import LIMITS, TIMED, USUAL
from cerlab.trial import ADAPTERS, FAULTS, Trial, Verdict, adapter, conformance, trial
from cerlab.trial.adapters import DEFAULT, PACKAGES, Absent, Adapter
from cerlab.trial.report import cause_text, write_report

ABOUT_FUZZ = """
Compare an engine with the reference on random queries and streams. If their
answers differ, print the smallest case and explain the right answer.
"""


HOW_FUZZ = f"""
A COMMAND that contains {{query}} and {{events}} starts once per case. {{query}} is replaced by the
path of a file with the query (CEQL), and {{events}} by the path of a file with the events (one JSON
object per line). The engine prints its answers like `cerlab run`; "start" and "end" are optional.
With exit status 2, the engine refuses the query.

Any other COMMAND starts once. For each case it reads a line {{"query": "..", "events": [..]}} and
replies with a line {{"answers": [{{"start": 0, "end": 2, "positions": [0, 2]}}, ..]}} or
{{"refused": "why"}}. Answers may come in any order; one that is listed twice is a difference.

Streams are short, with types A, B, C and attributes v, w, k and t (the time in seconds). Features:
  of formulas    {" ".join(CEL)}
  of the family  {" ".join(FAMILY)}
  of time        {" ".join(TIMED)}
  of queries     {"  ".join((*CLAUSES, *LIMITS))}

By default, features of formulas and of queries are tested. If the engine refuses a query, each of
its features is tested alone; a feature that is refused alone is not used again. The last line names
the features that were not tested. Ctrl-C prints the counts so far.

Exit status: 0 no difference, 1 a difference, 3 too few cases compared (most were refused, atomic or
without answers).

  cerlab fuzz "cerlab run {{query}} {{events}} --time t:s --evaluator tecs" --cases 20
  cerlab fuzz ./my_engine --with ';,+,OR,AS,FILTER,EVENTS'
"""


def run_fuzz(arguments: argparse.Namespace) -> int:
    """Run ``cerlab fuzz``; return 0 for no difference, 1 for a difference, 3 for too few cases."""
    for name in ("cases", "depth", "events"):
        if getattr(arguments, name) < 1:
            raise UsageError(
                "CER0853", f"expected a number from 1 for --{name}", hint="see cerlab fuzz --help"
            )
    takes = frozenset(USUAL) if arguments.takes is None else wanted(arguments.takes)
    values = ATTRIBUTES if arguments.values == "all" else SMALL
    shape = type(values)(arguments.depth, arguments.events, values.rich)
    with (
        engine(arguments.engine, arguments.timeout) as child,
        _watch_fuzz(arguments.cases) as watch,
    ):
        takes -= wanted(arguments.without)
        done = [Summary(0, 0, 0)]

        def note(summary: Summary) -> None:
            done[:] = [summary]
            watch(summary)

        try:
            outcome = fuzz(
                child,
                cases=arguments.cases,
                seed=arguments.seed,
                takes=takes,
                shape=shape,
                watch=note,
            )
        except KeyboardInterrupt:
            print(f"interrupted after {_counts(done[0])}", file=sys.stderr)
            raise
    print(_summary(outcome, takes), file=sys.stderr)
    if outcome.difference is not None:
        print(outcome.difference)
        return NO
    return UNDECIDED if outcome.doubt else OK


def _counts(outcome: Summary) -> str:
    return (
        f"cases: {outcome.cases:,}, with answers: {outcome.answered:,} (composite: "
        f"{outcome.composite:,}), refused: {outcome.refused:,}"
    )


def _summary(outcome: Summary, takes: frozenset[str]) -> str:
    head = _counts(outcome)
    if outcome.reason:
        head += f" (the last: {outcome.reason})"
    if outcome.difference is not None:
        return f"{head}\ncase {outcome.case} differs; the smallest that still does:"
    return f"{head}\n{_verdict(outcome)}\nnot tested: {_untested(outcome, takes)}"


def _verdict(outcome: Summary) -> str:
    if not outcome.answered or not outcome.doubt:
        return outcome.doubt or "no difference"
    return f"no difference, which says little: {outcome.doubt}; see --with and --without"


def _untested(outcome: Summary, takes: frozenset[str]) -> str:
    """Return the features that no compared case with answers contained, with the reason."""
    reasons = {
        "refused": [each for each in OF_QUERIES if each in outcome.shunned],
        "in no case with answers": [
            each for each in OF_QUERIES if each in outcome.untested and each not in outcome.shunned
        ],
        "not asked for": [each for each in OF_QUERIES if each not in takes],
    }
    parts = [f"{' '.join(names)} ({why})" for why, names in reasons.items() if names]
    return "; ".join(parts) or "nothing"


@contextmanager
def _watch_fuzz(cases: int) -> Iterator[Progress]:
    """Show a progress bar on a terminal while a block runs."""
    if not sys.stderr.isatty():
        yield lambda summary: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=terminal(sys.stderr)), transient=True) as progress:
        task = progress.add_task("comparing", total=cases)
        yield lambda summary: progress.update(task, completed=summary.cases)


ABOUT_CONFORMANCE = """
Test an engine on the conformance suite: cases with answers computed by hand from the definitions.
Without COMMAND, test the installed cerlab.
"""


HOW_CONFORMANCE = f"""
COMMAND starts once. For each case it reads a line
  {{"query": "..", "events": [..], "language": "ceql", "options": {{}}, "reply": "answers"}}
and replies with a line
  {{"answers": [{{"start": 0, "end": 2, "positions": [0, 2]}}, ..]}}
or another kind of reply, or {{"refused": "why"}}. A COMMAND that contains {{query}} and {{events}}
starts once per case, as for `cerlab fuzz`, and gets only the cases without options.

Features are those of `cerlab fuzz`, LIMIT, and moments (timestamps in events). Replies of the
kinds {", ".join(ON_DEMAND)} are also features; they are tested only if --with names them.
The table omits groups without a tested case; the line `total` includes them.
Languages: {", ".join(LANGUAGES)}. An engine that supports ceql but not cel gets
formulas as queries. cerlab/conformance/README.md describes cases and replies.

Exit status: 0 no wrong reply, 1 a wrong reply, 3 nothing was compared.

  cerlab conformance
  cerlab conformance ./my_engine --with ';,+,OR,AS,FILTER,EVENTS'
  cerlab conformance ./my_engine --only within/one-event-too-long
"""


def run_conformance(arguments: argparse.Namespace) -> int:
    """Run ``cerlab conformance``: 0 if all cases agree, 1 if one differs, 3 if none ran."""
    name = arguments.only
    chosen = [case for case in cases() if name in (None, case.id, case.id.partition("/")[0])]
    if not chosen:
        names = [group.name for group in groups()] + [case.id for case in cases()]
        hint = nearest(name, names)
        raise UsageError("CER0834", f"there is no group and no case '{name}'", hint=hint)
    if arguments.engine is None:
        judged = list(judge_cerlab(chosen))
    else:
        every = frozenset(FEATURES) - {*ON_DEMAND}
        only = arguments.takes
        takes = every if only is None else wanted(only, FEATURES)
        takes -= wanted(arguments.without, FEATURES)
        languages = wanted(arguments.languages, LANGUAGES)
        with engine(arguments.engine, arguments.timeout) as child:
            judged = list(judge_engine(chosen, child, takes, languages))
    words = ["cerlab", "conformance", *filter(None, [arguments.engine]), "--only"]
    _print_judged(judged, words)
    if name is not None and len(judged) == 1:
        _print_case(judged[0])
    return _status(Counter(each.mark for each in judged))


def _status(marks: Counter[Mark]) -> int:
    if marks[Mark.WRONG]:
        return NO
    return OK if marks[Mark.PASSED] else UNDECIDED


def _print_case(judged: Judged) -> None:
    print(f"\nrequest:  {json.dumps(request_of(judged.case))}")
    print(f"expected: {json.dumps({judged.case.kind: judged.case.expected})}")
    print(f"reply:    {json.dumps(judged.reply) if judged.reply is not None else judged.how}")


def _print_judged(judged: Sequence[Judged], command: Sequence[str] | None) -> None:
    """Print a table by group, and each wrong case, with a command to show it if there is one.

    Groups without an asked case are counted in the last line only.
    """
    by_group: dict[str, Counter[Mark]] = {}
    for each in judged:
        by_group.setdefault(each.case.id.partition("/")[0], Counter())[each.mark] += 1
    print(f"{'group':32}" + "".join(f"{mark.value:>10}" for mark in Mark))
    total = sum(by_group.values(), Counter[Mark]())
    asked = [(name, row) for name, row in by_group.items() if row.total() > row[Mark.UNASKED]]
    for name, counts in (*asked, ("total", total)):
        print(f"{name:32}" + "".join(f"{counts[mark]:>10}" for mark in Mark))
    for each in judged:
        if each.mark is Mark.WRONG:
            print(f"\n{each.case.id}: {each.how}")
            if command is not None:
                print(f"  {shlex.join([*command, each.case.id])}")


ABOUT_TRIAL = """
Run engines and the reference on the same random queries and events. Reduce every difference to a
smallest case, and print one case per cause.
"""


HOW_TRIAL = f"""
An ENGINE is a name, or NAME=PATH with the interpreter, program or command that runs it. Names:
  {", ".join(ADAPTERS)}
An engine from a Python package runs in a separate environment that contains the package:
{chr(10).join(f"  {name:24}pip install {package}" for name, package in PACKAGES.items())}
pycer needs Python 3.13 (default: python3.13); flink needs Java 11 or newer. Engines that are not
installed are skipped, with the reason.

command=WORDS runs a program in any language, which reads and writes one JSON object per line:
  {{"hello": true}}                          reply: {{"version": ".."}}
  {{"query": "SELECT ..", "rows": [{{..}}]}}   reply: {{"answers": [{{..}}]}}, {{"refused": "why"}}
                                           or {{"crash": "how"}}
ceql-command=WORDS runs such a program with queries in CEQL.

Verdicts: same; missing (answers are missing); extra (there are more answers); order; crash; hang;
refused. Exit status: 0 no fault, 1 a fault.

  cerlab trial --cases 200
  cerlab trial --engine flink=flink-env/bin/python --minutes 5 --report report
"""


def run_trial(arguments: argparse.Namespace) -> int:
    """Run ``cerlab trial``; return 0 without faults, otherwise 1."""
    if arguments.sqllogictest is not None:
        return _sqllogictest(Path(arguments.sqllogictest), arguments.settled)
    if arguments.conformance:
        return _conformance([adapter(text) for text in arguments.engine or DEFAULT], arguments)
    if arguments.cases < 1 or arguments.minutes <= 0:
        hint = "see cerlab trial --help"
        raise UsageError("CER0857", "--cases and --minutes must be positive", hint=hint)
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
    if arguments.report is not None:
        write_report(outcome, Path(arguments.report))
    _print(outcome)
    return NO if any(tally.causes or tally.unsorted_faults for tally in outcome.tallies) else OK


def _conformance(engines: Sequence[Adapter], arguments: argparse.Namespace) -> int:
    marks = Counter[Mark]()
    for each in engines:
        try:
            judged = conformance(each, cases(), arguments.timeout)
        except Absent as why:
            print(f"not there: {each.name}: {why}", file=sys.stderr)
            continue
        print(f"\n{each.name}")
        _print_judged(judged, None)
        marks.update(one.mark for one in judged)
    return _status(marks)


def _sqllogictest(folder: Path, file: str | None) -> int:
    """Print every record that differs, with its message, and the number of each verdict."""
    from cerlab.trial.report import check_files, settlements_in

    for path in (folder, *([] if file is None else [Path(file)])):
        if not path.exists():
            raise UsageError("CER0857", f"{path} does not exist", hint="name an existing path")
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
    """Print the progress on a terminal."""
    if sys.stderr.isatty():
        line = f"\r{cases:,} cases, {seconds:,.0f} s"
        print(line, end="", file=terminal(sys.stderr), flush=True)


def _print(outcome: Trial) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("engine", "version", *(v.value for v in Verdict), "causes")
    for tally in outcome.tallies:
        counts = (f"{tally.verdicts[v]:,}" for v in Verdict)
        table.add_row(tally.name, tally.version, *counts, str(len(tally.causes)))
    Console(file=terminal(sys.stderr)).print(table)
    for name, why in outcome.absent:
        print(f"not there: {name}: {why}", file=sys.stderr)
    for tally in outcome.tallies:
        for number, cause in enumerate(tally.causes, 1):
            count = f"{cause.count:,} cases, after {cause.after:,.0f} s"
            print(f"\n{tally.name} {number}: {cause.verdict.value}, {count}")
            print(cause_text(cause))
