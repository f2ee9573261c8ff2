"""Growth on Spark: CPU and memory per row from some rows to sixteen times as many.

Four kinds of questions are asked of Parquet files, sorted and unsorted, and in four other layouts.
CPU is that of all processes, less that of the same question on a thousand events. Memory is the
peak of the largest Python worker, in MB.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofs_tests.benchmarks.spark import (
    PRICES,
    SORTED,
    TINY,
    UNSORTED,
    Cost,
    cost_of_tree,
    ordered_streams,
)
from proofs_tests.benchmarks.timing import Row

TIMES = 16
"""The events over the fewer events that they are compared with."""

QUESTIONS: Mapping[str, str] = {
    "sequence": PRICES,
    "aggregate": """SELECT COUNT(*), AVG(b.price) WHERE SELL AS a ; BUY AS b
FILTER a[price > 100] AND b[price > 100]
PARTITION BY [name] WITHIN 1000 [stock_time] GROUP BY b.name""",
    "labels": """SELECT * WHERE SELL AS a ; BUY AS b FILTER a[price > 100] AND b.price > a.price
PARTITION BY [name] WITHIN 100 [stock_time]""",
    "row pattern": """MATCH_RECOGNIZE (PARTITION BY name ORDER BY stock_time, id
MEASURES FIRST(UP.price) AS low, LAST(UP.price) AS high, COUNT(*) AS events
PATTERN (UP{3,} DOWN) DEFINE UP AS price > 100 AND price > PREV(price))""",
}

PROGRAM = """
import sys
from cerlab.spark import match, match_recognize, read, session
question, events, output, cores = sys.argv[1:]
frame = read(session(f"local[{cores}]"), events)
if question.startswith("MATCH_RECOGNIZE"):
    match_recognize(frame, question).write.parquet(output)
else:
    match(frame, question, position="id").write.parquet(output)
"""
"""A user's program, for the questions that ``cerlab spark`` does not answer."""

COMMANDS = {"sequence", "aggregate"}
"""The questions that ``cerlab spark`` answers."""

FILES, COLUMNS = 2_000, 200

LAYOUTS = ("files", "lake", "wide", "skewed")
"""2,000 files; 2,000 files with moments of INT96; 200 columns; half of the rows in one key."""


def measure_growth(events: int, cores: int) -> Iterator[Row]:
    """Measure each question on the events, on a sixteenth of them, and on the layouts of these."""
    few = max(1, events // TIMES)
    with TemporaryDirectory(prefix="cerlab-bench-") as temporary:
        folders = {n: ordered_streams(Path(temporary, str(n)), n) for n in (TINY, few, events)}
        for layout in LAYOUTS:
            write_layout(folders[few], layout)
        for name in QUESTIONS:
            yield from growth_of(name, folders, cores)


def growth_of(name: str, folders: Mapping[int, Path], cores: int) -> Iterator[Row]:
    """Measure one question on the folders by their number of events, of which the first is tiny.

    `growth` is the CPU per row over that of the fewer rows, for a layout over that of sorted rows.
    """
    tiny, *sizes = folders
    start = ask(name, folders[tiny] / SORTED, cores)
    first: dict[str, float] = {}
    for rows in (SORTED, UNSORTED, *LAYOUTS):
        for events in (n for n in sizes if (folders[n] / rows).exists()):
            cost = ask(name, folders[events] / rows, cores)
            cpu = (cost.cpu - start.cpu) / events * 1e6
            compared = first.setdefault(rows if rows == UNSORTED else SORTED, cpu)
            yield {
                "question": name,
                "rows": rows,
                "events": events,
                "cores": cores,
                "start_cpu": start.cpu,
                "cpu_of_million": cpu,
                "growth": cpu / compared,
                "memory": cost.memory,
                "memory_of_start": start.memory,
            }


def ask(name: str, place: Path, cores: int) -> Cost:
    """Ask a question of a folder of files, as a whole process."""
    question = QUESTIONS[name]
    if place.name == "lake":
        question = question.replace("[stock_time]", "SECONDS")
    with TemporaryDirectory(prefix="cerlab-bench-") as out:
        words = [sys.executable, "-c", PROGRAM, question, str(place), f"{out}/answers", str(cores)]
        if name in COMMANDS:
            words = [sys.executable, "-m", "cerlab", "spark", question, "--quiet"]
            words += ["--input", str(place), "--output", f"{out}/answers", "--position", "id"]
            words += ["--master", f"local[{cores}]"]
        return cost_of_tree(words)


def write_layout(folder: Path, layout: str) -> None:
    """Write the sorted rows of a folder in another layout, beside them."""
    (folder / layout).mkdir()
    table = pq.read_table(folder / SORTED)
    if layout == "lake":
        place = table.schema.get_field_index("stock_time")
        moments = pc.multiply(table["stock_time"], 1_000_000).cast(pa.timestamp("us"))
        table = table.set_column(place, "stock_time", moments)
    if layout == "wide":
        more = pa.array(np.random.default_rng(5).random(table.num_rows))
        for n in range(table.num_columns, COLUMNS):
            table = table.append_column(f"more{n}", more)
    if layout == "skewed":
        half = pa.array(np.arange(table.num_rows) % 2 == 0)
        names = pc.if_else(half, table["name"][0], table["name"])
        table = table.set_column(table.schema.get_field_index("name"), "name", names)
    step = -(-table.num_rows // FILES) if layout in ("files", "lake") else table.num_rows
    for n, begin in enumerate(range(0, table.num_rows, step)):
        part = table.slice(begin, step)
        pq.write_table(
            part,
            folder / layout / f"{n:05}.parquet",
            use_deprecated_int96_timestamps=layout == "lake",
        )
