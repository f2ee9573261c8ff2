"""The engines of a trial: how each is started and asked, and the features that it supports.

An adapter describes an engine; its counterpart, which runs in the engine's own process and imports
cerlab only for cerlab itself, is a program in `children`. To add an engine: a class here with the
members of `Adapter`, a program there, and a place in `ADAPTERS`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

from cerlab.errors import UsageError, nearest
from cerlab.fuzz.engines import (
    AnswerRows,
    Failure,
    Outcome,
    Refusal,
    ServerProcess,
    json_of,
    reply,
    words_of,
)
from cerlab.model.clauses import TimeWindow
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.trial import languages as f
from cerlab.trial.languages import CEQL, COLUMNS, ROWS, Case

CHILDREN = str(Path(__file__).with_name("children.py"))


GIGABYTE = 1 << 30


class Adapter(Protocol):
    """The interface of an engine: how to start it and how to ask it."""

    @property
    def name(self) -> str:
        """The name of the engine."""

    @property
    def language(self) -> str:
        """The language that the engine reads, ``"rows"`` or ``"ceql"``."""

    @property
    def takes(self) -> frozenset[str]:
        """The features of the cases that the engine is asked."""

    @property
    def batch(self) -> int:
        """The number of cases in one request."""

    @property
    def memory(self) -> int | None:
        """The memory limit of its process in bytes; None if the engine sets one itself."""

    def command(self) -> list[str]:
        """Return the command that starts the engine, as a list of words."""

    def refuses(self, case: Case) -> str | None:
        """Return why a case with supported features cannot be asked; None if it can."""

    def orders(self, case: Case) -> bool:
        """Return whether the order of result rows is significant for a case."""

    def question(self, case: Case) -> dict[str, Any]:
        """Return the request for a case, as the engine's process reads it."""


@dataclass(frozen=True, slots=True)
class _Common:
    """Defaults of adapters; `place` is the path of an interpreter or a program."""

    place: str | None = None

    language = "rows"
    takes = ROWS.features
    batch = 1
    memory: int | None = None

    def refuses(self, case: Case) -> str | None:
        """Return None: every case may be asked."""
        return None

    def orders(self, case: Case) -> bool:
        """Return True: the order of rows is significant."""
        return True

    def question(self, case: Case) -> dict[str, Any]:
        """Return the unchanged clause in ``SELECT * FROM T``."""
        return {"query": f"SELECT * FROM T {case.text}", "rows": case.rows}


def _python(place: str | None, *programs: str) -> str:
    """Return the given interpreter, else the first program on PATH, else this interpreter."""
    paths = (shutil.which(program) for program in programs)
    return place or next(filter(None, paths), sys.executable)


class Ours(_Common):
    """The adapter of cerlab's row patterns, which search by prioritised automata."""

    name = "cerlab"

    def command(self) -> list[str]:
        """Return the command of the engine, in the current interpreter."""
        return [sys.executable, CHILDREN, "cerlab"]

    def question(self, case: Case) -> dict[str, Any]:
        """Return the clause and the rows."""
        return {"query": case.text, "rows": case.rows}


class OursCeql(Ours):
    """The adapter of cerlab's compiled engine."""

    name = "cerlab-ceql"
    language = "ceql"
    takes = CEQL.features

    def question(self, case: Case) -> dict[str, Any]:
        """Return the query and the events with their types."""
        return {"query": case.text, "events": case.rows}


class PandasMatchRecognize(_Common):
    """The adapter of ``pandas-match-recognize``: SQL's clause on DataFrames, with NaN for NULL."""

    name = "pandas-match-recognize"
    memory = 8 * GIGABYTE

    def command(self) -> list[str]:
        """Return the command of the engine, in an interpreter that has its package."""
        return [_python(self.place), CHILDREN, self.name]


class Pycer(_Common):
    """The adapter of ``pycer``: CORE itself, in C++, which needs Python 3.13.

    Its events have the declared attributes, here integers, and an identifier; it returns intervals
    in its internal times, so answers are compared by positions. Events have their time only if the
    window is in seconds: version 0.1.6 has no answers over 2 seconds without a window.
    """

    name = "pycer"
    language = "ceql"
    takes = CEQL.features - {"FROM", ">", "RENAME", "PROJECT", *f.FAMILY_ONLY}
    memory = 8 * GIGABYTE

    def command(self) -> list[str]:
        """Return the command of the engine, in an interpreter that has its package."""
        return [_python(self.place, "python3.13"), CHILDREN, self.name]

    def question(self, case: Case) -> dict[str, Any]:
        """Return the query with pycer's stream declaration, and events without a stream."""
        text = str(case.text).replace("\nWHERE", "\nFROM S\nWHERE", 1)
        events = [{k: v for k, v in event.items() if k != "stream"} for event in case.rows]
        in_seconds = isinstance(case.query.window, TimeWindow)
        return {"query": text, "events": events, "timed": in_seconds}


class Flink(_Common):
    """The adapter of Flink SQL on FlinkCEP's NFA: the package ``apache-flink``, with Java.

    Many patterns are one job, and each table is a partition of it, so the order of rows is
    significant only in cases without partitions. Flink supports ONE ROW PER MATCH, no alternation,
    and none of the newer parts of the clause; the last variable must not be greedy.
    """

    name = "flink"
    takes = frozenset(
        (
            *("A B", "*", "+", "?", "{n}", "*?", "+?", "{n}?", "TRUE", "NULL", "PARTITION BY"),
            *(*f.SKIP, "FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX", "v.x"),
            *("DEFINE FIRST", "DEFINE LAST", "DEFINE v.x", "AND", "OR", "NOT", "IN", "IS"),
            *(f"x {op.value} y" for op in ex.ComparisonOperator),
        )
    )
    batch = 200

    def command(self) -> list[str]:
        """Return the command of the engine, in an interpreter that has its package."""
        return [_python(self.place), CHILDREN, "flink"]

    def refuses(self, case: Case) -> str | None:
        """Return why Flink's planner refuses a case: one refusal would fail the whole job."""
        flat = [p for p in rp.subpatterns(case.query.pattern) if not rp.children(p)]
        if len({p.name for p in flat if isinstance(p, rp.Variable)}) < len(flat):
            return "a variable may occur in a pattern only once"
        last = case.query.pattern
        while isinstance(last, rp.Concat):
            last = last.parts[-1]
        if isinstance(last, rp.Repetition) and not (last.reluctant or last.lo == last.hi):
            return "greedy quantifiers are not allowed as the last element"
        if not _needs_a_row(case.query.pattern):
            return "patterns that can produce empty matches are not supported"
        if any(p for p in rp.subpatterns(case.query.pattern) if _optional_reluctant(p)):
            return "reluctant optional variables are not supported"
        parts = _sequence(case.query.pattern)
        if any(
            _greedy(p) and isinstance(q, rp.Repetition) and q.lo == 0 for p, q in pairwise(parts)
        ):
            return "an optional pattern cannot be preceded by a greedy one"
        return None

    def orders(self, case: Case) -> bool:
        """Return True for a case without partitions, because partitions run concurrently."""
        return not case.query.partition_by

    def question(self, case: Case) -> dict[str, Any]:
        """Return the clause partitioned by the number of its table, and ordered by event time."""
        partitions = (ex.Column("c"), *case.query.partition_by)
        order = (rp.OrderItem(ex.Column("ts")),)
        always = (rp.Definition(rp.variables(case.query.pattern)[0], ex.Literal(True)),)
        define = case.query.define or always  # Flink requires one
        query = replace(case.query, partition_by=partitions, order_by=order, define=define)
        text = str(query)
        if isinstance(query.skip, rp.PastLastRow):  # Flink's default differs
            text = text.replace(
                "\n  PATTERN (", "\n  AFTER MATCH SKIP PAST LAST ROW\n  PATTERN (", 1
            )
        names = [each.name for each in (*case.query.partition_by, *query.measures)]
        rows = [{name: row.get(name) for name in COLUMNS} for row in case.rows]
        return {"query": text, "columns": names, "rows": rows}


def _sequence(p: rp.Pattern) -> list[rp.Pattern]:
    """Return the parts of a sequence, with nested sequences flattened."""
    return [q for part in p.parts for q in _sequence(part)] if isinstance(p, rp.Concat) else [p]


def _greedy(p: rp.Pattern) -> bool:
    """Return whether Flink runs a greedy loop for a pattern: not for ``?`` and ``{n}``."""
    if not isinstance(p, rp.Repetition) or p.reluctant:
        return False
    return p.lo != p.hi and (p.lo, p.hi) != (0, 1)


def _needs_a_row(p: rp.Pattern) -> bool:
    match p:
        case rp.Concat(parts):
            return any(map(_needs_a_row, parts))
        case rp.Repetition(body, lo, _, _):
            return lo > 0 and _needs_a_row(body)
        case _:
            return True


def _optional_reluctant(p: rp.Pattern) -> bool:
    return isinstance(p, rp.Repetition) and p.reluctant and (p.lo, p.hi) == (0, 1)


class DuckDB(_Common):
    """The adapter of DuckDB: its Python package, or the path of any DuckDB program."""

    name = "duckdb"
    memory = 8 * GIGABYTE

    def command(self) -> list[str]:
        """Return the command with an interpreter that has the package, or the program's path."""
        if self.place is not None and "python" not in Path(self.place).name:
            return [sys.executable, CHILDREN, "duckdb", self.place]
        return [_python(self.place), CHILDREN, "duckdb"]


class PostgreSQL(_Common):
    """The adapter of PostgreSQL: ``psql`` by its path, or a connection (``postgresql://..``)."""

    name = "postgresql"

    def command(self) -> list[str]:
        """Return the command of the engine, with the path or connection of ``psql``."""
        return [sys.executable, CHILDREN, "psql", self.place or "psql"]


class Command(_Common):
    """The adapter of any command that reads row patterns in this protocol."""

    name = "command"

    def command(self) -> list[str]:
        """Return the command, as a list of words."""
        return words_of(self.place or "")


class CeqlCommand(Command):
    """The adapter of any command that reads CEQL."""

    name = "ceql-command"
    language = "ceql"
    takes = CEQL.features - f.FAMILY_ONLY
    question = OursCeql.question


ADAPTERS: Mapping[str, Callable[[str | None], Adapter]] = {
    kind.name: kind
    for kind in (
        *(Ours, OursCeql, PandasMatchRecognize, Pycer, Flink, DuckDB, PostgreSQL),
        *(Command, CeqlCommand),
    )
}


DEFAULT = ("cerlab", "cerlab-ceql", "pandas-match-recognize", "pycer", "flink", "duckdb")
"""Engines of a trial if the user names none."""


PACKAGES = {
    "pandas-match-recognize": "pandas-match-recognize",
    "pycer": "pycer",
    "flink": "apache-flink",
    "duckdb": "duckdb",
}
"""Packages that the environment of each engine needs."""


def adapter(text: str) -> Adapter:
    """Return the adapter of ``NAME`` or ``NAME=PLACE``; raises `UsageError` for unknown names.

    Args:
        text: The name of an adapter, or its name, ``=`` and the place of the engine.

    >>> adapter("cerlab").name
    'cerlab'
    """
    name, _, place = text.partition("=")
    if name not in ADAPTERS:
        hint = nearest(name, ADAPTERS) or f"engines: {', '.join(ADAPTERS)}"
        raise UsageError("CER0855", f"there is no engine '{name}' for trials", hint=hint)
    return ADAPTERS[name](place or None)


HELLO_SECONDS = 600.0
"""Seconds that an engine may take to start, enough for a JVM on a busy machine."""


class Absent(Exception):
    """An engine that cannot be started, with the reason."""


@dataclass(slots=True)
class Running:
    """A started engine; `seconds` is the time limit of a batch."""

    adapter: Adapter
    version: str
    seconds: float
    serving: ServerProcess = field(repr=False)
    log: IO[str] = field(repr=False)

    def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return the outcome of each case; a case with unsupported features is refused unasked."""
        outcomes: list[Outcome | None] = [
            None if (why := self.adapter.refuses(case)) is None else Refusal(why) for case in cases
        ]
        remaining = [i for i, each in enumerate(outcomes) if each is None]
        size = self.adapter.batch
        for start in range(0, len(remaining), size):
            chunk = remaining[start : start + size]
            for i, each in zip(chunk, self._exchange([cases[i] for i in chunk]), strict=True):
                outcomes[i] = each
        return [each for each in outcomes if each is not None]

    def _exchange(self, cases: list[Case]) -> list[Outcome]:
        """Return the replies to one batch; if it fails, to each half of it."""
        questions = [self.adapter.question(case) for case in cases]
        question = questions[0] if self.adapter.batch == 1 else {"batch": questions}
        answer = self.serving.exchange(question, self.seconds)
        if isinstance(answer, str) and self.adapter.batch == 1:
            return [_outcome(cases[0].language, answer)]
        if isinstance(answer, str):
            match json_of(answer):
                case {"batch": [*replies]} if len(replies) == len(cases):
                    pairs = zip(cases, replies, strict=True)
                    return [_outcome(case.language, json.dumps(each)) for case, each in pairs]
                case other:
                    answer = Failure(f"no reply to a batch: {str(other)[:200]}")
        if len(cases) == 1:
            return [Failure(" ".join((answer.how, self._last_line())).strip(), answer.hung)]
        # halving finds the failing case, and the others are answered
        half = len(cases) // 2
        return [*self._exchange(cases[:half]), *self._exchange(cases[half:])]

    def _last_line(self) -> str:
        """Return the last line that the process wrote to standard error."""
        end = self.log.tell()
        self.log.seek(max(0, end - 2_000))
        lines = self.log.read().strip().splitlines()
        # return to the end, where the process appends
        self.log.seek(0, 2)
        return f"({lines[-1][:200]})" if lines else ""


@contextmanager
def running(adapter: Adapter, seconds: float) -> Iterator[Running]:
    """Start the engine of an adapter for this block; raises `Absent`."""
    with TemporaryFile("w+", errors="replace") as log:
        try:
            serving = ServerProcess(adapter.command(), seconds, memory=adapter.memory, log=log)
            answer = serving.exchange({"hello": True}, HELLO_SECONDS)
        except UsageError as error:
            raise Absent(error.message) from None
        try:
            yield Running(adapter, _version(answer), seconds, serving, log)
        finally:
            serving.stop()


def _version(answer: str | Failure) -> str:
    if isinstance(answer, Failure):
        raise Absent(answer.how)
    match json_of(answer):
        case Failure(how):
            raise Absent(how)
        case {"absent": how}:
            raise Absent(str(how))
        case {**hello}:
            return str(hello.get("version", "unknown"))
        case _:
            raise Absent(f"expected version or absent, got {answer[:80]!r}")


def _outcome(language: str, line: str) -> Outcome:
    match json_of(line):
        case {"crash": how}:
            return Failure(str(how))
        case {"answers": [*rows]} if language == "rows" and all(isinstance(r, dict) for r in rows):
            return AnswerRows(tuple(rows))
        case _:
            return reply(line)
