"""A verdict on a mutant: its tests, run in a copy of the repository.

A mutant of a function is judged in a fork of a `sessions` that has imported all. One of what runs
at import is judged in a process forked from one that has loaded the libraries but not cerlab.
"""

from __future__ import annotations

import compileall
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from proofs_tests.mutation.mutants import Mutant
from proofs_tests.mutation.sessions import serve

FEW_TESTS = 80
"""Tests that judge a mutant of code that runs at import."""

MOST_TESTS = 400
"""Tests to judge each mutant by, at most: the ones with the fewest other lines."""

REASONS = ("FAILED", "ERROR", "ImportError while loading conftest")
"""Beginnings of pytest's lines that name failures."""

VERDICTS = {0: "survived", 1: "killed", 2: "killed", 4: "killed", None: "timeout"}
"""By the exit status of pytest; None where it had not ended."""

LIBRARIES = ("lark", "numba", "pyarrow.compute", "pyarrow.parquet", "pytest")

QUIET = ("-p", "no:cacheprovider", "-n", "0", "--assert=plain")
"""Options of pytest: bytecode serves, which rewritten assertions would not have."""

_servers = multiprocessing.get_context("forkserver")
_servers.set_forkserver_preload(list(LIBRARIES))


def copy_of(root: Path, folder: Path) -> Path:
    """A copy of the repository with its bytecode, to be changed."""
    patterns = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".coverage*")
    copy = Path(shutil.copytree(root, folder / "repository", ignore=patterns))
    compileall.compile_dir(copy, quiet=1)
    return copy


def judge(
    mutant: Mutant, copy: Path, tests: Sequence[str], seconds: int, options: Sequence[str] = ()
) -> tuple[str, str]:
    """A verdict, and the test that saw the mutant; options are pytest's.

    ``killed``, ``survived``, ``uncovered`` (no test runs it), ``timeout``, or ``unclear`` where
    pytest could not begin or names nothing that failed.
    """
    if not tests:
        return "uncovered", ""
    with (
        _in_place(mutant, copy),
        tempfile.NamedTemporaryFile("r", encoding="utf-8") as output,
    ):
        process = _servers.Process(
            target=_run, args=(str(copy), [*options, *tests[:FEW_TESTS]], output.name)
        )
        process.start()
        process.join(seconds)
        code = process.exitcode
        if code is None and process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)  # and what its tests have started
            process.join()
        reason = next((line.rstrip() for line in output if line.startswith(REASONS)), "")
        verdict = VERDICTS.get(code, "unclear")
        return ("unclear" if verdict == "killed" and not reason else verdict), reason


class Judge:
    """Judges mutants in one copy of the repository, a mutant of a function in a fork."""

    def __init__(self, copy: Path, options: Sequence[str] = (), files: Sequence[str] = ()) -> None:
        self._copy = copy
        self._options = options
        self._sound: dict[str, bool] = {}
        self._connection, theirs = _servers.Pipe()
        process = _servers.Process(target=_serve, args=(str(copy), [*options, *files], theirs))
        process.start()
        theirs.close()
        self._tests: list[str] = self._connection.recv()

    def __call__(
        self, mutant: Mutant, tests: Sequence[str] | None, seconds: int, at_import: bool
    ) -> tuple[str, str]:
        """A verdict, and the test that saw the mutant; `imported` if an import runs the line.

        Without `tests` all that the session has take part. A test that does not pass without the
        mutant either has no say.
        """
        tests = self._tests if tests is None else tests
        tests = [test for test in tests if self._sound.get(test, True)]
        verdict, test = self._ask(mutant, tests[:MOST_TESTS], seconds)
        for name in [name for name in tests if test.startswith(f"FAILED {name} - ")]:
            if not self._is_sound(mutant, name, seconds):
                return self(mutant, tests, seconds, at_import)
        if verdict == "import" or (at_import and verdict == "survived"):
            return judge(mutant, self._copy, tests, 20 * seconds, self._options)
        return verdict, test

    def _is_sound(self, mutant: Mutant, test: str, seconds: int) -> bool:
        if test not in self._sound:
            original = (self._copy / mutant.path).read_text(encoding="utf-8")
            verdict, _ = self._ask(replace(mutant, source=original), [test], seconds)
            self._sound[test] = verdict == "survived"
        return self._sound[test]

    def _ask(self, mutant: Mutant, tests: Sequence[str], seconds: int) -> tuple[str, str]:
        with _in_place(mutant, self._copy) as original:
            self._connection.send((mutant.path, original, mutant.source, tests, seconds))
            verdict, test = self._connection.recv()
        return verdict, test

    def close(self) -> None:
        """End the session."""
        self._connection.send(None)


@contextmanager
def _in_place(mutant: Mutant, copy: Path) -> Iterator[str]:
    """Put the mutant in its place, and the original back afterwards."""
    place = copy / mutant.path
    original, times = place.read_text(encoding="utf-8"), place.stat()
    place.write_text(mutant.source, encoding="utf-8")
    try:
        yield original
    finally:
        place.write_text(original, encoding="utf-8")
        # Bytecode belongs to a time of its source; that of the mutant is a later one.
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))


def _serve(copy: str, options: Sequence[str], connection: Connection) -> None:
    _forget()
    serve(copy, options, connection)


def _forget() -> None:
    """The modules of the repository are those of the copy from here on."""
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
        del sys.modules[name]


def _run(copy: str, arguments: Sequence[str], output: str) -> None:
    """Run tests in the copy; the exit status is pytest's."""
    os.setsid()
    os.chdir(copy)
    os.environ["PYTHONPATH"] = copy
    sys.dont_write_bytecode = True  # bytecode of a mutant would be that of its source as well
    sys.path.insert(0, copy)
    _forget()
    with open(output, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    import pytest

    code = pytest.main(["-x", "-q", "--no-header", *QUIET, *arguments])
    sys.stdout.flush()
    os._exit(code)


_OURS = ("cerlab", "proofs_tests", "conftest")
