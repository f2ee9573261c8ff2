"""``cerlab fuzz``: another engine against the reference."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cerlab.cli.status import NO, OK, UNDECIDED
from cerlab.errors import UsageError
from cerlab.fuzz import CEL, CLAUSES, FAMILY, Progress, Summary, engine, fuzz, wanted
from cerlab.testing import ATTRIBUTES, SMALL

_ABOUT = """
Compare an engine with the reference on random queries and streams, and show the smallest case on
which they differ, with the reason that the semantics gives.
"""

_HOW = f"""
COMMAND with {{query}} and {{events}} is started for each case: these become the paths of the query
(CEQL) and of the events (a JSON object a line). It prints its answers as `cerlab run` does; one
without "start" and "end" is compared by its positions. Exit status 2: it does not take the query.

Another COMMAND is started once. For each case it reads a line {{"query": "..", "events": [..]}} and
answers with a line {{"answers": [{{"start": 0, "end": 2, "positions": [0, 2]}}, ..]}} or
{{"refused": "why"}}.

Streams are short, with types A, B, C, and attributes v, w, k, and t: the time in seconds. Features:
  of formulas    {" ".join(CEL)}
  of the family  {" ".join(FAMILY)}
  of queries     {"  ".join(CLAUSES)}

Features that are always refused are drawn no more. Exit status: 0 no difference, 1 a difference, 3
no difference, but too little was compared: most was refused, atomic or without answers.

  cerlab fuzz "cerlab run {{query}} {{events}} --time t:s --evaluator tecs" --cases 20
  cerlab fuzz ./my_engine --with ';,+,OR,AS,FILTER,EVENTS'
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """COMMAND, and what it is asked."""
    parser.description, parser.epilog = _ABOUT, _HOW
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("engine", metavar="COMMAND", help="how the engine is started")
    parser.add_argument("--cases", type=int, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="other cases (default: 0)")
    parser.add_argument(
        "--with",
        dest="only",
        metavar="F,G",
        help="the features of queries that the engine takes (default: all but those of the family)",
    )
    parser.add_argument("--without", default="", metavar="F,G", help="features that it does not")
    parser.add_argument("--depth", type=int, default=3, help="of formulas, at most (default: 3)")
    parser.add_argument("--events", type=int, default=6, help="of streams, at most (default: 6)")
    parser.add_argument(
        "--values", choices=("few", "all"), default="few", help="0 and 1, or of every kind"
    )
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for a case")


def run(arguments: argparse.Namespace) -> int:
    """``cerlab fuzz``: exit 0 for no difference, 1 for one, 3 if too little was compared."""
    for name in ("cases", "depth", "events"):
        if getattr(arguments, name) < 1:
            raise UsageError(
                "CER0853", f"--{name} takes a number from 1", hint="see cerlab fuzz --help"
            )
    takes = frozenset((*CEL, *CLAUSES)) if arguments.only is None else wanted(arguments.only)
    values = ATTRIBUTES if arguments.values == "all" else SMALL
    shape = type(values)(arguments.depth, arguments.events, values.rich)
    with engine(arguments.engine, arguments.timeout) as child, _watch(arguments.cases) as watch:
        outcome = fuzz(
            child,
            cases=arguments.cases,
            seed=arguments.seed,
            takes=takes - wanted(arguments.without),
            shape=shape,
            watch=watch,
        )
    print(_summary(outcome), file=sys.stderr)
    if outcome.difference is not None:
        print(outcome.difference)
        return NO
    return UNDECIDED if outcome.doubt else OK


def _summary(outcome: Summary) -> str:
    head = (
        f"cases: {outcome.cases:,}, with answers: {outcome.answered:,} (composite: "
        f"{outcome.composite:,}), refused: {outcome.refused:,}"
    )
    if outcome.reason:
        head += f" (the last: {outcome.reason})"
    if outcome.shunned:
        head += f"\nalways refused, so not asked again: {' '.join(outcome.shunned)}"
    if outcome.difference is not None:
        return f"{head}\ncase {outcome.case} differs; the smallest that still does:"
    if not outcome.doubt:
        return f"{head}\nno difference"
    if not outcome.answered:
        return f"{head}\n{outcome.doubt}"
    return f"{head}\nno difference, which says little: {outcome.doubt}; see --with and --without"


@contextmanager
def _watch(cases: int) -> Iterator[Progress]:
    """A progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("comparing", total=cases)
        yield lambda n: progress.update(task, completed=n)
