"""`why` says what the reference says, and its derivations prove it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from cerlab import ComplexEvent, Unsupported
from cerlab.logic.cel.syntax import Select, subformulas, waits, windows
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.answer import complex_event
from cerlab.model.clauses import Consume
from cerlab.testing import Shape, with_limit
from cerlab.why import Derivation, why
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite
from proofs_tests.why.checker import Substream, check


def explained_case(rng: Random, shape: Shape) -> Case:
    """A random case that `why` takes: no CONSUME BY where strategies stand inside the formula."""
    case = random_case(rng, shape)
    while shape.timed and not windows(case.ast.formula):
        case = random_case(rng, shape)
    if any(isinstance(psi, Select) for psi in subformulas(case.ast.formula)):
        return Case(replace(case.ast, consume=Consume.NONE), case.stream)
    if shape.timed and rng.random() < 0.1:
        return Case(with_limit(case.ast, 1), case.stream)
    return case


def agree(rng: Random, shape: Shape) -> bool | None:
    case = explained_case(rng, shape)
    if shape.timed:
        case = case.on(case.stream.up_to(some_promise(rng, case)))
    try:
        return agree_on(rng, case)
    except Unsupported as error:
        # a wait that may take an answer away once it is over
        if error.code != "CER0414" or not waits(case.ast.formula):
            raise
        return None


def some_promise(rng: Random, case: Case) -> Any:
    """What the stream promises: nothing, the end, or a time not before the last event."""
    axes = {type(each) for each in waits(case.ast.formula)}
    if len(axes) != 1 or not len(case.stream):
        return "end" if axes and rng.random() < 0.5 else None
    last: Any = case.stream[len(case.stream) - 1].attributes["t"]
    return rng.choice((None, "end", last, last + 0.5, last + 2))


def agree_on(rng: Random, case: Case) -> bool:
    answers = query_answers(case.ast, case.stream)
    bare = replace(case.ast, strategy=None, window=None, consume=Consume.NONE)
    nearly = query_answers(bare, case.stream.up_to("end"))  # those that still wait among them
    candidates = set(some_positions(rng, len(case.stream)))
    for pool in (answers, nearly):
        candidates |= set(rng.sample(pool, min(4, len(pool))))
    for m in sorted(candidates, key=lambda m: (m.end, m.start, m.positions)):
        explanation = why(case.query, case.stream, m.positions, m.start, m.end)
        about = f"{m} of {case.describe()}\n{explanation}"
        assert explanation.holds == (m in answers), about
        assert explanation.holds == (explanation.failure is None), about
        if explanation.holds:
            prove(case, m)
        if m.positions:
            anywhere = why(case.query, case.stream, m.positions)
            assert anywhere.holds == any(a.positions == m.positions for a in answers), about
    return bool(answers)


def prove(case: Case, m: ComplexEvent) -> None:
    """The derivation of an answer follows row by row, and gives that answer."""
    derivation = why(case.query, case.stream, m.positions, m.start, m.end).derivation
    assert isinstance(derivation, Derivation)
    assert derivation.valuation is not None
    check(derivation, Substream(case.ast, case.stream, m.start))
    V = derivation.valuation
    labels = {item.label for item in case.ast.items or ()}
    if case.ast.items is not None:
        V = replace(V, labels={X: D for X, D in V.labels.items() if X in labels})
    assert complex_event(V) == m, case.describe()


def some_positions(rng: Random, n: int) -> list[ComplexEvent]:
    candidates = []
    for _ in range(2 if n else 0):
        start = rng.randrange(n)
        end = rng.randrange(start, n)
        positions = tuple(p for p in range(start, end + 1) if rng.random() < 0.6)
        candidates.append(ComplexEvent(start, end, positions))
    return candidates


def test_queries(suite: Suite) -> None:
    suite.run(lambda rng: agree(rng, Shape(depth=3, events=6)), deep_count=2_000)


def test_queries_of_the_whole_family(suite: Suite) -> None:
    shape = Shape(depth=2, events=6, family=True)
    suite.run(lambda rng: agree(rng, shape), deep_count=2_000)


@random_suite(4_000, needs_answers=0.4)
def test_queries_with_windows_inside_and_waits(rng: Random) -> bool | None:
    """Strategies, LIMIT and consumption over answers that wait, by the clock or a promise."""
    shape = Shape(depth=2, events=7, timed=True)
    verdict = agree(rng, shape)
    while verdict is None:
        verdict = agree(rng, shape)
    return verdict
