"""The process that Spark forks Python workers from, some of which end as if killed from outside.

In place of `cerlab.spark.daemon`, by ``spark.python.daemon.module``: in the folder that
``DEATHS`` names, the file ``at`` has the numbers of the calls at which a worker kills itself.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cerlab.spark.daemon import preload
from cerlab.spark.evaluation import PlanEvaluation
from cerlab.spark.stream.step import BucketStep


def perish() -> None:
    """Count a call, of whichever worker, and end this one if it is its turn."""
    folder = Path(os.environ["DEATHS"])
    with (folder / "calls").open("ab") as calls:
        calls.write(b".")
        calls.flush()
        number = calls.tell()
    if number in json.loads((folder / "at").read_text()):
        os.kill(os.getpid(), signal.SIGKILL)


def mortal() -> None:
    """Workers may end when the answers of a task, or of a bucket, are out and nothing else is."""
    finish, state = PlanEvaluation.finish, BucketStep.state

    def finish_and_perish(self: PlanEvaluation) -> Iterator[Any]:
        yield from finish(self)
        perish()

    def perish_or_state(self: BucketStep) -> tuple[bytes | None, int | None]:
        perish()
        return state(self)

    PlanEvaluation.finish = finish_and_perish  # type: ignore[method-assign]
    BucketStep.state = perish_or_state  # type: ignore[method-assign]


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    mortal()
    manager()
