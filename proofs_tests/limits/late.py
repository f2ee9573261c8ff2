"""Calls of every kind under a limit that they reach: how late each of them ends, and how large.

Run as a program (``python -m proofs_tests.limits.late [SECONDS [MEMORY [NAME ..]]]``) it prints one
line a call: seconds over the limit, by the clock and of CPU, and memory over its limit.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import cerlab
from cerlab.budget import resident_bytes, size_in_bytes

Call = Callable[[], Any]

ROWS = 1_000_000
"""Rows of a table or a file: reading them takes longer than the limit, or nearly."""

SHARE = 1
"""Tables and files have one row in so many: where looks at the limits are counted, few suffice."""

ONE = "SELECT * WHERE A AS a ; B AS b FILTER a[v < 3] WITHIN 9 EVENTS"
MANY = "SELECT * WHERE A AS a ; B+ AS b ; C AS c"
COMPARED = "SELECT * WHERE (A AS a ; B AS b ; C AS c) FILTER a.v < b.v AND b.v < c.v"
ROWS_CLAUSE = (
    "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(B.t) AS m PATTERN (A B+ C) "
    "DEFINE A AS v < 40, B AS v > PREV(v), C AS v < PREV(v))"
)
FILES = ("csv", "ndjson", "json", "parquet", "equal.parquet", "arrow", "feather", "sorted.csv")


class Late(NamedTuple):
    """The outcome of a call: its seconds by the clock and of CPU, peak bytes, and error code."""

    seconds: float
    cpu: float
    bytes: int
    code: str


@cache
def folder() -> Path:
    where = tempfile.mkdtemp(prefix="late-")
    return Path(where)


@cache
def table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    rows = max(rows // SHARE, min(rows, 200))
    return pa.table(
        {
            "type": pa.array(np.array(list("ABCD"))[rng.integers(0, 4, rows)]),
            "t": np.arange(rows),
            "k": rng.integers(0, 50_000, rows),
            "v": rng.integers(0, 100, rows),
            "x": rng.random(rows),
        }
    )


@cache
def dicts(rows: int) -> list[dict[str, Any]]:
    return list(table(rows).to_pylist())


@cache
def file(name: str) -> str:
    """A large file of a format."""
    path = folder() / f"events.{name}"
    rows = table()
    match name:
        case "csv":
            pa.csv.write_csv(rows, path)
        case "sorted.csv":
            order = np.random.default_rng(1).permutation(len(rows))
            pa.csv.write_csv(rows.take(order), path)
        case "ndjson" | "json":
            lines = [json.dumps(row) for row in dicts(600_000)]
            text = "\n".join(lines) if name == "ndjson" else "[" + ",\n".join(lines) + "]"
            path.write_text(text)
        case "parquet":
            pa.parquet.write_table(pa.concat_tables([rows] * 8), path)
        case "equal.parquet":
            n = len(rows)
            few = pa.table({"type": ["A"] * n, "t": [0] * n, "k": [1] * n, "v": [1] * n})
            pa.parquet.write_table(pa.concat_tables([few] * 40), path)
        case "arrow":
            with pa.ipc.new_file(path, rows.schema) as writer:
                for _ in range(8):
                    writer.write_table(rows)
        case "feather":
            pa.feather.write_feather(pa.concat_tables([rows] * 8), path)
        case "text":
            path.write_text(
                "\n".join(
                    f"{row['type']}(t={row['t']},k={row['k']},v={row['v']})"
                    for row in dicts(600_000)
                )
            )
    return str(path)


def sorts(name: str) -> dict[str, Any]:
    return {"sort": True, "time": "t", "unit": "s"} if name == "sorted.csv" else {}


def calls() -> dict[str, Call]:
    """The calls by name; each makes what it needs outside the limit, when it is first called."""
    return {**reading(), **answering(), **arriving(), **deciding(), **showing()}


def prepared(make: Callable[[], Any], use: Callable[[Any], Any]) -> Call:
    """A call that is prepared first: `make` outside the limit."""

    def call() -> Any:
        return use(call.made)  # type: ignore[attr-defined]

    call.make = make  # type: ignore[attr-defined]
    return call


def reading() -> dict[str, Call]:
    every: dict[str, Call] = {}
    for name in FILES:
        how = sorts(name)

        def path(name: str = name) -> str:
            return file(name)

        def evaluated(it: Any, how: Any = how) -> Any:
            return cerlab.evaluate(ONE, it, **how)

        def listed(it: Any, how: Any = how) -> Any:
            return cerlab.Stream.read(it, **how).events

        def counted(it: Any, how: Any = how) -> Any:
            return cerlab.count(MANY, it, **how)

        def framed(it: Any, how: Any = how) -> Any:
            return cerlab.Stream.read(it, **how).to_pandas()

        every |= {
            f"evaluate of {name}": prepared(path, evaluated),
            f"events of {name}": prepared(path, listed),
            f"count of {name}": prepared(path, counted),
            f"frame of {name}": prepared(path, framed),
        }
    inputs: dict[str, Callable[[], Any]] = {
        "dicts": lambda: dicts(600_000),
        "a table": table,
        "a pandas frame": lambda: table().to_pandas(),
        "a polars frame": lambda: pl.from_arrow(table()),
        "objects of pandas": lambda: table(600_000).to_pandas().astype(object),
    }
    for name, make in inputs.items():
        every[f"evaluate of {name}"] = prepared(make, lambda it: cerlab.evaluate(ONE, it))
        every[f"answers by tecs of {name}"] = prepared(
            make, lambda it: cerlab.evaluate(MANY, it, evaluator="tecs")
        )
        every[f"list of {name}"] = prepared(make, lambda it: cerlab.evaluate(MANY, it))
    every["events of a table"] = prepared(table, lambda it: cerlab.Stream.from_arrow(it).events)
    every["evaluate of a generator"] = prepared(
        lambda: dicts(600_000), lambda it: cerlab.evaluate(ONE, (row for row in it))
    )
    return every


def answering() -> dict[str, Call]:
    def run(text: str, rows: int = ROWS) -> Callable[[], Any]:
        return lambda: cerlab.parse_query(text).run(table(rows))

    window = f"{MANY} WITHIN 12 EVENTS"
    keyed = "SELECT * WHERE A AS a ; B AS b PARTITION BY [k] WITHIN 100000 EVENTS"
    every: dict[str, Call] = {
        "list of answers": prepared(run(window), list),
        "table of answers": prepared(run(window), lambda m: m.table(["a.v", "b.v"])),
        "frame of answers": prepared(run(window), lambda m: m.to_pandas()),
        "polars of answers": prepared(run(window), lambda m: m.to_polars()),
        "count of answers": prepared(run(COMPARED), lambda m: m.count()),
        "sample of answers": prepared(run(window), lambda m: m.sample(100_000, seed=0)),
        "sums by end": prepared(run(window), lambda m: m.aggregate(sum="b.v", group_by="end")),
        "sums by key": prepared(run(keyed), lambda m: m.aggregate(sum="b.v", group_by="k")),
        "sums by value": prepared(
            run("SELECT * WHERE A AS a ; B AS b WITHIN 500 EVENTS"),
            lambda m: m.aggregate(sum="b.v", group_by="a.k"),
        ),
        "sums by start and value": prepared(
            run("SELECT * WHERE A AS a ; B AS b WITHIN 90 EVENTS"),
            lambda m: m.aggregate(max="b.x", group_by=["start", "b.k"]),
        ),
        "sums of a large window": prepared(
            run(f"{MANY} WITHIN 2000 EVENTS"), lambda m: m.aggregate(avg="b.x", group_by="end")
        ),
        "row patterns": prepared(
            lambda: table(600_000), lambda it: cerlab.match_recognize(ROWS_CLAUSE, it)
        ),
        "row patterns by dicts": prepared(
            lambda: dicts(300_000), lambda it: cerlab.match_recognize(ROWS_CLAUSE, it)
        ),
    }
    for evaluator in ("automaton", "tecs", "lists", "compiled", "registers"):
        every[f"answers by {evaluator}"] = prepared(
            lambda: table(300_000), partial(cerlab.evaluate, MANY, evaluator=evaluator)
        )
    every["answers by reference"] = prepared(
        lambda: table(250), lambda it: cerlab.evaluate(MANY, it, evaluator="reference")
    )
    for name, text in {
        "keys": keyed,
        "values": COMPARED,
        "MAX": "SELECT MAX * WHERE A+ ; B+",
    }.items():
        every[f"answers of {name}"] = prepared(table, partial(cerlab.evaluate, text))
    every["valuations"] = prepared(lambda: dicts(200), lambda it: cerlab.valuations(MANY, it))
    every["SREMO"] = prepared(
        lambda: table(300_000),
        lambda it: cerlab.matches("<type='A'>^ -> r . (<v > r.v>^)+ . <type = 'C'>^", it),
    )
    return every


def arriving() -> dict[str, Call]:
    def pushed(door: str, text: str, **arguments: Any) -> Callable[[Any], Any]:
        return lambda it: getattr(cerlab.parse_query(text), door)(**arguments).push(it)

    window = f"{MANY} WITHIN 12 EVENTS"
    sessions = {
        "answers": pushed("open", window),
        "answers of registers": pushed("open", f"{COMPARED} WITHIN 60 EVENTS"),
        "rows": pushed("tabulating", window, columns=["a.v", "b.v"]),
        "totals": pushed("aggregating", f"{MANY} WITHIN 60 EVENTS", sum="b.v", group_by="end"),
        "totals by value": pushed("aggregating", f"{MANY} WITHIN 60 EVENTS", group_by=["a.k"]),
    }
    every: dict[str, Call] = {}
    for name, push in sessions.items():
        every[f"push to a session of {name}"] = prepared(lambda: dicts(300_000), push)
        every[f"push of a table to a session of {name}"] = prepared(lambda: table(600_000), push)

    def one_by_one(it: Any) -> None:
        session = cerlab.parse_query(window).open()
        for row in it:
            session.push([row])

    every["events pushed one by one"] = prepared(lambda: dicts(300_000), one_by_one)
    return every


def deciding() -> dict[str, Call]:
    text = " ; ".join(["(A OR B)+", "C"] * 9)
    other = " ; ".join(["(B OR A)+", "(C OR D)"] * 9)
    filters = " AND ".join(f"A[v + {n} * w > {n * n} OR x * x < {n}]" for n in range(12))
    return {
        "equivalent": lambda: cerlab.equivalent(text, other),
        "contained": lambda: cerlab.contained(f"(A ; {text}) AND B+", f"{other} OR (B ; {text})"),
        "satisfiable": lambda: cerlab.satisfiable(f"A FILTER {filters}"),
        "determinised": lambda: cerlab.parse_query(f"SELECT * WHERE {_nested(10)}").det,
        "large text": lambda: cerlab.parse_query(
            "SELECT * WHERE " + " OR ".join(f"A{n}[v = {n}]" for n in range(200_000))
        ),
        "a machine of a large text": lambda: (
            cerlab.parse_query(
                "SELECT * WHERE " + " OR ".join(f"(A{n} ; B{n})" for n in range(4_000))
            ).cea
        ),
    }


def _nested(depth: int) -> str:
    return "A" if depth == 0 else f"(({_nested(depth - 1)}) ; B+ ; (A OR C))+"


def drawn(text: str) -> Any:
    return cerlab.parse_query(text)


def showing() -> dict[str, Call]:
    large = f"SELECT * WHERE {' ; '.join(['(A OR B)+'] * 300)}"
    return {
        "explain": prepared(table, lambda it: cerlab.parse_query(MANY).explain(it)),
        "step": prepared(lambda: dicts(20_000), lambda it: cerlab.step(MANY, it)),
        "show": prepared(lambda: dicts(20_000), lambda it: str(cerlab.show(MANY, it))),
        "timeline": prepared(lambda: dicts(20_000), lambda it: cerlab.timeline(MANY, it)),
        "why": prepared(lambda: dicts(200), lambda it: cerlab.why(MANY, it, [0, 1, 199])),
        "why none": prepared(
            lambda: dicts(200), lambda it: cerlab.why_none("SELECT * WHERE A ; E ; F ; G", it)
        ),
        "a picture": lambda: drawn(large).to_graphviz(),
        "a graph": lambda: drawn(large).to_networkx(),
    }


def prepare(call: Call) -> None:
    """Make what a call needs."""
    make = getattr(call, "make", None)
    if make is not None:
        call.made = make()  # type: ignore[attr-defined]


def measured(call: Call, seconds: float, memory: float) -> Late:
    """Return what a call takes under limits; the peak is that of the process meanwhile."""
    prepare(call)
    gc.collect()
    gc.freeze()  # what was prepared is not looked through within the limit
    pa.default_memory_pool().release_unused()
    before = resident_bytes()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
    code, begin, cpu = "", time.monotonic(), time.process_time()
    try:
        with cerlab.limits(seconds=seconds, memory=int(memory)):
            call()
    except cerlab.CerlabError as error:
        code = error.code
    taken, cpu = time.monotonic() - begin, time.process_time() - cpu
    peak = peak_bytes() - before
    gc.unfreeze()
    vars(call).pop("made", None)
    return Late(taken, cpu, peak, code)


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def main(arguments: list[str]) -> None:
    seconds = float(arguments[0]) if arguments else 1.0
    memory = size_in_bytes(arguments[1] if arguments[1:] else "300MB")
    for name, call in calls().items():
        if any(part in name for part in arguments[2:] or [""]):
            try:
                late = measured(call, seconds, memory)
            except Exception as error:
                print(f"{name:45} {type(error).__name__}: {str(error)[:80]}", flush=True)
                continue
            marks = "*" * (late.seconds > 2 * seconds or late.bytes > 2 * memory)
            print(
                f"{name:52} {late.seconds / seconds:5.1f} {late.cpu / seconds:5.1f} "
                f"{late.bytes / memory:5.1f} {late.code:8} {marks}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
