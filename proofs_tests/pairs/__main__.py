"""``python -m proofs_tests.pairs``: compare, keep what differs, report."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from cerlab.errors import CerlabWarning
from proofs_tests.pairs.report import lines
from proofs_tests.pairs.search import search


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; exit status 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.pairs", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many")
    parser.add_argument("--seed", default=time.strftime("%Y-%m-%d"), help="default: the day")
    parser.add_argument("--failing", type=Path, default=Path("failing"), help="folder of files")
    parser.add_argument("-o", "--output", type=Path, help="the report; default standard output")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", CerlabWarning)  # what a query lacks is no finding here
    until = time.monotonic() + 60 * options.minutes
    tally = search(
        options.seed, lambda n: n < options.cases and time.monotonic() < until, options.failing
    )
    text = "\n".join(lines(tally, f"seed {options.seed}, {options.minutes:g} minutes")) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return int(bool(tally.failed))


if __name__ == "__main__":
    sys.exit(main())
