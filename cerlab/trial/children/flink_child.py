"""Flink SQL in an interpreter that has ``apache-flink``. Nothing of cerlab is imported here.

The tables of a batch are rows of one file, told apart by their number c; each query is one operator
that has the tables it is asked on as partitions, and all are one job.
"""

from __future__ import annotations

import json
import logging
import os
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if __package__:
    from cerlab.trial.children.line import Reply, serve
else:  # a program of its own
    from line import Reply, serve  # type: ignore[import-not-found,no-redef]

OPTIONS = {
    "parallelism.default": "1",
    "rest.bind-port": "0",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "table.exec.resource.default-parallelism": "1",
}
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A job of a trial is over before code that is optimised for long would be compiled."""
REFUSALS = (
    "not supported",
    "not allowed",
    "doesn't support",
    "Unsupported",
    "No match found for function",
    "MalformedPatternException",
)


class Flink:
    """A table environment, and the folder of its files."""

    def __init__(self, folder: str) -> None:
        from pyflink.table import (  # type: ignore[import-not-found]
            EnvironmentSettings,
            TableEnvironment,
        )

        self.environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        for name, value in OPTIONS.items():
            self.environment.get_config().set(name, value)
        self.folder, self.numbers = Path(folder), count()

    def rows(self, questions: list[Reply]) -> list[list[dict[str, Any]]]:
        """The rows that each question has, by one job."""
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
        """A new table with the rows of all questions; its time is t in milliseconds."""
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
        """Replies to a batch; where the job fails, to each half of it."""
        try:
            return [{"answers": rows} for rows in self.rows(questions)]
        except Exception as error:
            if len(questions) > 1:
                half = len(questions) // 2
                return [*self.replies(questions[:half]), *self.replies(questions[half:])]
            return [failure(f"{type(error).__name__}: {error}")]


def failure(text: str) -> Reply:
    """Return a refusal by the planner, else a crash, with the innermost cause.

    Where there is one exception only, its line begins with a colon.
    """
    lines = [line.strip() for line in text.splitlines()]
    causes = [line for line in lines if line.startswith(("Caused by:", ": "))] or lines[:1]
    message = causes[-1].removeprefix("Caused by").lstrip(": ")[:400]
    is_refusal = any(word in text for word in REFUSALS) or "ValidationException" in text
    return {"refused" if is_refusal else "crash": message}


def plain(value: str | None) -> object:
    """A value of a column that was cast to text."""
    if value is None:
        return None
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def main() -> None:
    """Answer until standard input ends."""
    logging.disable(logging.WARNING)
    os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA)
    with TemporaryDirectory(prefix="cerlab-flink-") as folder:
        environments: list[Flink] = []

        def flink() -> Flink:
            if not environments:  # a process that is started again gets a batch at once
                environments.append(Flink(folder))
            return environments[0]

        def version() -> str:
            from importlib.metadata import version as installed

            flink()
            return installed("apache-flink")

        def reply(question: Reply) -> Reply:
            if "batch" in question:
                return {"batch": flink().replies(question["batch"])}
            return flink().replies([question])[0]

        serve(version, reply)


if __name__ == "__main__":
    main()
