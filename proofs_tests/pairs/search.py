"""Fresh cases, every way on each of them, and what differs as a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from random import Random
from traceback import format_exception

from cerlab.errors import CerlabError
from cerlab.evaluate import AUTO
from cerlab.fuzz.features import features
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.model.clauses import Strategy
from cerlab.model.stream import Stream
from cerlab.testing import Shape, as_dict, smallest
from proofs_tests.pairs.ways import WAYS, Answers, TypedCase, Way, answers
from proofs_tests.random_cases import Case, random_case
from proofs_tests.spark.cases import typed_case

MANY = 2_000
"""A case with more answers is passed over: it is about one engine, and costs what thousands do."""

SHAPES = (
    Shape(),
    Shape(depth=2),
    Shape(depth=4, events=8),
    Shape(depth=3, events=6, family=True),
    Shape(depth=2, events=10, family=True),
    Shape(depth=2, events=40),
)
"""Small ones for the reference, and long ones with few keys and windows inside."""


@dataclass
class Tally:
    """How many cases there were, by way and by pair of features."""

    cases: int = 0
    answered: int = 0
    """Cases with an answer."""
    ways: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Ways that were compared with each other on a case."""
    features: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Features that a case had both of, where two ways or more were compared."""
    failed: list[str] = field(default_factory=list)


def drawn(rng: Random) -> Case:
    """A case of a random shape.

    One in five has columns of one type each, for Spark's tasks, and one in five no clauses, for the
    evaluators by lists.
    """
    kind = rng.random()
    if kind < 0.2:
        typed = replace(typed_case(rng), positions=None)
        return TypedCase(typed.ast, typed.stream, typed)
    case = random_case(rng, rng.choice(SHAPES))
    if kind < 0.4:
        strategy = rng.choice((None, *Strategy))
        return Case(CeqlQuery(case.ast.formula, strategy=strategy), case.stream)
    return case


def search(
    seed: object,
    go_on: Callable[[int], bool],
    folder: Path,
    ways: Mapping[str, Way] = WAYS,
) -> Tally:
    """Compare cases of a seed while ``go_on(n)``; each that fails becomes a file in the folder."""
    tally = Tally()
    n = 0
    with suppress(KeyboardInterrupt):  # what was compared so far is worth a report
        while go_on(n):
            compare(drawn(Random(f"{seed} {n}")), f"{seed}-{n}", folder, tally, ways)
            n += 1
    return tally


def compare(case: Case, name: str, folder: Path, tally: Tally, ways: Mapping[str, Way]) -> None:
    """All ways on a case; where one differs from the first that takes it, that is a file."""
    try:
        if case.query.has_automaton and AUTO.count(case.query, case.stream) > MANY:
            return
    except CerlabError:
        pass  # the ways will say so
    given: dict[str, Answers] = {}
    for way in ways:
        said = _said(ways[way], case, f"{name} {way}")
        if isinstance(said, str):
            _keep(case, f"{name}-{way}", said, folder, tally)
        elif said is not None:
            given[way] = said
    tally.cases += 1
    tally.ways.update(given.keys())
    tally.pairs.update(combinations(given, 2))
    if len(given) > 1:
        tally.features.update(combinations(sorted(features(case.ast)), 2))
    listed = {way: found for way, found in given.items() if isinstance(found, list)}
    if not listed:
        return
    first, expected = next(iter(listed.items()))
    tally.answered += bool(expected)
    for way, found in given.items():
        if not _same(found, expected):

            def differs(smaller: Case, way: str = way) -> bool:
                one = _said(ways[first], smaller, f"{name} {first}")
                other = _said(ways[way], smaller, f"{name} {way}")
                return isinstance(one, list) and other is not None and not _same(other, one)

            small = _smallest(case, differs)
            said = f"{first}: {_said(ways[first], small, f'{name} {first}')}\n"
            said += f"{way}: {_said(ways[way], small, f'{name} {way}')}"
            _keep(small, f"{name}-{first}-{way}", said, folder, tally)


def _said(way: Way, case: Case, seed: str) -> Answers | str:
    """What a way gives of a case, or how it fails."""
    try:
        return answers(way, case, Random(seed))
    except Exception as error:  # whatever it is, it is a finding
        return "".join(format_exception(error))


def _same(found: Answers | str, expected: object) -> bool:
    assert isinstance(expected, list)
    return found == (len(expected) if isinstance(found, int) else expected)


def _smallest(case: Case, differs: Callable[[Case], bool]) -> Case:
    """The smallest case that still differs; one for Spark stays as it is."""
    if isinstance(case, TypedCase):
        return case
    time = case.stream.time
    found = smallest(
        case.ast, case.stream.events, lambda q, events: differs(Case(q, Stream(events, time=time)))
    )
    return Case(found[0], Stream(found[1], time=time))


def _keep(case: Case, name: str, said: str, folder: Path, tally: Tally) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    events = "".join(json.dumps(as_dict(event)) + "\n" for event in case.stream)
    path = folder / f"{name.replace(' ', '_')}.txt"
    path.write_text(f"{query_text(case.ast)}\n\n{events}\n{said}\n", encoding="utf-8")
    tally.failed.append(path.name)
