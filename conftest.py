"""Options and fixtures of the whole test suite."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from cerlab import budget
from proofs_tests.dials import Dial
from proofs_tests.kernels import compile_all
from proofs_tests.suite import Profile, Suite

if TYPE_CHECKING:
    from proofs_tests.command import Cli

pytest_plugins = ["pytester", "proofs_tests.records", "proofs_tests.skips"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--profile``: how many cases random suites run."""
    parser.addoption("--profile", default=Profile.QUICK, type=Profile, choices=list(Profile))


def pytest_configure(config: pytest.Config) -> None:
    """Give the processes that tests start bytecode and interrupts, whatever started pytest.

    Bytecode goes into pytest's cache where it may not be written beside the source; without any,
    each process compiles all modules anew. A job in the background ignores SIGINT, one under nohup
    SIGHUP, and so would all that they start. Circles of objects are looked for seldom, since that
    takes a tenth of the time of all tests. Hypothesis draws the same examples in each run, and
    reads no clock for its verdict.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    gc.set_threshold(100_000, 20, 50)
    if hasattr(config, "cache"):
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(config.cache.mkdir("hypothesis"))
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(
        "fixed", deadline=None, derandomize=True, database=None, suppress_health_check=slow
    )
    hypothesis.settings.load_profile("fixed")
    if sys.dont_write_bytecode and hasattr(config, "cache") and not sys.pycache_prefix:
        sys.pycache_prefix = str(config.cache.mkdir("bytecode"))
        sys.dont_write_bytecode = False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE")


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
    if config.option.markexpr != "services":
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


MARKS = {"services": ("mark.services", "spark: Any"), "night": ("mark.night",)}
"""Texts, of which a file with marked tests has at least one; the fixture `spark` marks services."""


def _may_have(mark: str, path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return any(word in text for word in MARKS[mark])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test of ``-m services``, which cost more to import than to read."""
    is_python = config.option.markexpr in MARKS and collection_path.suffix == ".py"
    if is_python and not _may_have(config.option.markexpr, collection_path):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of Spark as services, and deselect the tests of the deep profile and the night."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.services)
        for mark in MARKS:
            # a run without -m collects all files, also those that `-m services` does not import
            if item.get_closest_marker(mark) and not _may_have(mark, item.path):
                raise pytest.UsageError(f"{item.nodeid}: name the mark '{mark}' in this file")
    if config.getoption("--profile") is not Profile.DEEP:
        _deselect(config, items, "long")
    # `-m services` replaces the expression of `addopts`, which leaves them out
    if "night" not in config.option.markexpr:
        _deselect(config, items, "night")


def _deselect(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    config.hook.pytest_deselected(items=[i for i in items if i.get_closest_marker(marker)])
    items[:] = [item for item in items if not item.get_closest_marker(marker)]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Leave out the doctests of files without any, which need not be imported to look for some."""
    found = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
        found = [each for each in found if type(each).__name__ != "DoctestModule"]
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Dial:
    """Replace the clock of `cerlab.budget` by one that stands still, or goes on by readings."""
    dial = Dial()
    monkeypatch.setattr(budget, "clock", dial)
    return dial


@pytest.fixture
def gauge(clock: Dial, monkeypatch: pytest.MonkeyPatch) -> Dial:
    """Replace the gauge of memory of `cerlab.budget`; every look at the limits reads it."""
    clock.step = 1
    dial = Dial()
    monkeypatch.setattr(budget, "resident_bytes", dial)
    return dial


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> Suite:
    """Return the suite that runs random cases; see `proofs_tests.suite`."""
    return Suite(request.config.getoption("--profile"), request)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return the command line; see `proofs_tests.command`."""
    from proofs_tests.command import Cli  # most of cerlab

    return Cli(capsys)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Yield a headless Chromium."""
    from proofs_tests.browser import chromium as opened_chromium
    from proofs_tests.browser import lacking  # most of cerlab: here, for tests that open pages

    if missing := lacking():
        pytest.skip(f"pages are opened in a browser, and {missing} is not here")
    with opened_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def stock_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the real stock stream, unpacked from the folder that ``CERLAB_DATA`` names."""
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
