"""Which tests run which lines, from one run of the suite under coverage.

``pytest --dist no --cov=cerlab --cov-context=test --cov-report= --profile smoke`` writes it; with
another ``--dist`` pytest-cov leaves the work to processes that there are none of. Compiled kernels
run no line that coverage sees (under ``NUMBA_DISABLE_JIT=1`` they do), and imports run in no test;
there the tests of the whole module stand in, and of a module without any those of its folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from coverage import CoverageData

FEW = 5
"""Cases of a test that come one after the other."""


class Covering:
    """The tests that run a line of a module."""

    def __init__(self, data: Path, root: Path) -> None:
        self._data = CoverageData(str(data))
        self._data.read()
        if not any(self._data.measured_contexts()):
            raise SystemExit(f"{data} names no test: see {__name__} for what writes it")
        self._root = root
        self._lines: dict[Path, dict[int, frozenset[str]]] = {}
        self._width: Counter[str] = Counter()
        self._outside: dict[Path, frozenset[int]] = {}
        for path in map(Path, self._data.measured_files()):
            by_line = self._data.contexts_by_lineno(str(path))
            lines = {
                line: frozenset(_test(context) for context in contexts if context)
                for line, contexts in by_line.items()
            }
            outside = frozenset(line for line, contexts in by_line.items() if "" in contexts)
            self._outside[path.relative_to(root)] = outside
            self._lines[path.relative_to(root)] = lines
            self._width.update(test for tests in lines.values() for test in tests)

    def tests(self, path: Path, line: int) -> list[str]:
        """The tests of a line, the most specific first: they run the fewest lines in all.

        Of the cases of one test a few come before those of the next one.
        """
        lines = self._lines.get(path, {})
        folder = (each for other, each in self._lines.items() if other.parent == path.parent)
        tests = lines.get(line, frozenset()) or _union([lines]) or _union(folder)
        cases: Counter[str] = Counter()
        ranks: list[tuple[int, str]] = []
        for test in sorted(tests, key=lambda test: (self._width[test], test)):
            name = test.partition("[")[0]
            ranks.append((cases[name] // FEW, test))
            cases[name] += 1
        return [test for _, test in sorted(ranks, key=lambda pair: pair[0])]

    def tests_of(self, path: Path, lines: Iterable[int]) -> list[str]:
        """The tests that run any of these lines, those that run the fewest lines in all first."""
        by_line = self._lines.get(path, {})
        tests = frozenset[str]().union(*(by_line.get(line, ()) for line in lines))
        return sorted(tests, key=lambda test: (self._width[test], test))

    def runs_at_import(self, path: Path, line: int) -> bool:
        """Whether a line runs outside of tests, as imports and what lists their cases do."""
        return line not in self._lines.get(path, {}) or line in self._outside[path]


def _test(context: str) -> str:
    """``proofs_tests/a.py::test_b|run`` is a context of pytest-cov; the phase does not matter."""
    return context.rpartition("|")[0] or context


def _union(modules: Iterable[dict[int, frozenset[str]]]) -> frozenset[str]:
    return frozenset().union(*(tests for lines in modules for tests in lines.values()))
