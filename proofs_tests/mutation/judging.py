"""A verdict on a mutant: its tests, run in a process that has all libraries but not cerlab.

The process is forked from one that loaded the libraries once, so that a mutant costs an import of
cerlab and its tests alone.
"""

from __future__ import annotations

import compileall
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from proofs_tests.mutation.mutants import Mutant

MOST_TESTS = 80
"""How many tests judge a mutant at most: those that run the fewest lines besides its own."""

REASONS = ("FAILED", "ERROR", "ImportError while loading conftest")
"""How the line of pytest begins that names what did not pass."""

VERDICTS = {0: "survived", 1: "killed", 2: "killed", 4: "killed", None: "timeout"}
"""By the exit status of pytest; None where it had not ended."""

LIBRARIES = ("lark", "numba", "pyarrow.compute", "pyarrow.parquet", "pytest")

_servers = multiprocessing.get_context("forkserver")
_servers.set_forkserver_preload(list(LIBRARIES))


def copy_of(root: Path, folder: Path) -> Path:
    """A copy of the repository with its bytecode, to be changed."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".coverage*")
    copy = Path(shutil.copytree(root, folder / "repository", ignore=ignored))
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
    place = copy / mutant.path
    original, times = place.read_text(encoding="utf-8"), place.stat()
    place.write_text(mutant.source, encoding="utf-8")
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
        process = _servers.Process(
            target=_run, args=(str(copy), [*options, *tests[:MOST_TESTS]], output.name)
        )
        process.start()
        process.join(seconds)
        code = process.exitcode
        if code is None and process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)  # and what its tests have started
            process.join()
        place.write_text(original, encoding="utf-8")
        # Bytecode belongs to a time of its source; that of the mutant is a later one.
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        reason = next((line.rstrip() for line in output if line.startswith(REASONS)), "")
        verdict = VERDICTS.get(code, "unclear")
        return ("unclear" if verdict == "killed" and not reason else verdict), reason


def _run(copy: str, arguments: Sequence[str], output: str) -> None:
    """Run tests in the copy; the exit status is pytest's."""
    os.setsid()
    os.chdir(copy)
    os.environ["PYTHONPATH"] = copy
    sys.dont_write_bytecode = True  # bytecode of a mutant would be that of its source as well
    sys.path.insert(0, copy)
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
        del sys.modules[name]
    with open(output, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    import pytest

    code = pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-n", "0", *arguments])
    sys.stdout.flush()
    os._exit(code)


_OURS = ("cerlab", "proofs_tests", "conftest")
