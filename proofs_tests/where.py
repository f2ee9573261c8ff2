"""``python -m proofs_tests.where WORD``: the tests that run a module, a class or a function.

WORD is a module (``cerlab.engine.windows``, ``engine/windows.py``), or a name that the package
defines (``KeyCodes``, ``KeyCodes.code``). The tests that run the fewest other lines come first.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from proofs_tests.mutation.covering import Covering

ROOT = Path(__file__).parents[1]
COVERAGE = ROOT / ".coverage.where"


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each test, with the number of its cases; exit status 1 without any."""
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.where", description=__doc__)
    parser.add_argument("word", metavar="WORD")
    parser.add_argument(
        "--record",
        nargs="*",
        metavar="PATH",
        help="run these tests first (default: all; minutes) and note which lines they run",
    )
    parser.add_argument("--coverage", type=Path, default=COVERAGE, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.record is not None:
        record(options.record, options.coverage)
    if not options.coverage.exists():
        parser.error("no run was recorded: add --record, or --record proofs_tests/FOLDER")
    covering = Covering(options.coverage, ROOT)
    places = list(places_of(options.word))
    if not places:
        parser.error(f"the package has no module and no name '{options.word}'")
    found = 0
    for path, lines in places:
        tests = covering.tests_of(path.relative_to(ROOT), lines)
        found += len(tests)
        cases = Counter(test.partition("[")[0] for test in tests)
        print(f"{path.relative_to(ROOT)}:{lines.start}: {len(cases)} tests, {len(tests)} cases")
        for name, count in cases.items():
            print(f"  {name}" + (f"  ({count} cases)" if count > 1 else ""))
    return int(not found)


def record(paths: Sequence[str], coverage: Path) -> None:
    """Run tests in one process, since others would not tell which test runs a line."""
    words = ["--profile", "smoke", "-q", "--dist", "no", "-n", "0"]
    words += ["--cov=cerlab", "--cov-context=test", "--cov-report="]
    environment = {**os.environ, "COVERAGE_FILE": str(coverage)}
    command = [sys.executable, "-m", "pytest", *words, *paths]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


def places_of(word: str) -> Iterator[tuple[Path, range]]:
    """Yield the modules and the lines that define a word."""
    tail = word.removesuffix(".py").replace("/", ".")
    for path in sorted((ROOT / "cerlab").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if f".{module}".endswith(f".{tail}"):
            yield path, range(1, text.count("\n") + 1)
            continue
        if tail.rpartition(".")[2] not in text:
            continue
        for name, node in definitions(ast.parse(text)):
            if f".{name}".endswith(f".{tail}"):
                yield path, range(node.lineno, (node.end_lineno or node.lineno) + 1)


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the functions and classes of a module, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            yield f"{inside}{node.name}", node
            yield from definitions(node, f"{inside}{node.name}.")
        else:
            yield from definitions(node, inside)


if __name__ == "__main__":
    sys.exit(main())
