"""``python -m proofs_tests.mutation``: draw mutants, run their tests, report who survived.

The mutants are run in a copy of the repository, one after the other. The report is a JSON object a
line (place, before, after, verdict, seconds, test), and a score for each folder at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from proofs_tests.mutation.covering import Covering
from proofs_tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
FOLDERS = "predicates,logic,automata,compile,engine,why,decisions,spark"
MOST_TESTS = 80
"""How many tests judge a mutant at most: those that run the fewest lines besides its own."""


REASONS = ("FAILED", "ERROR")
"""How the line of pytest begins that names a test which did not pass."""


def draw(root: Path, folders: Sequence[str], count: int, modules: int, seed: int) -> list[Mutant]:
    """Mutants spread evenly over as many modules, both drawn by the seed."""
    rng = Random(seed)
    paths = sorted(p for f in folders for p in (root / "cerlab" / f).rglob("*.py"))
    by_module = [found for path in paths if (found := mutants(path))]
    chosen = rng.sample(by_module, min(modules, len(by_module)))
    drawn = [rng.choice(chosen[n % len(chosen)]) for n in range(count)]
    return sorted(dict.fromkeys(drawn), key=lambda m: (m.path, m.line))


def judge(mutant: Mutant, copy: Path, tests: Sequence[str], seconds: int) -> tuple[str, str]:
    """A verdict, and the test that saw the mutant.

    ``killed``, ``survived``, ``uncovered`` (no test runs it), ``timeout``, or ``unclear`` where
    pytest could not begin.
    """
    if not tests:
        return "uncovered", ""
    place = copy / mutant.path
    original = place.read_text(encoding="utf-8")
    place.write_text(mutant.source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *tests[:MOST_TESTS]],
            cwd=copy,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, "PYTHONPATH": str(copy)},
        )
    except subprocess.TimeoutExpired:
        return "timeout", ""
    finally:
        place.write_text(original, encoding="utf-8")
    verdict = {0: "survived", 1: "killed", 2: "killed"}.get(done.returncode, "unclear")
    return verdict, next((x for x in done.stdout.splitlines() if x.startswith(REASONS)), "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; exit status 1 if a mutant survived."""
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.mutation", description=__doc__)
    parser.add_argument("--coverage", type=Path, default=ROOT / ".coverage")
    parser.add_argument("--folders", default=FOLDERS)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--modules", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=300, help="per mutant")
    parser.add_argument("-o", "--output", type=Path, default=Path("mutation.ndjson"))
    options = parser.parse_args(argv)
    drawn = draw(ROOT, options.folders.split(","), options.count, options.modules, options.seed)
    covering = Covering(options.coverage, ROOT)
    scores: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch, options.output.open("w") as report:
        copy = Path(scratch) / "repository"
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".coverage*")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for mutant in drawn:
            local = replace(mutant, path=mutant.path.relative_to(ROOT))
            began = time.monotonic()
            verdict, test = judge(
                local, copy, covering.tests(local.path, local.line), options.seconds
            )
            took = f"{time.monotonic() - began:.1f}"
            row = {"mutant": str(local), "verdict": verdict, "test": test, "seconds": took}
            print(json.dumps(row), file=report, flush=True)
            print(f"{verdict:9} {local}", flush=True)
            scores.setdefault(local.path.parts[1], Counter())[verdict] += 1
    for folder, score in sorted(scores.items()):
        print(f"{folder}: {score['killed']} of {score.total()} killed, {dict(score)}")
    return int(any(score["killed"] < score.total() for score in scores.values()))


if __name__ == "__main__":
    sys.exit(main())
