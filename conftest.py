"""Options and fixtures of the whole test suite."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.suite import Profile, Suite


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--profile``: how many cases random suites run."""
    parser.addoption("--profile", default=Profile.QUICK, type=Profile, choices=list(Profile))


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> Suite:
    """Runs random cases; see `proofs_tests.suite`."""
    return Suite(request.config.getoption("--profile"), request)


@pytest.fixture(scope="session")
def stock_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real stock stream, unpacked from the folder that ``CERLAB_DATA`` names."""
    folder = os.environ.get("CERLAB_DATA")
    archive = Path(folder or ".") / "stocks.7z"
    if not folder or not archive.is_file():
        pytest.skip("the real stock stream is not here: CERLAB_DATA names no folder with stocks.7z")
    py7zr = pytest.importorskip("py7zr", reason="py7zr unpacks the real stock stream")
    target = tmp_path_factory.mktemp("stocks")
    with py7zr.SevenZipFile(archive) as packed:
        packed.extractall(target)
    return target / "stocks.stream"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List how many cases each random suite ran, and how many had answers."""
    lines = [
        f"{report.nodeid}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "suite" and getattr(report, "when", "") == "call"
    ]
    if lines:
        terminalreporter.section("random suites")
        for line in sorted(lines):
            terminalreporter.line(line)
