"""Costs of the compiled register engine, in operations and in memory (SRT Alg. 1)."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab import Event, Stream
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.registers.configurations import Configurations
from cerlab.engine.registers.evaluation import RegisterEvaluation
from proofs_tests.sremo.tables import sre as parsed

QUESTIONS = 200


def many_open(text: str, live: int) -> RegisterEvaluation:
    """`live` events to remember, each with another value; then some that ask."""
    opening = [Event("A", {"v": n}) for n in range(live)]
    asking = [Event("B", {"v": n % live}) for n in range(QUESTIONS)]
    run = RegisterEvaluation(register_plan(parsed(text)), Stream(opening + asking))
    assert sum(map(len, run.answers())) > 0
    assert run.configurations.live == live + 1, "one for each value, and the one at the start"
    return run


@pytest.mark.parametrize("live", [100, 1_000, 10_000])
def test_equality_visits_what_it_finds(live: int) -> None:
    """Visits for each event do not depend on how many configurations are live."""
    run = many_open("A^ -> r . _* . <type = 'B' AND v = r.v>^", live)
    assert run.configurations.visits <= live + 2 * QUESTIONS


def test_order_visits_all() -> None:
    for live in (100, 1_000):
        run = many_open("A^ -> r . _* . <type = 'B' AND v > r.v>^", live)
        assert QUESTIONS * live <= run.configurations.visits <= 1.1 * QUESTIONS * live


def test_equality_of_several_registers_is_asked_by_one_of_them() -> None:
    e = "A^ -> r . _* . <type = 'C' AND w = r.w>^ -> s . _* . <type = 'B' AND v = s.v AND w > r.w>^"
    S = [Event("A", {"w": n}) for n in range(300)]
    S += [Event("C", {"w": n, "v": n}) for n in range(300)]
    S += [Event("B", {"w": 300, "v": n}) for n in range(300)]
    run = RegisterEvaluation(register_plan(parsed(e)), Stream(S))
    assert sum(map(len, run.answers())) == 300
    assert run.configurations.visits <= 3 * len(S)


def test_nothing_is_kept_for_a_match() -> None:
    """2^200 partial matches: as many configurations as for one, and nodes by the events."""
    plan = register_plan(parsed("#(A^ -> r, #(A^*), <type = 'B' AND v > r.v>^)"))
    S = [Event("A", {"v": 0})] * 200 + [Event("B", {"v": 1})]
    run = RegisterEvaluation(plan, Stream(S), arena=16, room=1)
    assert run.estimate() == pytest.approx(2.0**200)
    assert run.configurations.live == 2
    assert run.configurations.visits <= 2.2 * len(S)
    assert run.configurations.room[1] <= 16 * len(S)


def test_registers_that_nothing_tells_apart_are_one() -> None:
    """Events of one price are one configuration, however many; so are those never read again."""
    e = "A^ -> r . _* . <type = 'B' AND v = r.v>^ . _* . C^"
    S = [Event("A", {"v": n % 3}) for n in range(300)]
    S += [Event("B", {"v": n % 3}) for n in range(300)]
    run = RegisterEvaluation(register_plan(parsed(e)), Stream(S))
    assert sum(map(len, run.answers())) == 0
    assert run.configurations.live == 1 + 3 + 1


def generate(length: int, seed: int = 1) -> Stream:
    """Types A, B and X, a hundred values."""
    rng = Random(seed)
    types, values = rng.choices("ABXX", k=length), rng.choices(range(100), k=length)
    columns = {"type": pa.array(types).dictionary_encode(), "v": values}
    return Stream.from_arrow(pa.table(columns | {"t": [n // 2 for n in range(length)]}))


@pytest.mark.parametrize("window", ["[1..60]", "[within 30 t]"])
@pytest.mark.parametrize("condition", ["v = r.v", "v > r.v"])
def test_room_is_bounded_by_the_window(window: str, condition: str) -> None:
    e = f"(A^ -> r . _* . <type = 'B' AND {condition}>^){window}"

    def room_and_visits(text: str, length: int) -> tuple[tuple[int, int], float]:
        run = RegisterEvaluation(register_plan(parsed(text)), generate(length), room=4, arena=16)
        assert sum(map(len, run.answers())) > 0
        return run.configurations.room, run.configurations.visits / length

    short, long = room_and_visits(e, 4_000), room_and_visits(e, 32_000)
    assert long[0][0] <= 64
    assert long[0][1] <= 512
    assert long[1] <= 1.1 * short[1]
    no_window = f"A^ -> r . _* . <type = 'B' AND {condition}>^"
    assert room_and_visits(no_window, 4_000)[0][1] >= 4_000


def test_events_that_do_nothing_are_not_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Configurations.read
    seen: list[int] = []

    def noting(self: Configurations, rules: Any, events: Any, total: Any) -> Any:
        seen.append(len(events.symbol))
        return read(self, rules, events, total)

    monkeypatch.setattr(Configurations, "read", noting)
    run = RegisterEvaluation(
        register_plan(parsed("(A^ -> r . _* . <type = 'B' AND v = r.v>^)[1..60]")), generate(4_000)
    )
    types = generate(4_000).columns["type"].to_pylist()
    assert list(run.answers())
    assert sum(seen) == sum(kind != "X" for kind in types)


def test_listing_costs_a_constant_for_each_position() -> None:
    e = "#(A^ -> r, #(A^*), <type = 'B' AND v > r.v>^)[1..14]"
    run = RegisterEvaluation(register_plan(parsed(f"({e})")), generate(6_000))
    batches = list(run.answers())
    positions = sum(len(batch.positions) for batch in batches)
    assert positions > 40_000
    assert run.configurations.steps <= 3 * positions
