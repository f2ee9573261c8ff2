"""Costs by counting operations, not seconds (CORE Thm. 3; CORE Thm. 4)."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Event, satisfies
from cerlab.automata.deterministic import DeterministicCea
from cerlab.compile.pattern import as_pattern
from cerlab.engine.reference import runs, tecs
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.evaluate import missing_names

FORMULAS = ("A ; B ; C", "A ; B+ ; C", "(A OR B)+ ; C", "A:+ ; (B : C)+")


def evaluation(text: str) -> TecsEvaluation:
    return TecsEvaluation(DeterministicCea(as_pattern(text).cea))


@pytest.mark.parametrize("text", FORMULAS)
def test_an_event_costs_a_constant_number_of_nodes(text: str) -> None:
    rng = Random(0)
    running = evaluation(text)
    costs = []
    for j in range(4_000):
        before = running.tecs.created
        running.advance(Event(rng.choice("ABC")), j)
        costs.append(running.tecs.created - before)
    states = len(running.automaton.final)
    assert max(costs) <= 4 * (states + 1) * (states + 2)
    assert max(costs[2_000:]) <= max(costs[:2_000])


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("width", [10, 50])
def test_memory_is_bounded_by_the_window(text: str, width: int) -> None:
    rng = Random(1)
    running = evaluation(text)
    live = []
    for j in range(3_000):
        running.forget(max(0, j - width))
        running.advance(Event(rng.choice("ABC")), j)
        live.append(running.tecs.live)
    assert max(live[1_000:]) <= 2 * max(live[: 10 * width])


@pytest.mark.parametrize(
    ("ask", "length"),
    [
        (lambda n: cerlab.satisfiable(f"A{{{n}}}"), lambda n: n),
        (
            lambda n: cerlab.satisfiable(f"SELECT * WHERE (A:B){{{n}}} PARTITION BY [k]"),
            lambda n: 2 * n,
        ),
        (lambda n: cerlab.satisfiable(f"SELECT * WHERE A{{{n}}} WITHIN 9 HOURS"), lambda n: n),
        (lambda n: cerlab.equivalent(f"A{{{n}}}", f"A{{{n + 1}}}"), lambda n: n),
        (lambda n: cerlab.contained(f"A{{{n},{2 * n}}}", f"A{{{n}}}"), lambda n: n + 1),
    ],
)
def test_a_long_witness_is_checked_in_linear_time(
    ask: Any, length: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that gives the answer asks each event once for each predicate on its way."""
    asked = 0

    def counted(*arguments: Any) -> bool:
        nonlocal asked
        asked += 1
        return satisfies(*arguments)

    monkeypatch.setattr(runs, "satisfies", counted)
    for n in (200, 400):
        asked = 0
        verdict = ask(n)
        assert verdict.reason.endswith("recomputed by a run of the automaton")
        assert len(verdict.witness.events) == length(n)
        assert length(n) <= asked <= 4 * length(n)


@pytest.mark.parametrize("text", ["(A OR B)+", "PROJECT[B]((A OR B)+)", "PROJECT[]((A OR B)+)"])
def test_the_delay_between_answers_is_linear_in_the_answer(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most three unions come before each other node (CORE Lemma 2), with or without positions.

    Those are one more than the positions: k unions for each make k + 1 nodes.
    """
    visits = 0

    class VisitsCounter(tecs.Union):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            nonlocal visits
            if name == "left":
                visits += 1
            return super().__getattribute__(name)

    monkeypatch.setattr(tecs, "Union", VisitsCounter)
    running = evaluation(text)
    rng = Random(2)
    for j in range(60):
        running.advance(Event(rng.choice("AAB")), j)
    answers = running.answers(0)
    visits = 0
    most = 0
    for answer in islice(answers, 10_000):
        # The assertion of the enumeration reads `left` once more than the walk does.
        assert visits <= 2 * 3 * (len(answer.positions) + 1)
        most, visits = max(most, visits), 0
    assert most


def test_what_a_query_needs_is_looked_for_once_in_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warnings are the same each time; another stream is another question."""
    looks: list[Any] = []
    look = missing_names.requirements_of

    def counted(pattern: Any, *axis: Any) -> Any:
        looks.append(pattern)
        return look(pattern, *axis)

    monkeypatch.setattr(missing_names, "requirements_of", counted)
    query = cerlab.parse_query("SELECT * WHERE A ; B FILTER B[v = 1]")
    streams = [cerlab.Stream.from_events([{"type": "A", name: 1}]) for name in "vw"]
    for _ in range(3):
        for stream, missing in zip(streams, ("'B'", "'v'"), strict=True):
            with pytest.warns(cerlab.AnswerWarning, match=missing):
                assert not list(query.run(stream))
    assert looks == [query, query]
