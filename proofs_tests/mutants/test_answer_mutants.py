"""Wrong versions of labels and totals, each killed by the rows of the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from cerlab import Event
from cerlab.automata.explicit import SKIP, StepMoves
from cerlab.automata.labelled import LabelledMoves, LabelledStates
from cerlab.engine import array_totals, flat_program, totals, windows
from cerlab.engine import labels as registers
from cerlab.engine import measures as end_totals
from cerlab.engine.kernels import blocks as kernel
from cerlab.engine.kernels.labels import SEVERAL
from cerlab.engine.labels import Places
from cerlab.engine.reference import totals as reference
from cerlab.engine.reference.totals import ANY_START, Gain, Place, RunTotals, Sliding, Total
from cerlab.engine.registers import program as program_of_registers
from cerlab.engine.registers.program import Slot
from cerlab.evaluate import aggregates as aggregated
from cerlab.evaluate import numbering, recent, running, running_batches, thresholds
from cerlab.evaluate.labelled import labelled_answers
from cerlab.model.columns import values_of
from cerlab.model.stream import Stream
from cerlab.predicates.columns.ranks import Ranks
from proofs_tests.engine import test_aggregates, test_labelled_answers
from proofs_tests.mutants.driver import Judge, kills, mutant

_MOVES, _INIT = LabelledStates._moves, LabelledStates.__init__
_OF_REGISTERS, _PROGRAM = registers._labels, program_of_registers.labelling_program
_ROW, _TAKEN = Places._row, registers._taken
_ADD_TOTALS, _ADD_GAIN = reference.add_totals, reference.add_gain
_GROUP_ROWS, _READ_EVENT = end_totals.group_rows, running.RunningTotals._read_event


# -- labels ----------------------------------------------------------------------------------------


def first_mark_only(self: LabelledStates, state: int, symbol: int) -> LabelledMoves:
    """Keep only the first of several ways to label an event."""
    moves = _MOVES(self, state, symbol)
    return LabelledMoves(moves.skip, moves.takes[:1])


def passes_or_takes(self: LabelledStates, state: int, symbol: int) -> LabelledMoves:
    """A run that can take an event does not pass over it."""
    moves = _MOVES(self, state, symbol)
    return LabelledMoves(None if moves.takes else moves.skip, moves.takes)


def in_one_substream(plan: Any, stream: Stream) -> None:
    """Between the positions of an answer stand events of other partitions."""
    return


def only_asked_for(
    self: LabelledStates, vcea: Any, labels: Collection[str] | None = None, **more: Any
) -> None:
    """Distinguish all labels, also unrequested ones: rows come twice."""
    _INIT(self, vcea, None, **more)


def gaps_change_nothing(machine: Any, waits: Any, *more: Any) -> Any:
    """Between the positions of an answer anything may stand, also where contiguity is asked for."""
    return _OF_REGISTERS(machine, waits | (np.arange(machine.program.states) != 0), *more)


def kept_for_the_next_step(*machine: Any) -> Any:
    """Forget values that a guard reads two steps later."""
    labelling = _PROGRAM(*machine)
    program = labelling.program
    live = [frozenset[Slot]()] * program.states
    for move in program.moves:
        live[move.source] |= frozenset(program_of_registers._slots_of(move.guard))
    return labelling._replace(program=replace(program, live=tuple(live)))


def some_mark(places: Places, vector: int) -> Any:
    """Where a position may have several marks, take the last of them."""
    row = _ROW(places, vector)
    return np.where(row == SEVERAL, len(places.marks) - 1, row)


def far_from_the_end(states: int, first: Collection[int], edges: Any) -> Any:
    """Take a state to be as far from the end as its furthest way is."""
    taken = _TAKEN(states, first, edges)
    last = taken.shape[1] - 1 - taken[:, ::-1].argmax(1)
    return taken & (np.arange(taken.shape[1]) == last[:, None])


# -- totals ----------------------------------------------------------------------------------------


def least_of_the_first(first: Total, second: Total) -> Total:
    """The least value of two groups of runs is that of one."""
    return _ADD_TOTALS(first, second)._replace(least=first.least)


def gained_once(total: Total, gain: Gain) -> Total:
    """An event adds its value once, however many runs take it."""
    return _ADD_GAIN(total._replace(runs=1), gain)._replace(runs=total.runs)


def last_start(ending: dict[Place, Total]) -> dict[Place, Total]:
    """Sum only the last of the runs with several starts."""
    return {(ANY_START, group): total for (_, group), total in ending.items()}


def no_reset(self: RunTotals[Any]) -> None:
    """Continue runs that CONSUME BY ends."""


def always_stays(q: int, step: StepMoves) -> bool:
    """Lose runs that skip an event in an accepting state."""
    return any(move.mark == SKIP and move.target == q for move in step)


def by_the_first(rows: Any, by: Sequence[Any]) -> Any:
    """Group rows by the first key alone."""
    return _GROUP_ROWS(rows, by[:1])


def rounded_twice(total: int, divisor: int, exponent: int) -> float:
    """The total is rounded before it is divided."""
    try:
        return math.ldexp(float(total), exponent) / divisor
    except OverflowError:
        return float(total // divisor) * 2.0**exponent


def without_the_oldest(self: Sliding, end: int, total: Total, lowest: int) -> Total:
    """An end exactly as far back as the window reaches does not count."""
    return _ADD(self, end, total, min(lowest + 1, end))


_ADD = Sliding.add


def not_added_up(self: Sliding, lowest: int) -> None:
    """Ends that were added before the oldest one left stand alone."""
    self._old += [pair for pair in reversed(self._new) if pair[0] >= lowest]
    self._new, self._newest = [], None


def not_consumed(self: running.RunningTotals, event: Event, rows: Any) -> None:
    """A session consumes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self._driver, "consume", lambda reader: None)
        _READ_EVENT(self, event, rows)


def of_symbols_so_far(*of: Any, merges: bool) -> flat_program.Program:
    """Runs that no event so far can end are lost at the end of a batch."""
    return flat_program.Program(*of)


_READ_BATCH = array_totals.ArrayTotals.read


def lives_on(self: array_totals.ArrayTotals, *of: Any, **more: Any) -> Any:
    """Runs that CONSUME BY ended go on in the next batch."""
    self._cells.epoch[:] = self._counters[kernel.EPOCH]
    return _READ_BATCH(self, *of, **more)


_STARTS_OF = array_totals._starts_of


def without_the_earliest(partition: Any, start: Any) -> Any:
    """All runs of a partition that a batch finds began together."""
    return _STARTS_OF(partition, np.zeros_like(start))


_TAKE = windows.WindowStarts.take


def begins_with_the_batch(self: windows.WindowStarts, fresh: Any, positions: Any) -> Any:
    """The window of a batch in time begins with it."""
    self._inside = windows._Inside()
    return _TAKE(self, fresh, positions)


class InTheOrderTheyCame(Ranks):
    """A value that is new to the arrays is the greatest so far."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.known)

    def fix(self) -> None:
        """Rank the first values by their order."""
        self.known = {value: n for n, value in enumerate(sorted(self.known))}

    def of_column(self, column: Any, name: str) -> Any:
        """Number new values after all others."""
        codes = [
            self.known.setdefault(value, len(self.known))
            if value is not None and value == value
            else -1
            for value in values_of(column, name)
        ]
        return np.array(codes, np.int64)

    def values(self, codes: Any) -> list[Any]:
        """Return the values with some numbers."""
        of_code = [*self.known]
        return [None if code < 0 else of_code[code] for code in codes.tolist()]


def forgets_the_batch_before(
    self: windows.SlidingEnds, columns: Any, length: int, first: int
) -> Any:
    """The sliding window of a batch begins with it."""
    return np.maximum(_READ_ENDS(self, columns, length, first), first)


_READ_ENDS = windows.SlidingEnds.read


def by_all_labels(pattern: Any, part: Stream, batches: Any, _: Any) -> Any:
    """Listed rows that differ in labels alone that no total names count apart."""
    return labelled_answers(pattern, part, batches)


_JOINED = recent.joined


def first_two_change_places(parts: Sequence[Stream]) -> Stream:
    """Three batches that the events of answers are in are joined in another order."""
    return _JOINED(parts if len(parts) < 3 else [*parts[1::-1], *parts[2:]])


_GROUP_ROWS = end_totals.group_rows


def apart(totals: Any, by: Sequence[Any]) -> Any:
    """Listed rows of one end with one group are not added up."""
    if len(by) == 3 and by[0] is totals.end:
        return totals
    return _GROUP_ROWS(totals, by)


def at_the_wrong_power(number: int) -> int:
    """The last binary digits of sums are lost between batches."""
    return number.bit_length() - 1


def of_matches(short: int) -> Callable[[Random], bool]:
    """Aggregates of matches are those of the listed rows: by the kernel, or exactly."""

    def case(rng: Random) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(totals, "SHORT", short)
            sample = test_aggregates.with_doubles(next(test_aggregates.cases(rng)), rng)
            return test_aggregates.agrees(sample, rng)

    return case


def of_sessions(fewest: int) -> Callable[[Random], bool]:
    """Aggregates of sessions are those of the listed rows; batches of `fewest` by the kernel."""

    def case(rng: Random) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thresholds, "FEWEST", fewest)
            sample = test_aggregates.with_doubles(next(test_aggregates.cases(rng)), rng)
            return test_aggregates.agrees(sample, rng, test_aggregates.by_session(rng))

    return case


def judge(case: Callable[[Random], bool]) -> Judge:
    return Judge(lambda seed: case(Random(seed)), 1_500)


COMPARED = judge(test_aggregates.compares_labels)
LISTED = judge(lambda rng: bool(test_aggregates.compares_labels_in_a_session(rng)))
LABELS = judge(test_labelled_answers.agrees)
BY_RUNS = judge(test_labelled_answers.agrees_by_runs)
BY_REGISTERS = judge(test_labelled_answers.ways_agree)
KERNEL, EXACT = judge(of_matches(-1)), judge(of_matches(10**9))
SESSION, BATCHES = judge(of_sessions(1000)), judge(of_sessions(2))

MUTANTS = [
    mutant(COMPARED, end_totals, "group_rows", apart),
    mutant(LISTED, running_batches, "labelled_answers", by_all_labels),
    mutant(LISTED, recent, "joined", first_two_change_places),
    mutant(BATCHES, running_batches, "Program", of_symbols_so_far),
    mutant(BATCHES, array_totals.ArrayTotals, "read", lives_on),
    mutant(BATCHES, array_totals, "_starts_of", without_the_earliest),
    mutant(BATCHES, windows.WindowStarts, "take", begins_with_the_batch),
    mutant(BATCHES, numbering, "Ranks", InTheOrderTheyCame, id="in_the_order_they_came"),
    mutant(BATCHES, numbering, "_zeros", at_the_wrong_power),
    mutant(BATCHES, windows.SlidingEnds, "read", forgets_the_batch_before),
    mutant(EXACT, LabelledStates, "_moves", first_mark_only),
    mutant(EXACT, LabelledStates, "_moves", passes_or_takes),
    mutant(EXACT, LabelledStates, "__init__", only_asked_for),
    mutant(BY_RUNS, registers, "_substreams", in_one_substream),
    mutant(LABELS, Places, "_row", some_mark),
    mutant(LABELS, registers, "_taken", far_from_the_end),
    mutant(BY_REGISTERS, registers, "_labels", gaps_change_nothing),
    mutant(BY_REGISTERS, registers, "labelling_program", kept_for_the_next_step),
    mutant(EXACT, reference, "add_totals", least_of_the_first),
    mutant(EXACT, reference, "add_gain", gained_once),
    mutant(EXACT, totals, "_without_starts", last_start),
    mutant(EXACT, RunTotals, "reset", no_reset),
    mutant(KERNEL, flat_program, "_stays", always_stays),
    mutant(KERNEL, end_totals, "group_rows", by_the_first),
    mutant(KERNEL, aggregated, "nearest", rounded_twice),
    mutant(SESSION, Sliding, "add", without_the_oldest),
    mutant(SESSION, Sliding, "_turn", not_added_up),
    mutant(SESSION, running.RunningTotals, "_read_event", not_consumed),
]


test_the_mutant_is_killed = kills(MUTANTS)
