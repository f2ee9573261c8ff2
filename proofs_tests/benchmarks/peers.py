"""Other engines beside ours: CORE by its Python package, Flink SQL on row patterns.

CORE's package ``pycer`` wants a Python of its own (3.13), so `pycer_child.py` runs there and talks
in lines of JSON. Its time begins when events, made before, are handed over, and ends when the
answers are back as one text. So its figures include a copy of each event and the printing of each
answer, which the program in C++ alone does not need: for queries without output they are nearer to
its own. Its ``WITHIN n [attribute]`` is strict where ours is inclusive: it is asked for n + 1, the
same for integers. Its selection strategies parse and do nothing, so the counts differ there.

Flink reads tables from files of CSV, which takes longer than what it does with them; so the same
file is also read without the clause. Its planner refuses two of the four patterns.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv as pa_csv

from cerlab import Query, Schema, UsageError
from cerlab.fuzz.engines import Failure, ServerProcess
from cerlab.logic.ceql.parser import schema_text
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.clauses import AttributeWindow
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.engine import FEW
from proofs_tests.benchmarks.timing import Row, Seconds, medians

PYTHON = "python3.13"
MOST_ANSWERS = 2_000_000
"""A query with more answers is not sent to CORE, whose package gives all of them as one text."""

FLINK_SECONDS = 1_200.0
"""Time limit of Flink for all of its benchmarks."""

_HERE = Path(__file__).resolve().parent
_PYCER = ("cpu", "cpu_spread", "wall", "wall_spread", "result", "times", "times_wall", "error")
_FLINK = ("cpu", "wall", "reading", "result", "times", "error")


class Core:
    """A running child with the events of one stream."""

    def __init__(self, stream: Stream, schema: Schema, python: str | None = None) -> None:
        """Start it; raises OSError where the interpreter or the package is missing."""
        self._python = _program(python or PYTHON)
        with ExitStack() as resources:
            folder = Path(resources.enter_context(TemporaryDirectory(prefix="cerlab-bench-")))
            (folder / "declaration.txt").write_text(schema_text(schema))
            _write_events(stream, schema, folder / "events.csv")
            self._log = resources.enter_context(open(folder / "log.txt", "w+"))
            words = [self._python, str(_HERE / "pycer_child.py"), str(folder)]
            # the package writes its log files where it runs
            self._child = ServerProcess(words, None, log=self._log, folder=folder)
            resources.callback(self._child.stop)
            if "error" in (reply := self._exchange({})):
                raise self._missing(reply["error"])
            self._resources = resources.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def measure(self, query: Query, ours: Row) -> Row:
        """Measure a query on the events that `ours` is of; raises OSError if the child dies."""
        if ours["answers"] > MOST_ANSWERS:
            return _row("pycer", _PYCER, error=f"not run: more than {MOST_ANSWERS:,} answers")
        reply = self._exchange({"query": strict_text(query), "runs": min(FEW, ours["runs"])})
        if "error" in reply:
            return _row("pycer", _PYCER, error=reply["error"])
        figures = medians([Seconds(*each) for each in reply["seconds"]])
        times = {
            "times": figures["cpu"] / ours["cpu"],
            "times_wall": figures["wall"] / ours["wall"],
        }
        return _row("pycer", _PYCER, result=reply["answers"], **figures, **times)

    def _exchange(self, question: object) -> Row:
        try:
            line = self._child.exchange(question, None)
        except UsageError as error:
            raise self._missing(error.message) from None
        if isinstance(line, Failure):
            self._log.seek(0)
            raise self._missing((self._log.read().strip().splitlines() or ["it said nothing"])[-1])
        reply: Row = json.loads(line)
        return reply

    def _missing(self, why: str) -> OSError:
        return OSError(f"'{self._python}' cannot run CORE ({why}): pip install pycer there")


def _program(name: str) -> str:
    """Return the absolute path of a program; raises OSError where it is not found."""
    if (path := shutil.which(name)) is None:
        raise OSError(f"there is no program '{name}'; --pycer-python or --flink-python names one")
    return str(Path(path).absolute())  # it runs in another folder


def _row(engine: str, names: tuple[str, ...], **figures: Any) -> Row:
    """Return figures of another engine under its name; `times` is how much faster ours is."""
    return {f"{engine}_{name}": figures.get(name) for name in names}


def strict_text(query: Query) -> str:
    """Return a query for an engine whose WITHIN n [attribute] is strict, on integers.

    Raises OSError for windows of other kinds.

    >>> from cerlab.api import parse_query
    >>> print(strict_text(parse_query("SELECT * WHERE A ; B WITHIN 10 [t]")))
    SELECT *
    WHERE A ; B
    WITHIN 11 [t]
    """
    match query.ast.window:
        case AttributeWindow(int() as width, attribute):
            return query_text(replace(query.ast, window=AttributeWindow(width + 1, attribute)))
        case None:
            return query_text(query.ast)
        case _:
            raise OSError("only windows of whole numbers can be made strict")


def _write_events(stream: Stream, schema: Schema, path: Path) -> None:
    """Write one line for each event: its type, and the attributes in the order of declaration."""
    names = {e.name: [a.name for a in e.attributes] for s in schema.streams for e in s.events}
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        for batch in pa.table(dict(stream.columns)).to_batches(max_chunksize=1 << 16):
            columns = batch.to_pydict()
            for row, kind in enumerate(columns["type"]):
                writer.writerow([kind, *(columns[name][row] for name in names[kind])])


def flink(clauses: Mapping[str, str], tables: Mapping[str, Any], python: str | None) -> list[Row]:
    """Run clauses on their tables in an interpreter that has ``apache-flink``.

    A reply has figures, or an ``error``.
    """
    with TemporaryDirectory(prefix="cerlab-bench-") as folder:
        for name, table in tables.items():
            options = pa_csv.WriteOptions(include_header=False)
            pa_csv.write_csv(table, Path(folder) / f"{name}.csv", options)
        questions = [
            {"file": f"{name}.csv", "columns": tables[name].column_names, "clause": clause}
            for name, clause in clauses.items()
        ]
        try:
            process = subprocess.run(
                [_program(python or "python3"), str(_HERE / "flink_child.py"), folder],
                input=json.dumps(questions),
                capture_output=True,
                text=True,
                timeout=FLINK_SECONDS,
            )
            error = (process.stderr.strip().splitlines() or ["it ended"])[-1][:200]
        except subprocess.TimeoutExpired:
            error = f"no answer in {FLINK_SECONDS:g} s"
        except OSError as missing:
            error = str(missing)
        else:
            if not process.returncode:
                replies: list[Row] = json.loads(process.stdout)
                return replies
    return [{"error": error} for _ in clauses]


def beside_flink(reply: Row, cpu: float) -> Row:
    """Return the figures of Flink beside CPU seconds of ours, without its reading of the file."""
    if "error" in reply:
        return _row("flink", _FLINK, error=reply["error"])
    return _row("flink", _FLINK, times=max(0.0, reply["cpu"] - reply["reading"]) / cpu, **reply)
