"""The process that Spark forks Python workers from, with the engine loaded before the first one.

Spark starts it by ``spark.python.daemon.module``. A worker of its own takes 2.1 CPU seconds to load
the engine, one that is forked from here none.
"""

from __future__ import annotations


def preload() -> None:
    """Import what tasks import, and load the kernels that most queries run."""
    import pyarrow as pa
    import pyspark.worker  # noqa: F401  what a forked worker runs

    from cerlab.automata.plan_json import plan_to_bytes
    from cerlab.compile.text_to_pattern import as_pattern
    from cerlab.spark.plan.reads import attributes_read
    from cerlab.spark.tasks import files  # noqa: F401  with shuffle units
    from cerlab.spark.tasks.evaluation import Evaluation, Job

    columns = {"type": list("AABB") * 8, "t": range(32)}
    for text in ("SELECT * WHERE A ; B WITHIN 4 [t]", "SELECT * WHERE A ; B LIMIT 1"):
        plan = as_pattern(text).plan
        read = attributes_read(plan, None)
        run = Evaluation(Job(plan_to_bytes(plan), None, read))
        rows = pa.table({f"a{n}": columns[name] for n, name in enumerate(read)})
        list(run.push(rows))
        list(run.finish())


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
