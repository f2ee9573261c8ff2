"""The allowed skips and expected failures: any other skip or expected failure fails the run.

A missing tool is reported in one line and passes; ``pytest --no-missing-tools`` fails instead.
This module is a plugin of pytest, which `conftest.py` loads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest


class Skip(NamedTuple):
    """Reasons of skips, as a regular expression, and the beginnings of node ids that may have them.

    `tool` names the missing tool; it is empty if the tests run elsewhere.
    """

    tool: str
    reason: str
    places: tuple[str, ...] = ("",)


def _in(*places: str) -> tuple[str, ...]:
    return tuple(f"proofs_tests/{place}" for place in places)


ALLOWED = (
    # Another profile, or a run without Numba (`engine/test_without_jit.py`), has these tests.
    Skip("", r".*\b(left to|with) --profile (deep|quick)\b.*"),
    Skip("", "lines are counted with the compiler off", _in("engine/test_kernel_steps.py")),
    Skip("", "compiled kernels call each other directly", _in("engine/test_c", "srt/test_c")),
    Skip("", "nothing is compiled", _in("engine/test_kernel_cache.py")),
    Skip("", "this is that run", _in("engine/test_without_jit.py")),
    Skip("", "too slow without it", _in("mutants/test_column_mutants.py")),
    # Programs and data
    Skip("Coq", r"not installed: .*\bapt-get install coq\b.*", _in("mechanised/")),
    Skip("browser", "pages are opened in a browser, .*", _in("lab/", "manual/", "viz/")),
    Skip("npm", "(building the lab needs npm and PyPI|axe comes from npm): .*", _in("lab/")),
    Skip("Java", "CER0878: .*", _in("spark/", "catalogue/", "benchmarks/")),
    Skip("javac", "there is no javac", _in("flinkcep/")),
    Skip(
        "real stock stream",
        "the real stock stream is not here: .*",
        _in(
            *(f"{folder}/test_real_stream.py" for folder in ("core", "engine", "spark", "srt")),
            *("why/test_real_stream.py", "engine/test_compiled.py"),
            *("benchmarks/test_papers.py", "test_figures.py"),
        ),
    ),
    # Other engines
    Skip("Flink", "CERLAB_FLINK names no .*", _in("flinkcep/test_flink.py")),
    Skip("pycer", "CERLAB_PYCER names no .*", _in("benchmarks/test_peers.py")),
    Skip("DuckDB's test files", "CERLAB_SQLLOGICTEST names no .*", _in("rows/test_sql.py")),
    # The operating system
    Skip("/proc", r".*\b(from|no) /proc\b.*", _in("limits/", "engine/", "cli/", "benchmarks/")),
    Skip("/proc", "threads are listed by Linux", _in("cli/test_startup.py")),
    Skip("/proc", "the peak cannot be reset here", _in("benchmarks/test_measurements.py")),
    Skip("/dev/full", "this system has no /dev/full", _in("io/test_output.py")),
    Skip("signals of POSIX", "signals of POSIX", _in("limits/")),
    Skip("prctl", "orphans are adopted by prctl, .*", _in("benchmarks/test_measurements.py")),
    Skip("mount", "no file system can be mounted here", _in("engine/test_kernel_cache.py")),
    Skip("mount", "this system lets nobody mount .*", _in("io/test_output.py")),
)

EXPECTED_FAILURES: frozenset[str] = frozenset()
"""Node ids of the tests marked ``xfail``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--no-missing-tools``."""
    parser.addoption(
        "--no-missing-tools",
        action="store_true",
        help="fail if a test is skipped for lack of a tool (default: report it in one line)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if it has a skip or an expected failure that is not allowed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    # A worker of xdist has no such plugin: the controller gets the reports of all workers.
    if reporter is not None and _faults(reporter):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report the missing tools in one line, and each fault."""
    if tools := _missing(terminalreporter.stats):
        terminalreporter.line(f"missing tools: {', '.join(tools)}", yellow=True)
    if faults := _faults(terminalreporter):
        terminalreporter.section("skips and expected failures that are not allowed", red=True)
        for fault in faults:
            terminalreporter.line(fault, red=True)


def allowed(node: str, reason: str) -> Skip | None:
    """Return the entry that allows the skip of a test or a file, if there is one."""
    matching = (e for e in ALLOWED if re.fullmatch(e.reason, reason, re.DOTALL))
    return next((entry for entry in matching if node.startswith(entry.places)), None)


def _skips(stats: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, str, Skip | None]]:
    """Yield the node id and the reason of each skip, and the entry that allows it.

    Each worker of xdist collects all files, so that a skipped file has several equal reports.
    """
    reports = stats.get("skipped", ())
    reasons = {(each.nodeid, each.longrepr[2].removeprefix("Skipped: ")) for each in reports}
    for node, reason in sorted(reasons):
        yield node, reason, allowed(node, reason)


def _missing(stats: Mapping[str, Sequence[Any]]) -> list[str]:
    tools = Counter(entry.tool for *_, entry in _skips(stats) if entry and entry.tool)
    return [f"{tool} ({count} skipped)" for tool, count in sorted(tools.items())]


def _faults(reporter: Any) -> list[str]:
    strict = reporter.config.getoption("--no-missing-tools")
    faults = [
        f"{node}: {reason}"
        for node, reason, entry in _skips(reporter.stats)
        if entry is None or (strict and entry.tool)
    ]
    failed, passed = (
        {report.nodeid for report in reporter.stats.get(outcome, ())}
        for outcome in ("xfailed", "passed")
    )
    unlisted, outdated = failed - EXPECTED_FAILURES, passed & EXPECTED_FAILURES
    faults += [f"{node}: an expected failure that is not listed" for node in unlisted]
    faults += [f"{node}: listed as an expected failure, but it passed" for node in outdated]
    return sorted(faults)
