"""Run by `test_worker_killed` in a separate process: commands with killed workers, as JSON.

Each line of standard input is a command and at which calls a worker dies (`mortal_daemon`); each
of standard output what became of it.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import cerlab
from cerlab.cli import main
from proofs_tests.spark import mortal_daemon
from proofs_tests.spark.streams import in_sink


def results(spark: Any, deaths: Path, command: list[str], at: list[int]) -> dict[str, Any]:
    """The exit status, the messages, how many workers died, and the answers that are there."""
    (deaths / "at").write_text(json.dumps(at))
    (deaths / "calls").write_bytes(b"")
    output = Path(command[command.index("--output") + 1])
    with redirect_stderr(io.StringIO()) as errors:
        status = main(command)
    kills = sum(n <= (deaths / "calls").stat().st_size for n in at)
    outcome = {
        "status": status,
        "said": errors.getvalue(),
        "died": kills,
        "there": output.exists(),
    }
    if status:
        return outcome
    if "--stream" in command:
        return outcome | {"answers": in_sink(spark, output.parent)}
    rows = spark.read.parquet(str(output)).collect()
    return outcome | {"answers": sorted((r["start"], r["end"], r["positions"]) for r in rows)}


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    os.environ["DEATHS"] = str(folder)
    settings = {
        "spark.python.daemon.module": mortal_daemon.__name__,
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "3",
    }
    session = cerlab.spark.session(sys.argv[1], settings, short_lived=True)
    for line in sys.stdin:
        print(json.dumps(results(session, folder, **json.loads(line))), flush=True)
