"""Options and fixtures of the whole test suite."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from proofs_tests import records
from proofs_tests.kernels import compile_all
from proofs_tests.suite import Profile, Suite


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--profile``: how many cases random suites run."""
    parser.addoption("--profile", default=Profile.QUICK, type=Profile, choices=list(Profile))


def pytest_configure(config: pytest.Config) -> None:
    """Give the processes that tests start bytecode and interrupts, whatever started pytest.

    Bytecode goes into pytest's cache where it may not be written beside the source; without any,
    each process compiles all modules anew. A job in the background ignores SIGINT, one under nohup
    SIGHUP, and so would all that they start. Circles of objects are looked for seldom, since that
    takes a tenth of the time of all tests. Hypothesis draws the same examples in each run.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    gc.set_threshold(100_000, 20, 50)
    if hasattr(config, "cache"):
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(config.cache.mkdir("hypothesis"))
    hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("fixed")
    if config.option.markexpr == SERVICES and not hasattr(config, "workerinput"):
        # workers inherit the environment; reading all modules takes each of them a second
        os.environ[VALID] = ",".join(sorted(records.valid_parts()))
    if sys.dont_write_bytecode and hasattr(config, "cache") and not sys.pycache_prefix:
        sys.pycache_prefix = str(config.cache.mkdir("bytecode"))
        sys.dont_write_bytecode = False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE")


SERVICES = "services"
"""The ``-m`` expression of a run of all services."""

VALID = "CERLAB_VALID_RECORDS"
"""The environment variable that tells workers which records of services are valid."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Before there are workers, so that not each of them compiles the same kernels."""
    started = time.monotonic()
    failed = compile_all()
    line = f"kernels: {time.monotonic() - started:.0f} s" + "".join(f", not {f}" for f in failed)
    config.get_terminal_writer().line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Services are dealt in groups, those with most tests first; others as ``--dist`` says."""
    if config.option.markexpr != SERVICES:
        return None
    from xdist.scheduler import LoadScopeScheduling

    class InGroups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            groups = (group for group, places in GROUPS.items() if nodeid.startswith(places))
            return next(groups, nodeid)

    return InGroups(config, log)


GROUPS = {
    "alone": tuple(
        f"proofs_tests/spark/test_{x}.py" for x in ("connect", "clusters", "worker_killed")
    ),
    "spark": ("proofs_tests/spark/", "proofs_tests/catalogue/"),
    "manual": ("proofs_tests/manual/",),
    "lab": ("proofs_tests/lab/",),
    "mechanised": ("proofs_tests/mechanised/",),
}
"""Services that share what is dear to make, so a process: Spark, the manual, proofs."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs Spark as a service, and leave out what another run has.

    That is what takes long except in the deep profile, what belongs to the night except where
    ``-m`` names it (``-m services`` replaces the expression of `addopts`), and services that have
    a valid record.
    """
    option = config.option
    is_deep, is_night = option.profile is Profile.DEEP, "night" in option.markexpr
    places: tuple[str, ...] = ()
    if option.markexpr == SERVICES and not option.file_or_dir:
        places = tuple(records.FOLDERS[part] for part in os.environ[VALID].split(",") if part)
    left_out = []
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.services)
        is_long = not is_deep and item.get_closest_marker("long")
        is_of_night = not is_night and item.get_closest_marker("night")
        if is_long or is_of_night or (places and item.nodeid.startswith(places)):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        left = set(left_out)
        items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[Any], list[Any]]:
    """Leave out files that have nothing to run: importing a file takes longer than reading it.

    Files without an example have no doctests. Files that name neither the mark nor the fixture of
    services have none.
    """
    found = yield
    if file_path.suffix == ".py" and found:
        text = file_path.read_text(encoding="utf-8")
        if ">>>" not in text:
            found = [each for each in found if type(each).__name__ != "DoctestModule"]
        if parent.config.option.markexpr == SERVICES and not re.search("services|spark", text):
            found = []
    return found


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> Suite:
    """Runs random cases; see `proofs_tests.suite`."""
    return Suite(request.config.getoption("--profile"), request)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium."""
    from proofs_tests.browser import chromium as opened_chromium
    from proofs_tests.browser import lacking  # most of cerlab: here, for tests that open pages

    if missing := lacking():
        pytest.skip(f"pages are opened in a browser, and {missing} is not here")
    with opened_chromium() as browser:
        yield browser


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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the records of services that passed in a run of all of them."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    whole = config.option.markexpr == SERVICES and not config.option.keyword
    if hasattr(config, "workerinput") or not whole or config.option.file_or_dir:
        return
    outcomes = {
        part: {
            kind
            for kind in ("passed", "failed", "error", "skipped")
            for report in reporter.stats.get(kind, ())
            if report.nodeid.startswith(place) and "--profile deep" not in str(report.longrepr)
        }
        for part, place in records.FOLDERS.items()
    }
    valid = os.environ.get(VALID, "").split(",")
    records.write(part for part, kinds in outcomes.items() if kinds == {"passed"})
    for part in sorted(set(valid) & set(records.PARTS)):
        reporter.write_line(f"{part}: not run, the record in proofs_tests/records.json is valid")


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
