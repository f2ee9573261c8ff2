"""Reasons for no answer: the sufficient changes are exactly the ones the reference confirms."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cerlab import Query, Stream, Unsupported, parse_query, why_none
from cerlab.logic.cel.syntax import Within, with_part
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.testing import Shape
from cerlab.why.failure import Relax, Widen
from cerlab.why.none import shorter, weaker
from cerlab.why.repairs import repaired
from proofs_tests.random_cases import random_case
from proofs_tests.suite import Suite
from proofs_tests.why.mending import mend
from proofs_tests.why.mutations import (
    MUTATIONS,
    Question,
    has_strategy,
    question,
)


def stream(text: str) -> list[dict[str, Any]]:
    """Types with the numbers of ``v`` after them; ``t`` counts in steps of ten."""
    events = (word.partition("=") for word in text.split())
    return [
        {"type": kind, "t": 10 * n, **({"v": int(v)} if v else {})}
        for n, (kind, _, v) in enumerate(events)
    ]


ROWS = [
    ("SELECT * WHERE A : B", "A C B", ["';' for ':' before B: {0, 2}"]),
    ("SELECT * WHERE (A AS x):+ ; B FILTER x[v < 0]", "A=1 B", ["leave out x[v < 0]: {0, 1}"]),
    ("SELECT * WHERE A ; B WITHIN 1 EVENTS", "A C C B", ["WITHIN 3 EVENTS for 1 EVENTS: {0, 3}"]),
    ("SELECT * WHERE A ; B WITHIN 11 [t]", "A C C B", ["WITHIN 30 [t] for 11 [t]: {0, 3}"]),
    ("SELECT * WHERE A ; B PARTITION BY [v]", "A=1 B=2", ["leave out PARTITION BY: {0, 1}"]),
    ("SELECT * FROM S WHERE A UNLESS A", "A", ["leave out UNLESS A: {0}"]),
    ("SELECT * WHERE (A ; B) AND (A ; C)", "A B C", ["ALL for AND before A ; C: {0, 1, 2}"]),
    ("SELECT STRICT * WHERE A ; B", "A C B", ["leave out SELECT STRICT: {0, 2}"]),
    ("SELECT * WHERE STRICT(A ; B)", "A C B", ["leave out STRICT(..): {0, 2}"]),
    (
        "SELECT * WHERE A ; B FILTER A[v > 1 AND v < 9] AND B[v = 3]",
        "A=5 B=4",
        ["leave out B[v = 3]: {0, 1}"],
    ),
    (
        "SELECT * WHERE A FILTER A[v > 1 AND v < 9]",
        "A=1 A=9",
        ["leave out A[v > 1]: {0}", "leave out A[v < 9]: {1}"],
    ),
    (
        "SELECT * WHERE A FILTER A[v > 1 AND v < 9 AND v != 5]",
        "A=10",
        ["leave out A[v < 9]: {0}"],
    ),
    (
        "SELECT * WHERE A FILTER A[v > 1] AND A[v < 9] AND A[v != 5]",
        "A=10",
        ["leave out A[v < 9]: {0}"],
    ),
    ("SELECT * WHERE A ; B ; C", "A C", ["leave out B: {0, 1}"]),
    ("SELECT * WHERE NOT(A FILTER A[v > 1])", "A=2", []),
    ("SELECT * WHERE A ; (B FILTER B[v = 1])", "A B=2", ["leave out B[v = 1]: {0, 1}"]),
    ("SELECT * WHERE (A : B) UNLESS C", "A D B", ["';' for ':' before B: {0, 2}"]),
    (
        "SELECT * WHERE (A ; B WITHIN 15 [t]) ; C",
        "A D B C",
        ["WITHIN 20 [t] for 15 [t]: {0, 2, 3}", "leave out WITHIN 15 [t] after A ; B: {0, 2, 3}"],
    ),
    (
        "SELECT * WHERE (A ; B WITHIN 0 EVENTS) ; C WITHIN 2 EVENTS",
        "A B C",
        [
            "WITHIN 1 EVENTS for 0 EVENTS: {0, 1, 2}",
            "leave out WITHIN 0 EVENTS after A ; B: {0, 1, 2}",
        ],
    ),
    (
        "SELECT * WHERE A WAIT 10 [t]",
        "B A C",
        ['until="end": {1}', "leave out WAIT 10 [t] after A: {1}"],
    ),
    (
        "SELECT * WHERE (A WAIT 10 [t]) UNLESS B",
        "A B C",
        ["leave out UNLESS B: {0}", "leave out WAIT 10 [t] after A: {0}"],
    ),
    ("SELECT * WHERE A UNLESS (A WAIT 5 [t])", "A B", ["leave out UNLESS A WAIT 5 [t]: {0}"]),
]


@pytest.mark.filterwarnings("ignore:CER0918")  # UNLESS of the left side itself is judged too
@pytest.mark.parametrize(("query", "events", "changes"), ROWS)
def test_the_changes_that_are_enough(query: str, events: str, changes: list[str]) -> None:
    explanation = why_none(query, stream(events))
    assert explanation.answer is None
    assert explanation.events == len(events.split())
    lines = str(explanation).splitlines()
    assert [line.strip() for line in lines if line.startswith("  ")] == changes
    assert ("no single change" in lines[0]) is (not changes)


def test_from_a_stream_that_no_event_is_in() -> None:
    events = [{"type": "A", "stream": "T"}]
    assert str(why_none("SELECT * FROM S WHERE A", events)).splitlines()[1:] == [
        "  leave out FROM S: {0}",
        "no event is of stream 'S': known: T",
    ]
    assert str(why_none("S>A", events)).splitlines()[1] == "  leave out S> before A: {0}"


def test_names_that_no_event_has() -> None:
    query = "SELECT * WHERE a ; B FILTER B[w > 1] PARTITION BY [u] WITHIN 3 [tt]"
    with pytest.raises(Exception, match="tt"):  # a window's attribute has to be there
        why_none(query, stream("A B=2"))
    explanation = why_none(query.replace("tt", "t"), stream("A B=2"))
    assert [(each.kind, each.name, each.hint) for each in explanation.absent] == [
        ("type", "a", "did you mean 'A'?"),
        ("attribute", "w", "known: t, v"),
        ("attribute", "u", "known: t, v"),
    ]


def test_an_answer_that_there_is() -> None:
    explanation = why_none("A ; B", stream("A B"))
    assert str(explanation) == "there is an answer on 2 events: {0, 1}"
    assert not explanation.changes


def test_windows_of_time_and_of_fractions() -> None:
    events = Stream.from_events(stream("A C B"), time="t", unit="ms")
    (change,) = why_none("SELECT * WHERE A ; B WITHIN 0.005 SECONDS", events).changes
    assert change.repair == Widen(TimeWindow(20_000_000))
    fine = Stream.from_events(
        [{"type": "A", "t": 0}, {"type": "B", "t": 2_001}], time="t", unit="ns"
    )
    (change,) = why_none("SELECT * WHERE A ; B WITHIN 0.0000015 SECONDS", fine).changes
    assert change.repair == Widen(TimeWindow(2_001))
    (change,) = why_none("SELECT * WHERE A ; B WITHIN 0.5 [t]", events).changes
    assert isinstance(change.repair, Widen)
    assert isinstance(change.repair.window, AttributeWindow)
    assert 20 <= change.repair.window.width <= 20 + 0.5 / 1024


def test_what_no_evaluator_takes_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    query = parse_query("SELECT * WHERE (A ; NEXT(B AS b ; C AS c FILTER b.v < c.v)) : D")
    events = stream(" ".join(["A", *["X"] * 700]))
    with pytest.raises(Unsupported, match="reference"):
        query.why_none(events)


def no_answers(rng: Random, shape: Shape) -> Question | None:
    """A query that had answers before some changes, on a stream where it has none."""
    for _ in range(60):
        case = random_case(rng, shape)
        answers = query_answers(case.ast, case.stream)
        if not answers:
            continue
        m = rng.choice(answers)
        q = question(case.ast, case.stream, m, interval=False)
        for _ in range(rng.choice((1, 1, 2, 3))):
            q = rng.choice(MUTATIONS)(rng, q, m)
            if m.end >= len(q.stream):
                break
            if not query_answers(q.ast, q.stream):
                return q
    return None


def check(rng: Random, shape: Shape) -> bool:
    q = no_answers(rng, shape)
    if q is None or (has_strategy(q.ast.formula) and not shape.family):
        return False
    explanation = why_none(Query(q.ast, source=Source("", {}, ())), q.stream)
    assert explanation.answer is None
    enough = set()
    for change in explanation.changes:
        (mended_question,) = mend(q, change.repair)
        assert change.answer in query_answers(mended_question.ast, mended_question.stream), change
        enough.add(mended_question.ast)
    _is_narrowest(q, [change.repair for change in explanation.changes])
    omissions = {words for words, _ in explanation.untried}
    for changes in (weaker(q.ast), shorter(q.ast) if not enough else ()):
        for words, repair in changes:
            if words not in omissions:
                changed = repaired(q.ast, repair)
                assert (changed in enough) is bool(query_answers(changed, q.stream)), words
    return bool(explanation.changes)


def _is_narrowest(q: Question, repairs: list[Any]) -> None:
    """A window of one event less gives none; and no window does, if none is named."""
    for repair in repairs:
        match repair:
            case Relax(path, Within(_, EventWindow(width)) as wide) if not has_strategy(wide):
                less = replace(wide, window=EventWindow(width - 1))
                formula = with_part(q.ast.formula, path, less)
                assert not _answers(replace(q.ast, formula=formula), q)
    windows = [repair.window for repair in repairs if isinstance(repair, Widen)]
    if not windows:
        assert q.ast.window is None or not _answers(replace(q.ast, window=None), q)
        return
    (window,) = windows
    if isinstance(window, EventWindow):
        narrower = replace(q.ast, window=EventWindow(window.width - 1))
        assert not _answers(narrower, q)


def _answers(ast: CeqlQuery, q: Question) -> Any:
    return query_answers(ast, q.stream)


def test_random_queries(suite: Suite) -> None:
    suite.run(lambda rng: check(rng, Shape(depth=2, events=6)), deep_count=2_000)


def test_random_queries_of_the_whole_family(suite: Suite) -> None:
    shape = Shape(depth=2, events=6, family=True)
    suite.run(lambda rng: check(rng, shape), deep_count=2_000)


def test_random_queries_with_windows_inside_and_waits(suite: Suite) -> None:
    shape = Shape(depth=2, events=6, timed=True)
    suite.run(lambda rng: check(rng, shape), deep_count=2_000)
