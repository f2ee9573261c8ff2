"""The evaluators of Foundations, and FO-CEL by every evaluator, against the reference."""

from __future__ import annotations

from random import Random

import pytest

import cerlab
from cerlab.compile.foundations import anchored_query
from cerlab.compile.pattern import Pattern
from cerlab.evaluate import EvaluatorName, answers_of
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.model.answer import by_end
from cerlab.model.clauses import Strategy
from cerlab.model.stream import Stream
from cerlab.testing import Shape, random_events, random_fo_formula, random_formula
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=3, events=6)
OPERATORS = (cel.Atom, cel.As, cel.Filter, cel.Or, cel.Seq, cel.Plus)
STRATEGIES = (None, *Strategy)
UNARY: tuple[EvaluatorName, ...] = ("automaton", "tecs", "lists", "auto")
FO_MACHINES: tuple[EvaluatorName, ...] = ("lists", "automaton", "tecs", "compiled", "registers")


def is_defined(phi: cel.Formula) -> bool:
    """Whether Foundations has all of its operators, and no streams."""
    return all(
        isinstance(psi, OPERATORS) and not (isinstance(psi, cel.Atom) and psi.stream)
        for psi in cel.subformulas(phi)
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@random_suite(8_000)
def test_p4_lists_agree_with_the_reference(strategy: Strategy | None, rng: Random) -> bool:
    while not is_defined(phi := random_formula(rng, SHAPE)):
        pass
    ast = CeqlQuery(phi, strategy=strategy)
    stream = Stream(random_events(rng, phi, SHAPE))
    answers = list(answers_of(Pattern(ast), stream, "lists"))
    expected = query_answers(ast, stream)
    assert len(answers) == len(set(answers)), str(phi)
    assert sorted(answers, key=by_end) == expected, (str(phi), strategy, stream)
    return bool(expected)


@random_suite(8_000, needs_answers=0.4)
def test_unary_fo_cel_by_every_evaluator(rng: Random) -> bool:
    """Theorem 3 of Foundations for the lists, Theorem 1 of SO-CEL for the others."""
    phi = random_fo_formula(rng, Shape(depth=3, events=4, rich=False))
    strategy = rng.choice(STRATEGIES)
    ast = CeqlQuery(phi, strategy=strategy)
    stream = Stream(random_events(rng, phi, Shape(events=4, rich=False)))
    expected = query_answers(ast, stream, fo_valuations)
    for evaluator in UNARY:
        answers = list(answers_of(Pattern(ast, logic="fo"), stream, evaluator))
        assert sorted(answers, key=by_end) == expected, (evaluator, str(phi), strategy, stream)
    return bool(expected)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("A : B", r"no :\n"),
        ("A:+", r"no :\+\n"),
        ("NOT(A)", "NOT"),
        ("PROJECT[A](A ; B)", "PROJECT"),
        ("A AND A", "AND"),
        ("S>A", "stream"),
        ("STRICT(A) ; B", "STRICT"),
        ("SELECT * WHERE A WITHIN 1 EVENTS", "WITHIN"),
        ("SELECT * WHERE A PARTITION BY [k]", "PARTITION BY"),
        ("SELECT * WHERE A CONSUME BY ANY", "CONSUME BY"),
        ("SELECT * FROM S WHERE A", "FROM"),
        ("SELECT * WHERE A LIMIT 1", "LIMIT"),
        ("SELECT A WHERE A", "SELECT"),
    ],
)
def test_lists_refuse_by_name_what_foundations_has_not(query: str, message: str) -> None:
    with pytest.raises(cerlab.Unsupported, match=message) as caught:
        cerlab.evaluate(query, [{"type": "A"}], evaluator="lists")
    assert caught.value.code == "CER0412"


def test_a_strategy_around_the_whole_formula_is_one_in_select() -> None:
    events = [{"type": t} for t in "AAB"]
    for text in ("NEXT(A ; B)", "SELECT NEXT * WHERE A ; B"):
        answers = cerlab.evaluate(text, events, evaluator="lists")
        assert [m.positions for m in answers] == [(0, 2)]
    _, strategy = anchored_query(CeqlQuery(cerlab.parse_formula("MAX(A)")), first_order=False)
    assert strategy is Strategy.MAX


def test_fo_cel_that_machines_do_not_take_is_refused_by_name() -> None:
    binary = "A AS x ; B AS y FILTER x.v = y.v"
    events = [{"type": "A", "v": 1}, {"type": "B", "v": 1}]
    for evaluator in ("automaton", "tecs", "lists"):
        with pytest.raises(cerlab.Unsupported):
            cerlab.evaluate(binary, events, logic="fo", evaluator=evaluator)
        with pytest.raises(cerlab.IllFormed, match="'y'"):
            cerlab.evaluate("A AS x FILTER y[v = 1]", events, logic="fo", evaluator=evaluator)
    assert len(cerlab.evaluate(binary, events, logic="fo")) == 1, "auto falls back to the reference"


@pytest.mark.parametrize("evaluator", ["reference", *FO_MACHINES, "auto"])
def test_scopes_are_checked_where_no_event_is_read(evaluator: EvaluatorName) -> None:
    text = "SELECT * FROM S WHERE A FILTER A[v = 1]"
    events = [{"type": "A", "stream": "T"}]
    with pytest.raises((cerlab.IllFormed, cerlab.Unsupported)):
        cerlab.evaluate(text, events, logic="fo", evaluator=evaluator)
    with pytest.raises(cerlab.IllFormed, match="CER0230"):
        cerlab.valuations(text, events, logic="fo")


@random_suite(4_000)
def test_what_the_reference_refuses_as_fo_cel_is_refused_by_all(rng: Random) -> bool:
    sample = random_case(rng, Shape(depth=2, events=5, family=rng.random() < 0.5))
    expected = fo_outcome(sample, "reference")
    for evaluator in (*FO_MACHINES, "auto"):
        outcome = fo_outcome(sample, evaluator)
        if outcome is not None or evaluator == "auto":
            assert outcome == expected, (sample.describe(), evaluator)
    return expected is None or bool(expected)


def fo_outcome(case: Case, evaluator: EvaluatorName) -> list[cerlab.ComplexEvent] | None:
    """The answers, None if they are refused."""
    try:
        return cerlab.evaluate(case.query, case.stream, logic="fo", evaluator=evaluator)
    except (cerlab.Unsupported, cerlab.IllFormed):
        return None
