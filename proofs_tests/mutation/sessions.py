"""A session of pytest that has collected all tests, and judges mutants of functions in its forks.

In a fork the functions of the module get the code of the mutant: nothing is imported or collected
again, so that a mutant costs what its tests take. What runs when a module is imported needs a new
process (`judging`).
"""

from __future__ import annotations

import gc
import inspect
import mmap
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType

import pytest

MEMORY = 6 << 30
"""Bytes that the tests of a mutant may take, some of which never stop to ask for more."""

LONGER = 5
"""A test that takes so many times the seconds of all is one that does not end."""

Pairs = list[tuple[FunctionType, CodeType]]


def differences(original: CodeType, mutant: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions that differ, outermost first; other code stands as one unit."""
    if original == mutant:
        return
    if original.co_flags & inspect.CO_OPTIMIZED or _own(original) != _own(mutant):
        yield original, mutant
    for one, other in zip(original.co_consts, mutant.co_consts, strict=False):
        if isinstance(one, CodeType) and isinstance(other, CodeType):
            yield from differences(one, other)


def _own(code: CodeType) -> tuple[object, ...]:
    constants = tuple((type(c), c) for c in code.co_consts if not isinstance(c, CodeType))
    return code.co_code, constants, code.co_names


def serve(copy: str, arguments: Sequence[str], connection: Connection) -> None:
    """Collect all tests of the copy, and answer questions until the last."""
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": copy, "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, copy)
    with open(os.devnull, "wb", buffering=0) as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    base = f"--basetemp={copy}.tmp"
    options = ["-x", "-q", "-p", "no:cacheprovider", "-n", "0", "--assert=plain", base]
    pytest.main([*options, *arguments], plugins=[_Forks(Path(copy), connection)])


class _Forks:
    """The plugin: in the place of pytest's loop over tests, one fork for each question."""

    def __init__(self, copy: Path, connection: Connection) -> None:
        self._copy = copy
        self._connection = connection
        self._seconds = 0
        self._failure = ""
        self._message = mmap.mmap(-1, 1_000)
        self._functions: dict[str, list[FunctionType]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if self._seconds:
            return None  # in a fork
        items = {item.nodeid: item for item in session.items}
        sys.dont_write_bytecode = True
        for each in gc.get_objects():
            if type(each) is FunctionType:
                self._functions.setdefault(each.__code__.co_filename, []).append(each)
        gc.freeze()
        self._connection.send(list(items))
        while (question := self._connection.recv()) is not None:
            path, original, mutant, tests, seconds = question
            pairs = self._pairs(self._copy / path, original, mutant)
            session.items = [items[test] for test in tests if test in items]
            if pairs is None or not session.items:
                answer = ("import" if pairs is None else "uncovered"), ""
            else:
                answer = self._fork(session, pairs, seconds)
            self._connection.send(answer)
        return True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._say(f"FAILED {nodeid} - does not end")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._failure:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message.partition("\n")[0] if crash else str(report.longrepr)[-200:]
            self._failure = f"FAILED {report.nodeid} - {' '.join(reason.split())[:200]}"

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        if time.process_time() > self._seconds:
            pytest.exit("no more tests are begun", 0)

    def _pairs(self, path: Path, original: str, mutant: str) -> Pairs | None:
        """The functions that change with their new code, or None where an import changes."""
        before = compile(original, str(path), "exec", dont_inherit=True)
        after = compile(mutant, str(path), "exec", dont_inherit=True)
        pairs: Pairs = []
        for one, other in differences(before, after):
            same = [f for f in self._functions.get(str(path), ()) if f.__code__ == one]
            if not same and not pairs:
                return None
            if any(len(f.__code__.co_freevars) != len(other.co_freevars) for f in same):
                return None
            pairs += [(function, other) for function in same]
        return pairs

    def _fork(self, session: pytest.Session, pairs: Pairs, seconds: int) -> tuple[str, str]:
        """Verdict and what failed, of a process that runs the session's tests and no longer."""
        self._message[:] = bytes(len(self._message))
        if not (pid := os.fork()):
            os.setsid()
            self._seconds = int(time.process_time()) + seconds
            session.testsfailed = 0
            resource.setrlimit(resource.RLIMIT_CPU, (LONGER * seconds, LONGER * seconds + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            try:
                for function, code in pairs:
                    function.__code__ = code
                session.config.hook.pytest_runtestloop(session=session)
            except BaseException as error:
                if not isinstance(error, session.Failed | pytest.exit.Exception):
                    self._failure = self._failure or f"ERROR {error!r}"
            self._say(self._failure)
            os._exit(1 if self._failure else 0)
        handle = os.pidfd_open(pid)
        ready, _, _ = select.select([handle], [], [], 60 + 10 * LONGER * seconds)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # it, or what its tests have started
        _, status = os.waitpid(pid, 0)
        os.close(handle)
        message = self._message[:].rstrip(b"\0").decode(errors="replace")
        if not ready or os.WIFSIGNALED(status):
            return "timeout", message
        return ("killed" if message else "survived"), message

    def _say(self, text: str) -> None:
        """To the session, from a fork."""
        message = text.encode()[: len(self._message)]
        self._message[:] = message.ljust(len(self._message), b"\0")
