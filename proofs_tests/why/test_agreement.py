"""`why` says what the reference says, and its derivations prove it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerlab.logic.cel.syntax import Select, subformulas
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.answer import ComplexEvent, complex_event
from cerlab.model.clauses import Consume
from cerlab.testing import Shape
from cerlab.why import Derivation, why
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite
from proofs_tests.why.checker import Substream, check


def explained_case(rng: Random, shape: Shape) -> Case:
    """A random case that `why` takes: no CONSUME BY where strategies stand inside the formula."""
    drawn = random_case(rng, shape)
    if any(isinstance(psi, Select) for psi in subformulas(drawn.ast.formula)):
        return Case(replace(drawn.ast, consume=Consume.NONE), drawn.stream)
    return drawn


def agree(rng: Random, shape: Shape) -> bool:
    drawn = explained_case(rng, shape)
    answers = query_answers(drawn.ast, drawn.stream)
    bare = replace(drawn.ast, strategy=None, window=None, consume=Consume.NONE)
    nearly = query_answers(bare, drawn.stream)
    asked = set(some_positions(rng, len(drawn.stream)))
    for sampled in (answers, nearly):
        asked |= set(rng.sample(sampled, min(4, len(sampled))))
    for m in sorted(asked, key=lambda m: (m.end, m.start, m.positions)):
        found = why(drawn.query, drawn.stream, m.positions, m.start, m.end)
        about = f"{m} of {drawn.describe()}\n{found}"
        assert found.holds == (m in answers), about
        assert found.holds == (found.failure is None), about
        if found.holds:
            prove(drawn, m)
        if m.positions:
            anywhere = why(drawn.query, drawn.stream, m.positions)
            assert anywhere.holds == any(a.positions == m.positions for a in answers), about
    return bool(answers)


def prove(drawn: Case, m: ComplexEvent) -> None:
    """The derivation of an answer follows row by row, and gives that answer."""
    derivation = why(drawn.query, drawn.stream, m.positions, m.start, m.end).derivation
    assert isinstance(derivation, Derivation)
    assert derivation.valuation is not None
    check(derivation, Substream(drawn.ast, drawn.stream, m.start))
    V = derivation.valuation
    kept = {item.label for item in drawn.ast.items or ()}
    if drawn.ast.items is not None:
        V = replace(V, labels={X: D for X, D in V.labels.items() if X in kept})
    assert complex_event(V) == m, drawn.describe()


def some_positions(rng: Random, n: int) -> list[ComplexEvent]:
    found = []
    for _ in range(2 if n else 0):
        start = rng.randrange(n)
        end = rng.randrange(start, n)
        chosen = tuple(p for p in range(start, end + 1) if rng.random() < 0.6)
        found.append(ComplexEvent(start, end, chosen))
    return found


def test_queries(suite: Suite) -> None:
    suite.run(lambda rng: agree(rng, Shape(depth=3, events=6)), deep_count=2_000)


def test_queries_of_the_whole_family(suite: Suite) -> None:
    shape = Shape(depth=2, events=6, family=True)
    suite.run(lambda rng: agree(rng, shape), deep_count=2_000)
