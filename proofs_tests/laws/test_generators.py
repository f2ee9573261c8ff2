"""The public generators: what `cerlab.testing` hands to tests of other engines."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import find, given, settings

import cerlab
from cerlab import Stream
from cerlab.compile.pattern import as_pattern
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.focel.semantics import unary, unscoped_variable, with_variables
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text
from cerlab.testing import (
    ATTRIBUTES,
    LANGUAGES,
    Case,
    Shape,
    _case,
    cases,
    formulas,
    predicates,
    queries,
    random_events,
    random_formula,
    random_query,
    streams,
)
from cerlab.testing.events import columns_of

SMALL = Shape(depth=2, events=4)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@settings(max_examples=100)
@given(cases(SMALL))
def test_a_case_is_text_and_dicts_that_every_evaluator_takes(
    case: Case,
) -> None:
    text, rows = case.query, case.events
    events = Stream.from_events(rows, time="t", unit="s")
    expected = cerlab.evaluate(text, events, evaluator="reference")
    assert cerlab.evaluate(text, events) == expected


def test_the_same_seed_gives_the_same_case() -> None:
    first, again = (random_query(Random(5)) for _ in range(2))
    assert first == again
    streams_of = [random_events(Random(6), query.formula) for query in (first, again)]
    assert repr(streams_of[0]) == repr(streams_of[1]), "by text, since NaN is not equal to itself"


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_failures_can_be_searched_for_and_shrink() -> None:
    """A wrong engine that forgets every second answer is found out."""

    def wrong(case: Case) -> bool:
        stream = Stream.from_events(case.events, time="t", unit="s")
        answers = cerlab.evaluate(as_pattern(case.query), stream)
        return answers[::2] != answers

    assert wrong(find(cases(Shape(depth=1, events=4)), wrong))


@pytest.mark.parametrize("language", LANGUAGES)
def test_formulas_shrink_towards_a_single_a(language: Any) -> None:
    smallest = find(formulas(language), lambda phi: True)
    assert smallest in (cel.Atom("A"), cel.As(cel.Atom("A"), "x"))
    iteration = find(formulas(language), lambda phi: any(map(is_plus, cel.subformulas(phi))))
    assert cel.size(iteration) <= 7


def is_plus(phi: cel.Formula) -> bool:
    return isinstance(phi, cel.Plus)


def test_streams_shrink_towards_the_empty_one_and_queries_to_a() -> None:
    assert find(streams(), lambda S: True) == []
    words = streams(cel.Seq(cel.Atom("A"), cel.Atom("B")))
    assert len(find(words, lambda S: len(S) > 1)) == 2
    smallest = find(queries(), lambda query: True)
    assert smallest.formula == cel.Atom("A")
    assert (smallest.window, smallest.strategy, smallest.items) == (None, None, None)


@settings(max_examples=60)
@given(formulas("fo"))
def test_fo_formulas_are_unary_and_scoped(phi: cel.Formula) -> None:
    assert unary(phi)
    assert unscoped_variable(with_variables(phi)) is None


@settings(max_examples=60)
@given(formulas("so"))
def test_so_formulas_have_no_contiguity_and_no_negation(phi: cel.Formula) -> None:
    assert not any(
        isinstance(psi, cel.Concat | cel.ConcatPlus | cel.Not) for psi in cel.subformulas(phi)
    )


@settings(max_examples=60)
@given(predicates(ATTRIBUTES))
def test_predicates_are_printed_and_read_back(P: Predicate) -> None:
    text = f"A FILTER A[{predicate_text(P)}]"
    assert str(cerlab.parse_formula(text)) == text


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_columns_that_no_part_of_a_query_reads_are_mostly_kept() -> None:
    """A tenth of all cases have every column, so that engines meet columns they do not need."""
    with_others = 0
    for seed in range(150):
        case = _case(Random(seed), ATTRIBUTES, times=False)
        names = {name for row in case.events for name in row} - {"type", "stream"}
        with_others += bool(names - columns_of(cerlab.parse_query(case.query).ast))
    assert with_others > 10


def test_most_streams_have_an_answer() -> None:
    """The bias: of random formulas and streams for them, more than half have answers."""
    with_answers = 0
    for seed in range(400):
        rng = Random(seed)
        phi = random_formula(rng)
        with_answers += bool(valuations(phi, random_events(rng, phi)))
    assert with_answers > 200


def test_an_unknown_language_is_an_error_with_a_hint() -> None:
    with pytest.raises(cerlab.UsageError, match="did you mean"):
        formulas("fam")  # type: ignore[arg-type]  # on purpose
