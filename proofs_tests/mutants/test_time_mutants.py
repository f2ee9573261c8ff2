"""Wrong versions of moments and durations, each killed by a table computed by hand."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import z3

import cerlab
from cerlab import Duration, Timestamp
from cerlab.automata import labelled, plan
from cerlab.compile import correlated_to_srt as to_srt
from cerlab.compile.pattern import any_pattern
from cerlab.conformance import cases
from cerlab.engine import instants, windows
from cerlab.engine.kernels import waits as kernels
from cerlab.engine.reference import registers
from cerlab.engine.reference import waiting as as_written
from cerlab.engine.waits import bodies, bounds, reading, session, stage, whole
from cerlab.evaluate import names_that_take
from cerlab.logic.cel import semantics as cel
from cerlab.logic.ceql import condition_builder
from cerlab.logic.ceql import semantics as ceql
from cerlab.model import event as model
from cerlab.model import stream
from cerlab.predicates import smt, truth
from cerlab.predicates.columns import SymbolStage, axes
from cerlab.predicates.smt import formulas
from cerlab.predicates.syntax import Arithmetic
from cerlab.rows import builder, expression_semantics, times
from proofs_tests.clauses import test_times as clauses
from proofs_tests.clauses import test_wait as waiting
from proofs_tests.mutants.driver import (
    Judge,
    Mutant,
    check_killed,
    each_of,
    mutant,
    on_cases,
    on_rows,
)
from proofs_tests.suite import Suite

TRUTHS = [
    (
        case.query.removeprefix("E FILTER E[").removesuffix("]"),
        case.stream.events[0].attributes,
        bool(case.expected),
    )
    for case in cases("predicates", "times")
]
"""A predicate, an event and whether it satisfies the predicate."""
VALUES = [*cases("rows-times", "rows-casts")]


def is_true_as_said(row: Sequence[Any]) -> bool:
    predicate, values, expected = row
    try:
        P = clauses.predicate_of(predicate)
        return bool(truth.satisfies(model.Event("E", values), P) is expected)
    except (cerlab.CerlabError, TypeError):
        return False


def has_the_class_as_said(row: Sequence[Any]) -> bool:
    """By columns of one type, of each event and of one with other values too."""
    predicate, values, expected = row
    judge = SymbolStage([clauses.predicate_of(predicate)])
    columns = {"type": ["E"] * 2, **{n: [v, v] for n, v in values.items()}}
    symbols = judge.symbols(columns, 2)
    own = judge.vectors[judge.symbol(model.Event("E", values))]
    return {judge.vectors[symbols[0]], own} == {int(expected)}


def waits_by(evaluator: Any) -> Judge:
    """Return the judge by the cases of WAIT that an evaluator supports."""
    with warnings.catch_warnings(action="ignore"):  # a wait of a wait
        some = [
            case
            for case in cases("wait", "wait-before-other-steps", "wait-comparisons", "wait-until")
            if case.kind == "answers" and evaluator in names_that_take(any_pattern(case.query))
        ]
    return on_cases(some, evaluator)


def goes_on_as_said(row: Sequence[Any]) -> bool:
    """Whether a session gives at each step, and from the state before it, what a row says."""
    text, steps = row
    with warnings.catch_warnings(action="ignore"):  # a wait of a wait
        try:
            results = waiting.session_steps(text, steps, restored=True)
        except (cerlab.CerlabError, LookupError, ValueError):
            return False
    return results == [expected for _, expected in steps]


DECIDED = [
    ("d > 5 SECONDS AND d < 5.000000001 SECONDS", False),
    ("d / 2 = 0.000000002 SECONDS AND d > 0.000000004 SECONDS", True),
    ("d * 2 = 0.000000005 SECONDS", False),
    ("d * 2 = 0.000000006 SECONDS", True),
    ("d + d < d AND d > 0 SECONDS", False),
    ("d / 2 = 0.000000002 SECONDS AND d < 0.000000004 SECONDS", True),
    ("d * 0.3 = 0.000000003 SECONDS AND d < 0.00000001 SECONDS", True),
    ("d + d > d AND d > 54750 DAYS", False),
    ("t + d < t AND d > 0 SECONDS", False),
    ("t + d > t AND d > 0 SECONDS", True),
]


def is_decided_so(row: Sequence[Any]) -> bool:
    predicate, satisfiable = row
    smt.choices_of.cache_clear()
    text = f"SELECT * WHERE A FILTER A[{predicate}]"
    return bool(cerlab.satisfiable(text).holds is satisfiable)


TRUTH = on_rows(is_true_as_said, TRUTHS)
STAGE = on_rows(has_the_class_as_said, TRUTHS)
REFERENCE = on_cases(VALUES)
COMPILED = on_cases(VALUES, "compiled")
WAITS = waits_by("reference")
SESSIONS = on_rows(goes_on_as_said, waiting.SESSIONS)
WAITS_IN_STEPS = waits_by("tecs")
WAITS_ON_REGISTERS = waits_by("registers")
WAITS_BY_COLUMNS = waits_by("compiled")
SELECTED = [case for case in cases("windows-inside-in-time") if "of-time" in case.id]
SELECTED_BY_COLUMNS, SELECTED_IN_STEPS = on_cases(SELECTED, "compiled"), on_cases(SELECTED, "tecs")
DECISIONS = on_rows(is_decided_so, DECIDED)


def rounds_down(number: float) -> int:
    return math.floor(number)


def rounds_half_up(number: Any) -> int:
    return math.floor(number + type(number)(1, 2)) if hasattr(number, "denominator") else 0


def everything_fits(value: Any) -> bool:
    return True


_WAITED, _DIFFERENT, _PROMISED = cel._waited, ceql._different, stream.promised


def to_the_first_of_a_tie(begun: Any, length: Any, S: Any, axis: Any, clocks: Any) -> Any:
    """The first of several events at the end of a wait is inside."""
    read = stream.clock_for(length, axis)
    first = [next(n for n, t in enumerate(S) if read(t, n) == read(S[k], k)) for k in range(len(S))]
    waited = _WAITED(begun, length, S, axis, clocks)
    return frozenset(type(V)(V.start, max(first[V.end], V.start), V.labels) for V in waited)


def over_at_its_end(begun: Any, length: Any, S: Any, axis: Any, clocks: Any) -> Any:
    """A wait is over when the clock shows its end, though events at that time may follow."""
    return _WAITED(
        begun, length, S, axis, {name: t + Fraction(1, 10**6) for name, t in clocks.items()}
    )


def over_at_once(begun: Any, length: Any, S: Any, axis: Any, clocks: Any) -> Any:
    """No wait is waited for."""
    return _WAITED(begun, length, S, axis, {})


def now_alone(last: Any, ends: Any) -> Any:
    """An answer at this time is given, even one that a later time takes back."""
    return list(last)


def later_alone(last: Any, ends: Any) -> Any:
    """An answer of later times is given already."""
    return _DIFFERENT(last, ends)[1:]


def promised_too_far(until: Any, *of: Any) -> Any:
    """All events at a time have come, too, when all before it have."""
    return _PROMISED(until, *of) + 1


_WIDTH, _BOUND = stream.width_of, as_written.Line.bound
_CARRY, _TAKE, _AFTER = stage.Stage._carry, stage.Queue.take, instants.first_after
_LATEST, _ENDS = bounds._latest_starts, whole.WholeStream.ends


def shorter_by_a_nanosecond(length: Any) -> Any:
    """An event at the end of a wait is outside, and the wait is over by it."""
    return _WIDTH(length) - 1


def what_begins_with_it_is_spared(self: Any, step: Any, n: int) -> Any:
    """An answer of the right side of UNLESS that begins with the left one does no harm."""
    return _BOUND(self, step, n) - isinstance(step, plan.ExceptIf)


def all_waits_are_over(self: Any, now: Any) -> Any:
    return _TAKE(self, None)


def ends_with_the_next_event(times: Any, begun: Any, width: Any) -> Any:
    """A wait goes on by one event at most."""
    own = np.searchsorted(times, begun)
    return np.minimum(_AFTER(times, begun, width), own + 2)


def ends_in_another_group(self: Any, branch: int, events: Any, now: Any) -> Any:
    """A wait goes on to events of other keys."""
    return _CARRY(self, branch, events._replace(keys=np.zeros_like(events.keys)), now)


def no_run_is_saved(self: Any, keys: int) -> Any:
    """A session forgets what the tECS holds."""
    self._tecs.forget(np.full(keys, 1 << 40))
    return _AUTOMATON_STATE(self, keys)


def no_rival_is_saved(self: Any) -> Any:
    return [(key, latest, []) for key, latest, _ in _RIVAL_STATE(self)]


def what_was_given_is_forgotten(self: Any) -> Any:
    self._given.clear()


def windows_begin_anew(self: Any, times: Any, positions: Any) -> None:
    """A window forgets the events before the state."""


def one_that_waits_is_saved(self: Any, vectors: Any) -> Any:
    return tuple(column[:1] for column in _QUEUE_STATE(self, vectors))


def one_run_is_saved(self: Any) -> Any:
    nodes, runs = _RUNS_STATE(self)
    return nodes, runs[:1]


def one_part_of_a_union_is_saved(self: Any) -> Any:
    nodes, runs = _RUNS_STATE(self)
    return [node[:2] for node in nodes], runs


def registers_are_not_saved(self: Any) -> Any:
    nodes, runs = _RUNS_STATE(self)
    return nodes, [(q, [], start, marks) for q, _, start, marks in runs]


def runs_go_on_in_other_groups(self: Any, body: Any, ends: Any) -> Any:
    return _RUNS(self, body, ends._replace(keys=np.zeros_like(ends.keys)))


def runs_give_what_waits(self: Any, branches: Any) -> Any:
    """A whole stream promises that no event will come."""
    self.now = None
    return _ENDS(self, branches)


def runs_end_with_their_body(self: Any, body: Any, ends: Any) -> Any:
    return _RUNS(self, body, ends._replace(to=ends.of))


def runs_stop_at_the_last_answer_but_one(self: Any, body: Any, ends: Any) -> Any:
    """What comes before the last answer of a stream that is given is read alone."""
    last = np.nonzero(ends.given)[0][-1:]
    given = ends.given.copy()
    given[last] = False
    return _RUNS(self, body, ends._replace(given=given))


_RUNS_STATE, _RUNS = registers.IntervalRuns.state, whole.WholeStream.runs


def an_end_is_a_late_promise(self: Any, until: Any) -> Any:
    """A session that is over is not closed, and what waits stays."""
    return [] if until == "end" else _ADVANCE(self, until)


def measured_from_the_last_event(A: Any, window: Any, register: str) -> Any:
    """A window inside is one between each event and the next."""
    B = _HELD(A, window, register)
    return replace(B, Delta=tuple(t._replace(writes=t.writes | {register}) for t in B.Delta))


def measured_of_no_run(A: Any, window: Any, register: str) -> Any:
    """A window inside is read by no event."""
    return replace(A, R=A.R | {register})


def over_at_the_event(A: Any, length: Any, register: str) -> Any:
    """A wait ends with the last event of what waits."""
    return A


def over_at_any_event(A: Any, length: Any, register: str) -> Any:
    """A wait may end at each event in it."""
    B = _WAITED_RUNS(A, length, register)
    (end,) = B.F
    early = [t._replace(target=end) for t in B.Delta if t.source == t.target == A.states]
    return replace(B, Delta=(*B.Delta, *early))


def waits_for_ever(A: Any, length: Any, register: str) -> Any:
    """A wait in which other events come ends at none of them."""
    B = _WAITED_RUNS(A, length, register)
    return replace(B, Delta=tuple(t for t in B.Delta if t.source != A.states))


def without_the_clock(waits: Any, events: Any, time: Any) -> Any:
    """All waits are over, whatever the clock says."""
    return _PLACED(waits, events.up_to("end"), time)


def places_of_all_keys(waits: Any, events: Any, time: Any) -> Any:
    """Windows and waits go on to events of other keys."""
    return _PLACED(replace(waits, partition=()), events, time)


def names_of_places_are_lost(t: Any) -> Any:
    kind, stream, pairs = _VALUES_OF(t)
    return kind, stream, [(n[0] if isinstance(n, tuple) else n, v) for n, v in pairs]


_HELD, _WAITED_RUNS = labelled.held, labelled.waited
_PLACED, _VALUES_OF = as_written.placed, registers.values_of

_AUTOMATON_STATE, _RIVAL_STATE = bodies.AutomatonBody.state, bounds.RivalBound.state
_QUEUE_STATE = stage.Queue.state
_ADVANCE: Any = session.WaitRun.advance


_EVENTS: Any = bodies.SelectingBody._events
_READ_ONE: Any = bodies.SelectingBody.read_one


def rivals_before_the_window(ends: Any) -> Any:
    """Answers that are too long compete too."""
    return bounds.begins_of(ends.keys)


def windows_read_on(
    self: Any, symbols: Any, places: Any, lowest: Any, again: Any, silent: Any
) -> Any:
    """No window begins in the initial state."""
    return _EVENTS(self, symbols, places, lowest, 0 * again, silent)


def answers_of_all_ends(
    self: Any, symbols: Any, places: Any, lowest: Any, again: Any, silent: Any
) -> Any:
    """A window gives the answers of earlier ends again."""
    return _EVENTS(self, symbols, places, lowest, again, 0 * silent)


def no_event_is_saved(self: Any) -> Any:
    return []


def earlier_events_are_forgotten(self: Any, *end: Any) -> Any:
    self._recent.clear()
    return _READ_ONE(self, *end)


def rivals_that_began_later(*of: Any) -> Any:
    """An answer of the right side of UNLESS that begins with the left one does no harm."""
    return np.maximum(_LATEST(*of) - 1, -1)


def rivals_of_now_alone(keys: Any, starts: Any, latest: Any, bounds: Any) -> None:
    """UNLESS forgets rivals of earlier events."""
    bounds[:] = starts + 1


_KIND_OF, _COMPUTE, _NEGATE = truth.kind_of, truth.compute, truth.negate
_MOMENT, _CHECK = model.moment_of_text, times._check


def durations_are_numbers(value: Any) -> str | None:
    return "number" if isinstance(value, Duration) else _KIND_OF(value)


def no_duration_is_negated(value: Any) -> Any:
    return None if isinstance(value, Duration) else _NEGATE(value)


def moments_are_negated(value: Any) -> Any:
    return Timestamp(-value.nanoseconds) if isinstance(value, Timestamp) else _NEGATE(value)


def zones_are_passed_over(text: str) -> Any:
    return _MOMENT(text.split("+")[0])


def only_whole_seconds(text: str) -> Any:
    moment = _MOMENT(text)
    return moment and Timestamp(moment.nanoseconds // 10**9 * 10**9)


def cuts_of_any_kind(values: Any, of_time: Any) -> list[Any]:
    """Numbers cut durations."""
    if of_time is None:
        return _NUMBERS_OF(values, of_time)
    return [v.nanoseconds for v in values if isinstance(v, Timestamp)]


_NUMBERS_OF = axes.numbers_of


def half_even_is_floor(term: Any) -> Any:
    return z3.ToInt(term)


def no_bound(nanoseconds: Any) -> Any:
    return z3.BoolVal(True, nanoseconds.ctx)


def sums_go_on(operator: str, a: Any, b: Any) -> Any:
    """The reference keeps what leaves 64 bits."""
    if isinstance(a, Duration) and isinstance(b, int | float) and operator == "*":
        return Duration(round(a.nanoseconds * b))
    return _TIME(operator, a, b)


_TIME = expression_semantics._time_arithmetic


def quotients_are_floored(*_: Any) -> None:
    """Integers divide as durations do."""


def rounds_to_even(x: float) -> float:
    return float(round(x)) if math.isfinite(x) else x


WRONG_OPERATIONS: dict[str, Any] = {
    "moments_add": {(Arithmetic.ADD, "timestamp", "timestamp"): Timestamp},
    "a_moment_from_a_duration": {(Arithmetic.SUB, "duration", "timestamp"): Timestamp},
    "numbers_are_nanoseconds": {
        (op, left, right): Duration
        for op in (Arithmetic.ADD, Arithmetic.SUB)
        for left, right in (("number", "duration"), ("duration", "number"))
    },
    "products_of_durations": {(Arithmetic.MUL, "duration", "duration"): Duration},
    "remainders_of_durations": {(Arithmetic.MOD, "duration", "duration"): Duration},
    "a_ratio_is_a_duration": {(Arithmetic.DIV, "duration", "duration"): Duration},
    "frequencies": {(Arithmetic.DIV, "number", "duration"): float},
}

MUTANTS: list[Mutant] = [
    mutant(WAITS, cel, "_waited", to_the_first_of_a_tie),
    mutant(WAITS, cel, "_waited", over_at_its_end),
    mutant(WAITS, cel, "_waited", over_at_once),
    mutant(WAITS, ceql, "_different", now_alone),
    mutant(WAITS, ceql, "_different", later_alone),
    mutant(WAITS, ceql, "promised", promised_too_far),
    mutant(WAITS_IN_STEPS, as_written, "width_of", shorter_by_a_nanosecond),
    mutant(WAITS_IN_STEPS, as_written, "promised", promised_too_far, id="steps_promised_too_far"),
    mutant(WAITS_IN_STEPS, as_written.Line, "bound", what_begins_with_it_is_spared),
    mutant(SESSIONS, reading, "promised", promised_too_far, id="sessions_promised_too_far"),
    mutant(SELECTED_BY_COLUMNS, bodies, "first_starts", rivals_before_the_window),
    mutant(SELECTED_BY_COLUMNS, bodies.SelectingBody, "_events", windows_read_on),
    mutant(SELECTED_BY_COLUMNS, bodies.SelectingBody, "_events", answers_of_all_ends),
    mutant(SELECTED_IN_STEPS, as_written, "StrategyCea", type(None), id="rivals_of_all_steps"),
    mutant(SESSIONS, bodies.SelectingBody, "state", no_event_is_saved),
    mutant(SESSIONS, bodies.SelectingBody, "read_one", earlier_events_are_forgotten),
    mutant(SESSIONS, bodies.AutomatonBody, "state", no_run_is_saved),
    mutant(SESSIONS, bounds.RivalBound, "state", no_rival_is_saved),
    mutant(SESSIONS, session.WaitRun, "_forget_given", what_was_given_is_forgotten),
    mutant(SESSIONS, windows.WindowStarts, "resume", windows_begin_anew),
    mutant(SESSIONS, stage.Queue, "state", one_that_waits_is_saved),
    mutant(SESSIONS, session.WaitRun, "advance", an_end_is_a_late_promise),
    mutant(SESSIONS, registers.IntervalRuns, "state", one_run_is_saved),
    mutant(SESSIONS, registers.IntervalRuns, "state", one_part_of_a_union_is_saved),
    mutant(SESSIONS, registers.IntervalRuns, "state", registers_are_not_saved),
    mutant(SESSIONS, registers, "values_of", names_of_places_are_lost),
    mutant(WAITS_ON_REGISTERS, to_srt, "held", measured_from_the_last_event),
    mutant(WAITS_ON_REGISTERS, to_srt, "held", measured_of_no_run),
    mutant(WAITS_ON_REGISTERS, to_srt, "waited", over_at_the_event),
    mutant(WAITS_ON_REGISTERS, to_srt, "waited", over_at_any_event),
    mutant(WAITS_ON_REGISTERS, to_srt, "waited", waits_for_ever),
    mutant(WAITS_ON_REGISTERS, as_written, "placed", without_the_clock),
    mutant(WAITS_ON_REGISTERS, as_written, "placed", places_of_all_keys),
    mutant(WAITS_BY_COLUMNS, to_srt, "held", measured_from_the_last_event, id="compiled_held"),
    mutant(WAITS_BY_COLUMNS, to_srt, "waited", over_at_any_event, id="compiled_waited"),
    mutant(WAITS_BY_COLUMNS, whole.WholeStream, "runs", runs_go_on_in_other_groups),
    mutant(WAITS_BY_COLUMNS, whole.WholeStream, "ends", runs_give_what_waits),
    mutant(WAITS_BY_COLUMNS, whole.WholeStream, "runs", runs_end_with_their_body),
    mutant(WAITS_BY_COLUMNS, whole.WholeStream, "runs", runs_stop_at_the_last_answer_but_one),
    mutant(WAITS_BY_COLUMNS, reading, "promised", promised_too_far, id="columns_promised_far"),
    mutant(WAITS_BY_COLUMNS, stage.Queue, "take", all_waits_are_over),
    mutant(WAITS_BY_COLUMNS, stage, "first_after", ends_with_the_next_event),
    mutant(WAITS_BY_COLUMNS, stage.Stage, "_carry", ends_in_another_group),
    mutant(WAITS_BY_COLUMNS, bounds, "_latest_starts", rivals_that_began_later),
    mutant(WAITS_BY_COLUMNS, kernels, "bounds_of_rivals", rivals_of_now_alone),
    *(
        mutant(TRUTH, truth, "_OF_TIME", {**truth._OF_TIME, **wrong}, id=name)
        for name, wrong in WRONG_OPERATIONS.items()
    ),
    mutant(TRUTH, truth, "round", rounds_down, id="rounds_down"),
    mutant(TRUTH, truth, "round", rounds_half_up, id="rounds_half_up"),
    mutant(TRUTH, truth, "_fits", everything_fits),
    mutant(TRUTH, truth, "INT64", range(-(2**70), 2**70), id="no_64_bits"),
    mutant(TRUTH, truth, "kind_of", durations_are_numbers),
    mutant(TRUTH, truth, "negate", no_duration_is_negated),
    mutant(TRUTH, truth, "negate", moments_are_negated),
    mutant(TRUTH, condition_builder, "moment_of_text", zones_are_passed_over),
    mutant(TRUTH, condition_builder, "moment_of_text", only_whole_seconds),
    mutant(
        TRUTH,
        condition_builder,
        "UNITS",
        {**model.UNITS, "MILLISECOND": 10**3},
        id="milliseconds_are_microseconds",
    ),
    mutant(STAGE, axes, "numbers_of", cuts_of_any_kind),
    mutant(DECISIONS, formulas, "half_even", half_even_is_floor),
    mutant(DECISIONS, formulas, "_in_64_bits", no_bound),
    mutant(REFERENCE, expression_semantics, "_time_arithmetic", sums_go_on),
    mutant(REFERENCE, expression_semantics, "round", rounds_down, id="reference_rounds_down"),
    mutant(
        REFERENCE, builder, "UNITS", {**model.UNITS, "HOUR": 60 * 10**9}, id="hours_are_minutes"
    ),
    mutant(REFERENCE, expression_semantics, "_nearest", rounds_to_even),
    mutant(COMPILED, times, "_check", quotients_are_floored),
]


@each_of(MUTANTS)
def test_the_table_kills(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    if mutant.places[0].name == "round":  # a builtin of Python
        monkeypatch.setattr(mutant.places[0].owner, "round", round, raising=False)
    check_killed(mutant, monkeypatch, suite)


@pytest.mark.parametrize("judge", [TRUTH, STAGE, REFERENCE, COMPILED, DECISIONS])
def test_what_is_there_passes_every_row(judge: Any) -> None:
    assert all(judge.case(n) for n in range(judge.count))
