"""Strategies for hypothesis: wrong engines are found, and their cases shrink to what matters."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, given, settings

import cerlab
import cerlab.testing
from cerlab import ComplexEvent
from cerlab.compile.pattern import as_pattern
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import EventWindow
from cerlab.testing import SMALL, Case, cases, formulas, streams
from proofs_tests.fuzz.test_wrong_engines import Engine, parts, reading, strict_comparison
from proofs_tests.limits.calls import at_most_calls
from proofs_tests.suite import Suite

ROOT = Path(__file__).parents[2]


def contiguous_plus(phi: cel.Formula) -> cel.Formula:
    return cel.ConcatPlus(phi.body) if isinstance(phi, cel.Plus) else phi


def contiguous_sequence(phi: cel.Formula) -> cel.Formula:
    return cel.Concat(phi.left, phi.right) if isinstance(phi, cel.Seq) else phi


def gaps(phi: cel.Formula) -> cel.Formula:
    return cel.Seq(phi.left, phi.right) if isinstance(phi, cel.Concat) else phi


def first_choice(phi: cel.Formula) -> cel.Formula:
    return phi.left if isinstance(phi, cel.Or) else phi


def strict_window(query: CeqlQuery) -> CeqlQuery:
    if isinstance(query.window, EventWindow) and query.window.width:
        return replace(query, window=EventWindow(query.window.width - 1))
    return query


def default(name: str) -> Engine:
    """An engine that ignores a clause."""
    return reading(lambda q: replace(q, **{name: getattr(CeqlQuery(q.formula), name)}))


def zero_for_missing(case: Case) -> list[ComplexEvent]:
    return Case(case.query, [{"v": 0, **event} for event in case.events]).answers


def null_is_a_key(case: Case) -> list[ComplexEvent]:
    events = [{**event, "k": event.get("k", None) or 0} for event in case.events]
    return Case(case.query, events).answers


WRONG: dict[str, Engine] = {
    "contiguous +": parts(contiguous_plus),
    "contiguous ;": parts(contiguous_sequence),
    "gaps at :": parts(gaps),
    "the first side of OR": parts(first_choice),
    ">= read as >": parts(strict_comparison),
    "a strict window": reading(strict_window),
    "no PARTITION BY": default("partition"),
    "no CONSUME BY": default("consume"),
    "no strategy": default("strategy"),
    "no projection": default("items"),
    "no FROM": default("streams"),
    "a missing attribute is 0": zero_for_missing,
    "a key that is NULL is 0": null_is_a_key,
    "answers twice": lambda case: [m for m in case.answers for _ in range(2)],
    "one answer for an end": lambda case: list({m.end: m for m in case.answers}.values()),
}


SOON = ("the first side of OR", "no FROM", "answers twice", "a missing attribute is 0")
"""Engines whose case is found soon: of the others most answers are right."""


@pytest.mark.parametrize("name", WRONG)
def test_the_case_of_a_wrong_engine_is_small(name: str, suite: Suite) -> None:
    """At most three events, two operators, no attribute that does not matter; in a few seconds."""
    if name not in SOON and not suite.deep:
        pytest.skip("with --profile deep only: it takes up to ten seconds; four engines remain")
    engine = WRONG[name]
    asked = 0

    def differs(case: Case) -> bool:
        nonlocal asked
        asked += 1
        return engine(case) != case.answers

    case = find(cases(), differs, settings=settings(max_examples=2_000))
    formula = as_pattern(case.query).ast.formula
    assert len(case.events) <= 3, case
    assert sum(not isinstance(phi, cel.Atom) for phi in cel.subformulas(formula)) <= 2, case
    assert asked < 3_000  # of 5 ms each; time itself is another one under load
    for i, event in enumerate(case.events):
        for attribute in event.keys() - {"type"}:
            events = list(case.events)
            events[i] = {name: value for name, value in event.items() if name != attribute}
            assert not differs(Case(case.query, events)), case


EXAMPLES = 200

SNIPPETS = {
    "README.md": ROOT / "README.md",
    "the page of the manual": ROOT / "docs" / "how_to" / "fuzz.md",
    "the docstring": cerlab.testing.__doc__,
}


@pytest.mark.parametrize("place", SNIPPETS)
def test_the_test_that_is_printed_passes_with_a_right_engine(place: str) -> None:
    """Every warning is an error. Examples are small: Hypothesis gives each 0.2 s by default.

    Python makes a million calls in that time. Drawing takes 12,500 calls for each.
    """
    source = SNIPPETS[place]
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else str(source)
    (snippet,) = [each for each in snippets(text) if "@given(cases())" in each]

    def my_engine(query: str, events: list[dict[str, Any]]) -> list[ComplexEvent]:
        with at_most_calls(200_000):
            return cerlab.evaluate(query, events)

    names: dict[str, Any] = {"cerlab": cerlab, "my_engine": my_engine}
    exec(snippet, names)
    with warnings.catch_warnings(action="error"), at_most_calls(EXAMPLES * 50_000):
        settings(max_examples=EXAMPLES)(names["test_my_engine"])()


def test_sorted_positions_are_compared_as_the_page_says() -> None:
    page = (ROOT / "docs" / "how_to" / "fuzz.md").read_text(encoding="utf-8")
    (snippet,) = [each for each in snippets(page) if "expected = [" in each]
    case = Case("SELECT * WHERE A+", [{"type": "A"}] * 2)

    def positions(query: str, events: list[dict[str, Any]]) -> list[list[int]]:
        return [list(a.positions) for a in cerlab.evaluate(query, events)][::-1]

    exec(snippet, {"case": case, "my_engine": positions})
    with pytest.raises(AssertionError):
        exec(snippet, {"case": case, "my_engine": lambda *asked: positions(*asked) * 2})


def test_no_draw_and_no_example_loads_packages() -> None:
    """In a new process, where the first example is the first call of cerlab.

    Loading takes seconds on a slow machine; Hypothesis allows an example 0.2 s and the draws 1 s.
    """
    code = """
import sys, warnings, cerlab
from hypothesis import HealthCheck, given, settings, strategies
from cerlab.testing import cases

warnings.simplefilter("error")

@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.builds(lambda: len(sys.modules)), cases())
def test(loaded, case):
    assert cerlab.evaluate(case.query, case.events) == case.answers
    assert len(sys.modules) - loaded < 5

test()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def snippets(text: str) -> list[str]:
    """The blocks of code: between fences, or indented in a docstring."""
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)
    return [textwrap.dedent(each) for each in (*fenced, *indented)]


def test_a_failing_case_prints_as_query_events_and_answers() -> None:
    @settings(print_blob=False)
    @given(cases(SMALL))
    def test(case: Case) -> None:
        assert not case.answers

    with pytest.raises(AssertionError) as failure:
        test()
    assert re.match(
        r"""(?:Failing test case|Falsifying example): test\(
    case=Case\(
        "SELECT \* WHERE A",
        \[
            {'type': '[ABC]'},
        \],
        # the reference: {0?}( in \[0, 0\])?
    \),
\)""",
        "\n".join(failure.value.__notes__),
    )


def test_formulas_and_events_print_as_calls() -> None:
    @given(formulas("so", SMALL), streams(times=True))
    def test(phi: cel.Formula, S: list[cerlab.Event]) -> None:
        assert len(S) < 2 or isinstance(phi, cel.Atom)

    with pytest.raises(AssertionError) as failure:
        test()
    notes = "\n".join(failure.value.__notes__)
    assert "S=[Event('A', {'t': 0}), Event('A', {'t': 0})]" in notes
    assert re.search(r"phi=parse_formula\('.*'\)", notes)


@settings(max_examples=100)
@given(cases(times=True))
def test_a_stream_has_the_time_that_a_window_in_seconds_needs(case: Case) -> None:
    assert cerlab.evaluate(case.query, case.events) == case.answers


@settings(max_examples=300)
@given(cases())
def test_no_window_is_in_seconds_unless_that_is_asked_for(case: Case) -> None:
    assert "SECONDS" not in case.query


def test_warnings_are_on_again_after_an_example() -> None:
    """They are off in it, whatever the filters are around it."""

    @settings(max_examples=5)
    @given(cases())
    def test(case: Case) -> None:
        warnings.warn(cerlab.CerlabWarning("of a random case"), stacklevel=1)

    with warnings.catch_warnings(action="error"):
        before = list(warnings.filters)
        test()
        assert warnings.filters == before
