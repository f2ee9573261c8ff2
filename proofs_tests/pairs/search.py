"""Fresh cases, every way on each of them, and what differs as a file."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import combinations_with_replacement
from pathlib import Path
from random import Random
from traceback import format_exception

from cerlab import CerlabError, CerlabWarning
from cerlab.evaluate import choose
from cerlab.fuzz import features
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.clauses import AttributeWindow, Consume, Strategy, TimeWindow
from cerlab.model.stream import Stream
from cerlab.testing import Shape, as_dict, random_events, random_query, smallest
from proofs_tests.pairs.ways import WAYS, Answers, OutOfTime, TypedCase, Way, answers
from proofs_tests.random_cases import Case
from proofs_tests.spark.cases import TIME, typed_table

MANY = 2_000
"""A case with more answers is passed over: it is about one engine, and costs what thousands do."""

FEW = 8
"""Events that cannot have so many."""

STREAMS = 8
"""A query is compiled once, and what it has learnt of one stream is there for the next."""

SHAPES = (
    Shape(),
    Shape(depth=2),
    Shape(depth=4, events=8),
    Shape(depth=3, events=6, family=True),
    Shape(depth=2, events=10, family=True),
    Shape(depth=2, events=40),
)
"""Small ones for the reference, and long ones with few keys and windows inside."""

TYPED_SHAPES = (Shape(depth=2, events=8), Shape(depth=2, events=30))
"""Shapes whose streams have columns of one type each."""


@dataclass
class Tally:
    """Number of cases by way and by pair of features."""

    cases: int = 0
    queries: int = 0
    answered: int = 0
    """Cases with an answer."""
    ways: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Ways that were compared with each other on a case; a pair of one: that took it."""
    features: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Features that a case had both of, where two ways or more were compared."""
    failed: list[str] = field(default_factory=list)
    slow: Counter[str] = field(default_factory=Counter)
    """Ways that ran out of time on a case, and so were not compared."""
    timed: int = 0
    """Cases on which that was counted."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def draw_cases(rng: Random) -> Iterator[Case]:
    """A query of a random shape, on streams for it.

    One in ten has streams with columns of one type each, for Spark's tasks, and often clauses by
    which work is shared; one in five has no clauses, for the evaluators by lists. Some are both.
    """
    kind = rng.random()
    is_typed = kind < 0.1
    shape = rng.choice(TYPED_SHAPES if is_typed else SHAPES)
    ast = random_query(rng, shape)
    if is_typed and rng.random() < 0.5:
        ast = _with_shared_work(rng, ast)
    elif kind > 0.8 or kind < 0.03:
        ast = CeqlQuery(ast.formula, strategy=rng.choice((None, *Strategy)))
    case = Case(ast, Stream((), time=TIME))
    for _ in range(STREAMS):
        events = random_events(rng, ast.formula, shape)
        if is_typed and case.query.machine_kind == "automaton":
            yield TypedCase.of(case, typed_table(rng, events))
        else:
            yield case.on(Stream(events, time=TIME))


def _with_shared_work(rng: Random, ast: CeqlQuery) -> CeqlQuery:
    """The query with a key, and a window in time: of it all ways of sharing the work are exact."""
    return replace(
        ast,
        strategy=rng.choice((None, None, Strategy.STRICT)),
        partition=(("k",),),
        window=rng.choice((AttributeWindow(2, "t"), TimeWindow(3 * 10**9))),
        consume=Consume.NONE,
    )


def search(
    seed: object, numbers: Iterable[int], folder: Path, ways: Mapping[str, Way] = WAYS
) -> Tally:
    """Compare the cases of some queries of a seed; each that fails becomes a file in the folder."""
    tally = Tally()
    with warnings.catch_warnings(
        action="ignore", category=CerlabWarning
    ):  # what a query lacks is no finding here
        for n in numbers:
            tally.queries += 1
            for k, case in enumerate(draw_cases(Random(f"{seed} {n}"))):
                compare(case, f"{seed}-{n}.{k}", folder, tally, ways)
    return tally


def compare(case: Case, name: str, folder: Path, tally: Tally, ways: Mapping[str, Way]) -> None:
    """All ways on a case; where one differs from the first that takes it, that is a file."""
    try:
        large = len(case.stream) > FEW and case.query.machine_kind == "automaton"
        if large and choose(case.query).count(case.stream) > MANY:
            return
    except CerlabError:
        pass  # the ways will say so
    replies: dict[str, Answers] = {}
    for way in ways:
        report = _reply(ways[way], case, f"{name} {way}")
        if isinstance(report, OutOfTime):
            tally.slow[way] += 1
        elif isinstance(report, str):
            _keep(case, f"{name}-{way}", report, folder, tally)
        elif report is not None:
            replies[way] = report
    tally.cases += 1
    tally.timed += 1
    tally.ways.update(combinations_with_replacement(replies, 2))
    if len(replies) > 1:
        tally.features.update(combinations_with_replacement(sorted(features(case.ast)), 2))
    lists = {way: reply for way, reply in replies.items() if isinstance(reply, list)}
    if not lists:
        return
    first, expected = next(iter(lists.items()))
    tally.answered += bool(expected)
    for way, reply in replies.items():
        if not _same(reply, expected):

            def differs(smaller: Case, way: str = way) -> bool:
                one = _reply(ways[first], smaller, f"{name} {first}")
                other = _reply(ways[way], smaller, f"{name} {way}")
                if not isinstance(one, list) or not isinstance(other, list | int | str):
                    return False
                return not _same(other, one)

            small = _smallest(case, differs)
            report = f"{first}: {_reply(ways[first], small, f'{name} {first}')}\n"
            report += f"{way}: {_reply(ways[way], small, f'{name} {way}')}"
            _keep(small, f"{name}-{first}-{way}", report, folder, tally)


def _reply(way: Way, case: Case, seed: str) -> Answers | OutOfTime | str:
    """Return the answers of a way on a case, or its failure."""
    try:
        return answers(way, case, Random(seed))
    except OutOfTime as error:
        return error
    except Exception as error:  # whatever it is, it is a finding
        return "".join(format_exception(error))


def _same(reply: Answers | str, expected: object) -> bool:
    assert isinstance(expected, list)
    return reply == (len(expected) if isinstance(reply, int) else expected)


def _smallest(case: Case, differs: Callable[[Case], bool]) -> Case:
    """The smallest case that still differs.

    One for Spark stays as it is, and one that differs only after other streams of its query.
    """
    time = case.stream.time
    if isinstance(case, TypedCase) or not differs(Case(case.ast, case.stream)):
        return case
    smaller = smallest(
        case.ast, case.stream.events, lambda q, events: differs(Case(q, Stream(events, time=time)))
    )
    return Case(smaller[0], Stream(smaller[1], time=time))


def _keep(case: Case, name: str, text: str, folder: Path, tally: Tally) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    events = "".join(json.dumps(as_dict(event)) + "\n" for event in case.stream)
    path = folder / f"{name.replace(' ', '_')}.txt"
    path.write_text(f"{query_text(case.ast)}\n\n{events}\n{text}\n", encoding="utf-8")
    tally.failed.append(path.name)
