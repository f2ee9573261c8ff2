"""Programs for the processes of engines; the command names this file and one of its functions.

    children.py cerlab | pandas-match-recognize | pycer | flink
    children.py duckdb [PROGRAM]        children.py psql PROGRAM_OR_CONNECTION

Each answers lines of JSON. Only cerlab's own program imports cerlab, and an engine is imported
only by the program that runs it: this file also runs in interpreters without them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir
from importlib.metadata import version as installed
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Reply = dict[str, Any]


def serve(version: Callable[[], str], reply: Callable[[Reply], Reply]) -> None:
    """Answer requests until standard input ends.

    `version` raises any error if the engine is missing. An error of `reply` counts as a crash of
    the engine.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            message = {"version": version()} if "hello" in question else reply(question)
        except Exception as error:
            how = f"{type(error).__name__}: {error}".splitlines()[0][:400]
            message = {"absent" if "hello" in question else "crash": how}
        print(json.dumps(message, default=str), file=out, flush=True)


def ours() -> None:
    """Serve cerlab by the evaluators that users run, not by the reference."""
    from cerlab import Stream, __version__
    from cerlab.api import evaluate, parse_query
    from cerlab.errors import Unsupported
    from cerlab.rows.recognise import match_recognize, parse_rows
    from cerlab.trial.languages import arrow

    def reply(question: Reply) -> Reply:
        try:
            if "rows" in question:
                rows = parse_rows(question["query"])
                return {"answers": match_recognize(rows, arrow(question["rows"])).to_pylist()}
            stream = Stream.from_events(question["events"], time="t", unit="s")
            answers = evaluate(parse_query(question["query"]), stream)
        except Unsupported as error:
            return {"refused": error.message}
        return {
            "answers": [
                {"start": m.start, "end": m.end, "positions": list(m.positions)} for m in answers
            ]
        }

    serve(lambda: __version__, reply)


# pandas-match-recognize

COLUMNS = ("g", "t", "x", "s")
PANDAS_REFUSALS = ("not supported", "Failed to parse query")


def pandas_reply(question: Reply) -> Reply:
    """Return the rows of a result, in which integers may be floats, and NULL may be NaN."""
    import pandas as pd  # type: ignore[import-untyped,unused-ignore] # has no types here
    from match_recognize import match_recognize  # type: ignore[import-not-found] # optional

    rows = question["rows"]
    frame = pd.DataFrame(rows, columns=[c for c in COLUMNS if not rows or c in rows[0]])
    try:
        result = match_recognize(question["query"], frame)
    except Exception as error:
        if any(words in str(error) for words in PANDAS_REFUSALS):
            return {"refused": str(error)[:400]}
        raise
    result = result.astype(object).where(result.notna(), None)
    return {
        "answers": [{k: scalar(v) for k, v in row.items()} for row in result.to_dict("records")]
    }


def scalar(value: object) -> object:
    """Return a value as one that JSON supports."""
    return value.item() if hasattr(value, "item") else value


# CORE's package pycer

ATTRIBUTES = ("id", "v", "w", "k", "t")
ATTRIBUTE_TYPES = ", ".join(f"{name}:int" for name in ATTRIBUTES)
EVENTS = ", ".join(f"EVENT {kind} {{ {ATTRIBUTE_TYPES} }}" for kind in "ABC")
DECLARATION = f"CREATE STREAM S {{ {EVENTS} }}"


def pycer_reply(question: Reply) -> Reply:
    """Return answers by their positions, which are the first attribute of each event."""
    import pycer  # type: ignore[import-not-found] # optional

    server = pycer.PyOfflineServer()
    kinds = {event.name: event.id for event in server.declare_stream(DECLARATION).events_info}
    try:
        server.add_query(question["query"])
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"[:400]}
    events = []
    for i, event in enumerate(question["events"]):
        values = [i, *(event[name] for name in ATTRIBUTES[1:])]
        numbers = [pycer.PyIntValue(value) for value in values]
        time = pycer.PyIntValue(event["t"] * 10**9 if question["timed"] else i)
        events.append(pycer.PyEvent(kinds[event["type"]], numbers, time))
    server.send_events(events)
    return {
        "answers": [{"positions": positions(line)} for line in answer_lines(server.get_output())]
    }


def answer_lines(text: str) -> list[str]:
    """Return the lines of an output that contain answers."""
    return [line for line in text.splitlines() if line.strip()]


def positions(line: str) -> list[int]:
    """Return the event numbers in a line such as ``[0,2], ((id: 0 attributes: [0 1 ]) ..)``."""
    return [int(number) for number in re.findall(r"attributes: \[(-?\d+)", line)]


def pycer() -> None:
    """Serve ``pycer`` in a temporary folder, since it writes log files where it runs."""

    def version() -> str:
        import pycer  # noqa: F401 # a package that cannot be imported is absent

        return installed("pycer")

    with TemporaryDirectory(prefix="cerlab-pycer-") as folder, chdir(folder):
        serve(version, pycer_reply)


# Flink SQL: one job evaluates a batch. Its tables are rows of one file, and their number is the
# column c; each query is one operator, with its tables as partitions.

FLINK_OPTIONS = {
    "parallelism.default": "1",
    "rest.bind-port": "0",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "table.exec.resource.default-parallelism": "1",
}
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java: a job of a trial ends before optimised compilation would pay off."""
FLINK_REFUSALS = (
    "not supported",
    "not allowed",
    "doesn't support",
    "Unsupported",
    "No match found for function",
    "MalformedPatternException",
)


class Flink:
    """A table environment of Flink, and the folder of its files."""

    def __init__(self, folder: str) -> None:
        from pyflink.table import (  # type: ignore[import-not-found] # optional
            EnvironmentSettings,
            TableEnvironment,
        )

        self.environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        for name, value in FLINK_OPTIONS.items():
            self.environment.get_config().set(name, value)
        self.folder, self.numbers = Path(folder), count()

    def rows(self, questions: list[Reply]) -> list[list[dict[str, Any]]]:
        """Return the result rows of each question, computed by one job."""
        name, path = self.table(questions)
        cases_of_query: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for c, question in enumerate(questions):
            cases_of_query.setdefault((question["query"], tuple(question["columns"])), []).append(c)
        width = max(len(columns) for _, columns in cases_of_query)
        parts = []
        for (query, columns), cases in cases_of_query.items():
            casts = [f"CAST(`{column}` AS STRING)" for column in columns]
            fields = casts + ["CAST(NULL AS STRING)"] * (width - len(casts))
            numbers = ", ".join(map(str, cases))
            parts.append(
                f"SELECT c, {', '.join(fields)} FROM "
                f"(SELECT * FROM {name} WHERE c IN ({numbers})) {query}"
            )
        answers: list[list[dict[str, Any]]] = [[] for _ in questions]
        try:
            for row in self.environment.execute_sql(" UNION ALL ".join(parts)).collect():
                c, *values = row
                columns = questions[c]["columns"]
                answers[c].append({n: plain(v) for n, v in zip(columns, values, strict=False)})
        finally:
            self.environment.execute_sql(f"DROP TABLE {name}")
            path.unlink()
        return answers

    def table(self, questions: list[Reply]) -> tuple[str, Path]:
        """Return a new table with the rows of all questions, and its path; its time is t in ms."""
        number = next(self.numbers)
        path = self.folder / f"rows{number}.csv"
        with open(path, "w") as file:
            for c, question in enumerate(questions):
                for row in question["rows"]:
                    values = [c, *(row[name] for name in "gtxs")]
                    file.write(",".join("~" if v is None else str(v) for v in values) + "\n")
        self.environment.execute_sql(
            f"""CREATE TABLE T{number} (c INT, g BIGINT, t BIGINT, x BIGINT, s STRING,
                ts AS TO_TIMESTAMP_LTZ(t, 3), WATERMARK FOR ts AS ts)
            WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv',
                'csv.null-literal' = '~')"""
        )
        return f"T{number}", path

    def replies(self, questions: list[Reply]) -> list[Reply]:
        """Return the replies to a batch; if the job fails, to each half of it."""
        try:
            return [{"answers": rows} for rows in self.rows(questions)]
        except Exception as error:
            if len(questions) > 1:
                half = len(questions) // 2
                return [*self.replies(questions[:half]), *self.replies(questions[half:])]
            return [failure(f"{type(error).__name__}: {error}")]


def failure(text: str) -> Reply:
    """Return a refusal if the planner failed, otherwise a crash, with the innermost cause.

    A single exception has a line that begins with a colon.
    """
    lines = [line.strip() for line in text.splitlines()]
    causes = [line for line in lines if line.startswith(("Caused by:", ": "))] or lines[:1]
    message = causes[-1].removeprefix("Caused by").lstrip(": ")[:400]
    is_refusal = any(word in text for word in FLINK_REFUSALS) or "ValidationException" in text
    return {"refused" if is_refusal else "crash": message}


def plain(value: str | None) -> object:
    """Return the value of a column that was cast to text."""
    if value is None:
        return None
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def flink() -> None:
    """Serve Flink SQL."""
    logging.disable(logging.WARNING)
    os.environ.setdefault("JAVA_TOOL_FLINK_OPTIONS", JAVA)
    with TemporaryDirectory(prefix="cerlab-flink-") as folder:
        environments: list[Flink] = []

        def engine() -> Flink:
            if not environments:  # after a restart, nobody asks for the version first
                environments.append(Flink(folder))
            return environments[0]

        def version() -> str:
            engine()
            return installed("apache-flink")

        def reply(question: Reply) -> Reply:
            if "batch" in question:
                return {"batch": engine().replies(question["batch"])}
            return engine().replies([question])[0]

        serve(version, reply)


# SQL engines: the package duckdb, or a program that reads SQL from standard input

TYPES = {"g": "BIGINT", "t": "BIGINT", "x": "BIGINT", "s": "VARCHAR"}
PROBE = """SELECT * FROM (SELECT 1 AS x) AS T MATCH_RECOGNIZE (
    ORDER BY x MEASURES 1 AS m PATTERN (A) DEFINE A AS x = 1)"""
Run = Callable[[str], list[dict[str, Any]]]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return an SQL table expression T with these rows."""
    names = [name for name in TYPES if not rows or name in rows[0]]
    selects = [
        "SELECT " + ", ".join(f"CAST({literal(row[n])} AS {TYPES[n]}) AS {n}" for n in names)
        for row in rows
    ] or ["SELECT " + ", ".join(f"CAST(NULL AS {TYPES[n]}) AS {n}" for n in names) + " WHERE 1 = 0"]
    return "WITH T AS (" + " UNION ALL ".join(selects) + ") "


def literal(value: object) -> str:
    """Return a value as an SQL literal."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value)


def package() -> tuple[Callable[[], str], Run]:
    """Return the version and the runner of the package ``duckdb``."""
    import duckdb

    connection = duckdb.connect()

    def run(query: str) -> list[dict[str, Any]]:
        result = connection.execute(query)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    return lambda: str(duckdb.__version__), run


def program(words: list[str], template: str) -> tuple[Callable[[], str], Run]:
    """Return the version and the runner of a program; it prints the rows as JSON."""

    def run(query: str) -> list[dict[str, Any]]:
        process = subprocess.run(
            words, input=template % query + ";\n", capture_output=True, text=True
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
    """Return the version and the runner of an engine, by kind and place of its program."""
    if kind == "duckdb" and place is None:
        return package()
    assert place is not None
    if kind == "duckdb":
        return program([place, "-json", ":memory:"], "%s")
    words = ["psql", place] if "://" in place else [place]
    template = "SELECT coalesce(json_agg(q), '[]') FROM (%s) AS q"
    return program([*words, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"], template)


def sql(kind: str, place: str | None = None) -> None:
    """Serve an SQL engine; an engine without MATCH_RECOGNIZE counts as absent."""
    runners: list[tuple[Callable[[], str], Run]] = []

    def engine() -> tuple[Callable[[], str], Run]:
        if not runners:  # after a restart, nobody asks for the version first
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


PROGRAMS: dict[str, Callable[[], None]] = {
    "cerlab": ours,
    "pandas-match-recognize": lambda: serve(
        lambda: installed("pandas-match-recognize"), pandas_reply
    ),
    "pycer": pycer,
    "flink": flink,
}

if __name__ == "__main__":
    del sys.path[0]  # the folder's modules would hide an engine's modules of the same name
    name, *places = sys.argv[1:]
    PROGRAMS[name]() if name in PROGRAMS else sql(name, *places)
