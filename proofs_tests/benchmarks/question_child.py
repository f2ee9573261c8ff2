"""A process that asks one engine one question: ``question_child.py ENGINE ASK TEXT FILE``."""

from __future__ import annotations

import sys
import warnings
from typing import Any


def answer(engine: str, ask: str, text: str, file: str) -> str:
    """Return the answer of an engine, on one thread, to a question about a file of Parquet."""
    match engine:
        case "duckdb":
            import duckdb

            connection = duckdb.connect()
            connection.execute("SET threads = 1")
            connection.execute("SET enable_progress_bar = false")
            row: Any = connection.execute(text.format(file)).fetchone()
            return str(row[0])
        case "clickhouse":
            import chdb

            return str(chdb.query(f"{text.format(file)} SETTINGS max_threads = 1", "CSV")).strip()
        case "polars":
            import polars

            return str(polars.scan_parquet(file).sql(text).collect().item())
    return _ours(ask, text, file)


def _ours(ask: str, text: str, file: str) -> str:
    import cerlab

    warnings.simplefilter("ignore")
    match ask:
        case "rows":
            return str(cerlab.match_recognize(text, file).num_rows)
        case "keys" | "top":
            totals = cerlab.parse_query(text).run(file).aggregate(count=True, group_by="key")
            counts = sorted(totals["count"].to_pylist())
            return str(len(counts) if ask == "keys" else sum(counts[-10:]))
        case "waiting":
            return str(cerlab.count(text, file, until="end"))
    return str(cerlab.count(text, file))


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
