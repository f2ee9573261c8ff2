"""Memory of one run, measured in a fresh process.

    python -m proofs_tests.benchmarks.memory STREAM.arrow < TASK

TASK is a JSON object, ``query`` or ``sremo`` with a text, and ``is_listed``; so is the output. A
figure is the resident set of the whole process, as Linux counts it in ``/proc``: the interpreter,
the libraries, the kernels, the stream as columns, and what the run adds. The first figure is
without the last part, so the difference is the run's.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from cerlab import parse_query, parse_sremo
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.engine import answers
from proofs_tests.benchmarks.streams import head, load, save
from proofs_tests.benchmarks.timing import Row

_STATUS = Path("/proc/self/status")
_WARM = 1000


class MemoryOf:
    """Measures runs on one stream, which it keeps as a file until it is closed."""

    def __init__(self, stream: Stream) -> None:
        """Raise OSError on systems without ``/proc``."""
        if not _STATUS.is_file():
            raise OSError("--memory reads /proc, which this system does not have")
        self._folder = TemporaryDirectory(prefix="cerlab-bench-")
        self.file = Path(self._folder.name) / "stream.arrow"
        save(stream, self.file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def measure(self, *, is_listed: bool = True, **text: str) -> Row:
        """Run a text, ``query=`` or ``sremo=``, in a fresh process; raises OSError if it fails."""
        task = json.dumps(text | {"is_listed": is_listed})
        words = [sys.executable, "-m", __name__, str(self.file)]
        process = subprocess.run(words, input=task, capture_output=True, text=True, check=False)
        if process.returncode:
            last = (process.stderr.strip().splitlines() or ["its process said nothing"])[-1]
            raise OSError(f"--memory cannot measure: {last}")
        print(process.stderr, end="", file=sys.stderr)
        row: Row = json.loads(process.stdout)
        return row


def resident() -> tuple[int, int]:
    """Return the resident set of this process in bytes: now, and its peak since the last reset."""
    sizes = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+) kB", _STATUS.read_text()))
    return int(sizes["VmRSS"]) * 1024, int(sizes["VmHWM"]) * 1024


def reset_peak() -> None:
    """Begin a new peak; where that is not allowed, the peak is also that of loading."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("memory_peak is also of loading: the kernel does not reset it", file=sys.stderr)


def measure_here(path: str, task: Row) -> Row:
    """Run a task in this process, on the first events of the stream and then on all of them."""
    stream, run = load(path), _run_of(task)
    run(head(stream, _WARM))  # kernels and tables
    reset_peak()
    before, _ = resident()
    run(stream)
    _, peak = resident()
    return {
        "memory_loaded": before,
        "memory_peak": max(before, peak),
    }  # counted in batches of pages


def _run_of(task: Row) -> Callable[[Stream], object]:
    if "query" in task:
        query = parse_query(task["query"])
        return lambda stream: answers(query, stream)
    plan = register_plan(parse_sremo(task["sremo"]))
    if task["is_listed"]:
        return lambda stream: sum(map(len, RegisterEvaluation(plan, stream).answers()))
    return lambda stream: RegisterEvaluation(plan, stream).estimate()


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], json.load(sys.stdin))))
