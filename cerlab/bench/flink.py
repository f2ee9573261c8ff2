"""Flink SQL on the benchmarks of row patterns, in an interpreter that has ``apache-flink``.

Flink reads the tables from files of CSV, which takes longer than what it does with them; so the
same file is read without the clause besides. One row is put out, the number of those that there
are. Its planner refuses two of the four patterns, and says so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.csv as pa_csv

from cerlab.bench import flink_child
from cerlab.bench.timing import Against

SECONDS = 1_200.0
"""So long may all of it take."""


def flink_figures(
    clauses: Mapping[str, str], tables: Mapping[str, Any], python: str | None
) -> dict[str, dict[str, Any]]:
    """What Flink says of each benchmark, by its name: figures, or an ``error``."""
    path = shutil.which(python or "python3")
    if path is None:
        return _all(clauses, f"there is no {python or 'python3'}")
    program = str(Path(path).absolute())  # it runs elsewhere
    with TemporaryDirectory(prefix="cerlab-bench-") as folder:
        for name, table in tables.items():
            options = pa_csv.WriteOptions(include_header=False)
            pa_csv.write_csv(table, Path(folder) / f"{name}.csv", options)
        questions = [
            {"file": f"{name}.csv", "columns": tables[name].column_names, "clause": clause}
            for name, clause in clauses.items()
        ]
        words = [program, str(Path(flink_child.__file__).resolve()), folder]
        try:
            process = subprocess.run(
                words, input=json.dumps(questions), capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return _all(clauses, f"no answer in {SECONDS:g} s")
    if process.returncode:
        return _all(clauses, (process.stderr.strip().splitlines() or ["it ended"])[-1][:200])
    return dict(zip(clauses, json.loads(process.stdout), strict=True))


def _all(clauses: Mapping[str, str], error: str) -> dict[str, dict[str, Any]]:
    return {name: {"error": error} for name in clauses}


def against(reply: Mapping[str, Any], cpu: float) -> Against:
    """The figures of Flink beside CPU seconds of ours."""
    if "error" in reply:
        return Against(error=reply["error"])
    matching = max(0.0, reply["cpu"] - reply["reading"])
    figures = {name: reply[name] for name in ("cpu", "wall", "reading", "result")}
    return Against(**figures, times=matching / cpu)
