"""Wrong versions of LOOKBACK and THROTTLE, each killed by a table computed by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from cerlab import CerlabError, Unsupported
from cerlab.automata.plan import WaitPlan
from cerlab.compile import waiting
from cerlab.conformance import Case, cases
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import reply_of
from cerlab.engine import throttle
from cerlab.engine.reference import waiting as as_written
from cerlab.engine.waits import look_back, stage
from cerlab.logic.cel import semantics as cel
from cerlab.logic.ceql import semantics as ceql
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.answer import Valuation
from cerlab.model.stream import clock_for, only_timestamp, width_of
from proofs_tests.conformance.ways import by_session
from proofs_tests.mutants.driver import (
    CRASHES,
    Judge,
    Mutant,
    kills,
    mutant,
    on_rows,
)


def answers_of(name: str) -> list[Case]:
    """The cases of a clause that have answers, not errors."""
    return [case for case in cases(name) if case.kind == "answers"]


def right_or_refused(case: Case, evaluator: Any) -> bool:
    """Whether an evaluator gives the answers of a case, or refuses it by name."""
    try:
        with warnings.catch_warnings(action="ignore"):
            reply = by_session(case) if evaluator == "session" else reply_of(case, evaluator)
    except Unsupported:
        return True
    except (*CRASHES, CerlabError):
        return False
    is_refused = reply.get("kind") == "Unsupported"
    return is_refused or not difference(case, reply, codes=True)


def taken_by(name: str, evaluator: Any) -> Judge:
    return on_rows(lambda case: right_or_refused(case, evaluator), answers_of(name))


THROTTLED, LOOKED_BACK = (taken_by(name, "reference") for name in ("throttle", "lookback"))
THROTTLED_BY_COLUMNS = taken_by("throttle", "compiled")
THROTTLED_IN_STEPS = taken_by("throttle", "tecs")
THROTTLED_SESSIONS = taken_by("throttle", "session")
LOOKED_BACK_IN_STEPS = taken_by("lookback", "tecs")
LOOKED_BACK_BY_COLUMNS = taken_by("lookback", "compiled")
LOOKED_BACK_SESSIONS = taken_by("lookback", "session")


def throttled_with(
    is_far: Callable[[Any, Any], bool], *, renews: bool = False, by_key: bool = True
) -> Callable[..., Any]:
    """THROTTLE in the meaning of queries, with a part that may be wrong."""

    def throttled(query: Any, stream: Any, answers: set[Any]) -> set[Any]:
        if (d := query.throttle) is None:
            return answers
        whole = ceql._from(query, stream)
        times = ceql._times(d, whole, stream.time or only_timestamp(stream))
        ends, given = {answer.end for answer in answers}, set()
        for s in ceql._partition(whole, partition_attributes(query) if by_key else ()):
            last: int | None = None
            for n, j in enumerate(s.positions):
                if j not in ends:
                    continue
                far = last is None or is_far(ceql._distance(d, last, n, s, times), d.width)
                if far:
                    given.add(j)
                if far or renews:
                    last = n
        return {answer for answer in answers if answer.end in given}

    return throttled


def gives_at_more(self: throttle.Throttle, end: int) -> bool:
    key, now = self._event(end)
    if (before := self._given.get(key)) is not None and before[0] != end:
        distance: Any = now - before[1]
        if distance <= self._width:
            return False
    self._given[key] = end, now
    return True


def renews_at_each_end(self: throttle.Throttle, end: int) -> bool:
    key, now = self._event(end)
    before = self._given.get(key)
    self._given[key] = end, now
    if before is None or before[0] == end:
        return True
    distance: Any = now - before[1]
    return bool(distance >= self._width)


def of_all_keys(self: throttle.Throttle, keys: Sequence[int]) -> list[int]:
    begin = sum(int(number) + 1 for _, number in self._last.values())
    return [*range(begin, begin + len(keys))]


_left = throttle.Throttle.leave_of_part


def never_exhausts(self: throttle.Throttle, answers: Any, *, exhausts: bool) -> Any:
    return _left(self, answers, exhausts=False)


_state = throttle.Throttle.state


def forgets_what_was_given(self: throttle.Throttle) -> dict[str, Any]:
    return _state(self) | {"given": []}


def numbers_begin_again(self: throttle.Throttle) -> dict[str, Any]:
    return _state(self) | {"last": []}


_looked_back = cel._looked_back


def ties_are_left_out(begun: Any, length: Any, S: Any, axis: Any) -> frozenset[Valuation]:
    return begun if width_of(length) == 0 else _looked_back(begun, length, S, axis)


def counts_from_the_end(begun: Any, length: Any, S: Any, axis: Any) -> frozenset[Valuation]:
    read = clock_for(length, axis)
    times = [read(t, i) for i, t in enumerate(S)]
    return frozenset(
        Valuation(
            min(V.start, *(k for k, t in enumerate(times) if t >= times[V.end] - width_of(length))),
            V.end,
            V.labels,
        )
        for V in begun
    )


_line_look_back = as_written.Line.look_back


def one_event_at_most(self: as_written.Line, back: Any, n: int) -> int:
    return max(n - 1, _line_look_back(self, back, n))


def bound_of_the_body(self: as_written.Line, back: Any, step: Any, n: int) -> int:
    return self.bound(step, n)


def least_of_the_body(line: Any, many: int, bound: int) -> int:
    return bound


def keeps_the_start(self: look_back.LookBacks, answers: Any) -> Any:
    return answers


def bounds_of_the_body(number: int, branch: Any) -> list[Any]:
    every = look_back.sources_of(number, branch)
    return [each.by if isinstance(each, look_back.Moved) else each for each in every]


def whole_units(length: Any) -> Any:
    return int(width_of(length))


def any_steps(branch: Any) -> bool:
    return True


def never_twice(self: WaitPlan) -> bool:
    return len(self.branches) > 1


def look_backs_are_not_saved(self: look_back.LookBacks) -> Any:
    return []


MUTANTS: list[Mutant] = [
    mutant(THROTTLED, ceql, "_throttled", throttled_with(lambda t, d: t > d), id="at_more_than_d"),
    mutant(
        THROTTLED, ceql, "_throttled", throttled_with(lambda t, d: t >= d, renews=True), id="renews"
    ),
    mutant(
        THROTTLED,
        ceql,
        "_throttled",
        throttled_with(lambda t, d: t >= d, by_key=False),
        id="no_keys",
    ),
    mutant(THROTTLED_BY_COLUMNS, throttle.Throttle, "gives", gives_at_more),
    mutant(THROTTLED_BY_COLUMNS, throttle.Throttle, "gives", renews_at_each_end),
    mutant(THROTTLED_BY_COLUMNS, throttle.Throttle, "_numbers", of_all_keys),
    mutant(THROTTLED_IN_STEPS, throttle.Throttle, "leave_of_part", never_exhausts),
    mutant(THROTTLED_SESSIONS, throttle.Throttle, "state", forgets_what_was_given),
    mutant(THROTTLED_SESSIONS, throttle.Throttle, "state", numbers_begin_again),
    mutant(LOOKED_BACK, cel, "_looked_back", ties_are_left_out),
    mutant(LOOKED_BACK, cel, "_looked_back", counts_from_the_end),
    mutant(LOOKED_BACK_IN_STEPS, as_written.Line, "look_back", one_event_at_most),
    mutant(LOOKED_BACK_IN_STEPS, as_written.Line, "moved_bound", bound_of_the_body),
    mutant(
        LOOKED_BACK_SESSIONS,
        look_back.LookBacks,
        "_least",
        staticmethod(least_of_the_body),
        id="least_of_the_body",
    ),
    mutant(LOOKED_BACK_BY_COLUMNS, stage, "sources_of", bounds_of_the_body),
    mutant(LOOKED_BACK_BY_COLUMNS, look_back.LookBacks, "move", keeps_the_start),
    mutant(LOOKED_BACK_BY_COLUMNS, look_back, "width_of", whole_units),
    mutant(LOOKED_BACK_BY_COLUMNS, waiting, "_may_be_first", any_steps),
    mutant(LOOKED_BACK_BY_COLUMNS, WaitPlan, "repeats", property(never_twice), id="never_twice"),
    mutant(LOOKED_BACK_SESSIONS, look_back.LookBacks, "state", look_backs_are_not_saved),
]


test_the_table_kills = kills(MUTANTS)
