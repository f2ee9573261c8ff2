"""f WAIT d in sessions, in tables and in totals; refusals; when an answer is certain.

Hand-computed answers are in ``cerlab/conformance/cases/wait*.json``.
"""

from __future__ import annotations

import json
import math
import pickle
import warnings
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent, Event, Stream, Unsupported, Valuation
from cerlab.automata.plan import Plan
from cerlab.cli import main
from cerlab.compile.pattern import any_pattern
from cerlab.engine.waits.bodies import SelectingBody
from cerlab.engine.waits.whole import WholeStream
from cerlab.evaluate import names_that_take
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_cel
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, Consume, Limit, Strategy
from proofs_tests.clauses.tables import c
from proofs_tests.differential.test_windows_inside import ALPHABET, random_times, small_formula
from proofs_tests.suite import random_suite


def stream(text: str) -> list[dict[str, Any]]:
    """``A1@0``: an event of type A with the key 1 at 0 seconds."""
    parts = (each.split("@") for each in text.split())
    return [{"type": x[0], "k": x[1:] or "0", "t": float(t)} for x, t in parts]


S = "A@0 B@4 B@7 C@8 A@100 B@130"


SAME = "(A AS a ; B AS b FILTER a.k = b.k)"


Step = tuple[str | float, list[ComplexEvent]]
"""Events that are pushed, or a time until which all have come, and the answers that come out."""

NO: list[ComplexEvent] = []

SESSIONS: list[tuple[str, list[Step]]] = [
    ("A WAIT 10 SECONDS", [("A@0", NO), ("B@4 B@7", NO), ("A@10", NO), ("B@11", [c(0, 3, 0)])]),
    ("A WAIT 10 SECONDS", [("A@0", NO), (10, NO), (10.5, [c(0, 0, 0)]), (11, NO)]),
    ("A WAIT 10 SECONDS", [("A@0", NO), (10, NO), ("B@10", NO), ("end", [c(0, 1, 0)])]),
    ("A WAIT 10 SECONDS", [("A@0", NO), (12, [c(0, 0, 0)]), (3, NO), ("A@12", NO), (22, NO)]),
    ("B WAIT 3 [t]", [("B@4 B@7", NO), (7, NO), (7.5, [c(0, 1, 0)]), ("end", [c(1, 1, 1)])]),
    ("(A WAIT 10 [t]) UNLESS B", [("A@0", NO), ("B@10", NO), (99, NO), ("end", NO)]),
    ("(A WAIT 10 [t]) UNLESS B", [("A@0", NO), (11, [c(0, 0, 0)]), ("B@11", NO), ("end", NO)]),
    ("A ; ((B WAIT 3 [t]) UNLESS C)", [("A@0 B@1", NO), ("C@5", [c(0, 1, 0, 1)])]),
    ("(A WAIT 5 [t]) OR A", [("A@0", [c(0, 0, 0)]), ("B@9", NO), ("end", NO)]),
    ("A WAIT 0 [t]", [("A@0 A@0", NO), ("A@1", [c(0, 1, 0), c(1, 1, 1)]), (1, NO)]),
    (
        "SELECT * WHERE (A WAIT 10 SECONDS) OR B PARTITION BY [k]",
        [("A1@0", NO), ("B2@5", [c(1, 1, 1)]), ("C2@20", [c(0, 0, 0)])],
    ),
    (
        "SELECT * WHERE (A WAIT 10 SECONDS) UNLESS B PARTITION BY [k]",
        [("A1@0 A2@2", NO), ("B2@3", NO), ("C2@60", [c(0, 0, 0)])],
    ),
    ("SELECT * WHERE A WAIT 5 [t] PARTITION BY [k]", [("A1@0 C2@1", NO), (6, [c(0, 0, 0)])]),
    ("A WAIT 2 SECONDS", [(9, NO), ("A@9", NO), (12, [c(0, 0, 0)])]),
    ("A ; (B WAIT 3 [t])", [("A@0", NO), ("B@1", NO), ("end", [c(0, 1, 0, 1)])]),
    ("(A WAIT 9 [t]) UNLESS (B ; C)", [("A@0 B@1", NO), ("C@2", NO), ("end", NO)]),
    ("(A WAIT 1 [t] WITHIN 1 EVENTS)", [("A@0", NO), ("B@1", NO), ("B@2", [c(0, 1, 0)])]),
    ("(A WAIT 1 [t] WITHIN 1 EVENTS)", [("A@0", NO), ("C@0 B@1", NO), ("B@2", NO), ("end", NO)]),
    ("(A WAIT 5 [t]) OR (B WAIT 3 [t])", [("A@0 B@0", NO), (4, [c(1, 1, 1)]), (6, [c(0, 1, 0)])]),
    ("A WAIT 2 [t] WAIT 2 [t]", [("A@0 B@2", NO), (3, NO), (4, NO), (5, [c(0, 1, 0)])]),
    (
        f"{SAME} WAIT 3 [t]",
        [
            *(("A1@0 A2@1", NO), ("B2@2", NO), (5, NO), (5.5, [c(1, 2, 1, 2)])),
            *(("B1@6 C@7", NO), ("end", [c(0, 4, 0, 3)])),
        ],
    ),
    (
        "(A+ AS a ; B AS b FILTER a.t < b.t) WAIT 1 [t]",
        [
            *(("A@0", NO), ("A@1 A@1", NO), ("B@2", NO)),
            (
                4,
                [
                    *(c(0, 3, 0, 1, 2, 3), c(0, 3, 0, 1, 3), c(0, 3, 0, 2, 3), c(0, 3, 0, 3)),
                    *(c(1, 3, 1, 2, 3), c(1, 3, 1, 3), c(2, 3, 2, 3)),
                ],
            ),
        ],
    ),
    (
        "(A+ AS a ; B AS b FILTER a.t < b.t) WAIT 1 [t]",
        [
            *(("A@0", NO), ("A@1 A@1", NO), ("C@3", NO), ("B@4", NO)),
            (
                6,
                [
                    *(c(0, 4, 0, 1, 2, 4), c(0, 4, 0, 1, 4), c(0, 4, 0, 2, 4), c(0, 4, 0, 4)),
                    *(c(1, 4, 1, 2, 4), c(1, 4, 1, 4), c(2, 4, 2, 4)),
                ],
            ),
        ],
    ),
    (
        "(A AS a ; B AS b FILTER b.t > 2 + a.t WITHIN 3 [t])",
        [("A@0", NO), ("B@3", [c(0, 1, 0, 1)])],
    ),
    ("(A ; B WITHIN 3 [t]) ; C", [("A@0 A@1", NO), ("B@4", NO), ("C@9", [c(1, 3, 1, 2, 3)])]),
    (
        "((A ; B WITHIN 3 [t]) ; C WAIT 2 [t]) UNLESS (C ; C)",
        [("C@0 A@1 A@2", NO), ("B@5 B@6", NO), ("C@9", NO), (11, NO), (12, [c(2, 5, 2, 3, 5)])],
    ),
    (
        "MAX(A+ WITHIN 2 [t])",
        [
            *(("A@0 C@0", [c(0, 0, 0)]), ("A@1 A@2", [c(0, 2, 0, 2), c(0, 3, 0, 2, 3)])),
            *(("A@4", [c(3, 4, 3, 4)]), ("A@9 A@9", [c(5, 5, 5), c(5, 6, 5, 6)])),
        ],
    ),
    (
        "NEXT(A ; B WITHIN 3 [t]) PARTITION BY [k]",
        [
            *(("A1@0 A2@1", NO), ("A1@2 B1@3", [c(0, 3, 0, 3)])),
            *(("B2@5", NO), ("B1@5 B1@6", [c(2, 5, 2, 5)])),
        ],
    ),
    (
        "MAX(A+ AS a WITHIN 2 [t]) FILTER COUNT(DISTINCT a.k) >= 2",
        [
            *(("A1@0 A1@1", NO), ("A2@2", [c(0, 2, 0, 1, 2)]), ("A1@3", [c(1, 3, 1, 2, 3)])),
            *(("A1@5", NO), ("A2@9 A1@9", [c(5, 6, 5, 6)])),
        ],
    ),
    (
        "(A+ AS a WAIT 1 [t]) FILTER COUNT(DISTINCT a.k) >= 2",
        [("A1@0 A1@1", NO), ("A2@2", NO), (4, [c(0, 2, 0, 1, 2), c(0, 2, 0, 2), c(1, 2, 1, 2)])],
    ),
]


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")  # a wait of a wait
@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize(("text", "steps"), SESSIONS)
def test_sessions_by_hand(text: str, steps: list[Step], restored: bool) -> None:
    assert session_steps(text, steps, restored=restored) == [expected for _, expected in steps]


def session_steps(text: str, steps: Sequence[Step], *, restored: bool) -> list[list[ComplexEvent]]:
    """The answers of each step of a session, which goes on from its state where it is restored."""
    query = cerlab.parse_query(text if text.startswith("SELECT") else f"SELECT * WHERE {text}")
    session, results = query.open(time="t", unit="s"), []
    for step, _ in steps:
        if restored:
            session = query.open(state=session.state())
        if isinstance(step, str) and "@" in step:
            results.append(session.push(stream(step)))
        else:
            results.append(session.advance(step))
    return results


def test_the_last_of_two_promises_does_not_take_the_first_back() -> None:
    session = cerlab.parse_query("SELECT * WHERE A WAIT 5 [t]").open()
    assert session.push(stream("A@0")) == session.advance(4) == session.advance(1) == []
    with pytest.raises(cerlab.BadData, match="CER0714"):
        session.push(stream("B@3"))
    assert session.push(stream("B@4")) == []
    assert session.advance(6) == [c(0, 1, 0)]


def test_sessions_that_are_over() -> None:
    query = cerlab.parse_query("SELECT * WHERE A WAIT 5 [t]")
    session = query.open()
    assert session.push(stream("A@0 B@3")) == []
    with pytest.raises(cerlab.BadData, match="CER0726"):
        session.advance(2)
    with pytest.raises(cerlab.UsageError, match="CER0828"):
        session.advance("soon")
    assert session.advance(8) == [c(0, 1, 0)]
    assert session.answered == 1
    with pytest.raises(cerlab.BadData, match="CER0714") as late:
        session.push(stream("A@8 A@7"))
    assert late.value.matches == []
    assert session.pushed == 3
    assert session.advance("end") == [c(2, 2, 2)]
    for each in (session, query.open(state=session.state()), pickle.loads(pickle.dumps(session))):
        with pytest.raises(cerlab.UsageError, match="CER0829"):
            each.push(stream("A@9"))
        assert each.advance("end") == each.advance(9) == []


def test_rows_of_sessions_that_wait() -> None:
    query = cerlab.parse_query("SELECT a WHERE (A AS a WAIT 5 [t]) UNLESS B PARTITION BY [k]")
    session = query.tabulating(["a.t"])
    assert session.push(stream("A1@0 A2@2")).num_rows == 0
    assert session.push(stream("B2@3 B2@6")).to_pylist() == [
        {"start": 0, "end": 0, "k": "1", "a.t": 0.0}
    ]
    session = query.tabulating(["a.t"], state=session.state())
    assert session.push(stream("A2@9")).num_rows == 0
    row = {"start": 4, "end": 4, "k": "2", "a.t": 9.0}
    assert session.advance(15).to_pylist() == [row]
    with pytest.raises(Unsupported, match="CER0408"):
        cerlab.parse_query("SELECT * WHERE (A WAIT 5 [t]) OR A").tabulating()


def test_rows_of_compared_labels_that_wait() -> None:
    query = cerlab.parse_query(f"SELECT a, b WHERE ({SAME} WAIT 2 [t]) UNLESS C")
    session = query.tabulating(["a.t", "b.t"])
    assert session.push(stream("A1@0 A2@1 B2@3")).num_rows == 0
    session = query.tabulating(["a.t", "b.t"], state=session.state())
    rows = [{"start": 1, "end": 2, "a.t": 1.0, "b.t": 3.0}]
    assert session.advance(5.5).to_pylist() == rows
    events = stream("A1@0 A2@1 B2@3 B1@6")
    assert query.run(events).table(["a.t", "b.t"]).to_pylist() == rows
    totals = query.aggregating(count=True, sum="b.t")
    assert totals.push(events).to_pylist() == [{"count": 1, "sum(b.t)": 3.0}]
    assert totals.advance("end").to_pylist() == [{"count": 2, "sum(b.t)": 9.0}]


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    "text", ["A ; B", "(A ; B WITHIN 5 SECONDS)", "A AS a ; B AS b FILTER a.t < b.t"]
)
@pytest.mark.parametrize("door", ["open", "tabulating", "aggregating"])
def test_a_session_in_which_nothing_waits_says_so_and_is_over_at_the_end(
    text: str, door: str
) -> None:
    query = cerlab.parse_query(f"SELECT * WHERE {text}")
    session = getattr(query, door)(time="t", unit="s")
    with pytest.warns(cerlab.AnswerWarning, match="CER0916"):
        assert len(session.advance(9)) == 0
    assert len(session.push(stream("A@0 B@1"))) == 1
    with pytest.warns(cerlab.AnswerWarning, match="CER0916"):
        assert len(session.advance("end")) == 0
    again = getattr(query, door)(state=session.state())
    for each in (session, again, getattr(query, door)(state=again.state()), copy(session)):
        with pytest.raises(cerlab.UsageError, match="CER0829"):
            each.push(stream("B@2"))
    assert session.pushed == 2


def test_until_as_a_moment() -> None:
    day = [{"type": "A", "t": datetime(2024, 1, 1, tzinfo=UTC)}]
    for until, many in (
        (datetime(2024, 1, 1, 0, 0, 5, tzinfo=UTC), 0),
        (datetime(2024, 1, 1, 0, 0, 6, tzinfo=UTC), 1),
        ("2024-01-01T00:00:06", 1),
    ):
        assert cerlab.count("A WAIT 5 SECONDS", day, until=until) == many


def test_until_that_is_refused() -> None:
    with pytest.raises(cerlab.BadData, match="CER0726"):
        cerlab.evaluate("A WAIT 5 [t]", stream(S), until=129)
    with pytest.raises(cerlab.UsageError, match="CER0827"):
        cerlab.evaluate("A WAIT 5 [t] OR A WAIT 5 [u]", [{"type": "A", "t": 1, "u": 2}], until=9)
    for until in ("soon", True, float("nan")):
        with pytest.raises(cerlab.UsageError, match="CER0828"):
            cerlab.evaluate("A WAIT 5 [t]", stream(S), until=until)
    session = cerlab.parse_query("SELECT * WHERE A").open()
    with pytest.raises(cerlab.UsageError, match="CER0847"):
        session.push(stream(S), until=9)


@pytest.mark.filterwarnings("always")
def test_what_waits_is_said() -> None:
    with pytest.warns(cerlab.AnswerWarning, match="CER0915: 1 answer waits"):
        cerlab.evaluate("A WAIT 40 [t]", stream(S))
    with pytest.warns(cerlab.AnswerWarning, match="CER0916"):
        cerlab.evaluate("A", stream(S), until="end")
    with warnings.catch_warnings(action="error"):
        cerlab.evaluate("A WAIT 40 [t]", stream(S), until="end")
        cerlab.evaluate("A WAIT 20 [t]", stream(S))


@pytest.mark.parametrize("evaluator", ["automaton", "lists"])
def test_other_evaluators_refuse_it_by_name(evaluator: Any) -> None:
    with pytest.raises(Unsupported, match="WAIT"):
        cerlab.evaluate("A WAIT 3 [t]", stream(S), evaluator=evaluator)


def test_automata_compare_no_labels() -> None:
    text = "(A AS a ; B AS b FILTER a.t < b.t) WAIT 3 [t]"
    with pytest.raises(Unsupported, match=r"CER0403: comparisons of labels have no automaton"):
        cerlab.evaluate(text, stream(S), evaluator="tecs")


REFUSED = [
    ("A UNLESS (B WAIT 3 [t])", "inside UNLESS"),
    ("SELECT LAST * WHERE A WAIT 3 [t]", "LAST over answers that wait"),
    ("SELECT * WHERE A WAIT 3 [t] LIMIT 1", "LIMIT over answers that wait"),
    (f"(A WAIT 3 [t]) UNLESS {SAME}", "inside UNLESS"),
    ("LAST(A WAIT 3 [t]) ; B", "inside LAST"),
    ("(A AS a ; B AS b ; C AS c FILTER a.t + b.t < c.t) WAIT 3 [t]", "two labels"),
]


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize("evaluator", ["tecs", "compiled", "registers"])
@pytest.mark.parametrize(("text", "part"), REFUSED)
def test_what_no_machine_waits_for_is_refused_by_name(text: str, part: str, evaluator: Any) -> None:
    with pytest.raises(Unsupported, match=part):
        cerlab.evaluate(text, stream(S), evaluator=evaluator)


@pytest.mark.parametrize("text", ["(A WAIT 3 [t]) ; B", "A WAIT 3 [t] CONSUME BY ANY"])
def test_automata_refuse_waits_that_need_registers(text: str) -> None:
    with pytest.raises(Unsupported, match=r"CER0403.*before other steps") as refused:
        cerlab.evaluate(f"SELECT * WHERE {text}", stream(S), evaluator="tecs")
    assert "registers" in refused.value.hint


def is_refused_live(text: str) -> str:
    """The message by which sessions and running totals refuse a query."""
    query = cerlab.parse_query(f"SELECT * WHERE {text}")
    messages = set()
    for opened in (query.open, query.aggregating, query.tabulating):
        with pytest.raises(Unsupported, match="CER0403") as refused:
            opened()
        assert "cerlab.evaluate" in refused.value.hint
        messages.add(refused.value.message)
    (message,) = messages
    return message


def test_sessions_refuse_what_later_events_decide() -> None:
    assert "waits before other steps" in is_refused_live("(A WAIT 3 [t]) ; B")
    assert "consumes" in is_refused_live("(A ; B WITHIN 3 [t]) ; C CONSUME BY ANY")


def test_a_strategy_in_a_window_reads_each_window_once_for_each_end() -> None:
    """A window of n events has 2^n answers, of which MAX leaves one; n events are read for it."""
    query, inside, many = cerlab.parse_query("SELECT * WHERE MAX(A+ WITHIN 39 [t])"), 40, 400
    assert query.waits is not None
    plan, tables = query.waits.plan, query.waits.tables
    stream = Stream([Event("A", {"t": t}) for t in range(many)])
    (ends,) = WholeStream(plan, tables, stream, None).ends(plan.branches)
    (automaton,) = plan.plans
    assert isinstance(automaton, Plan)
    body = SelectingBody(automaton, tables[0])
    lengths = [len(answer.positions) for batch in body.answers(ends) for answer in batch]
    assert lengths == [min(n, inside) for n in range(1, many + 1)]
    assert body.steps <= 4 * many * inside


def test_who_does_not_take_it_says_so() -> None:
    with pytest.raises(Unsupported, match=r"CER0406.*WAIT"):
        cerlab.evaluate("A WAIT 3 [t]", stream(S), logic="fo")
    with pytest.raises(Unsupported, match=r"CER0414.*WAIT 3 \[t\] right of UNLESS"):
        cerlab.why("(A ; B) UNLESS (B WAIT 3 [t])", stream(S), (0, 1))
    with pytest.raises(Unsupported, match=r"CER0414.*WAIT 3 \[t\] inside LAST"):
        cerlab.why("LAST(A WAIT 3 [t]) ; B", stream(S), (0, 1))
    with pytest.raises(Unsupported, match=r"CER0406.*WAIT"):
        cerlab.why("A WAIT 3 [t]", stream(S), (0,), logic="fo")


BAD_TIMES: dict[str, list[list[Any]]] = {
    "CER0712": [[0, 1, None, 2], [0, 1, "x", 2], [0, 1, math.nan, 2], [None, 1, 2, 2]],
    "CER0714": [[10, 3, 3, 4], [10, 3, 4, 5], [0, 1, 2, 1]],
    "CER0711": [[cerlab.Duration(n) for n in range(4)]],
}


@pytest.mark.parametrize("evaluator", ["reference", "registers", "compiled", "auto"])
@pytest.mark.parametrize("body", ["(A ; B WITHIN 5 [t])", "(A WAIT 5 [t])", "(A WAIT 5 [t]) ; B"])
@pytest.mark.parametrize(
    "clauses", ["* WHERE {}", "MAX * WHERE {}", "* WHERE {} LIMIT 3", "* WHERE {} CONSUME BY ANY"]
)
def test_a_time_that_is_bad_is_an_error_under_every_clause(
    evaluator: Any, body: str, clauses: str
) -> None:
    """What selects reads no clock where it has places, which once let such a time pass."""
    query = f"SELECT {clauses.format(body)}"
    for code, streams in BAD_TIMES.items():
        for times in streams:
            events = [{"type": x, "t": t} for x, t in zip("ABAB", times, strict=True)]
            if evaluator not in ("auto", *names_that_take(any_pattern(query))):
                continue  # it refuses the query by name
            with pytest.raises(cerlab.BadData, match=code):
                cerlab.evaluate(query, events, evaluator=evaluator, until="end")


@pytest.mark.parametrize("text", ["WAIT", "A AS WAIT", "WAIT WAIT 5 [WAIT] AS WAIT"])
def test_its_word_stays_a_name(text: str) -> None:
    formula = cerlab.parse_formula(text)
    assert cerlab.parse_formula(str(formula)) == formula


def ends(V: Valuation, S: Sequence[Event], width: float) -> int | None:
    """The end of a wait, by walking over the events after it; None while it is not over."""
    until = Fraction(S[V.end].attributes["t"]) + Fraction(width)  # type: ignore[arg-type]
    k = V.end
    for k in range(V.end, len(S)):
        if Fraction(S[k].attributes["t"]) > until:  # type: ignore[arg-type]
            return k - 1
    return None


def random_stream(rng: Random, n: int) -> list[Event]:
    return [Event(rng.choice(ALPHABET), {"t": t}) for t in random_times(rng, n)]


@pytest.mark.parametrize("window", ["", " WITHIN 9 [t]"])
def test_an_event_before_a_promise_is_not_read(window: str) -> None:
    session = cerlab.parse_query(f"SELECT * WHERE A WAIT 2 [t]{window}").open()
    session.push([{"type": "A", "t": 1}])
    assert len(session.advance(10)) == 1
    with pytest.raises(cerlab.BadData):
        session.push([{"type": "A", "t": 8}])
    assert session.advance(5) == [], "before the promise, and after the last event"
    assert session.push([{"type": "A", "t": 10}]) == []
    assert len(session.advance("end")) == 1


@random_suite(5_000, needs_answers=0.25)
def test_a_wait_ends_before_the_first_event_after_it(rng: Random) -> bool:
    """And the laws: over OR, after ; and :, f+ WAIT d, under AS."""
    f, g = small_formula(rng, 2), small_formula(rng, 1)
    S, d = (
        random_stream(rng, rng.randint(1, 7)),
        AttributeWindow(rng.choice((0, 0.5, 1, 2)), "t"),
    )

    def meaning(phi: cel.Formula) -> set[Valuation]:
        return set(query_valuations(CeqlQuery(phi), Stream(S)))

    waited = cel.Wait(f, d)
    assert parse_cel(str(waited))[0] == waited
    pairs = ((V, ends(V, S, d.width)) for V in meaning(f))
    expected = {Valuation(V.start, k, V.labels) for V, k in pairs if k is not None}
    assert meaning(waited) == expected, (str(waited), S)
    for left, right in (
        (cel.Wait(cel.Or(f, g), d), cel.Or(waited, cel.Wait(g, d))),
        (cel.Wait(cel.Seq(g, f), d), cel.Seq(g, waited)),
        (cel.Wait(cel.Concat(g, f), d), cel.Concat(g, waited)),
        (cel.Wait(cel.Plus(f), d), cel.Or(waited, cel.Seq(cel.Plus(f), waited))),
        (cel.Wait(cel.As(f, "x"), d), cel.As(waited, "x")),
    ):
        assert meaning(left) == meaning(right), (str(left), str(right), S)
    return bool(expected)


@random_suite(2_000, needs_answers=0.15)
def test_an_answer_is_given_when_it_is_certain(rng: Random) -> bool:
    """An answer once given stays, and one that every sampled continuation gives is given.

    Continuations begin at the time of the last event, or at that which `until` promises.
    """
    d = AttributeWindow(rng.choice((0.5, 1, 2)), "t")
    phi: cel.Formula = cel.Wait(small_formula(rng, 2), d)
    if rng.random() < 0.5:
        phi = rng.choice((cel.Or, cel.Unless, cel.Seq))(small_formula(rng, 1), phi)
    query = CeqlQuery(
        phi,
        strategy=rng.choice((None, *Strategy)),
        consume=rng.choice((Consume.NONE, Consume.NONE, Consume.ANY)),
        limit=rng.choice((None, None, Limit(1))),
    )
    S = random_stream(rng, rng.randint(1, 5))
    last = float(S[-1].attributes["t"])  # type: ignore[arg-type]
    until = rng.choice((None, last, last + 0.5, last + 1.125, "end"))
    given = set(query_answers(query, Stream(S, until=until)))
    now = last if until is None else until if isinstance(until, float) else last + 100
    later = (*(Fraction(n, 8) for n in range(25)), Fraction(100))
    # An event of another type tells the time, and ends no wait that is not over by then.
    on = [
        set(query_answers(query, Stream([*S, Event("Z", {"t": float(now + dt)})]))) for dt in later
    ]
    certain = {m for m in set.intersection(*on) if m.end < len(S)}
    assert given == certain, (str(query), S, until, given ^ certain)
    return bool(given)


def test_explain_says_what_answers_go_through() -> None:
    query = cerlab.parse_query(
        "SELECT * WHERE A ; ((C WAIT 3 [t]) UNLESS B) PARTITION BY [k] WITHIN 9 EVENTS"
    )
    assert str(query.explain(stream(S))).splitlines() == [
        "automaton 1: predicates: 2 tests on the columns type",
        "automaton 2: predicates: 1 tests on the columns type",
        "answers of automaton 1: WAIT 3 [t]: moves the end to the last event within that time; "
        "UNLESS: drops answers with one of automaton 2 after their last event; "
        "WITHIN 9 EVENTS: keeps answers whose start is inside it",
        "partitions: by k, one after the other",
        "by columns: arrays hold, for each event, the later end of the answers that end there",
    ]
    either = cerlab.parse_query("SELECT * WHERE (A ; B WITHIN 3 SECONDS) OR C")
    assert str(either.explain()).splitlines()[2:4] == [
        "answers of automaton 1: WITHIN 3 SECONDS: keeps answers whose start is inside it",
        "answers of automaton 2: given at once",
    ]
    before = cerlab.parse_query("SELECT * WHERE (A ; B WITHIN 3 SECONDS) ; C")
    assert str(before.explain()).splitlines()[1:3] == [
        "runs: 4 states, 6 moves; a run holds start.place",
        "compiled: runs in the same state that hold equal values are one",
    ]


def test_a_timeline_draws_a_wait_behind_the_events_of_its_answer(tmp_path: Path) -> None:
    how: Any = {"time": "t", "unit": "s"}
    lines = str(cerlab.timeline("A WAIT 40 SECONDS", stream(S), **how)).splitlines()
    assert [line.strip() for line in lines[2:]] == ["answers  ●─────┤"]
    lines = str(cerlab.timeline("A WAIT 40 SECONDS", stream(S), until="end", **how)).splitlines()
    assert lines[2].endswith("●─────┤ ●─┤")
    assert (
        str(cerlab.show("A WAIT 40 SECONDS", stream(S), until="end", **how)).splitlines() == lines
    )
    path, out = tmp_path / "s.ndjson", tmp_path / "out.txt"
    path.write_text("\n".join(map(json.dumps, stream(S))))
    command = ["show", "A WAIT 40 SECONDS", str(path), "--time", "t:s", "-o", str(out)]
    assert main([*command, "--until", "end"]) == 0
    assert out.read_text().splitlines() == lines
    assert main(["why", "B WAIT 3 [t]", str(path), "--positions", "5"]) == 1
    assert main(["why", "B WAIT 3 [t]", str(path), "--positions", "5", "--until", "133.5"]) == 0


def test_running_totals_of_answers_that_wait() -> None:
    """Two A end at the same event, and are known one after the other: its row comes again."""
    query = cerlab.parse_query("SELECT * WHERE A WAIT 5 [t]")
    by_end = query.aggregating(sum="A.t", group_by="end")
    assert by_end.push(stream("A@0 A@1")).to_pylist() == []
    assert by_end.advance(5.5).to_pylist() == [{"end": 1, "count": 1, "sum(A.t)": 0.0}]
    by_end = query.aggregating(sum="A.t", group_by="end", state=by_end.state())
    assert by_end.advance(7).to_pylist() == [{"end": 1, "count": 2, "sum(A.t)": 1.0}]
    assert by_end.push(stream("A@7 B@9")).to_pylist() == []
    assert by_end.advance("end").to_pylist() == [{"end": 3, "count": 1, "sum(A.t)": 7.0}]
    with pytest.raises(cerlab.UsageError, match="CER0829"):
        by_end.push(stream("B@10"))
    of_keys = cerlab.parse_query("SELECT * WHERE (A WAIT 9 [t]) UNLESS B PARTITION BY [k]")
    unseen = of_keys.aggregating(group_by="k")
    unseen.push(stream("A1@0 A2@2 B2@3"))
    assert unseen.push(stream("A1@60")).to_pylist() == [{"k": "1", "count": 1}]
    assert unseen.advance("end").to_pylist() == [{"k": "1", "count": 2}]


def test_running_totals_that_are_refused() -> None:
    either = cerlab.parse_query("SELECT * WHERE (A WAIT 3 [t]) OR B")
    with pytest.raises(Unsupported, match=r"CER0418.*two parts"):
        either.aggregating()
    sliding: Any = {"group_by": "end", "sliding": "5 EVENTS"}
    with pytest.raises(Unsupported, match=r"CER0418.*sliding"):
        cerlab.parse_query("SELECT * WHERE A WAIT 3 [t]").aggregating(**sliding)
    with pytest.warns(cerlab.CerlabWarning, match="CER0916"):
        assert cerlab.parse_query("SELECT * WHERE A").aggregating().advance(3).num_rows == 0
