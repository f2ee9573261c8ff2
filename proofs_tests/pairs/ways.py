"""The ways from a query and a stream to its answers, each a function of the case and a generator.

A way gives the sorted answers, or how many there are, or None for a case that it does not take.
Evaluators, sessions, threads, ranges, numbers, tasks of Spark run by hand, a text and a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeAlias

import cerlab
from cerlab.api.session import Session
from cerlab.cli import main
from cerlab.engine.whole_stream import compiled_answers
from cerlab.engine.windowed.ranges import why_not_by_ranges
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate import AUTO, EvaluatorName, answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.text import query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.order import by_end
from cerlab.spark.plan.modes import Mode, why_not
from cerlab.testing import as_dict
from proofs_tests.random_cases import Case
from proofs_tests.spark.cases import Typed
from proofs_tests.spark.layouts import anywhere

Answers: TypeAlias = list[ComplexEvent] | int | None
Way: TypeAlias = Callable[[Case, Random], Answers]


@dataclass(frozen=True)
class TypedCase(Case):
    """A case whose columns have one type each, so that Spark's tasks take it."""

    typed: Typed


NUMBERED = 30
"""So many answers are asked for by number."""


def _sorted(found: Iterable[ComplexEvent]) -> list[ComplexEvent]:
    return sorted(found, key=by_end)


def _reference(case: Case, rng: Random) -> Answers:
    return None if len(case.stream) > 12 else list(query_answers(case.ast, case.stream))


def _evaluator(name: EvaluatorName) -> Way:
    return lambda case, rng: _sorted(answers_of(case.query, case.stream, name))


def _count(case: Case, rng: Random) -> Answers:
    return AUTO.count(case.query, case.stream)


def _session(case: Case, rng: Random) -> Answers:
    """Batches of random lengths, the state kept and resumed now and then."""
    query, stream = case.query, case.stream
    session = Session(query.plan, query.learned, stream.time, None)
    found: list[ComplexEvent] = []
    at = 0
    while at < len(stream):
        batch = stream[at : at + rng.choice((1, 1, 2, 3, 50))]
        found += session.push(batch)
        at += len(batch)
        if rng.random() < 0.2:
            session = Session(query.plan, query.learned, stream.time, session.state())
    return _sorted(found)


def _threads(case: Case, rng: Random) -> Answers:
    """Two threads that share the query and all that it has learnt."""

    def by_compiled(_: int) -> list[ComplexEvent]:
        return _sorted(answers_of(case.query, case.stream, "compiled"))

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(by_compiled, range(2))
    assert first == second, "two threads differ"
    return first


def _ranges(case: Case, rng: Random) -> Answers:
    plan = case.query.plan
    if why_not_by_ranges(plan) is not None:
        return None
    stream = case.stream
    batches = compiled_answers(plan, case.query.machine, stream, stream.time, workers=2)
    return _sorted(answer for batch in batches for answer in batch)


def _numbers(case: Case, rng: Random) -> Answers:
    """``m[k]`` of each k, in any order; of many answers how many there are, and some of them."""
    matches = case.query.run(case.stream)
    total, listed = matches.count(), list(matches)
    assert len(listed) == total, "the count is not that of the answers"
    for k in rng.sample(range(total), min(total, NUMBERED)):
        assert matches[k] == listed[k], f"m[{k}] is another answer"
    return _sorted(listed)


def _file(case: Case, rng: Random) -> Answers:
    """The command line: the text of the query, a file of events, a file of answers."""
    if not len(case.stream):
        return None
    with TemporaryDirectory() as folder:
        events, out = Path(folder) / "e.ndjson", Path(folder) / "out.ndjson"
        events.write_text("".join(json.dumps(as_dict(event)) + "\n" for event in case.stream))
        said = main(
            ["run", query_text(case.ast), str(events), "--time", "t:s", "-q", "-o", str(out)]
        )
        assert said == 0, f"exit status {said}"
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    return _sorted(ComplexEvent(r["start"], r["end"], tuple(r["positions"])) for r in rows)


def _spark(mode: Mode) -> Way:
    def tasks(case: Case, rng: Random) -> Answers:
        if not isinstance(case, TypedCase) or why_not(case.query.plan, mode) is not None:
            return None
        return anywhere(case.typed, mode, rng, ordered=rng.random() < 0.5)

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
"""What a way may take: a case of which one lists all runs is no reason to stop."""


def answers(way: Way, case: Case, rng: Random) -> Answers:
    """What a way gives; None for what it refuses by name, and where it takes too long."""
    try:
        with cerlab.limits(seconds=SECONDS):
            return way(case, rng)
    except (Unsupported, ResourceLimit):
        return None
