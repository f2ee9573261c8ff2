"""Filters that compare labels, on transducers: the answers are those of the reference.

Comparisons mean all pairs of events of the two labels; the transducer keeps extremes in registers.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from random import Random

import pytest

import cerlab
from cerlab import Event, parse_formula
from cerlab.automata.automaton import Mark
from cerlab.automata.plan import CorrelatedPlan
from cerlab.automata.registers import NONE, RegisterTransition, Srt, coalesce
from cerlab.compile.correlated_to_srt import correlated_to_srt
from cerlab.compile.pattern import Logic, as_pattern
from cerlab.engine.reference.registers import IntervalRuns
from cerlab.evaluate import choose, thresholds
from cerlab.logic.cel.syntax import ConcatPlus, Plus, subformulas
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.model.answer import by_end
from cerlab.model.stream import Stream
from cerlab.predicates.syntax import EVERYTHING, Operator
from cerlab.predicates.truth import kind_of
from cerlab.testing import Shape, random_correlated_events, random_correlated_formula, with_limit
from cerlab.testing.sremo import comparisons
from cerlab.theorems import srt as runs
from proofs_tests.clauses.tables import word
from proofs_tests.command import Cli
from proofs_tests.differential.test_evaluators import require, session_answers
from proofs_tests.random_cases import Case, random_case
from proofs_tests.srt.cases import guard, random_srt, with_word
from proofs_tests.srt.correlated_cases import (
    SHAPE,
    by_registers,
    correlated_case,
    directed_case,
    fo_case,
    under_clauses,
)
from proofs_tests.suite import Suite, random_suite


def agree(
    case: Case, logic: Logic = "so", *, lengths: tuple[int, ...] = (thresholds.SHORT,)
) -> bool | None:
    """The transducer against the reference; ``"auto"`` is one of the two.

    With length 0 also streams as short as these are read by the compiled engine, where it can. None
    for a case that is too large for the reference.
    """
    meaning = (fo_valuations,) if logic == "fo" else ()
    try:
        expected = query_answers(case.ast, case.stream, *meaning)
    except cerlab.ResourceLimit:
        return None
    for length in lengths:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thresholds, "SHORT", length)
            if by_registers(case, logic) != expected:
                raise AssertionError(f"registers differ\n{case.describe()}")
            assert cerlab.evaluate(case.query, case.stream, logic=logic) == expected
    return bool(expected)


def test_formulas_that_compare_labels(suite: Suite) -> None:
    suite.run(lambda rng: agree(correlated_case(rng)), deep_count=4_000)


def test_formulas_where_what_is_remembered_matters(suite: Suite) -> None:
    suite.run(lambda rng: agree(directed_case(rng)), deep_count=4_000, needs_answers=0.4)


def test_longer_formulas_and_streams(suite: Suite) -> None:
    shape = Shape(depth=4, events=7)

    def case(rng: Random) -> bool | None:
        try:
            return agree(correlated_case(rng, shape))
        except cerlab.ResourceLimit:
            return None

    suite.run(lambda rng: case(rng) or case(rng), deep_count=2_000)  # many of the first have none


@random_suite(4_000, needs_answers=0.4)
def test_queries_with_all_clauses(rng: Random) -> bool | None:
    """FROM, PARTITION BY, SELECT, strategies, WITHIN, CONSUME BY; numbers and counts of answers."""
    example = under_clauses(rng)
    if (has_answers := agree(example, lengths=(thresholds.SHORT, 0))) is None:
        return None
    matches = example.query.run(example.stream)
    answers = list(matches)
    assert matches.count() == len(answers)
    assert all(matches[k] == answer for k, answer in enumerate(answers))
    return has_answers


@random_suite(20_000, needs_answers=0.4)
def test_arithmetic_between_labels_under_all_clauses(rng: Random) -> bool | None:
    """All clauses, LIMIT among them; registers, the compiled engine, counts and sessions."""
    example = under_clauses(rng, computing=True)
    if rng.random() < 0.1:
        example = Case(with_limit(example.ast, rng.choice((1, 2))), example.stream)
    if (has_answers := agree(example, lengths=(thresholds.SHORT, 0))) is None:
        return None
    expected = query_answers(example.ast, example.stream)
    assert cerlab.count(example.query, example.stream) == len(expected), example.describe()
    try:
        pushed = session_answers(example, rng)
    except cerlab.Unsupported:
        return has_answers
    require(sorted(pushed, key=by_end) == expected, "session", example)
    return has_answers


@random_suite(2_000)
def test_limit_gives_the_answers_of_the_reference(rng: Random) -> bool:
    example = correlated_case(rng)
    agree(Case(with_limit(example.ast, rng.choice((1, 2))), example.stream))
    return bool(query_answers(example.ast, example.stream))


def test_queries_that_compare_no_labels_have_transducers_too(suite: Suite) -> None:
    suite.run(lambda rng: agree(random_case(rng)), deep_count=4_000)


def test_fo_formulas_with_filters_over_two_variables(suite: Suite) -> None:
    """One event a variable, also where a variable is compared with each iteration's."""
    suite.run(lambda rng: agree(fo_case(rng), "fo"), deep_count=4_000)


@random_suite(10_000)
def test_registers_made_one_keep_the_matches(rng: Random) -> bool:
    T, S = with_word(rng, random_srt)
    smaller = coalesce(T)
    assert smaller.R <= T.R
    expected = runs.matches(T, S)
    assert runs.matches(smaller, S) == expected
    return bool(expected)


def test_registers_are_made_one_exactly_where_no_state_needs_both() -> None:
    """Written together they are one; written one after the other and both read later they are two;
    one that was read for the last time is used again."""

    def chain(*steps: tuple[str, str]) -> list[str]:
        Delta = [
            RegisterTransition(q, guard(reads), Mark.TAKE, frozenset(writes), q + 1)
            for q, (reads, writes) in enumerate(steps)
        ]
        T = Srt(
            len(Delta) + 1, tuple(Delta), frozenset({0}), frozenset({len(Delta)}), R=frozenset("rs")
        )
        return sorted(coalesce(T).R)

    assert chain(("TRUE", "rs"), ("v = r.v", ""), ("v = s.v", "")) == ["r"]
    assert chain(("TRUE", "r"), ("TRUE", "s"), ("v = r.v", ""), ("v = s.v", "")) == ["r", "s"]
    assert chain(("TRUE", "r"), ("v = r.v", "s"), ("v = s.v", "")) == ["r"]
    assert chain(("TRUE", "rs"), ("TRUE", "s"), ("v = r.v AND v = s.v", "")) == ["r", "s"]


def test_filters_on_one_label_share_its_register() -> None:
    phi = parse_formula("A AS a ; B AS b ; C AS c FILTER b.v > a.v AND c.v > a.v AND c.w = a.w")
    T = correlated_to_srt(phi)
    assert sorted(T.R) == ["a"]
    assert T.states == 4


TRANSDUCER = """\
SRT: 4 states, initial 0, final {3}, registers a
  0 -> 1  type = 'A' / • ↓ a
  0 -> 2  type = 'A' / • ↓ a
  1 -> 1  TRUE / ∘
  1 -> 1  type = 'A' AND v > a.v / • ↓ a
  1 -> 1  type = 'A' AND v <= a.v / •
  1 -> 2  type = 'A' AND v > a.v / • ↓ a
  1 -> 2  type = 'A' AND v <= a.v / •
  2 -> 3  type = 'B' AND v >= a.v / •
  2 -> 2  TRUE / ∘
"""


def test_the_register_holds_the_greatest_so_far(cli: Cli) -> None:
    """``cerlab show`` and ``check`` of a query that has no complex event automaton."""
    text = "A+ AS a ; B AS b FILTER a.v <= b.v"
    assert cli("show", text, "--what", "srt", "--format", "text").out == TRANSDUCER
    output = cli("check", text).out
    assert "4 states, 9 transitions, 1 registers" in output
    assert "reference, compiled, registers" in output
    assert "'a', which repeats" in cli("check", "A+ AS a ; B AS b FILTER a.v != b.v").out


def test_answers_come_while_events_arrive() -> None:
    events = Stream([Event("A", {"v": 1}), Event("B", {"v": 2}), Event("B", {"v": 3})])
    run = choose(as_pattern("A AS a ; B AS b FILTER a.v < b.v")).run(None)
    answers = chain.from_iterable(run.push(events))
    assert next(answers).end == 1
    assert run.position == 1, "no event is read before the first answer was given"


@pytest.mark.parametrize(
    ("query", "types", "v"),
    [
        ("SELECT B WHERE A+ AS x ; B+ AS y FILTER y.v <= x.v", "AAB", "551"),
        ("SELECT B WHERE A+ AS x ; B+ AS y FILTER y.v <= x.v", "AAAABB", "545311"),
        ("SELECT B WHERE A+ AS x ; B+ AS y FILTER y.v + 1 <= x.v LIMIT 1", "AAAABB", "545311"),
    ],
)
def test_an_answer_of_several_runs_is_given_once_after_a_state(
    query: str, types: str, v: str
) -> None:
    """Whether runs share answers depends on the events before the state too."""
    events, pattern = word(types, v=v), cerlab.parse_query(query)
    expected = cerlab.evaluate(query, events, evaluator="reference")
    for size in (1, 2, 3):
        session, answers = pattern.open(), []
        for at in range(0, len(events), size):
            session = pattern.open(state=session.state())
            answers += session.push(events[at : at + size])
        assert sorted(answers, key=by_end) == expected
    assert len(expected) == len(set(expected)) > 1


def test_configurations_are_shared_by_answers() -> None:
    """Twice as many answers with each event between, but one configuration more for each start."""
    phi = parse_formula("A AS a ; B+ ; C AS c FILTER a.v < c.v")
    events = [Event("A", {"v": 0}), *[Event("B")] * 12, Event("C", {"v": 1})]
    active = IntervalRuns(CorrelatedPlan(correlated_to_srt(phi)))
    for position, t in enumerate(events):
        active.advance(t, position)
        assert active.live <= 3
    assert active.counts.evaluations < 20 * len(events)
    assert len(list(active.answers(0))) == 2**12 - 1


def test_equal_values_share_a_configuration() -> None:
    """A stored event keeps only the values that guards may still read."""
    phi = parse_formula("A AS a ; B AS b ; C FILTER a.v < b.v")
    active = IntervalRuns(CorrelatedPlan(correlated_to_srt(phi)))
    for position, (kind, v) in enumerate((("A", 0), ("B", 1), ("B", 2), ("B", 3))):
        active.advance(Event(kind, {"v": v, "n": position}), position)
    assert active.live == 2, "waiting for b and for C"


@random_suite(4_000)
def test_words_of_random_transducers_are_read(rng: Random) -> bool:
    """`IntervalRuns` on [0, j] against the run semantics of the transducer (SRT Def. 24)."""
    T, S = with_word(rng, random_srt)
    active = IntervalRuns(CorrelatedPlan(T))
    for position, t in enumerate(S):
        active.advance(t, position)
    for start in range(len(S)):
        expected = {tuple(start + i for i in M) for M in runs.matches(T, S[start:])}
        matches = {a.positions for a in active.answers(start) if a.start == start}
        assert matches == expected
    return bool(S) and bool(runs.matches(T, S))


def test_without_registers_nothing_is_written() -> None:
    phi = parse_formula("A AS a ; B FILTER a.v = z.v")
    T = correlated_to_srt(phi)
    assert all(t.writes == NONE for t in T.Delta)
    assert T.Delta[1].guard == EVERYTHING or T.Delta[2].guard == EVERYTHING


def test_the_generator_covers_the_fragment() -> None:
    counts: Counter[str] = Counter()
    for seed in range(600):
        rng = Random(seed)
        phi = random_correlated_formula(rng, SHAPE)
        counts.update(type(psi).__name__ for psi in subformulas(phi))
        counts.update(each.operator.name for each in comparisons(phi))
        around = [psi for psi in subformulas(phi) if comparisons(psi)]
        counts["inside an iteration"] += any(isinstance(psi, Plus | ConcatPlus) for psi in around)
        counts.update(f"inside {type(psi).__name__}" for psi in around)
        events = random_correlated_events(rng, phi, SHAPE)
        kinds = {kind_of(t.attributes.get("v")) for t in events}
        counts["mixed kinds"] += len(kinds - {None}) > 1
        counts["no kind"] += None in kinds
    operators = (
        "Atom",
        "As",
        "Filter",
        "Or",
        "Seq",
        "Concat",
        "Plus",
        "ConcatPlus",
        "Count",
        "Project",
        "Rename",
    )
    products = ("inside And", "inside All", "inside Unless", "inside Select")
    others = ("inside an iteration", *products, "mixed kinds", "no kind")
    for name in (*operators, *(op.name for op in Operator), *others):
        assert counts[name] >= (8 if name in products else 30), (name, counts[name])
