"""An SQL engine: the package ``duckdb``, or a program that reads SQL from standard input.

    sql_child.py duckdb [PROGRAM]        sql_child.py psql PROGRAM_OR_CONNECTION

Nothing of cerlab is imported here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

if __package__:
    from cerlab.trial.children.line import Reply, serve
else:  # a program of its own
    from line import Reply, serve  # type: ignore[import-not-found,no-redef]

TYPES = {"g": "BIGINT", "t": "BIGINT", "x": "BIGINT", "s": "VARCHAR"}
PROBE = """SELECT * FROM (SELECT 1 AS x) AS T MATCH_RECOGNIZE (
    ORDER BY x MEASURES 1 AS m PATTERN (A) DEFINE A AS x = 1)"""
Run = Callable[[str], list[dict[str, Any]]]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A common table expression T with these rows."""
    names = [name for name in TYPES if not rows or name in rows[0]]
    selects = [
        "SELECT " + ", ".join(f"CAST({literal(row[n])} AS {TYPES[n]}) AS {n}" for n in names)
        for row in rows
    ] or ["SELECT " + ", ".join(f"CAST(NULL AS {TYPES[n]}) AS {n}" for n in names) + " WHERE 1 = 0"]
    return "WITH T AS (" + " UNION ALL ".join(selects) + ") "


def literal(value: object) -> str:
    """A value as SQL writes it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value)


def package() -> tuple[Callable[[], str], Run]:
    """The version and the runner of the package ``duckdb``."""
    import duckdb

    connection = duckdb.connect()

    def run(sql: str) -> list[dict[str, Any]]:
        result = connection.execute(sql)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    return lambda: str(duckdb.__version__), run


def program(words: list[str], template: str) -> tuple[Callable[[], str], Run]:
    """The version and the runner of a program; it prints the rows as JSON."""

    def run(sql: str) -> list[dict[str, Any]]:
        process = subprocess.run(
            words, input=template % sql + ";\n", capture_output=True, text=True
        )
        if process.returncode or "rror" in process.stderr:
            raise RuntimeError(
                " ".join(process.stderr.split()) or f"exit status {process.returncode}"
            )
        rows: list[dict[str, Any]] = json.loads(process.stdout.strip() or "[]") or []
        return rows

    def version() -> str:
        nothing = subprocess.DEVNULL
        command = [words[0], "--version"]
        process = subprocess.run(command, stdin=nothing, capture_output=True, text=True)
        return process.stdout.strip()

    return version, run


def runner(kind: str, place: str | None) -> tuple[Callable[[], str], Run]:
    """The engine that the arguments speak of."""
    if kind == "duckdb" and place is None:
        return package()
    assert place is not None
    if kind == "duckdb":
        return program([place, "-json", ":memory:"], "%s")
    words = ["psql", place] if "://" in place else [place]
    template = "SELECT coalesce(json_agg(q), '[]') FROM (%s) AS q"
    return program([*words, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"], template)


def main(kind: str, place: str | None = None) -> None:
    """Answer until standard input ends; an engine that has not the clause is absent."""
    runners: list[tuple[Callable[[], str], Run]] = []

    def engine() -> tuple[Callable[[], str], Run]:
        if not runners:  # a process that is started again gets a question at once
            runners.append(runner(kind, place))
        return runners[0]

    def version() -> str:
        number, run = engine()[0](), engine()[1]
        try:
            run(PROBE)
        except Exception as error:
            raise RuntimeError(f"{number} does not run MATCH_RECOGNIZE: {error}") from None
        return number

    def reply(question: Reply) -> Reply:
        try:
            return {"answers": engine()[1](table(question["rows"]) + question["query"])}
        except Exception as error:
            if "not implemented" in str(error).lower() or "not supported" in str(error).lower():
                return {"refused": str(error)[:400]}
            raise

    serve(version, reply)


if __name__ == "__main__":
    main(*sys.argv[1:])
