"""A long generated stream through the engine, in its own process; prints the remaining memory.

One JSON object: events, answers, counted steps of each tenth, and the resident set in KiB after
each tenth. The stream is generated batch by batch, so what grows is the engine's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from cerlab.api import parse_query
from cerlab.engine.whole_stream import stream_evaluation
from cerlab.io.synthetic import stock_batches
from proofs_tests.benchmarks.queries import catalogue

KEYS = "SELECT * WHERE SELL ; BUY PARTITION BY [id] WITHIN 10000 [stock_time]"
"""One key for each event: every partition is dead as soon as its event has left the window."""


def resident() -> int:
    """The resident set of this process in KiB."""
    status = Path("/proc/self/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+)", status)
    assert match is not None
    return int(match[1])


def batches(count: int) -> Iterator[dict[str, Any]]:
    for batch in stock_batches(count, batch=min(1 << 16, count // 100)):
        yield {name: batch.column(name) for name in batch.schema.names}


def main(name: str, count: int) -> None:
    query = parse_query(KEYS if name == "keys" else catalogue("stocks")[name])
    run = stream_evaluation(query.plan, query.learned)
    answers, events_read = 0, 0
    steps, sizes = [0], list[int]()
    for columns in batches(count):
        length = len(columns["type"])
        answers += sum(map(len, run.push(columns, length)))
        events_read += length
        if events_read * 10 >= count * (len(sizes) + 1):
            steps.append(run.steps)
            sizes.append(resident())
    answers += sum(map(len, run.finish()))
    each = [after - before for before, after in pairwise(steps)]
    print(json.dumps({"events": events_read, "answers": answers, "steps": each, "resident": sizes}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
