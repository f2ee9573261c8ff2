"""Wrong versions of a bucket of keys in a stream, each killed by keys that come in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from cerlab.compile.pattern import Pattern
from cerlab.engine import reorder
from cerlab.logic.cel.syntax import look_backs
from cerlab.model.clauses import AttributeWindow
from cerlab.rows.session import RowPatternSession
from cerlab.spark.stream import engine as keys
from cerlab.spark.stream import step
from cerlab.spark.stream import waits as wait_sequences
from cerlab.spark.stream.engine import GivenEnds, RowSequences, SequencesEngine, no_ends
from cerlab.spark.stream.step import StreamJob
from cerlab.spark.stream.throttle import ThrottledSequences
from cerlab.spark.stream.waits import WaitSequences
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.spark import test_stream_throttle as throttle
from proofs_tests.spark import test_stream_waits as waits
from proofs_tests.spark.cases import typed_case
from proofs_tests.spark.test_row_stream_step import in_any_order as rows_in_any_order
from proofs_tests.spark.test_stream_step import in_any_order

_WINDOW_STARTS = SequencesEngine._window_starts
_IS_MORE = reorder._is_more
_REACH = step.reach
_STATES = RowPatternSession.states


def one_window_for_all(self: SequencesEngine, events: Any) -> Any:
    """The windows of all keys begin where the last one begins."""
    starts = _WINDOW_STARTS(self, events)
    return np.full_like(starts, starts.max(initial=-1))


def not_more_but_as_much(after: Any, before: Any, length: Any) -> Any:
    """A row is released by one that is exactly the lateness after it."""
    return _IS_MORE(after, before, length) | (after - before == length)


def two_zeros(column: Any, *, null_is_key: bool = False) -> Any:
    """The two zeros are two keys."""
    indices = column.combine_chunks().dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def no_states(self: RowSequences, arrays: Any) -> None:
    """Matches of a row pattern end with their micro-batch."""


def the_first_state_alone(self: RowPatternSession) -> Iterator[tuple[int, bytes]]:
    """Of the partitions of a micro-batch one has a state."""
    return islice(_STATES(self), 1)


def partitions_that_end(job: StreamJob) -> Fraction | None:
    """The state of a partition goes when all partitions are past it."""
    return Fraction(0) if job.result is not None else _REACH(job)


SEEDS = on_seeds(in_any_order, 600)

ROW_SEEDS = on_seeds(rows_in_any_order, 600)

_KEEP_FROM = WaitSequences._keep_from


def a_wait_keeps_one_window(self: WaitSequences, sequence: int, number: Any) -> None:
    """The events of a window before the clock are kept, and not those of a wait before it."""
    self._least += max(self._waits, default=0)
    _KEEP_FROM(self, sequence, number)


def no_wait_ends_alone(*_: Any) -> bool:
    """A wait that no event follows is never over."""
    return False


def answers_of_now(self: WaitSequences, rows: Any, times: Any, clock: Any) -> Any:
    """The clock of a key is its own last event."""
    return _ANSWERS(self, rows, times, None)


_ANSWERS = WaitSequences._answers

WAITS = on_seeds(waits.check_waits, 200)
RARE_WAITS = Judge(lambda n: waits.check_waits(Random(600 + n)), 100)
"""Seeds around 655: one case in some hundred has an answer that begins before its last window."""


def of_a_silent_key(_: int) -> bool:
    """Few random streams have a key that is silent while others go on."""
    waits.test_a_wait_ends_when_the_watermark_has_passed_it()
    return True


SILENT = Judge(of_a_silent_key, 1)


def no_end_is_kept(self: ThrottledSequences, sequences: Any) -> GivenEnds:
    """Each micro-batch gives the first end of each key."""
    return replace(no_ends(), counts=self._counts[sequences])


def silent_keys_forget(self: ThrottledSequences, others: Any) -> GivenEnds:
    """A key without events in a micro-batch forgets its last end."""
    return _WITH_GIVEN(self, np.zeros_like(others))


def no_throttle_in_reach(job: StreamJob) -> Fraction | None:
    """The state of a key goes when its window has passed."""
    plan = step.plan_of_job(job)
    return Fraction(plan.window.width) if isinstance(plan.window, AttributeWindow) else None


def of_a_state_that_ends(_: int) -> bool:
    """Judge by hand: random streams seldom have a key that comes back after its window."""
    throttle.test_a_state_stays_until_the_window_and_the_throttle_have_passed()
    return True


def without_counts(self: ThrottledSequences, throttle: Any, time: Any, before: Any, n: int) -> None:
    """The number of events of a key is that of one micro-batch."""
    _INIT(self, throttle, time, replace(before, counts=before.counts[:0]), n)


def look_backs_add_nothing(pattern: Pattern, time: Any) -> Fraction:
    """The events of a window and a wait are kept, not those of the look-backs before them."""
    (length,) = look_backs(pattern.ast.formula)
    assert isinstance(length, AttributeWindow)
    return _REACH_OF_ANSWERS(pattern, time) - Fraction(length.width)


def of_a_look_back_past_its_window(_: int) -> bool:
    """Judge by hand: few random streams look further back than their window."""
    waits.test_a_look_back_begins_before_its_window()
    return True


_REACH_OF_ANSWERS = wait_sequences.reach_of_answers

_WITH_GIVEN = ThrottledSequences._with_given
_INIT = ThrottledSequences.__init__


def in_any_order_with_throttle(rng: Random) -> bool:
    return in_any_order(rng, throttle.throttled(typed_case))


THROTTLED = on_seeds(in_any_order_with_throttle, 300)
RARE_THROTTLED = Judge(lambda n: in_any_order_with_throttle(Random(600 + n)), 100)
"""Seeds around 613: one case in 136 has a key that is silent in a micro-batch after its alarm."""

MUTANTS = [
    mutant(ROW_SEEDS, RowSequences, "resume", no_states),
    mutant(ROW_SEEDS, RowPatternSession, "states", the_first_state_alone),
    mutant(ROW_SEEDS, step, "reach", partitions_that_end),
    mutant(RARE_WAITS, WaitSequences, "_keep_from", a_wait_keeps_one_window),
    mutant(SILENT, WaitSequences, "_is_due", no_wait_ends_alone),
    mutant(WAITS, WaitSequences, "_answers", answers_of_now),
    mutant(SEEDS, SequencesEngine, "_window_starts", one_window_for_all),
    mutant(SEEDS, reorder, "_is_more", not_more_but_as_much),
    mutant(SEEDS, keys, "_codes", two_zeros),
    mutant(THROTTLED, ThrottledSequences, "keep", no_end_is_kept),
    mutant(THROTTLED, ThrottledSequences, "__init__", without_counts),
    mutant(RARE_THROTTLED, ThrottledSequences, "_with_given", silent_keys_forget),
    mutant(
        Judge(of_a_look_back_past_its_window, 1),
        wait_sequences,
        "reach_of_answers",
        look_backs_add_nothing,
    ),
    mutant(Judge(of_a_state_that_ends, 1), step, "reach", no_throttle_in_reach),
]


test_the_mutant_is_killed = kills(MUTANTS)
