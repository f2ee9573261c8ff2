"""Wrong versions of sessions of row patterns, each killed by random patterns and batches."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from cerlab.engine.late_events import InOrder
from cerlab.errors import BadData
from cerlab.model.stream import Stream
from cerlab.rows import live_kernels
from cerlab.rows.batch_conditions import BatchConditions
from cerlab.rows.live_columns import LivePartitions, SavedPartition
from cerlab.rows.machine import OpenEnd, Search
from cerlab.rows.session import RowPatternSession, _Partition
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.rows.test_sessions import agree, agree_in_any_order, agree_in_arrays

_ADVANCE = InOrder.advance
_DROP_FROM_ARRAYS = LivePartitions._drop
_EVALUATE = BatchConditions.evaluate
_ROWS = BatchConditions.rows
_CERTAIN = _Partition.certain
_DROP = _Partition._drop
_FORGET = Search._forget
_GATHER = live_kernels.gather
_GIVE_BEFORE = InOrder._give_before
_GIVEN_STREAM = InOrder._given_stream
_ORDER_STATE = InOrder.state
_SAVED = LivePartitions.saved
_SET_LETTERS = LivePartitions._set_letters
_STATE_OF = RowPatternSession._state_of


def the_end_is_now(self: OpenEnd, row: int) -> bool:
    """A row that has not come is a row that will not come."""
    return row < self.rows


def no_end(self: Search, q: int, row: int) -> Any:
    """`$` is tested before it is known that no row comes."""
    return self.automaton.steps(q, row + self.dropped == 0, row == self.mapping.rows)


def without_reach(self: _Partition, s: int) -> int:
    """Rows before a match are dropped, PREV or not."""
    self.reach = 0
    return _DROP(self, s)


def the_first_row_again(self: Search, s: int) -> int:
    """After rows are dropped `^` holds again at the first one that is left."""
    count = _FORGET(self, s)
    self.dropped = 0
    return count


def numbers_begin_again(self: RowPatternSession, part: _Partition) -> list[Any]:
    """A state does not tell the number of matches so far."""
    values = _STATE_OF(self, part)
    values[3] = 0
    return values


def matches_are_forgotten(self: _Partition, M: Any) -> Iterator[Any]:
    """A row in an earlier match is shown as unmatched."""
    yield from _CERTAIN(self, M)
    self.matched_end = 0


def without_rows_before(self: BatchConditions, parts: Any) -> None:
    """Conditions of a batch do not see the rows of earlier batches."""
    self._reach = 0
    _EVALUATE(self, parts)


def one_partition(self: BatchConditions, values: Any, partition: Any) -> Any:
    """PREV steps from one partition into another."""
    return _ROWS(self, values, 0 * partition)


def truths_stay(self: _Partition, s: int) -> int:
    """Rows are dropped, and what is known of their conditions is not."""
    known = {name: [*column] for name, column in self.columns.items() if isinstance(name, tuple)}
    count = _DROP(self, s)
    self.columns |= known if count else {}
    return count


def released_early(self: InOrder, bound: Any) -> None:
    """A row is released after two thirds of the lateness."""
    _GIVE_BEFORE(self, None if bound is None else bound + self.length[0] // 3)


def last_tie_first(self: InOrder) -> Stream:
    """Rows of one time are released in the reverse order of arrival."""
    self._given.sort(key=lambda each: (each[0], -each[1]))
    return _GIVEN_STREAM(self)


def a_promise_forgets(self: InOrder, until: Any) -> Stream:
    """A promise drops the rows that it does not release."""
    given = _ADVANCE(self, until)
    self._held.clear()
    return given


def a_state_of_few(self: InOrder, run: bytes) -> bytes:
    """A state contains only the eight earliest of the rows that are held back."""
    held, self._held = self._held, sorted(self._held)[:8]
    state = _ORDER_STATE(self, run)
    self._held = held
    return state


def late_rows_agree(rng: Random) -> bool:
    """Judge rows that come late; a session that refuses a row does not agree."""
    try:
        return agree_in_any_order(rng)
    except BadData as error:
        raise AssertionError from error


def arrays_without_reach(self: LivePartitions) -> None:
    """Rows before a match are dropped from arrays, PREV or not."""
    reach, self._reach = self._reach, 0
    _DROP_FROM_ARRAYS(self)
    self._reach = reach


def letters_of_new_rows(self: LivePartitions, rows: Any, numbers: Any) -> None:
    """Conditions in arrays do not see the rows of earlier batches."""
    reach, self._reach = self._reach, 0
    _SET_LETTERS(self, rows, numbers)
    self._reach = reach


def matches_of_one_push(self: LivePartitions) -> Iterator[SavedPartition]:
    """A state of arrays does not tell the number of matches so far."""
    return (saved._replace(number=0) for saved in _SAVED(self))


def measures_of_the_match_alone(R: Any, F: Any, matches: int, reach: int, G: Any) -> Any:
    """PREV in a measure does not see the rows before the match."""
    return _GATHER(R, F, matches, 0, G)


SEEDS = on_seeds(agree, 2_000)
ARRAY_SEEDS = on_seeds(agree_in_arrays, 2_000)
LATE_SEEDS = on_seeds(late_rows_agree, 600)

MUTANTS = [
    mutant(SEEDS, OpenEnd, "__gt__", the_end_is_now),
    mutant(SEEDS, Search, "_steps", no_end),
    mutant(SEEDS, _Partition, "_drop", without_reach),
    mutant(SEEDS, Search, "_forget", the_first_row_again),
    mutant(SEEDS, RowPatternSession, "_state_of", numbers_begin_again),
    mutant(SEEDS, _Partition, "certain", matches_are_forgotten),
    mutant(SEEDS, BatchConditions, "evaluate", without_rows_before),
    mutant(SEEDS, BatchConditions, "rows", one_partition),
    mutant(SEEDS, _Partition, "_drop", truths_stay),
    mutant(ARRAY_SEEDS, LivePartitions, "_drop", arrays_without_reach),
    mutant(ARRAY_SEEDS, LivePartitions, "_set_letters", letters_of_new_rows),
    mutant(ARRAY_SEEDS, LivePartitions, "saved", matches_of_one_push),
    mutant(ARRAY_SEEDS, live_kernels, "gather", measures_of_the_match_alone),
    mutant(LATE_SEEDS, InOrder, "_give_before", released_early),
    mutant(LATE_SEEDS, InOrder, "_given_stream", last_tie_first),
    mutant(LATE_SEEDS, InOrder, "advance", a_promise_forgets),
    mutant(LATE_SEEDS, InOrder, "state", a_state_of_few),
]


test_the_mutant_is_killed = kills(MUTANTS)
