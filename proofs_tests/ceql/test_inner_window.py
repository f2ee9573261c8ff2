"""WITHIN after NEXT, LAST and MAX: the warning, the query that it offers, and `why_none`."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import cerlab
from cerlab import Stream
from cerlab.cli import main
from cerlab.logic.ceql.inner_window import compared_inside
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.clauses import Strategy
from cerlab.model.stream import time_axis
from cerlab.testing import Shape, random_events, random_query
from cerlab.why.failure import Inside
from proofs_tests.differential.test_waits import window
from proofs_tests.suite import Suite

WARNED = [
    ("SELECT MAX * WHERE F+ ; O WITHIN 5 [t]", "SELECT MAX * WHERE (F+ ; O WITHIN 5 [t])"),
    ("SELECT NEXT * WHERE A ; B WITHIN 9 EVENTS", "SELECT NEXT * WHERE (A ; B WITHIN 9 EVENTS)"),
    ("SELECT LAST * WHERE A : B WITHIN 1 HOURS", "SELECT LAST * WHERE (A : B WITHIN 1 HOURS)"),
    (
        "SELECT * WHERE MAX(A+ AS a) FILTER a[v > 1] WITHIN 5 [t]",
        "SELECT * WHERE MAX(A+ AS a WITHIN 5 [t]) FILTER a[v > 1]",
    ),
    (
        "SELECT MAX * WHERE A:{2,3} PARTITION BY [k] WITHIN 1 EVENTS LIMIT 1",
        "SELECT MAX * WHERE (A:{2,3} WITHIN 1 EVENTS) PARTITION BY [k] LIMIT 1",
    ),
    (
        "SELECT MAX * WHERE A ALL B WITHIN 5 [t]",
        "SELECT MAX * WHERE (A ALL B WITHIN 5 [t])",
    ),
]


@pytest.mark.parametrize(("query", "offered"), WARNED)
def test_the_warning_offers_a_query_without_it(query: str, offered: str) -> None:
    inside = compared_inside(parse_ceql(query)[0])
    assert inside is not None
    assert inside[1] == parse_ceql(offered)[0]
    assert compared_inside(inside[1]) is None
    with pytest.warns(cerlab.CerlabWarning, match="CER0924") as caught:
        cerlab.evaluate(query, [{"type": "X", "t": 0, "k": 1, "v": 0}], time="t", unit="s")
    assert any(str(each.message).endswith(f"write {offered}") for each in caught)


SILENT = [
    "SELECT MAX * WHERE (A+ WITHIN 5 [t])",
    "SELECT MAX * WHERE (A+ WITHIN 5 [t]) WITHIN 5 [t]",
    "SELECT STRICT * WHERE A+ WITHIN 5 [t]",
    "SELECT * WHERE A+ WITHIN 5 [t]",
    "SELECT MAX * WHERE A : B WITHIN 1 EVENTS",
    "SELECT MAX * WHERE A:{1,3} OR B WITHIN 2 EVENTS",
    "SELECT LAST * WHERE A WITHIN 0 [t]",
    "SELECT MAX * WHERE A LOOKBACK 5 [t] WITHIN 5 [t]",
]


@pytest.mark.parametrize("query", SILENT)
def test_no_answer_is_too_long(query: str) -> None:
    assert compared_inside(parse_ceql(query)[0]) is None


def test_the_command_line_warns(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "SELECT MAX * WHERE F+ ; O WITHIN 5 [t]"])
    out = capsys.readouterr()
    assert "write SELECT MAX * WHERE (F+ ; O WITHIN 5 [t])" in out.out + out.err


def test_why_none_offers_it_where_it_has_answers() -> None:
    query = cerlab.Query(parse_ceql("SELECT MAX * WHERE F+ ; O WITHIN 5 [t]")[0])
    events = [{"type": kind, "t": t} for kind, t in (("F", 0), ("F", 100), ("O", 101))]
    explained = cerlab.why_none(query, events)
    (change,) = [change for change in explained.changes if isinstance(change.repair, Inside)]
    assert change.words == "MAX inside the window: SELECT MAX * WHERE (F+ ; O WITHIN 5 [t])"
    assert change.answer.positions == (1, 2)
    apart = [{"type": "F", "t": 0}, {"type": "O", "t": 9}]
    explained = cerlab.why_none(query, apart)
    assert not any(isinstance(change.repair, Inside) for change in explained.changes)


def test_where_it_is_silent_the_window_drops_nothing(suite: Suite) -> None:
    """And where it warns, the query that it offers gives the same answers, and perhaps more."""
    shape = Shape(depth=2, events=8, timed=True)

    def case(rng: Random) -> bool:
        drawn = random_query(rng, shape)
        strategy = rng.choice((Strategy.NXT, Strategy.LAST, Strategy.MAX))
        query = replace(drawn, strategy=strategy, window=window(rng), consume=drawn.consume.NONE)
        stream = Stream(random_events(rng, query.formula, shape), time=time_axis("t", "s"))
        answers = query_answers(query, stream)
        inside = compared_inside(query)
        if inside is None:
            assert answers == query_answers(replace(query, window=None), stream), str(query)
        else:
            assert {*answers} <= {*query_answers(inside[1], stream)}, str(query)
        return bool(answers)

    suite.run(case, deep_count=10_000, needs_answers=0.3)
