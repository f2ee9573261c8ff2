"""``python -m proofs_tests.mutation``: draw mutants, run their tests, report who survived.

The mutants are run in a copy of the repository, one after the other, each in a process of its own.
Those in kernels are left out unless ``--kernels`` asks for them and no others: then Numba is off
(``NUMBA_DISABLE_JIT=1``), so that a kernel is the function that stands there and a mutant of it is
run and not the machine code of before. Their coverage is one that was written without Numba.

Each is a JSON object a line (place, before, after, verdict, seconds, test); `report` has the score
of each folder and who survived.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from random import Random

from proofs_tests.mutation.covering import Covering
from proofs_tests.mutation.judging import Judge, copy_of
from proofs_tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
DETECTIONS = ("killed", "timeout")
"""Verdicts of mutants that a test sees: what does not end in its time does not pass either."""


def parts(root: Path) -> list[str]:
    """Return the names of all folders and single modules of the package."""
    return sorted(
        path.name
        for path in (root / "cerlab").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    )


def modules_of(root: Path, folder: str) -> list[Path]:
    """Return the modules in a folder of the package, or the single module of this name."""
    path = root / "cerlab" / folder
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def draw(root: Path, folders: Sequence[str], count: int, modules: int, seed: int) -> list[Mutant]:
    """Mutants spread evenly over as many modules, both drawn by the seed; none of them twice."""
    rng = Random(seed)
    paths = sorted(path for folder in folders for path in modules_of(root, folder))
    by_module = [some for path in paths if (some := mutants(path))]
    module_mutants = rng.sample(by_module, min(modules, len(by_module)))
    rounds = zip_longest(*(rng.sample(some, len(some)) for some in module_mutants))
    result = [mutant for each in rounds for mutant in each if mutant is not None]
    return sorted(result[:count], key=lambda m: (m.path, m.line))


def draw_each(root: Path, folders: Sequence[str], each: int, seed: int) -> list[Mutant]:
    """Draw mutants of each folder, one of each module before a second one of any."""
    return [m for folder in folders for m in draw(root, [folder], each, each, seed)]


def report(rows: Sequence[Mapping[str, str]], folders: Sequence[str], seed: int) -> str:
    """The score of each folder, how many were drawn by which seed, and who survived."""
    lines = [f"seed {seed}, {len(rows)} mutants drawn", ""]
    for folder in folders:
        place = f"cerlab/{folder}"
        inside = [row for row in rows if row["mutant"].startswith((f"{place}/", f"{place}:"))]
        detections = sum(row["verdict"] in DETECTIONS for row in inside)
        score = f"{detections / len(inside):6.1%}" if inside else "     -"
        lines.append(f"{folder:12}{score}  {detections} of {len(inside)}")
    lines += ["", "survivors"]
    lines += [f"  {r['verdict']}: {r['mutant']}" for r in rows if r["verdict"] not in DETECTIONS]
    return "\n".join(lines) + "\n"


def read(output: Path) -> list[dict[str, str]]:
    """The rows of an output, which need not be there."""
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    return [json.loads(line) for line in lines]


def judge_all(
    sample: Sequence[Mutant], root: Path, options: argparse.Namespace
) -> list[dict[str, str]]:
    """Return a row for each mutant; rows already in the output are kept."""
    row_of = {row["mutant"]: row for row in read(options.output)}
    local = [_local(mutant, root) for mutant in sample]
    if left := [mutant for mutant in local if str(mutant) not in row_of]:
        covering = None if options.tests else Covering(options.coverage or root / ".coverage", root)
        with tempfile.TemporaryDirectory() as scratch, options.output.open("a") as output:
            profile, files = ["--profile", "smoke"], options.tests or ()
            judge = Judge(copy_of(root, Path(scratch)), profile, files)
            for mutant in left:
                began = time.monotonic()
                tests = covering.tests(mutant.path, mutant.line) if covering else None
                imports = covering is not None and covering.runs_at_import(mutant.path, mutant.line)
                verdict, test = judge(mutant, tests, options.seconds, imports)
                seconds = f"{time.monotonic() - began:.1f}"
                row = {"mutant": str(mutant), "verdict": verdict, "test": test, "seconds": seconds}
                print(json.dumps(row), file=output, flush=True)
                print(f"{verdict:9} {mutant}", flush=True)
                row_of[str(mutant)] = row
            judge.close()
    return [row_of[str(mutant)] for mutant in local]


def _local(mutant: Mutant, root: Path) -> Mutant:
    return replace(mutant, path=mutant.path.relative_to(root))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if the tests detected a smaller share than ``--least``."""
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.mutation", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository, if another one")
    parser.add_argument("--coverage", type=Path, help=".coverage of the root")
    parser.add_argument(
        "--folders", help="folders and modules in cerlab/, with commas between them (default: all)"
    )
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--modules", type=int, default=20)
    parser.add_argument("--each", type=int, help="mutants of each folder, instead of --count")
    parser.add_argument("--report", type=Path, help="a file for scores and survivors")
    parser.add_argument(
        "--least", type=float, default=1.0, help="share of mutants that tests must detect"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=20, help="of tests, per mutant")
    parser.add_argument("--kernels", action="store_true", help="those in kernels, without Numba")
    parser.add_argument("--again", type=Path, help="only the survivors of an earlier output")
    parser.add_argument("--tests", nargs="+", help="files of tests, instead of those of the line")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("mutation.ndjson"), help="goes on where it ends"
    )
    options = parser.parse_args(argv)
    root = options.root.resolve()
    folders = parts(root) if options.folders is None else options.folders.split(",")
    if unknown := [folder for folder in folders if not (root / "cerlab" / folder).exists()]:
        parser.error(f"not in cerlab/: {', '.join(unknown)}")
    if options.each is None:
        sample = draw(root, folders, options.count, options.modules, options.seed)
    else:
        sample = draw_each(root, folders, options.each, options.seed)
    sample = [mutant for mutant in sample if _local(mutant, root).in_kernel == options.kernels]
    if options.kernels:
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # of the processes that judge
    if options.again:
        left = {row["mutant"] for row in read(options.again) if row["verdict"] not in DETECTIONS}
        sample = [mutant for mutant in sample if str(_local(mutant, root)) in left]
    rows = judge_all(sample, root, options)
    text = report(rows, folders, options.seed)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    detections = sum(row["verdict"] in DETECTIONS for row in rows)
    return int(detections < options.least * len(rows))


if __name__ == "__main__":
    sys.exit(main())
