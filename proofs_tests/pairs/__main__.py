"""``python -m proofs_tests.pairs``: compare, keep what differs, add to the report."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from proofs_tests.pairs.report import Totals, lines
from proofs_tests.pairs.search import Tally, search

ROUND = 200
"""Queries in one piece of work, after which the report is written."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; exit status 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.pairs", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--queries", type=int, default=10**9, help="at most so many")
    parser.add_argument("--seed", default=time.strftime("%Y-%m-%d"), help="default: the day")
    parser.add_argument("--workers", type=int, default=1, help="processes; the cases are the same")
    parser.add_argument("--failing", type=Path, default=Path("failing"), help="folder of files")
    parser.add_argument(
        "-o", "--output", type=Path, help="the report, added to its totals; default: this run"
    )
    options = parser.parse_args(argv)
    store = options.output and options.output.with_suffix(".json")
    totals = Totals.read(store) if store else Totals()
    if options.seed in totals.seeds:
        parser.error(f"the cases of seed {options.seed} are counted already: name another --seed")
    differs = False
    with suppress(KeyboardInterrupt):  # what was compared so far is worth a report
        for tally in _rounds(options):
            differs = differs or bool(tally.failed)
            totals.add(options.seed, tally)
            if store:
                store.write_text(totals.to_json(), encoding="utf-8")
                options.output.write_text(_text(totals), encoding="utf-8")
    if not store:
        sys.stdout.write(_text(totals))
    return int(differs)


def _text(totals: Totals) -> str:
    return "\n".join(lines(totals)) + "\n"


def _rounds(options: argparse.Namespace) -> Iterator[Tally]:
    """Yield the tally of each piece of work, until the time is over."""
    until, begin = time.monotonic() + 60 * options.minutes, 0
    compare = partial(search, options.seed, folder=options.failing)
    with ExitStack() as stack:
        map_ranges = map
        if options.workers > 1:
            pool = ProcessPoolExecutor(options.workers, get_context("spawn"))
            map_ranges = stack.enter_context(pool).map  # type: ignore[assignment]
        while begin < options.queries and time.monotonic() < until:
            end = min(begin + ROUND * options.workers, options.queries)
            yield from map_ranges(
                compare, [range(k, min(k + ROUND, end)) for k in range(begin, end, ROUND)]
            )
            begin = end


if __name__ == "__main__":
    sys.exit(main())
