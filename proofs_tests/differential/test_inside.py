"""Strategies inside a formula: runs and tECS on events that carry contexts, and the reference."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import count, evaluate
from cerlab.evaluate import answers_of, choose, names_that_take, valuations_of
from cerlab.evaluate.physical import compiled as engine
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.answer import by_end
from cerlab.model.clauses import Consume, EventWindow, Strategy
from cerlab.model.stream import Stream, time_axis
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.testing import Shape, random_events, random_formula, random_query
from proofs_tests.random_cases import Case
from proofs_tests.suite import random_suite

COMPETING = (Strategy.NXT, Strategy.LAST, Strategy.MAX)
AROUND = ("seq", "before", "concat", "or", "and", "plus", "unless", "not inside", "all", "select")
EARLY = pred.Comparison(pred.Operator.LT, pred.Attribute("v"), pred.Constant(1))


def inside(rng: Random, shape: Shape, depth: int) -> cel.Formula:
    """A formula with a strategy inside, below some operators."""
    part = random_formula(rng, replace(shape, depth=rng.choice((1, 2, 2))))
    phi: cel.Formula = cel.Select(rng.choice(COMPETING), part)
    for _ in range(depth):
        other = random_formula(rng, replace(shape, depth=1))
        match rng.choice((*AROUND, "project", "as", "within", "filter")):
            case "seq":
                phi = cel.Seq(phi, other)
            case "before":
                phi = cel.Seq(other, phi)
            case "concat":
                phi = cel.Concat(other, phi)
            case "or":
                phi = cel.Or(phi, other)
            case "and":
                phi = cel.And(cel.Or(phi, other), phi.body if isinstance(phi, cel.Select) else phi)
            case "plus":
                phi = cel.Plus(phi)
            case "unless":
                phi = cel.Unless(phi, other)
            case "not inside":
                phi = cel.Unless(cel.Or(cel.Seq(other, other), other), phi)
            case "all":
                phi = cel.All(phi, other)
            case "select":
                phi = cel.Select(rng.choice(COMPETING), phi)
            case "project":
                labels = sorted(cel.defined_labels(phi))
                phi = cel.Project(frozenset(x for x in labels if rng.random() < 0.7), phi)
            case "as":
                phi = cel.As(phi, "x")
            case "within":
                phi = cel.Within(phi, EventWindow(rng.randrange(4)))
            case "filter":
                label = rng.choice(sorted(cel.defined_labels(phi)) or ["A"])
                phi = cel.Filter(phi, On(label, EARLY))
    return phi


def random_case(rng: Random) -> Case:
    """A query with a strategy inside, and a stream with a word of its formula."""
    shape = Shape(events=rng.choice((5, 7, 9)))
    formula = inside(rng, shape, rng.choice((1, 1, 2, 2, 3)))
    clauses = random_query(rng, shape)
    ast = CeqlQuery(
        formula,
        partition=clauses.partition if rng.random() < 0.3 else (),
        window=clauses.window,
        consume=clauses.consume,
        strategy=rng.choice((None, None, *Strategy)),
        limit=clauses.limit,
    )
    events = random_events(rng, formula, shape)
    return Case(ast, Stream(events, time=time_axis("t", "s")))


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("MAX(A+) ; B", "AAB", [[0, 1, 2], [0, 2]]),
        ("LAST(A ; B) ; C", "AABC", [[1, 2, 3]]),
        ("A ; NEXT(B ; C)", "ABC", [[0, 1, 2]]),
        # the B before the A wins, though no answer begins with it
        ("A ; NEXT(B ; C)", "BABC", []),
        ("SELECT * WHERE D OR (A ; NEXT(B ; C))", "BDABC", [[1]]),
        ("SELECT * WHERE D OR (A ; NEXT(B ; C)) CONSUME BY ANY", "BDABC", [[1], [2, 3, 4]]),
        ("SELECT * WHERE A ; NEXT(B ; C) WITHIN 2 EVENTS", "BABC", []),
        ("A UNLESS NEXT(A)", "A", []),
        ("(A ; C) UNLESS NEXT(B ; D OR B)", "ABC", []),
    ],
)
def test_answers_computed_by_hand(text: str, word: str, expected: list[list[int]]) -> None:
    events = [{"type": kind} for kind in word]
    kernels = () if "CONSUME" in text else ("compiled",)
    for evaluator in ("reference", "automaton", "tecs", "auto", *kernels):
        answers = evaluate(text, events, evaluator=evaluator)
        assert sorted(list(answer.positions) for answer in answers) == expected, evaluator


REFUSED = (
    ("SELECT LAST * WHERE (A WAIT 5 [v]) UNLESS B", "LAST over answers that wait"),
    ("NEXT(A AS a ; B AS b FILTER a.v < b.v) ; C", "comparisons inside NEXT"),
    ("A ; NEXT((B ; C) WITHIN 3 [v])", "windows in time inside NEXT"),
    ("NEXT(A WAIT 2 [v]) ; B", "waits and windows in time inside NEXT"),
)


@pytest.mark.parametrize(("text", "name"), REFUSED)
@pytest.mark.parametrize("ask", [evaluate, count, partial(cerlab.valuations, evaluator="auto")])
def test_what_no_machine_takes_is_named_and_the_hint_works(text: str, name: str, ask: Any) -> None:
    events = [{"type": "ABC"[n % 3], "v": n} for n in range(257)]
    with pytest.raises(cerlab.Unsupported, match=f"CER0403.*{name}") as refused:
        ask(text, events)
    assert refused.value.hint == "use at most 256 events of each key of PARTITION BY at a time"
    few = events[:40]
    assert ask(text, few) is not None
    assert cerlab.count(text, few) == len(evaluate(text, few, evaluator="reference"))


@pytest.mark.parametrize("text", ["MAX(A+) ; B WITHIN 9 EVENTS", "A ; NEXT(B ; C)"])
@pytest.mark.parametrize("evaluator", ["registers", "lists", "reference"])
def test_a_refusal_of_a_long_stream_names_what_gives_an_answer(text: str, evaluator: Any) -> None:
    query = f"SELECT * WHERE {text}"
    events = [{"type": "ABC"[n % 3]} for n in range(300)]
    with pytest.raises(cerlab.CerlabError) as refused:
        evaluate(query, events, evaluator=evaluator)
    hint = refused.value.hint
    named = ["auto"] if 'evaluator="auto"' in hint else hint.split(": ")[1].split(", ")
    takers = [name for name in named if name != "reference"]
    assert takers
    for name in takers:
        assert evaluate(query, events, evaluator=name)  # type: ignore[arg-type]


@random_suite(6_000)
def test_runs_and_tecs_give_the_answers_of_the_reference(rng: Random) -> bool | None:
    sample = random_case(rng)
    query, stream = sample.query, sample.stream
    expected = query_answers(sample.ast, stream)
    try:
        query.in_context  # noqa: B018
    except cerlab.ResourceLimit:
        return None
    # outermost filters above a strategy are tested on what it lists
    if query.machine_kind == "listed":
        return None
    compiled = ("compiled",) if "compiled" in names_that_take(query) else ()
    assert bool(compiled) == (query.ast.consume is Consume.NONE), sample.describe()
    for evaluator in ("automaton", "tecs", "auto", *compiled):
        answers = list(answers_of(query, stream, evaluator))
        assert len(answers) == len(set(answers)), sample.describe()
        assert sorted(answers, key=by_end) == expected, f"{evaluator}\n{sample.describe()}"
    assert count(query, stream) == len(expected), sample.describe()
    labels = list(valuations_of(query, stream, "automaton"))
    valuations = list(query_valuations(sample.ast, stream))
    assert len(labels) == len(set(labels)), sample.describe()
    assert set(labels) == set(valuations), sample.describe()
    run = choose(query).run(stream.time)
    pushed = [a for event in stream for found in run.push(Stream([event])) for a in found]
    assert pushed == list(answers_of(query, stream, "tecs")), sample.describe()
    if compiled:
        by = engine(query)
        assert by.count(stream) == len(expected), sample.describe()
        session, pushed, rest = by.run(stream.time), [], stream
        while len(rest):
            some = rng.randint(1, len(rest))
            pushed += [a for found in session.push(rest[:some]) for a in found]
            rest = rest[some:]
            if rng.random() < 0.5:
                session = by.run(stream.time, session.state())
        assert sorted(pushed, key=by_end) == expected, sample.describe()
    return bool(expected)
