"""Algorithm 1 as corrected, with runs apart and with runs shared (SRT Alg. 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import BadData, Event, ResourceLimit, Sremo, Unsupported, satisfies
from cerlab.automata.plan import RegisterPlan
from cerlab.automata.registers import Srt
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.reference.registers import Runs, SharedRuns, answers
from cerlab.logic.sremo import detections, matches
from cerlab.logic.sremo import syntax as sre
from cerlab.testing import random_sremo, random_sremo_events
from cerlab.theorems import srt as runs
from proofs_tests.sremo.tables import E1, TABLE_1
from proofs_tests.sremo.tables import sre as parsed
from proofs_tests.srt.cases import SHAPE, Matches, events, step
from proofs_tests.suite import random_suite

Kind = Callable[[RegisterPlan], Runs | SharedRuns]
KINDS = pytest.mark.parametrize("kind", [Runs, SharedRuns])


def with_detection(rng: Random, draw: Callable[[Random], Sremo]) -> tuple[Sremo, list[Event]]:
    """An expression and a stream that shows something of it, if one is soon found."""
    for _ in range(3):
        e = draw(rng)
        S = random_sremo_events(rng, e, SHAPE)
        if detections(e, S):
            break
    return e, S


def random_windowed(rng: Random) -> Sremo:
    """An expression, often inside windows of every kind."""
    e = random_sremo(rng, SHAPE)
    for _ in range(rng.choice((0, 1, 1, 2))):
        match rng.choice(("span", "length", "time")):
            case "span":
                e = sre.SpanWindow(e, rng.choice((3, 2, 4, 1)))
            case "length":
                e = sre.LengthWindow(e, rng.choice((2, 1, 3, 2, 1, 0)))
            case _:
                e = sre.Within(e, rng.choice((2, 3, 1, 2.5, 0)), "t")
    return e


@random_suite(10_000)
def test_p15_reports_are_what_the_stream_shows(rng: Random) -> bool | None:
    """At each event the matches whose last mark is there, each once (SRT Def. 32)."""
    e, S = with_detection(rng, random_windowed)
    try:
        plan = register_plan(e)
    except (Unsupported, ResourceLimit):
        return None
    expected = {(D.end, D.positions) for D in detections(e, S)}
    for active in (Runs(plan), SharedRuns(plan)):
        pairs = [(k, M) for k, t in enumerate(S) for M in active.advance(t, k)]
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == expected, f"{e}\non {S}"
    return bool(expected)


@random_suite(2_000)
def test_the_evaluator_by_name(rng: Random) -> bool | None:
    """``"registers"`` and ``"auto"`` give what ``"reference"`` gives, in its order."""
    e, S = with_detection(rng, random_windowed)
    stream = cerlab.Stream.from_events([{"type": t.type, **t.attributes} for t in S])
    expected = cerlab.evaluate(e, stream, evaluator="reference")
    assert cerlab.evaluate(e, stream) == expected
    try:
        by_runs = cerlab.evaluate(e, stream, evaluator="registers")
    except (Unsupported, ResourceLimit):
        return None
    assert by_runs == expected
    return bool(expected)


def reports(active: Runs | SharedRuns, S: Sequence[Event]) -> dict[int, Matches]:
    """Return the reports at each event that has some; both count from 1."""
    by_event = {k: active.advance(t, k - 1) for k, t in enumerate(S, 1)}
    return {k: frozenset(tuple(p + 1 for p in M) for M in Ms) for k, Ms in by_event.items() if Ms}


@KINDS
def test_example_19_and_its_live_runs(kind: Kind) -> None:
    active = kind(register_plan(parsed(E1)))
    arrivals, live, matches_at = [], [], []
    for k, t in enumerate(TABLE_1):
        matches_at.append(active.advance(t, k))
        arrivals.append(active.counts.arrivals)
        live.append(active.live)
    assert matches_at[3:5] == [{(0, 3), (1, 3)}, {(0, 4), (1, 4)}]
    assert not any(matches_at[:3] + matches_at[5:])
    assert arrivals == [2, 3, 4, 6, 6, 5]
    assert live == [2, 3, 4, 4, 4, 5]


@KINDS
def test_the_cost_model_counts_what_happens(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """``|Run| (n_p (c_p + c_c + c_u) - c_c)`` where all guards hold (SRT Alg. 1)."""
    calls: list[object] = []

    def asking(*arguments: Any) -> bool:
        calls.append(arguments)
        return satisfies(*arguments)

    monkeypatch.setattr(f"{kind.__module__}.satisfies", asking)
    Delta = (
        step(0, "TRUE", 0),
        step(0, "TRUE ^ -> r", 1),
        step(1, "TRUE", 1),
        step(1, "v = v ^", 1),
    )
    active = kind(RegisterPlan(Srt(2, Delta, frozenset({0}), frozenset({1}), R=frozenset("r"))))
    n_p = 2
    for k in range(6):
        before, live = active.counts, active.live
        evaluations, copies, updates = before.evaluations, before.copies, before.updates
        active.advance(Event("A", {"v": k}), k)
        assert active.counts.evaluations - evaluations == live * n_p
        assert active.counts.copies - copies == live * (n_p - 1)
        assert active.counts.updates - updates == live * n_p
        assert active.counts.evaluations == len(calls), "guards that were asked"


def test_runs_that_differ_in_marks_are_one() -> None:
    """``B+`` under skip-till-any has 2^n runs, and one configuration for each r."""
    plan = register_plan(parsed("#(A^ -> r, #(B^+), <type = 'C' AND v = r.v>^)"))
    S = events("A" + 10 * "B" + "C", v=12 * "1")
    apart, sharing = Runs(plan), SharedRuns(plan)
    for k, t in enumerate(S):
        assert apart.advance(t, k) == sharing.advance(t, k)
    assert len(list(answers(plan, S))) == 2**10 - 1
    assert apart.live > 2**10
    assert sharing.live <= 2 * plan.srt.states
    assert sharing.counts.evaluations < apart.counts.evaluations / 20


def test_ambiguity_does_not_pile_up() -> None:
    """Two ways to each mark are one node: 2^40 runs of one match."""
    plan = register_plan(parsed("(_^ | <v = 1>^)+ . C^"))
    S = events(20 * "A" + "C", v=20 * "1" + "0")
    assert sorted(D.start for D in answers(plan, S)) == list(range(20))


def test_configurations_are_polynomially_many() -> None:
    """At event k at most ``|Q| (k + 1)^|R|``, whatever the number of matches (SRT Sec. 4)."""
    plan = register_plan(parsed("#(A^ -> r, A^ -> s, A^+, <v = r.v AND w = s.v>^)"))
    sharing = SharedRuns(plan)
    for k in range(12):
        sharing.advance(Event("A", {"v": k, "w": -1}), k)
        assert sharing.live <= plan.srt.states * (k + 2) ** 2


@KINDS
def test_runs_out_of_the_window_are_dropped(kind: Kind) -> None:
    for window in ("[1..4]", "[within 3 t]", "[len<=4]"):
        active = kind(register_plan(parsed(f"(A^ -> r . _* . <v = r.v>^){window}")))
        for k in range(60):
            active.advance(Event("A", {"v": k, "t": k}), k)
            assert active.live <= 1 + 4


@KINDS
def test_times_that_are_missing_or_go_back(kind: Kind) -> None:
    plan = register_plan(parsed("(A^ . _* . B^)[within 3 t]"))
    for first, second in ((1, None), (2, 1)):
        active = kind(plan)
        active.advance(Event("A", {"t": first}), 0)
        with pytest.raises(BadData):
            active.advance(Event("A", {"t": second}), 1)


def test_windows_around_the_whole_cost_no_states() -> None:
    for text in ("(A^ . _* . B^)[1..30000]", "(A^ . _* . B^)[len<=30000]"):
        assert register_plan(parsed(text)).srt.states == 3
    plan = register_plan(parsed("(A . _* . B^)[len<=30]"))
    assert plan.windows == ()
    assert plan.srt.states > 30


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(A^)[within 3 t] . B^", "CER0486"),
        ("A^ . !(B -> r . _* . <v = r.v>) . C^", "CER0487"),
    ],
)
def test_what_registers_cannot_take_is_refused_by_name(text: str, code: str) -> None:
    S = [{"type": kind, "t": 0, "v": 0} for kind in "ABC"]
    e = parsed(text)
    with pytest.raises(Unsupported, match=code) as caught:
        cerlab.evaluate(e, S, evaluator="registers")
    assert caught.value.hint
    reference = cerlab.evaluate(e, S, evaluator="reference")
    assert cerlab.evaluate(e, S) == reference


def test_accepting_runs_go_on() -> None:
    """A final state with successors: three matches where printed there is one (SRT Alg. 1)."""
    e = parsed("A^ . (B^)*")
    assert reports(SharedRuns(register_plan(e)), events("ABB")) == {
        1: {(1,)},
        2: {(1, 2)},
        3: {(1, 2, 3)},
    }
    assert matches(e, events("ABB")) == runs.matches(register_plan(e).srt, events("ABB"))
