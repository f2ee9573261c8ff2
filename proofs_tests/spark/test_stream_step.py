"""Keys that come in any order, micro-batch by micro-batch, have the answers of the whole stream."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.model.answer import ComplexEvent
from cerlab.spark.stream.step import KeyStep, reach
from cerlab.testing import Shape
from proofs_tests.spark.by_key import by_key, fed, job_of, without
from proofs_tests.spark.dealt import Typed, typed_case
from proofs_tests.suite import Suite


def place(answer: ComplexEvent) -> tuple[int, int, tuple[int, ...]]:
    return answer.end, answer.start, answer.positions


def test_random_queries_on_keys_that_come_in_any_order(suite: Suite) -> None:
    """Equal to the local engine on all rows but the late ones, as far as rows do not wait."""

    def case(rng: Random) -> bool:
        drawn = typed_case(rng, Shape(depth=2, events=30))
        plan = drawn.query.plan
        lateness = rng.choice((0, 1, 4))
        lag = rng.choice((None, lateness, lateness + 5))
        job = job_of(drawn, plan, lateness, lag, rng.choice((1, 1, 3)))
        groups = by_key(drawn, plan, job)
        slack = lateness * rng.choice((1, 1, 1, 4))
        found = fed(rng, job, groups, slack, lag)
        if slack == lateness and (lag is None or lag >= 2 * lateness):
            assert not found.late, drawn.describe()
        assert len(found.late) == len(set(found.late))
        expected = [a for a in without(drawn, set(found.late)) if a.end not in found.waiting]
        limit = plan.limit is not None
        if limit:
            assert len(found.answers) == len(expected), drawn.describe()
            assert set(found.answers) <= set(without(replace_limit(drawn), set(found.late)))
        else:
            same = sorted(found.answers, key=place) == sorted(expected, key=place)
            assert same, drawn.describe()
        if lag is not None:
            assert not found.waiting
            assert bool(found.states) == (bool(groups) and reach(plan, job.time) is None)
        return bool(found.answers)

    suite.run(case, deep_count=1_500)


def replace_limit(case: Typed) -> Typed:
    return replace(case, ast=replace(case.ast, limit=None))


def through(text: str, *steps: tuple[str, list[int], int | None]) -> tuple[list[Any], bool]:
    """A key through steps of types, times, watermark: its answers, and whether it has a state."""
    types = "".join(step[0] for step in steps)
    times = [time for step in steps for time in step[1]]
    columns = {"type": list(types), "stream": pa.nulls(len(types), "string"), "t": times}
    case = Typed(cerlab.parse_query(text).ast, pa.table(columns), None)
    job = job_of(case, case.query.plan, 1, 5, 1)
    rows, read, state = by_key(case, case.query.plan, job)[()], 0, None
    found = []
    for names, _, watermark in steps:
        step = KeyStep(job, state, rows.slice(read, len(names)), watermark)
        found += [answer.positions for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
        read += len(names)
    return found, state is not None


def test_a_state_goes_when_its_window_has_passed_and_no_sooner() -> None:
    window = "SELECT * WHERE A ; B WITHIN 9 [t]"
    assert through(window, ("A", [10], None), ("", [], 19)) == ([], True)
    assert through(window, ("A", [10], None), ("", [], 20)) == ([], False)
    assert through(window, ("A", [10], None), ("", [], 19), ("BC", [19, 40], None))[0] == [(0, 1)]
    steps = [("A", [10], None), ("", [], 99), ("BC", [99, 120], None)]
    assert through("SELECT * WHERE A ; B", *steps)[0] == [(0, 1)]


@pytest.mark.parametrize(("strategy", "has_answers"), [("", True), ("MAX", False)])
def test_what_began_before_the_window_still_competes(strategy: str, has_answers: bool) -> None:
    """A set that is too long for the window is larger than what is in it, and it is remembered."""
    text = f"SELECT {strategy} * WHERE A+ ; B WITHIN 5 [t]"
    steps = [("A", [0], None), ("", [], 15), ("AB", [20, 22], None), ("C", [90], None)]
    answers = cerlab.evaluate(
        text, [{"type": t, "t": n} for t, n in zip("AABC", (0, 20, 22, 90), strict=True)]
    )
    assert bool(answers) == has_answers
    assert through(text, *steps)[0] == [answer.positions for answer in answers]
