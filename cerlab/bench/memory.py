"""How much memory a query takes: its run alone in a fresh process, measured there.

    python -m cerlab.bench.memory STREAM.arrow < QUERY

writes its figures as one JSON object. It is the resident set of the whole process, as Linux
counts it in ``/proc``: the interpreter, the libraries, the kernels, the stream as columns, and
what the run adds. The first figure is without the last part, so that the difference is the run's.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from cerlab import io
from cerlab.api import parse_query
from cerlab.bench.streams import in_memory
from cerlab.errors import UsageError
from cerlab.model.stream import Stream

_STATUS = Path("/proc/self/status")
_WARM = 1000


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of the resident set: before the run, with all that it needs loaded, and its peak."""

    memory_loaded: int
    memory_peak: int


class MemoryOf:
    """Measures queries on one stream, which it keeps as a file until it is closed."""

    def __init__(self, stream: Stream, program: str = "cerlab.bench.memory") -> None:
        """`program` is the module that the process runs; it gets the file, and a text as input.

        Raises `UsageError` on systems without ``/proc``.
        """
        import pyarrow as pa

        if not _STATUS.is_file():
            raise _cannot("it is read in /proc, which this system does not have")
        self._program = program
        self._folder = TemporaryDirectory(prefix="cerlab-bench-")
        self._file = Path(self._folder.name) / "stream.arrow"
        table = pa.table(dict(stream.columns))
        with pa.OSFile(str(self._file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
            out.write_table(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def measure(self, text: str) -> Memory:
        """Run a query in a fresh process."""
        command = [sys.executable, "-m", self._program, str(self._file)]
        process = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if process.returncode:
            raise _cannot((process.stderr.strip().splitlines() or ["its process said nothing"])[-1])
        print(process.stderr, end="", file=sys.stderr)
        return Memory(**json.loads(process.stdout))


def _cannot(why: str) -> UsageError:
    return UsageError("CER0818", f"--memory cannot measure: {why}", hint="leave --memory out")


def resident() -> tuple[int, int]:
    """The resident set of this process in bytes: now, and its peak since it was last reset."""
    sizes = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+) kB", _STATUS.read_text()))
    return int(sizes["VmRSS"]) * 1024, int(sizes["VmHWM"]) * 1024


def _forget_peak() -> None:
    """Let the peak be that of what follows; where that is not allowed, it stays a higher one."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("memory_peak is also of loading: the kernel does not reset it", file=sys.stderr)


def measure_here(path: str, text: str) -> Memory:
    """Run the query on the stream of a file, in this process."""
    from cerlab.bench.measure import answers

    query = parse_query(text)
    return measure_run(path, lambda stream: answers(query, stream))


def measure_run(path: str, run: Callable[[Stream], object]) -> Memory:
    """Read the stream, run on a prefix and then on the whole, in this process."""
    import pyarrow as pa

    with pa.OSFile(path, "rb") as source:
        stream = in_memory(pa.ipc.open_file(source).read_all())
    columns = {name: column[:_WARM] for name, column in stream.columns.items()}
    run(io.from_arrow(pa.table(columns)))  # the kernels, and their tables
    _forget_peak()
    before, _ = resident()
    run(stream)
    _, peak = resident()
    return Memory(before, max(before, peak))  # the kernel counts in batches of pages


if __name__ == "__main__":
    print(json.dumps(asdict(measure_here(sys.argv[1], sys.stdin.read()))))
