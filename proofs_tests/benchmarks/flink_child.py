"""The other end of `peers.flink`: runs in an interpreter that has ``apache-flink``.

    python flink_child.py FOLDER < QUESTIONS

QUESTIONS is JSON, a list of objects with ``file`` (CSV in FOLDER), ``columns`` and ``clause``; so
is what is printed, a list of objects with seconds, or with ``error``. Nothing of cerlab is imported
here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPTIONS = {
    "parallelism.default": "1",
    "rest.bind-port": "0",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
}


def cpu_below() -> float:
    """CPU seconds of all processes below this one, as Linux counts them: the Java machine's."""
    ticks, below = os.sysconf("SC_CLK_TCK"), {os.getpid()}
    seconds, processes = 0.0, dict[int, tuple[int, float]]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        processes[int(path.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    while children := {pid for pid, (parent, _) in processes.items() if parent in below} - below:
        below |= children
        seconds += sum(processes[pid][1] for pid in children) / ticks
    return seconds


def measure(run: Callable[[], int]) -> tuple[int, float, float]:
    """Return the count of a run, with its CPU and wall seconds, after a run that warms up."""
    run()
    cpu, wall = cpu_below(), time.perf_counter()
    count = run()
    return count, cpu_below() - cpu, time.perf_counter() - wall


def main(folder: Path) -> None:
    """Answer all questions."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from pyflink.table import (  # type: ignore[import-not-found]
        EnvironmentSettings,
        TableEnvironment,
    )

    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for name, value in OPTIONS.items():
        environment.get_config().set(name, value)

    def count(query: str) -> int:
        """The number of rows of a query, which stay in Flink."""
        with environment.execute_sql(f"SELECT COUNT(*) FROM {query}").collect() as rows:
            return sum(int(row[0]) for row in rows)

    def answer(number: int, question: dict[str, Any]) -> dict[str, Any]:
        columns = ", ".join(f"{name} INT" for name in question["columns"])
        environment.execute_sql(
            f"""CREATE TABLE T{number} ({columns}, ts AS TO_TIMESTAMP_LTZ(i, 3),
                WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'format' = 'csv',
                'path' = '{folder / question["file"]}')"""
        )
        try:
            result, cpu, wall = measure(lambda: count(f"T{number} {question['clause']}"))
            _, reading, _ = measure(lambda: count(f"(SELECT i, v FROM T{number} WHERE v >= 0)"))
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines()]
            causes = [line for line in lines if line.startswith(("Caused by:", ": "))] or lines[:1]
            return {"error": causes[-1].removeprefix("Caused by").lstrip(": ")[:200]}
        return {"result": result, "cpu": cpu, "wall": wall, "reading": reading}

    questions = json.load(sys.stdin)
    json.dump([answer(*each) for each in enumerate(questions)], out)
    out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
