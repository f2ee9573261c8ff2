"""Commands that fail, one after the other in a process of their own, and what each says.

    python -m proofs_tests.spark.over_faults FOLDER

prints a JSON object of the exit status and standard error of each, by name. The first command
starts Spark, and standard error is that of the process: what Java writes would be in it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from cerlab.cli import main
from cerlab.spark import first_pass as passes

ROWS = 40
QUERY = "SELECT * WHERE A AS a ; B FILTER a[v >= 0] WITHIN 3 [t]"
KEYED = QUERY.replace("WITHIN", "PARTITION BY [k] WITHIN")


def table(first: int = 0, **changed: Any) -> Any:
    """Events in order, with two keys."""
    numbers = range(first, first + ROWS)
    columns = {
        "type": ["AB"[n % 2] for n in numbers],
        "k": [n // 2 % 2 for n in numbers],
        "v": list(numbers),
        "t": [n // 2 for n in numbers],
        "id": list(numbers),
    }
    return pa.table({name: column for name, column in (columns | changed).items() if column})


def folder(place: Path, *tables: Any) -> str:
    """A folder of Parquet files."""
    place.mkdir(parents=True)
    for n, each in enumerate(tables):
        pq.write_table(each, place / f"{n}.parquet")
    return str(place)


def second(**changed: Any) -> Any:
    return table(ROWS, **changed)


def broken(place: Path, keep: slice, fill: bytes = b"") -> str:
    """A folder whose second file has other bytes."""
    folder(place, table(), second())
    content = (place / "1.parquet").read_bytes()
    (place / "1.parquet").write_bytes(fill + content[keep])
    return str(place)


def faults(place: Path) -> Iterator[tuple[str, list[str]]]:
    """The arguments of each command, by name."""
    good = folder(place / "good", table(), second())
    missing = list(range(ROWS))
    missing[7] = None  # type: ignore[call-overload]
    position, order = ["--position", "id"], ["--order-by", "t,id"]
    stream = [*position, "--stream", "--lateness", "9"]
    text = place / "text.csv"
    text.write_text("type,v,t,id\nA,1,1,1\nB,2,2\n")
    (place / "nothing").mkdir()
    (place / "there").mkdir()
    yield "ties", [QUERY, good, "--order-by", "t"]
    yield "ties in tasks", [QUERY, folder(place / "unsorted", second(), table()), "--order-by", "k"]
    yield "NULL", [QUERY, folder(place / "null", table(t=missing)), *order]
    yield "a short row in CSV", [QUERY, str(text), *position]
    texts = [str(n) for n in range(ROWS)]
    yield "text as position", [QUERY, folder(place / "text", table(id=texts)), *position]
    yield "no such column", [QUERY, good, "--order-by", "tt,id"]
    yield "column of one file", [KEYED, folder(place / "lacks", table(), second(v=[])), *position]
    floats = [float(n) for n in range(ROWS)]
    types = folder(place / "types", table(), second(v=floats))
    yield "two types", [QUERY, types, *position]
    yield "no attribute", [QUERY.replace("[v", "[w"), good, *position]
    yield "broken", [QUERY, broken(place / "half", slice(0, 400)), *position]
    yield "empty", [QUERY, broken(place / "empty", slice(0, 0)), *position]
    damage = broken(place / "damaged", slice(600, None), bytes(600))
    yield "damaged", [QUERY, damage, *position]
    yield "damaged by Spark", [KEYED, damage, *position, "--mode", "keys"]
    yield "no input", [QUERY, str(place / "nowhere"), *position]
    yield "no files", [QUERY, str(place / "nothing"), *position]
    yield "output there", [QUERY, good, *position, "--output", str(place / "there")]
    for name, query in (("gone", QUERY), ("gone by Spark", KEYED)):
        mode = [] if query == QUERY else ["--mode", "keys"]
        yield name, [query, folder(place / name, table(), second()), *position, *mode]
    yield "a repeated row in a stream", [QUERY, folder(place / "again", table(), table()), *stream]
    yield "a NULL in a stream", [QUERY, folder(place / "NULL", table(t=missing)), *stream]
    checkpoint = ["--checkpoint", str(place / "checkpoint")]
    for name in ("the first start of a stream", "another output of a stream"):
        yield name, [KEYED, good, *stream, *checkpoint]
    changed = folder(place / "changed", table(), second())
    yield "changed", [QUERY, changed, *position]
    yield "Java ends", [QUERY, good, *position]


@contextmanager
def after_first_pass(act: Callable[[], None]) -> Iterator[None]:
    """Between the first look at the files and the answers something happens."""
    first = passes.first_pass

    def both(request: Any) -> Any:
        found = first(request)
        act()
        return found

    with patch.object(passes, "first_pass", both):
        yield


def end_java() -> None:
    for each in psutil.Process().children(recursive=True):
        if each.name() == "java":
            each.kill()


def interference(name: str, events: str) -> Callable[[], None]:
    """What happens during a command."""
    last = Path(events, "1.parquet")
    if name.startswith("gone"):
        return last.unlink
    if name == "changed":
        return lambda: pq.write_table(table(7 * ROWS), last)
    return end_java if name == "Java ends" else lambda: None


def run(name: str, words: list[str], place: Path) -> tuple[int, str]:
    """Run a command: its exit status, and all that stands on standard error."""
    query, events, *options = words
    if "--output" not in options:
        options += ["--output", str(place / f"answers of {name}")]
    said = place / "said"
    with said.open("w+b") as file:
        ours = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            with after_first_pass(interference(name, events)):
                status = main(["spark", query, "--input", events, "--parts", "2", *options])
        finally:
            sys.stderr.flush()
            os.dup2(ours, 2)
            os.close(ours)
    return status, said.read_text()


if __name__ == "__main__":
    at = Path(sys.argv[1])
    print(json.dumps({name: run(name, words, at) for name, words in faults(at)}))
