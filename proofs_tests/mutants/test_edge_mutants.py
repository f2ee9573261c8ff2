"""Wrong versions of edges that few streams reach, each killed by a table: equal values, no events.

Time after a resumed session, CONSUME BY ANY across keys, comparisons that both hold of equal
values, rows that FROM drops in Spark's cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import cerlab
from cerlab import Event
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.conformance import Case, cases
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import reply_of
from cerlab.engine import tecs_run as tecs
from cerlab.engine.kernels import arrays as k
from cerlab.engine.registers import rules as ambiguity
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.engine.windows import WindowStarts
from cerlab.model.clauses import Consume
from cerlab.model.stream import Stream
from cerlab.predicates.syntax import Operator
from cerlab.spark import ranges
from cerlab.spark.runs import SortedRun
from proofs_tests.mutants.driver import kills, mutant, on_rows

_RESUME, _BEGINS = WindowStarts.resume, ranges.begins_in_events


def no_last_instant(self: WindowStarts, state: Any, read: int) -> None:
    """A session that goes on does not know when its last event was."""
    _RESUME(self, state, read)
    if self.clock is not None:
        self.clock.last = None


def rows_of_other_streams_count(
    runs: Sequence[SortedRun], starts: Sequence[int], width: int
) -> Any:
    """Rows that FROM drops are events of the window."""
    return _BEGINS([replace(run, rows_in_from=run.rows) for run in runs], list(starts), width)


def notices_time_going_back(row: tuple[str, str, bool]) -> bool:
    window, kind, is_resumed = row
    query = cerlab.parse_query(f"SELECT * WHERE A ; B WITHIN {window}")
    session = query.open(time="t", unit="s")
    session.push([{"type": kind, "t": 5}, {"type": kind, "t": 9}])
    if is_resumed:
        session = query.open(state=session.state())
    try:
        session.push([{"type": "B", "t": 8}])
    except cerlab.BadData:
        return True
    return False


def consumes(case: Case) -> bool:
    return not difference(case, reply_of(case, "compiled"))


def is_counted(row: tuple[str, bool]) -> bool:
    """Whether each match has one run that compares an event before in one of two ways."""
    either, expected = row
    first, second = (f"<v {operator} r.v>^" for operator in either.split())
    plan = register_plan(cerlab.parse_sremo(f"<TRUE>^ -> r . ({first} | {second})"))
    events = Stream([Event("A", {"v": 1}), Event("A", {"v": 1})])
    return RegisterEvaluation(plan, events).is_unambiguous is expected


def begins(row: tuple[int, list[int]]) -> bool:
    """Runs of two rows; the third has no rows of FROM."""
    width, expected = row
    runs = [SortedRun((n,), (n,), 2, 2, 2 * n, 2 * n + 1) for n in range(6)]
    runs[2] = SortedRun((2,), (2,), 2, 0)
    return ranges.begins_in_events(runs, [0, 2, 4], width) == expected


BACK = on_rows(
    notices_time_going_back,
    [(w, kind, b) for w in ("2 [t]", "2 SECONDS") for kind in "AC" for b in (False, True)],
)
CONSUME = on_rows(consumes, [*cases("consume-by")])
EQUAL = on_rows(
    is_counted, [("> <", True), (">= <", True), ("= >", True), (">= <=", False), ("!= =", True)]
)
CUTS = on_rows(begins, [(0, [0, 2, 4]), (1, [0, 1, 3]), (2, [0, 1, 3]), (3, [0, 0, 1])])

MUTANTS = [
    mutant(BACK, WindowStarts, "resume", no_last_instant),
    mutant(
        CONSUME,
        tecs,
        "CONSUMES",
        {**tecs.CONSUMES, Consume.ANY: k.RESET_PARTITION},
        id="any_ends_its_own_key",
    ),
    mutant(
        EQUAL,
        ambiguity,
        "_ORDERS",
        {**ambiguity._ORDERS, Operator.GE: {1}},
        id="at_least_is_more",
    ),
    mutant(CUTS, ranges, "begins_in_events", rows_of_other_streams_count),
]


test_the_table_kills = kills(MUTANTS)


@pytest.mark.parametrize("judge", [BACK, CONSUME, EQUAL, CUTS])
def test_what_is_there_passes_every_row(judge: Any) -> None:
    assert all(judge.case(n) for n in range(judge.count))
