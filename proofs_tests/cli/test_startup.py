"""Imports of a command: nothing that the call does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from cerlab.cli import main

PROGRAM = """
import sys
from cerlab.cli import main
status = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(status)
"""
PICTURES = {"matplotlib", "networkx", "graphviz", "pygraphviz", "cerlab.viz"}
COLUMNS = {"numpy", "pyarrow", "pandas", "polars"}
SOLVERS = {"z3", "cerlab.decisions", "cerlab.automata.decide"}
OTHERS = {"numba", "rich", "pyspark", "cerlab.why", "cerlab.fuzz", "cerlab.testing"}


def modules(*arguments: str) -> set[str]:
    """The modules that a fresh process has loaded after a command, which succeeds."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return set(process.stderr.split())


def test_the_version_needs_the_standard_library_alone() -> None:
    names = modules("--version")
    assert not names & {"lark", *PICTURES, *COLUMNS, *SOLVERS, *OTHERS}
    assert not [name for name in names if name.startswith(("cerlab.logic", "cerlab.api"))]


def test_a_check_needs_no_columns_and_no_pictures() -> None:
    assert not modules("check", "SELECT * WHERE A ; B") & (PICTURES | COLUMNS | OTHERS | {"z3"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.core", "A(v=1)\nB(v=2)\n"),
        ("e.csv", "type,v\nA,1\nB,2\n"),
        ("e.ndjson", '{"type": "A"}\n{"type": "B"}\n'),
    ],
)
def test_a_small_text_needs_neither_columns_nor_kernels(
    name: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    names = modules("run", "A ; B", str(tmp_path / name))
    assert not names & (PICTURES | SOLVERS | COLUMNS | OTHERS)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are listed by Linux")
@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2)])
def test_numpy_starts_no_threads_unless_asked(given: dict[str, str], threads: int) -> None:
    rest = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    process = subprocess.run(
        [sys.executable, "-c", THREADS, "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={**rest, **given},
    )
    assert int(process.stderr) == min(threads, os.cpu_count() or 1)


THREADS = """
import os, sys
from cerlab.__main__ import main

main()
import numpy

print(len(os.listdir("/proc/self/task")), file=sys.stderr)
"""
"""The threads of the program once NumPy is there."""


@pytest.mark.parametrize("name", ["e.core", "e.parquet", "e.ndjson"])
def test_the_engine_needs_no_data_frames_and_no_compiler(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "e.core":
        path.write_text("A(v=1,n=x)\nB(v=2,n=y)\n" * 30_000)
    elif name == "e.ndjson":  # short, so that it is read line by line
        path.write_text('{"type": "A", "v": 1, "n": "x"}\n{"type": "B", "v": null, "n": "é"}\n')
    else:
        parquet.write_table(pa.table({"type": ["A", "B"], "v": [1, 2], "n": ["x", "y"]}), path)
    query = "SELECT * FROM S WHERE A AS a ; B FILTER a[v < 3 AND n = 'x'] WITHIN 1 EVENTS"
    run = ("run", query, str(path), "--evaluator", "compiled", "-o", str(tmp_path / "o"))
    assert main([*run]) == 0  # kernels are on disk from now on
    names = modules(*run)
    assert not names & (PICTURES | SOLVERS | (COLUMNS | OTHERS) - {"numpy", "pyarrow"})
    assert "pyarrow.dataset" not in names


@pytest.mark.parametrize("module", ["cerlab.cli", "cerlab.errors", "argparse"])
def test_an_interrupt_while_it_loads_is_no_traceback(module: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr) == (130, "")


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

from cerlab.__main__ import main

sys.meta_path.insert(0, Interrupt())
sys.modules.pop(sys.argv[1], None)
sys.exit(main())
"""
"""An interrupt that comes when a module is about to be imported."""
