"""WITHIN after NEXT, LAST and MAX: the warning, the query that it offers, and `why_none`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
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
from proofs_tests.suite import random_suite

RECIPES = Path(__file__).parents[2] / "docs" / "how_to" / "recipes.md"

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


COUNTED = [
    (
        "(F AS f OR O)+ AS a FILTER COUNT(f) / COUNT(a) > 0.5 WITHIN 10 MINUTES",
        "MAX((F AS f OR O)+ AS a WITHIN 10 MINUTES) FILTER COUNT(f) / COUNT(a) > 0.5",
        "More than half of the calls fail",
    ),
    (
        "F+ AS f FILTER COUNT(f) < 3",
        "MAX(F+ AS f WITHIN 10 MINUTES) FILTER COUNT(f) < 3",
        "Fewer than three in ten minutes",
    ),
    (
        "(F+ WITHIN 5 EVENTS) FILTER 3 >= COUNT(DISTINCT F.k)",
        "MAX(F+ WITHIN 5 EVENTS) FILTER 3 >= COUNT(DISTINCT F.k)",
        "Fewer than three in ten minutes",
    ),
    (
        "A ; F{2,} AS f FILTER COUNT(f) <= 4 AND f[v > 1] WITHIN 9 EVENTS",
        "MAX(A ; F{2,} AS f WITHIN 9 EVENTS) FILTER COUNT(f) <= 4 AND f[v > 1]",
        "Fewer than three in ten minutes",
    ),
]


@pytest.mark.parametrize(("formula", "offered", "recipe"), COUNTED)
def test_a_bound_on_chosen_events_offers_to_count_all_of_the_window(
    formula: str, offered: str, recipe: str
) -> None:
    with pytest.warns(cerlab.CerlabWarning, match="CER0926") as caught:
        cerlab.parse_query(f"SELECT * WHERE {formula}")
    (message,) = [str(each.message) for each in caught if "CER0926" in str(each.message)]
    assert f"write {offered}; recipe '{recipe}' (docs/how_to/recipes.md)" in message
    assert f"## {recipe}\n" in RECIPES.read_text(encoding="utf-8")
    with warnings.catch_warnings(action="error"):
        cerlab.parse_query(f"SELECT * WHERE {offered}")


@pytest.mark.parametrize(
    "formula",
    [
        "F+ AS f FILTER COUNT(f) >= 3",
        "F+ AS f FILTER 3 < COUNT(f)",
        "F+ AS f FILTER COUNT(f) = 3",
        "F+ AS f FILTER SUM(f.v) < 3",
        "(A+ AS a ; B+ AS b) FILTER COUNT(a) = COUNT(b)",
        "F:+ AS f FILTER COUNT(f) < 3",
        "F{1,5} AS f FILTER COUNT(f) < 3",
        "MAX(F+ AS f) FILTER COUNT(f) < 3",
        "STRICT(F+ AS f) FILTER COUNT(f) < 3",
        "(F AS f ; A+) FILTER COUNT(f) < 3",
        "F+ AS f FILTER f[v < 3]",
    ],
)
def test_a_filter_that_means_the_chosen_events_is_silent(formula: str) -> None:
    with warnings.catch_warnings(action="error"):
        cerlab.parse_query(f"SELECT * WHERE {formula}")


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


@random_suite(10_000, needs_answers=0.3)
def test_where_it_is_silent_the_window_drops_nothing(rng: Random) -> bool:
    """And where it warns, the query that it offers gives the same answers, and perhaps more."""
    shape = Shape(depth=2, events=8, timed=True)
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
