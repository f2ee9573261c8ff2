"""Questions that a user would ask DuckDB, whole processes on a file of Parquet; same answers.

Each engine has one thread. Times are CPU seconds of a process less those of its start, that is, of
one that asks a small file. ClickHouse (`chdb`) is asked where it is installed and has a function
for the question, polars where its SQL has one form of it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from proofs_tests.benchmarks.timing import Row

MINUTE, HOUR = 60_000, 3_600_000
DAY = 24 * HOUR
SMALL = 3_000
"""Events of the file by which the start of a process is measured."""


class Question(NamedTuple):
    """A question to events of a table: in CEQL or as a row pattern, and in the words of others.

    `ask` is what is done with the text; `others` are SQL by engine, ``{0}`` for the file.
    """

    ask: str
    text: str
    others: dict[str, str]
    table: str = "users"


_PAIR = """SELECT count(*) FROM '{{0}}' a JOIN '{{0}}' b
  ON {key} AND (b.ts > a.ts OR b.ts = a.ts AND b.id > a.id) AND b.ts <= a.ts + {width}
  WHERE a.type = '{a}' AND b.type = '{b}'"""


def _pair(a: str, b: str, width: int | str, key: str = "a.user = b.user", also: str = "") -> str:
    return _PAIR.format(a=a, b=b, width=width, key=key) + (f" AND {also}" if also else "")


QUESTIONS = {
    "who went LOGIN, CART, PAY in an hour": Question(
        "keys",
        f"SELECT * WHERE LOGIN ; CART ; PAY PARTITION BY [user] WITHIN {HOUR} [ts]",
        {
            "clickhouse": f"""SELECT countIf(level = 3) FROM (SELECT user, windowFunnel({HOUR})(
  toUInt64(ts), type = 'LOGIN', type = 'CART', type = 'PAY') AS level FROM file('{{0}}')
  GROUP BY user)""",
            "duckdb": f"""SELECT count(DISTINCT a.user) FROM '{{0}}' a JOIN '{{0}}' b
  ON a.user = b.user AND (b.ts > a.ts OR b.ts = a.ts AND b.id > a.id)
  JOIN '{{0}}' c ON a.user = c.user AND (c.ts > b.ts OR c.ts = b.ts AND c.id > b.id)
  AND c.ts <= a.ts + {HOUR}
  WHERE a.type = 'LOGIN' AND b.type = 'CART' AND c.type = 'PAY'""",
        },
    ),
    "all LOGIN, CART in ten minutes": Question(
        "count",
        f"SELECT * WHERE LOGIN ; CART PARTITION BY [user] WITHIN {10 * MINUTE} [ts]",
        {"duckdb": _pair("LOGIN", "CART", 10 * MINUTE)},
    ),
    "sessions with a gap of half an hour": Question(
        "rows",
        f"""MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts, id MEASURES COUNT(*) AS n
  PATTERN (s m*) DEFINE m AS ts <= PREV(ts) + {30 * MINUTE})""",
        {
            "duckdb": f"""SELECT count(*) FILTER (is_new OR is_new IS NULL) FROM (
  SELECT ts - lag(ts) OVER (PARTITION BY user ORDER BY ts, id) > {30 * MINUTE} AS is_new
  FROM '{{0}}')"""
        },
    ),
    "LOGIN and no PAY in an hour": Question(
        "waiting",
        f"SELECT * WHERE (LOGIN WAIT {HOUR} [ts]) UNLESS PAY PARTITION BY [user]",
        {
            "duckdb": f"""SELECT count(*) FROM '{{0}}' a WHERE type = 'LOGIN' AND NOT EXISTS (
  SELECT 1 FROM '{{0}}' b WHERE b.type = 'PAY' AND b.user = a.user
  AND (b.ts > a.ts OR b.ts = a.ts AND b.id > a.id) AND b.ts <= a.ts + {HOUR})"""
        },
    ),
    "five VIEWs in a row in an hour": Question(
        "count",
        f"SELECT * WHERE VIEW:{{5}} PARTITION BY [user] WITHIN {HOUR} [ts]",
        {
            "duckdb": f"""SELECT count(*) FROM (SELECT type = 'VIEW'
  AND lag(type, 1) OVER w = 'VIEW' AND lag(type, 2) OVER w = 'VIEW' AND lag(type, 3) OVER w = 'VIEW'
  AND lag(type, 4) OVER w = 'VIEW' AND ts - lag(ts, 4) OVER w <= {HOUR} AS is_row
  FROM '{{0}}' WINDOW w AS (PARTITION BY user ORDER BY ts, id)) WHERE is_row"""
        },
    ),
    "two large PAYs in ten seconds": Question(
        "count",
        """SELECT * WHERE PAY AS a ; PAY AS b FILTER a[amount > 99] AND b[amount > 99]
  WITHIN 10000 [ts]""",
        {
            "duckdb": """WITH p AS (SELECT ts, id FROM '{0}' WHERE type = 'PAY' AND amount > 99)
  SELECT count(*) FROM p a JOIN p b ON b.ts >= a.ts AND b.ts <= a.ts + 10000
  AND (b.ts > a.ts OR b.id > a.id)"""
        },
    ),
    "a PAY above an earlier one": Question(
        "count",
        f"""SELECT * WHERE PAY AS a ; PAY AS b FILTER b.amount > a.amount
  PARTITION BY [user] WITHIN {HOUR} [ts]""",
        {"duckdb": _pair("PAY", "PAY", HOUR, also="b.amount > a.amount")},
    ),
    "who came back after six hours": Question(
        "keys",
        f"""SELECT * WHERE LOGIN AS a ; LOGIN AS b FILTER b.ts - a.ts >= {6 * HOUR}
  PARTITION BY [user] WITHIN {7 * HOUR} [ts]""",
        {
            "duckdb": f"""SELECT count(DISTINCT a.user) FROM '{{0}}' a JOIN '{{0}}' b
  ON a.user = b.user AND b.ts BETWEEN a.ts + {6 * HOUR} AND a.ts + {7 * HOUR}
  WHERE a.type = 'LOGIN' AND b.type = 'LOGIN'"""
        },
    ),
    "the ten users with most LOGIN, CART": Question(
        "top",
        f"SELECT * WHERE LOGIN ; CART PARTITION BY [user] WITHIN {HOUR} [ts]",
        {
            "duckdb": f"""SELECT sum(n) FROM (SELECT count(*) AS n FROM '{{0}}' a JOIN '{{0}}' b
  ON a.user = b.user AND (b.ts > a.ts OR b.ts = a.ts AND b.id > a.id) AND b.ts <= a.ts + {HOUR}
  WHERE a.type = 'LOGIN' AND b.type = 'CART' GROUP BY a.user ORDER BY n DESC LIMIT 10)"""
        },
    ),
    "LOGIN, large CART, larger PAY": Question(
        "count",
        f"""SELECT * WHERE LOGIN ; CART AS c ; PAY AS p
  FILTER c[amount > 50] AND p.amount > c.amount
  PARTITION BY [user] WITHIN {HOUR} [ts]""",
        {
            "duckdb": f"""SELECT count(*) FROM '{{0}}' a JOIN '{{0}}' b
  ON a.user = b.user AND (b.ts > a.ts OR b.ts = a.ts AND b.id > a.id)
  JOIN '{{0}}' c ON a.user = c.user AND (c.ts > b.ts OR c.ts = b.ts AND c.id > b.id)
  AND c.ts <= a.ts + {HOUR} AND c.amount > b.amount
  WHERE a.type = 'LOGIN' AND b.type = 'CART' AND b.amount > 50 AND c.type = 'PAY'"""
        },
    ),
    "LOGIN, CART of as many users as half of the rows": Question(
        "count",
        f"SELECT * WHERE LOGIN ; CART PARTITION BY [user] WITHIN {HOUR} [ts]",
        {"duckdb": _pair("LOGIN", "CART", HOUR)},
        "many",
    ),
    "LOGIN, CART by moments": Question(
        "count",
        "SELECT * WHERE LOGIN ; CART PARTITION BY [user] WITHIN 10 MINUTES",
        {"duckdb": _pair("LOGIN", "CART", "INTERVAL 10 MINUTES")},
        "moments",
    ),
    "LOGIN, CART by country and user": Question(
        "count",
        f"SELECT * WHERE LOGIN ; CART PARTITION BY [country, user] WITHIN {10 * MINUTE} [ts]",
        {
            "duckdb": _pair(
                "LOGIN", "CART", 10 * MINUTE, "a.user = b.user AND a.country = b.country"
            )
        },
        "countries",
    ),
    "a PAY above an earlier one, in decimals": Question(
        "count",
        f"""SELECT * WHERE PAY AS a ; PAY AS b FILTER b.amount > a.amount
  PARTITION BY [user] WITHIN {HOUR} [ts]""",
        {"duckdb": _pair("PAY", "PAY", HOUR, also="b.amount > a.amount")},
        "decimals",
    ),
    "PAYs above 99": Question(
        "count",
        "SELECT * WHERE PAY AS p FILTER p[amount > 99]",
        {
            "duckdb": "SELECT count(*) FROM '{0}' WHERE type = 'PAY' AND amount > 99",
            "polars": "SELECT count(*) FROM self WHERE type = 'PAY' AND amount > 99",
        },
    ),
}
"""The questions by name: seven of a shop's log, and others of its kind."""

_PACKAGES = {"duckdb": "duckdb", "clickhouse": "chdb", "polars": "polars"}
_LEAST = 0.01
"""CPU seconds that are not told from the noise of starting a process."""


def table_of(name: str, rows: int) -> Any:
    """Return a day of a shop's log, in order of time.

    `name` is ``users`` (one in a hundred rows, integers), ``many`` (one in two), ``moments``,
    ``countries`` (two columns name a user) or ``decimals``.
    """
    random = np.random.default_rng(1)
    users = max(1, rows // (2 if name == "many" else 100))
    kinds = random.choice(4, rows, p=[0.85, 0.08, 0.05, 0.02])
    user, ts = random.integers(0, users, rows), np.sort(random.integers(0, DAY, rows))
    cents = random.integers(0, 10_000, rows)
    columns = {
        "type": np.array(["VIEW", "LOGIN", "CART", "PAY"])[kinds],
        "id": np.arange(rows),
        "user": user,
        "ts": ts.astype("datetime64[ms]") if name == "moments" else ts,
        "amount": cents / 100,
    }
    if name == "countries":
        columns["country"] = np.array(["de", "fr", "cl", "jp"])[user % 4]
        columns["user"] = user // 4
    table = pa.table({column: pa.array(values) for column, values in columns.items()})
    if name == "decimals":
        at = table.column_names.index("amount")
        amounts = table["amount"].cast(pa.decimal128(10, 2))
        table = table.set_column(at, "amount", amounts)
    return table


def engines_of(question: Question) -> dict[str, str]:
    """Return the texts of a question by engine, of those that are installed."""
    others = question.others.items()
    installed = {e: text for e, text in others if importlib.util.find_spec(_PACKAGES[e])}
    return {"cerlab": question.text, **installed}


def measure_questions(rows: int, runs: int) -> Iterator[Row]:
    """Yield for each question and each other engine the medians of CPU seconds, and their ratio.

    Raises AssertionError where answers differ.
    """
    with TemporaryDirectory() as folder:
        # as users have it, Python keeps the bytecode of modules
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        environment |= {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}
        run = partial(_process, environment=environment)
        files: dict[str, str] = {}
        for name, question in QUESTIONS.items():
            for each in (question.table, f"small {question.table}"):
                if each not in files:
                    files[each] = str(Path(folder) / f"{each}.parquet")
                    size = SMALL if each.startswith("small") else rows
                    parquet.write_table(table_of(question.table, size), files[each])
            commands = {
                engine: [engine, question.ask, text]
                for engine, text in engines_of(question).items()
            }
            seconds: dict[str, float] = {}
            answers: dict[str, str] = {}
            for engine, command in commands.items():
                small = [run([*command, files[f"small {question.table}"]]) for _ in range(runs + 1)]
                whole = [run([*command, files[question.table]]) for _ in range(runs)]
                (answers[engine],) = {answer for answer, _ in whole}
                # the first process compiles what the others load
                start = median(cpu for _, cpu in small[1:])
                seconds[engine] = max(median(cpu for _, cpu in whole) - start, _LEAST)
            for engine in answers:
                assert answers[engine] == answers["cerlab"], (name, answers)
                if engine != "cerlab":
                    yield {
                        "question": name,
                        "rows": rows,
                        "answer": answers[engine],
                        "cpu": seconds["cerlab"],
                        "against": engine,
                        "cpu_against": seconds[engine],
                        "ratio": seconds["cerlab"] / seconds[engine],
                    }


def _process(question: list[str], *, environment: dict[str, str]) -> tuple[str, float]:
    """Return the answer to a question, and the CPU seconds of its process."""
    command = [sys.executable, "-m", "proofs_tests.benchmarks.question_child", *question]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(question)} ended with {process.returncode}")
    return printed.strip(), usage.ru_utime + usage.ru_stime
