"""The ways from a query and a stream to its answers, each a function of the case and a generator.

A way gives the sorted answers, or how many there are, or None for a case that it does not take.
Evaluators, sessions, threads, ranges, numbers, tasks of Spark run by hand, a text and a file.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import cerlab
from cerlab import ComplexEvent, ResourceLimit, Unsupported
from cerlab.api import Session
from cerlab.cli import parser_of
from cerlab.cli.command import OK
from cerlab.cli.options import read_pattern
from cerlab.cli.run import run_pattern
from cerlab.compile.pattern import AnyPattern
from cerlab.engine.whole_stream import compiled_answers, why_not_by_ranges
from cerlab.evaluate import EvaluatorName, answers_of, choose
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.answer import by_end
from cerlab.spark.plan import Mode, why_not
from cerlab.testing import as_dict
from proofs_tests.random_cases import Case
from proofs_tests.spark.cases import SparkCase
from proofs_tests.spark.layouts import anywhere

Answers: TypeAlias = list[ComplexEvent] | int | None
Way: TypeAlias = Callable[[Case, Random], Answers]


@dataclass(frozen=True)
class TypedCase(Case):
    """A case whose columns have one type each, so that Spark's tasks take it."""

    spark_case: SparkCase

    @classmethod
    def of(cls, case: Case, table: Any) -> TypedCase:
        """The query of a case, compiled once for both, on the stream of a table."""
        spark_case = SparkCase(case.ast, table, None)
        vars(spark_case)["query"] = case.query
        other = cls(case.ast, spark_case.stream, spark_case)
        vars(other)["query"] = case.query
        return other


ANSWERS_BY_NUMBER = 12
"""Answers that are asked for by number."""


def _in_order(answers: Iterable[ComplexEvent]) -> list[ComplexEvent]:
    return sorted(answers, key=by_end)


def _reference(case: Case, rng: Random) -> Answers:
    return None if len(case.stream) > 12 else list(query_answers(case.ast, case.stream))


def _evaluator(name: EvaluatorName) -> Way:
    return lambda case, rng: _in_order(answers_of(case.query, case.stream, name))


def _count(case: Case, rng: Random) -> Answers:
    return choose(case.query).count(case.stream)


def _session(case: Case, rng: Random) -> Answers:
    """Batches of random lengths, the state kept and resumed now and then."""
    query, stream = case.query, case.stream
    session = Session(query, stream.time, None)
    answers: list[ComplexEvent] = []
    at = 0
    while at < len(stream):
        batch = stream[at : at + rng.choice((1, 1, 2, 3, 50))]
        answers += session.push(batch)
        at += len(batch)
        if rng.random() < 0.1:
            session = Session(query, stream.time, session.state())
    return _in_order(answers)


@cache
def _other_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


def _threads(case: Case, rng: Random) -> Answers:
    """Two threads that share the query and all that it has learnt."""

    def by_compiled() -> list[ComplexEvent]:
        return _in_order(answers_of(case.query, case.stream, "compiled"))

    other = _other_thread().submit(by_compiled)
    first, second = by_compiled(), other.result()
    assert first == second, "two threads differ"
    return first


def _ranges(case: Case, rng: Random) -> Answers:
    plan = case.query.plan
    if why_not_by_ranges(plan) is not None:
        return None
    stream = case.stream
    batches = compiled_answers(plan, case.query.machine, stream, stream.time, threads=2)
    return _in_order(answer for batch in batches for answer in batch)


def _numbers(case: Case, rng: Random) -> Answers:
    """``m[k]`` of each k, in any order; of many answers how many there are, and some of them."""
    matches = case.query.run(case.stream)
    total, every = matches.count(), list(matches)
    assert len(every) == total, "the count is not that of the answers"
    for k in rng.sample(range(total), min(total, ANSWERS_BY_NUMBER)):
        assert matches[k] == every[k], f"m[{k}] is another answer"
    return _in_order(every)


@cache
def _folder() -> TemporaryDirectory[str]:
    """One for all files, in memory where there is such a folder."""
    return TemporaryDirectory(dir=next(filter(os.path.isdir, ["/dev/shm"]), None))


@lru_cache(maxsize=1)
def _command(text: str) -> tuple[Namespace, AnyPattern]:
    """``cerlab run`` of a query, its text read once for all streams."""
    events, out = Path(_folder().name, "e.ndjson"), Path(_folder().name, "out.ndjson")
    words = ["run", text, str(events), "--time", "t:s", "-q", "--format", "ndjson"]
    arguments = parser_of(["run"]).parse_args([*words, "-o", str(out)])
    return arguments, read_pattern(arguments)


def _file(case: Case, rng: Random) -> Answers:
    """The command line: the text of the query, a file of events, a file of answers."""
    if not len(case.stream):
        return None
    arguments, pattern = _command(query_text(case.ast))
    lines = "".join(json.dumps(as_dict(event)) + "\n" for event in case.stream)
    Path(*arguments.events).write_text(lines, encoding="utf-8")
    # a copy for each run, since the source of the events is kept in it
    assert run_pattern(pattern, Namespace(**vars(arguments))) == OK
    rows = map(json.loads, Path(arguments.output).read_text(encoding="utf-8").splitlines())
    return _in_order(ComplexEvent(r["start"], r["end"], tuple(r["positions"])) for r in rows)


def _spark(mode: Mode) -> Way:
    def tasks(case: Case, rng: Random) -> Answers:
        if not isinstance(case, TypedCase) or why_not(case.query.plan, mode) is not None:
            return None
        return anywhere(case.spark_case, mode, rng, ordered=rng.random() < 0.5)

    return tasks


EVALUATORS: tuple[EvaluatorName, ...] = ("tecs", "automaton", "lists", "compiled", "registers")

WAYS: dict[str, Way] = {
    "reference": _reference,
    **{name: _evaluator(name) for name in EVALUATORS},
    "count": _count,
    "session": _session,
    "threads": _threads,
    "ranges": _ranges,
    "numbers": _numbers,
    "file": _file,
    **{f"spark {mode.value}": _spark(mode) for mode in Mode},
}


SECONDS = 5
"""Seconds that a way may take; a case that lists all runs does not stop the search."""


class OutOfTime(Exception):
    """A way took longer than it may."""


def answers(way: Way, case: Case, rng: Random) -> Answers:
    """Return a way's answers, None for a refusal by name. Raises `OutOfTime`."""
    try:
        with cerlab.limits(seconds=SECONDS):
            return way(case, rng)
    except (Unsupported, ResourceLimit) as error:
        if error.code == "CER0620":
            raise OutOfTime from error
        return None
