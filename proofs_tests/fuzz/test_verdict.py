"""A run of fuzz that compared too little warns; windows and constants shrink too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

import cerlab
from cerlab import Event
from cerlab import fuzz as package
from cerlab.cli import main
from cerlab.fuzz import CLAUSES, COMPOSITE, FEATURES, Summary, features, fuzz, wanted
from cerlab.fuzz.engines import AnswerRows, Outcome, Refusal
from cerlab.logic.ceql.parser import parse_cel, parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.clauses import EventWindow
from cerlab.testing import smallest
from cerlab.testing.features import ALONE
from proofs_tests.fuzz.test_wrong_engines import exclusive

pytestmark = pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")


@dataclass
class WrongEngine:
    """The tECS on a query that was changed before; what becomes None is refused."""

    change: Callable[[CeqlQuery], CeqlQuery | None]

    def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
        other_query = self.change(parse_ceql(query)[0])
        if other_query is None:
            return Refusal("not this one")
        stream = cerlab.Stream(events, time="t", unit="s")
        answers = cerlab.evaluate(query_text(other_query), stream, evaluator="tecs")
        return AnswerRows(
            tuple({"start": m.start, "end": m.end, "positions": m.positions} for m in answers)
        )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("clause", ["EVENTS", "SECONDS", "[t]"])
def test_windows_shrink_with_their_events(clause: str, seed: int) -> None:
    difference = fuzz(WrongEngine(exclusive), takes=wanted(f";, +, {clause}"), seed=seed).difference
    assert difference is not None
    assert len(difference.events) == 2
    assert query_text(difference.query).endswith("WITHIN 1 EVENTS")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("A FILTER A[v > 97 AND w = 'abc']", "A FILTER A[v > 1]"),
        ("A FILTER A[v > -7.5 OR w IN {1, 2, 3}]", "A FILTER A[v > 1]"),
        ("A FILTER A[NOT v > 12]", "A FILTER A[v > 1]"),
    ],
)
def test_constants_shrink(formula: str, expected: str) -> None:
    def fails(query: CeqlQuery, events: tuple[Event, ...]) -> bool:
        return re.search(r"> -?[1-9]", query_text(query)) is not None

    query, _ = smallest(CeqlQuery(parse_cel(formula)[0]), (), fails)
    assert query_text(query) == f"SELECT *\nWHERE {expected}"


def verdict(engine: Any, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    from cerlab.cli import comparisons as command

    class EngineContext:
        def __enter__(self) -> Any:
            return engine

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr(command, "engine", lambda *_: EngineContext())
    return main(["fuzz", "x", "--cases", "60", *more])


@pytest.mark.parametrize(
    ("change", "more", "status", "message"),
    [
        (lambda q: q, [], 0, "no difference\n"),
        (lambda q: None, [], 3, "nothing was compared"),
        (
            lambda q: None if len(query_text(q)) > 22 else q,
            [],
            3,
            "most of the queries were refused",
        ),
        (lambda q: q, ["--with", "FILTER,AS"], 3, "most of the queries were atomic"),
        (lambda q: replace(q, window=EventWindow(0)), ["--with", ";,EVENTS"], 1, "differs"),
    ],
)
def test_what_says_little_is_not_exit_0(
    change: Callable[[CeqlQuery], CeqlQuery | None],
    more: list[str],
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert verdict(WrongEngine(change), monkeypatch, *more) == status
    assert message in capsys.readouterr().err


def test_what_is_always_refused_is_drawn_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    def without_windows(query: CeqlQuery) -> CeqlQuery | None:
        return None if query.window or query.partition else query

    report = fuzz(WrongEngine(without_windows), cases=300)
    assert set(report.shunned) >= {"EVENTS", "SECONDS", "[t]", "PARTITION BY"}
    assert not COMPOSITE & set(report.shunned)
    assert report.refused < 100
    assert not report.doubt


def test_a_feature_that_is_taken_alone_is_asked_again() -> None:
    """An engine refuses PARTITION BY beside any other clause, and has a fault in NULL keys."""

    @dataclass
    class Keys(WrongEngine):
        def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
            used = features(parse_ceql(query)[0]) & {*CLAUSES}
            if len(used) > 1:
                return Refusal("one clause at a time")
            zero_for_null = [{**each, "k": each.get("k") or 0} for each in events]
            return super().ask(query, zero_for_null if "PARTITION BY" in used else events)

    report = fuzz(Keys(lambda query: query), cases=400)
    assert report.shunned == ()
    assert report.difference is not None
    assert "PARTITION BY [k]" in query_text(report.difference.query)


def test_each_feature_is_alone_in_its_query() -> None:
    assert set(ALONE) == set(FEATURES)
    for name, text in ALONE.items():
        query = parse_ceql(text if text.startswith("SELECT") else f"SELECT * WHERE {text}")[0]
        needs = {";", "AS", "FILTER"} if name in ("x.v=y.v", "x.v+y.v") else set()
        assert features(query) == {name, *needs}


def test_the_last_line_names_what_was_not_tested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_plus(query: CeqlQuery) -> CeqlQuery | None:
        return None if "+" in features(query) else query

    assert verdict(WrongEngine(without_plus), monkeypatch, "--with", ";,+,OR,AND") == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("not tested: + (refused); : :+ {n}")
    assert "PARTITION BY" in last
    assert last.endswith("(not asked for)")
    verdict(WrongEngine(lambda q: q), monkeypatch, "--cases", "3")
    assert "in no case with answers" in capsys.readouterr().err.splitlines()[-1]


def test_control_c_shows_the_counts_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = 0

    def interrupted(query: CeqlQuery) -> CeqlQuery:
        nonlocal asked
        asked += 1
        if asked > 20:
            raise KeyboardInterrupt
        return query

    assert verdict(WrongEngine(interrupted), monkeypatch) == 130
    assert "\ninterrupted after cases: 20, with answers: " in capsys.readouterr().err


def test_most_queries_are_composite() -> None:
    queries: list[str] = []

    @dataclass
    class Noting:
        def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
            queries.append(query)
            assert json.dumps(events)
            return Refusal("")

    fuzz(Noting(), cases=200)
    composite = sum(bool(features(parse_ceql(each)[0]) & COMPOSITE) for each in queries)
    assert composite > 160
    assert Summary(10, 0, 0).doubt
    assert package.__doc__
