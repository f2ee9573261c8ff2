"""Queries that need nearly every kernel, so that each is compiled once, before the tests begin.

    python -m proofs_tests.kernels windows|registers

runs those of one family; what they compile is kept on disk (`cerlab.kernel_cache`), so later it
takes no time. A kernel that none of them needs is compiled by the test that does, and kept too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import cerlab

ROOT = Path(__file__).parents[1]

FEW = [
    {"type": kind, "name": name, "price": price, "volume": n, "t": n}
    for n, (kind, name, price) in enumerate(
        [("BUY", "X", 90.0), ("SELL", "X", 101.5), ("BUY", "Y", 300.0), ("SELL", "Y", 120.5)] * 3
    )
]
MANY = [{"type": "BUY", "name": "X", "price": 1.0, "volume": 1, "t": n} for n in range(99, 5_099)]

COMPARED = "(BUY AS b ; SELL AS s) FILTER b.price < s.price"
FAMILIES = {
    "windows": (
        "SELECT * WHERE BUY ; SELL WITHIN 5 EVENTS",
        "SELECT * WHERE BUY ; SELL FILTER BUY[price > 100] AND SELL[name = 'X'] WITHIN 6 EVENTS",
        "SELECT * WHERE BUY+ ; SELL WITHIN 4 [t] CONSUME BY ANY",
        "SELECT LAST * WHERE BUY ; SELL WITHIN 5 EVENTS",
        "SELECT LAST * WHERE BUY ; SELL WITHIN 5 EVENTS LIMIT 2",
        "SELECT * WHERE BUY ; SELL PARTITION BY [name] WITHIN 8 EVENTS",
        "SELECT * WHERE BUY+ ; SELL PARTITION BY [name] LIMIT 3",
    ),
    "registers": (
        f"SELECT * WHERE {COMPARED} WITHIN 5 EVENTS",
        f"SELECT * WHERE {COMPARED} LIMIT 2",
        "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B+) DEFINE B AS price > LAST(A.price))",
        "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B+) DEFINE B AS price > PREV(price))",
    ),
}
"""Queries over windows and over trees, which share most kernels; of registers and row patterns.

The two families take about as long as each other.
"""


def run(family: str) -> None:
    """List, count, sum up, take by number; few events, and so many that room is made."""
    for text in FAMILIES[family]:
        if text.startswith("SELECT"):
            run_query(cerlab.parse_query(text), family)
        else:
            cerlab.match_recognize(text, FEW, evaluator="compiled")


def run_query(query: cerlab.Query, family: str) -> None:
    evaluator: Literal["compiled", "registers"]
    evaluator = "registers" if family == "registers" else "compiled"
    cerlab.evaluate(query, FEW, evaluator=evaluator)
    matches = query.run(FEW)
    if matches.count():
        matches[0]
    matches.table(columns=["b.price"] if family == "registers" else None)
    session = query.open()
    session.push(FEW)
    query.open(state=session.state())
    if family == "windows":
        query.run(MANY).count()
        session.push(MANY)
        if query.ast.limit is None:
            query.run(MANY).aggregate()


JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether kernels are compiled here."""


def compile_all() -> list[str]:
    """All families side by side; the families that failed, after what they write themselves."""
    quietly = [sys.executable, "-W", "ignore", "-m", __name__]
    commands = {family: [*quietly, family] for family in FAMILIES}
    running = {name: subprocess.Popen(command, cwd=ROOT) for name, command in commands.items()}
    return [family for family, process in running.items() if process.wait()]


if __name__ == "__main__":
    run(sys.argv[1])
