"""CORE itself beside the engine: the PyPI package ``pycer`` (its Python binding) in a subprocess.

The package wants a Python of its own (3.13), so `peer_child.py` runs there and talks in lines of
JSON. What is timed there: the events, made before, are handed over, evaluated, and the answers come
back as one text. So the figures include a copy of each event and the printing of each answer,
which the program in C++ alone has not: for queries without output they are nearer to its own.

Its ``WITHIN n [attribute]`` is strict where ours is inclusive: it is asked for n + 1, the same for
integers. Its selection strategies parse and do nothing, so the counts of answers differ there.
"""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from cerlab.api import Query
from cerlab.bench import peer_child
from cerlab.bench.measure import FEW, Measurement
from cerlab.bench.timing import Against, Timing
from cerlab.errors import Unsupported, UsageError
from cerlab.fuzz.engines import Failure, ServerProcess
from cerlab.logic.ceql.parser import schema_text
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.clauses import AttributeWindow
from cerlab.model.event import Schema
from cerlab.model.stream import Stream

PYTHON = "python3.13"
MOST_ANSWERS = 2_000_000
"""A query with more answers is not sent: the package gives all of them as one text."""


class Peer:
    """A running child with the events of one stream."""

    def __init__(self, stream: Stream, schema: Schema, python: str | None = None) -> None:
        """Start it; raises `UsageError` where the interpreter or the package is missing."""
        program = shutil.which(python or PYTHON)
        if program is None:
            raise _missing(python or PYTHON, "there is no such program")
        self._python = str(Path(program).absolute())  # it runs elsewhere
        with ExitStack() as resources:
            folder = Path(resources.enter_context(TemporaryDirectory(prefix="cerlab-bench-")))
            (folder / "declaration.txt").write_text(schema_text(schema))
            _write_events(stream, schema, folder / "events.csv")
            self._log = resources.enter_context(open(folder / "log.txt", "w+"))
            words = [self._python, str(Path(peer_child.__file__).resolve()), str(folder)]
            # The package writes its log files where it runs.
            self._child = ServerProcess(words, None, log=self._log, folder=folder)
            resources.callback(self._child.stop)
            if "error" in (reply := self._exchange({})):
                raise _missing(self._python, reply["error"])
            self._resources = resources.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def measure(self, query: Query, ours: Measurement) -> Against:
        """Measure a query on the events that `ours` is of; raises `UsageError` if it dies."""
        if ours.answers > MOST_ANSWERS:
            return Against(error=f"not run: more than {MOST_ANSWERS:,} answers")
        question = {"query": strict_text(query), "runs": min(FEW, ours.runs)}
        reply = self._exchange(question)
        if "error" in reply:
            return Against(error=reply["error"])
        timing = Timing.of(reply["cpu"], reply["wall"])
        return Against(
            **asdict(timing),
            result=reply["answers"],
            times=timing.cpu / ours.cpu,
            times_wall=timing.wall / ours.wall,
        )

    def _exchange(self, question: object) -> dict[str, Any]:
        """What the child says; raises `UsageError` where it cannot be started, or dies."""
        try:
            line = self._child.exchange(question, None)
        except UsageError as error:
            raise _missing(self._python, error.message) from None
        if isinstance(line, Failure):
            self._log.seek(0)
            lines = self._log.read().strip().splitlines() or ["it said nothing"]
            raise _missing(self._python, lines[-1])
        reply: dict[str, Any] = json.loads(line)
        return reply


def _missing(python: str, why: str) -> UsageError:
    return UsageError(
        "CER0817",
        f"--against pycer cannot run '{python}': {why}",
        hint=f"it needs a Python with the package pycer (pip install pycer): {PYTHON} on PATH, "
        "or --pycer-python PATH",
    )


def strict_text(query: Query) -> str:
    """A query for an engine whose WITHIN n [attribute] is strict, on integers.

    Raises `Unsupported` for windows of other kinds.

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
            raise Unsupported(
                "CER0413",
                "only windows of whole numbers can be made strict",
                hint="give WITHIN a whole number",
            )


def _write_events(stream: Stream, schema: Schema, path: Path) -> None:
    """One line for each event: its type, and the attributes in the order of its declaration."""
    names = {e.name: [a.name for a in e.attributes] for s in schema.streams for e in s.events}
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        for batch in _table(stream).to_batches(max_chunksize=1 << 16):
            columns = batch.to_pydict()
            for row, kind in enumerate(columns["type"]):
                writer.writerow([kind, *(columns[name][row] for name in names[kind])])


def _table(stream: Stream) -> Any:
    import pyarrow as pa

    return pa.table(dict(stream.columns))
