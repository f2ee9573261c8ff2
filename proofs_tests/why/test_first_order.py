"""`why` under FO-CEL: it says what the reference says, proves it, and blames the right place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from random import Random
from typing import Any

import cerlab
from cerlab import ComplexEvent, Event, Formula, Valuation, Why
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import holds
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.focel.semantics import (
    bound,
    check_scopes,
    fo_valuations,
    vdef_plus,
    with_variables,
)
from cerlab.model.clauses import Consume, EventWindow, Strategy
from cerlab.model.stream import Stream, time_axis
from cerlab.predicates.condition import Correlation, On, labels_of
from cerlab.predicates.syntax import LabelAttribute, Operator
from cerlab.testing import Shape, random_events, random_fo_formula, random_predicate
from cerlab.why import Derivation, Repair, why
from cerlab.why.deduction import CelDerivation
from proofs_tests.clauses.tables import word
from proofs_tests.suite import Suite
from proofs_tests.why.blames import Blames
from proofs_tests.why.checker import _together
from proofs_tests.why.facts import is_true
from proofs_tests.why.mending import mend
from proofs_tests.why.mutations import (
    Question,
    _at_some_place,
    add_consumption,
    alter,
    choose_strategy,
    delete,
    insert,
    question,
    shrunk,
)

SHAPE = Shape(depth=3, events=5)
SMALL = Shape(depth=2, events=5)


def random_question(rng: Random, shape: Shape, depths: tuple[int, ...]) -> tuple[CeqlQuery, Stream]:
    """A query of FO-CEL with a clause or two, and a stream with a planted word of its formula."""
    phi = random_fo_formula(rng, replace(shape, depth=rng.choice(depths)), binary=True)
    ast = CeqlQuery(phi)
    if rng.random() < 0.3:
        ast = replace(ast, strategy=rng.choice(list(Strategy)))
    if rng.random() < 0.2:
        ast = replace(ast, window=EventWindow(rng.randrange(4)))
    if rng.random() < 0.2:
        ast = replace(ast, consume=rng.choice((Consume.ANY, Consume.PARTITION)))
    return ast, Stream(random_events(rng, phi, shape), time=time_axis("t", "s"))


def with_answers(
    rng: Random, shape: Shape, depths: tuple[int, ...]
) -> tuple[CeqlQuery, Stream, list[ComplexEvent]]:
    """Such a query that has answers, if one can be drawn."""
    for _ in range(12):
        ast, stream = random_question(rng, shape, depths)
        if answers := query_answers(ast, stream, fo_valuations):
            break
    return ast, stream, answers


def explain(ast: CeqlQuery, stream: Stream, *question: Any) -> Why:
    query = cerlab.Query(ast, source=NOWHERE)
    return why(query, stream, *question, logic="fo")


NOWHERE = cerlab.parse_query("SELECT * WHERE A").source


def agree(rng: Random) -> bool:
    ast, stream, answers = with_answers(rng, SHAPE, (2, 2, 2, 3))
    candidates = set(rng.sample(answers, min(4, len(answers))))
    bare = query_answers(replace(ast, strategy=None, window=None), stream, fo_valuations)
    candidates |= set(rng.sample(bare, min(2, len(bare))))
    for m in sorted(candidates, key=lambda m: (m.end, m.positions)):
        explanation = explain(ast, stream, m.positions, m.start, m.end)
        about = f"{m} of {ast} on {stream.events}\n{explanation}"
        assert explanation.holds == (m in answers), about
        assert explanation.holds == (explanation.failure is None), about
        if explanation.holds:
            prove(ast, stream, m, explanation)
    positions = tuple(p for p in range(len(stream)) if rng.random() < 0.4)
    if positions:
        explanation = explain(ast, stream, positions)
        assert explanation.holds == any(m.positions == positions for m in answers), (
            f"{ast} {positions}"
        )
    return bool(answers)


def prove(ast: CeqlQuery, stream: Stream, m: ComplexEvent, explanation: Why) -> None:
    """The derivation is one by the table of FO-CEL, and gives that answer."""
    node = explanation.derivation
    assert isinstance(node, Derivation)
    V = node.valuation
    assert V is not None
    assert (V.start, V.end) == (m.start, m.end)
    assert tuple(sorted({p for D in V.labels.values() for p in D})) == m.positions
    check(node, stream.events, {x: p for x, p in bindings(node) if p is not None})


def bindings(node: CelDerivation) -> list[tuple[str, int | None]]:
    """The variables that are bound outside every ``+``, with their events."""
    if isinstance(node.part, cel.As):
        return [(node.part.label, node.valuation.start if node.valuation else None)]
    if isinstance(node.part, cel.Plus | cel.Count):
        return []
    return [each for child in node.children for each in bindings(child)]


def check(node: CelDerivation, S: tuple[Event, ...], nu: dict[str, int]) -> Valuation:
    """``C in [[phi]](S, nu)``, node by node (FOUND Sec. 3)."""
    V = node.valuation
    assert V is not None
    assert not node.failures
    if isinstance(node.part, cel.Plus | cel.Count):
        own = vdef_plus(node.part.body)
        outer = {x: p for x, p in nu.items() if x not in own}
        rounds = [
            check(child, S, outer | {x: p for x, p in bindings(child) if p is not None})
            for child in node.children
        ]
        assert all(a.end < b.start for a, b in pairwise(rounds))
        if isinstance(node.part, cel.Count):
            assert node.part.least <= len(rounds) <= (node.part.most or len(rounds))
        assert reduce(_together, rounds) == V
        return V
    below = [check(child, S, nu) for child in node.children]
    match node.part:
        case cel.Atom(R):
            assert Valuation(V.start, V.start, {R: (V.start,)}) == V
            assert S[V.start].type == R
        case cel.As(_, x):
            assert nu[x] == V.start
            assert V.labels[x] == (V.start,)
        case cel.Filter(_, condition):
            events = {x: (nu[x],) for x in labels_of(condition)}
            assert below == [V]
            assert holds(condition, Valuation(V.start, V.end, events), S)
        case cel.Or():
            assert below == [V]
        case cel.Seq():
            assert below[0].end < below[1].start
            assert reduce(_together, below) == V
        case _:
            raise AssertionError(f"not in FO-CEL: {node.part}")
    return V


def test_queries(suite: Suite) -> None:
    suite.run(agree, deep_count=2_000)


def test_a_misplaced_or_shared_variable_is_one_event() -> None:
    """By hand: filters before the variable is bound, variables bound twice, and rebound in a +."""
    events = word("ABAB", v="0110")

    def right(formula: str, *positions: int) -> bool:
        explanation = why(formula, events, positions, logic="fo")
        answers = cerlab.evaluate(formula, events, logic="fo", evaluator="reference")
        assert explanation.holds == any(m.positions == positions for m in answers)
        return explanation.holds

    assert right("(A AS x FILTER y[v = 1]) ; B AS y", 0, 1)
    assert not right("(A AS x FILTER y[v = 1]) ; B AS y", 0, 3)
    assert not right("A AS x ; A AS x", 0, 2)
    assert right("A AS x OR B AS x", 0)
    assert right("A AS x ; (B AS y FILTER y.v != x.v)+", 0, 1)
    assert not right("A AS x ; (B AS y FILTER y.v != x.v)+", 0, 1, 3)
    assert right("(A AS x ; (A AS x)+) FILTER x[v = 0]", 0, 2)
    assert not right("A AS x ; ((A AS x)+) FILTER x[v = 1]", 0, 2)
    assert right("B AS A ; A AS y FILTER A[v = 1]", 1, 2)
    assert not right("A AS x ; (A AS x OR (B AS z FILTER x[v = 1]))", 0, 1)
    assert right("A AS x ; (A AS x OR (B AS z FILTER x[v = 1]))", 2, 3)
    assert right("(A AS x OR A AS z) ; (B AS y ; A AS x)", 0, 1, 2)


# -- the blame --------------------------------------------------------------------------------


def narrow(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """A filter more, on a variable that is bound there, or between two."""

    def change(phi: Formula) -> Formula:
        names = sorted(bound(phi))
        if not names:
            return phi
        x, y = rng.choice(names), rng.choice(names)
        if x != y:
            sides = (LabelAttribute(x, "v"), LabelAttribute(y, "v"))
            return cel.Filter(phi, Correlation(rng.choice((Operator.EQ, Operator.LT)), *sides))
        return cel.Filter(phi, On(x, random_predicate(rng, SMALL)))

    return _at_some_place(rng, q, change)


def rename(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """One variable gets the name of another."""

    def change(phi: Formula) -> Formula:
        return replace(phi, label=rng.choice("xyz")) if isinstance(phi, cel.As) else phi

    return _at_some_place(rng, q, change)


def retype(rng: Random, q: Question, m: ComplexEvent) -> Question:
    """An atom asks for another type."""

    def change(phi: Formula) -> Formula:
        return replace(phi, type=rng.choice("AB")) if isinstance(phi, cel.Atom) else phi

    return _at_some_place(rng, q, change)


MUTATIONS = (
    *(alter, alter, delete, insert, shrunk, choose_strategy, add_consumption),
    *(narrow, narrow, rename, rename, retype),
)


def wrong_question(rng: Random) -> Question | None:
    """A question that an answer became by one change, and that the reference denies."""
    for _ in range(40):
        ast, stream, answers = with_answers(rng, SMALL, (1, 2, 2))
        if not answers:
            continue
        m = rng.choice(answers)
        right = replace(question(ast, stream, m, interval=rng.random() < 0.5), first_order=True)
        wrong = rng.choice(MUTATIONS)(rng, right, m)
        if wrong != right and is_well_formed(wrong.ast.formula) and not wrong.holds():
            return wrong
    return None


def is_well_formed(phi: Formula) -> bool:
    try:
        check_scopes(with_variables(phi))
    except (cerlab.IllFormed, cerlab.Unsupported):
        return False
    return True


def mended_and_well_formed(q: Question, repair: Repair) -> Iterator[Question]:
    return (each for each in mend(q, repair) if is_well_formed(each.ast.formula))


BLAMES = Blames(
    wrong_question,
    lambda q: explain(q.ast, q.stream, q.positions, q.start, q.end),
    is_true,
    mended_and_well_formed,
)


def test_one_change_is_blamed(suite: Suite) -> None:
    BLAMES.check(suite)


def test_the_text_says_which_event_each_variable_is() -> None:
    explanation = why("A AS x ; (B AS y)+", word("ABB"), (0, 1, 2), logic="fo")
    assert str(explanation).splitlines() == [
        "a match: {0, 1, 2} in [0, 2]",
        "; [0, 2]  A {0}  B {1, 2}  x {0}  y {1, 2}",
        "├─ AS x [0, 0]  A {0}  x {0}",
        "│  └─ A 0: A()",
        "└─ + [1, 2]  B {1, 2}  y {1, 2}",
        "   ├─ AS y [1, 1]  B {1}  y {1}",
        "   │  └─ B 1: B()",
        "   └─ AS y [2, 2]  B {2}  y {2}",
        "      └─ B 2: B()",
    ]
