"""A long generated stream through the engine, in its own process; prints the remaining memory.

One JSON object: events, answers, counted steps of each tenth, and after each tenth the resident set
in KiB (0 without /proc) and the bytes that the engine holds. The stream is generated batch by
batch, so what grows is the engine's.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cerlab import parse_query
from cerlab.engine.whole_stream import stream_evaluation
from cerlab.testing import stock_batches
from proofs_tests.benchmarks.queries import catalogue

KEYS = "SELECT * WHERE SELL ; BUY PARTITION BY [id] WITHIN 10000 [stock_time]"
"""One key for each event: every partition is dead as soon as its event has left the window."""


def resident() -> int:
    """Return the resident set of this process in KiB, 0 where the system does not tell."""
    status = Path("/proc/self/status")
    match = re.search(r"VmRSS:\s+(\d+)", status.read_text() if status.exists() else "")
    return int(match[1]) if match else 0


CONTAINERS = (dict, list, tuple, set, frozenset, deque, np.ndarray, bytes, bytearray)


def held(run: object) -> int:
    """Return the bytes of the arrays and containers that objects of cerlab below `run` refer to."""
    seen, todo, total = set[int](), [run], 0
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, type):
            continue
        seen.add(id(each))
        if isinstance(each, CONTAINERS):
            total += sys.getsizeof(each)
            if isinstance(each, np.ndarray):
                todo.append(each.base)
        elif not type(each).__module__.startswith("cerlab"):
            continue
        todo += gc.get_referents(each)
    return total


def batches(count: int) -> Iterator[dict[str, Any]]:
    for batch in stock_batches(count, batch=min(1 << 16, count // 100)):
        yield {name: batch.column(name) for name in batch.schema.names}


def main(name: str, count: int) -> None:
    query = parse_query(KEYS if name == "keys" else catalogue("stocks")[name])
    run = stream_evaluation(query.plan, query.learned)
    answers, events_read = 0, 0
    steps, sizes, held_bytes = [0], list[int](), list[int]()
    for columns in batches(count):
        length = len(columns["type"])
        answers += sum(map(len, run.push_columns(columns, length)))
        events_read += length
        if events_read * 10 >= count * (len(sizes) + 1):
            steps.append(run.steps)
            sizes.append(resident())
            held_bytes.append(held(run))
    answers += sum(map(len, run.finish()))
    each = [after - before for before, after in pairwise(steps)]
    report = {"events": events_read, "answers": answers, "steps": each}
    print(json.dumps(report | {"resident": sizes, "held": held_bytes}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
