"""A query whose Python worker came too late for Spark is started again, and no other one."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from cerlab.spark import write_stream
from cerlab.spark.stream.match import STARTS, Done

errors = pytest.importorskip("pyspark.errors", reason="PySpark is in the extra 'spark'")

LATE = "terminated with exception: Python worker failed to connect back."


@dataclass
class Writer:
    """In the place of Spark: each start fails with the next message, or reads a micro-batch."""

    messages: list[str]
    starts: int = 0
    options: dict[str, str] = field(default_factory=dict)

    def format(self, name: str) -> Writer:
        return self

    def outputMode(self, mode: str) -> Writer:
        return self

    def option(self, name: str, value: str) -> Writer:
        self.options[name] = value
        return self

    def trigger(self, *, availableNow: bool) -> Writer:
        return self

    def start(self) -> Any:
        self.starts += 1
        message = self.messages.pop(0) if self.messages else None

        def wait(seconds: float) -> bool:
            if message is not None:
                raise errors.StreamingQueryException(message)
            return True

        return SimpleNamespace(
            awaitTermination=wait, recentProgress=[Progress(self.starts)], stop=lambda: None
        )


class Progress(dict[str, Any]):
    """Seven rows, three answers and a late row, two in quarantine, one that waits."""

    def __init__(self, batch: int) -> None:
        cells = {"answers": 3, "late": 1, "quarantine": 2, "waiting": 1.0, "waiting_keys": 1.0}
        row = SimpleNamespace(asDict=lambda: {**cells, "behind": None})
        super().__init__(batchId=batch, observedMetrics={"cerlab-1": row, "of others": row})
        self.numInputRows = 7
        self.stateOperators = (SimpleNamespace(numRowsTotal=2),)


def write(writer: Writer) -> Done:
    stream: Any = SimpleNamespace(writeStream=writer, sparkSession=None)
    return write_stream(stream, "out", "checkpoint")


def test_a_worker_that_came_too_late_is_started_again() -> None:
    writer = Writer([LATE, LATE])
    assert write(writer) == Done(1, 7, 3, late=1, quarantine=2, waiting=1, buckets=2)
    assert writer.starts == 3
    assert writer.options == {"path": "out", "checkpointLocation": "checkpoint"}


@pytest.mark.parametrize(
    ("messages", "starts"), [([LATE] * 2 * STARTS, STARTS), (["CER0776"] * 2, 1)]
)
def test_it_is_not_started_for_ever_nor_for_other_reasons(messages: list[str], starts: int) -> None:
    writer = Writer(messages)
    with pytest.raises(errors.StreamingQueryException):
        write(writer)
    assert writer.starts == starts
