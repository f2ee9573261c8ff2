"""The process from which Spark forks Python workers, with the engine already loaded.

Spark starts it by ``spark.python.daemon.module``. A separate worker takes 2.1 CPU seconds to load
the engine, a forked one none. Python's collector, which Spark calls after every task, skips the
objects loaded here, and a worker keeps the memory of a table for the next one.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Settings of glibc's ``mallopt``."""


def preload() -> None:
    """Import the modules of tasks, load common kernels, and exempt all from garbage collection."""
    import pyarrow as pa
    import pyspark.worker  # noqa: F401  a forked worker runs it

    from cerlab.automata.plan import plan_to_bytes
    from cerlab.compile.pattern import as_pattern
    from cerlab.spark import tasks as files  # noqa: F401  with packets
    from cerlab.spark.evaluation import Job, PlanEvaluation
    from cerlab.spark.plan import attributes_read

    columns = {"type": list("AABB") * 8, "t": range(32)}
    for text in ("SELECT * WHERE A ; B WITHIN 4 [t]", "SELECT * WHERE A ; B LIMIT 1"):
        plan = as_pattern(text).plan
        read = attributes_read(plan, None)
        run = PlanEvaluation(Job(plan_to_bytes(plan), None, read))
        rows = pa.table({f"a{n}": columns[name] for n, name in enumerate(read)})
        list(run.push(rows))
        list(run.finish())
    gc.collect()
    gc.freeze()
    _keep_memory()


def _keep_memory() -> None:
    """Keep freed memory in this process, because the system would clear each page before reuse."""
    with suppress(OSError, AttributeError):  # systems without glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 1 << 25)  # the largest accepted value
        mallopt(_TRIM_THRESHOLD, 1 << 28)


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
