"""Wrong versions of looking ahead, and of single events, each killed by the tests of the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from cerlab import ComplexEvent
from cerlab.automata import explicit as mealy_module
from cerlab.automata.explicit import DEAD, StepMoves
from cerlab.engine import flat_program as program
from cerlab.engine import tecs_run, window_scan
from cerlab.engine.flat_program import Program
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.engine.window_scan import Batch, WindowScan
from cerlab.predicates.columns.key_codes import KeyCodes
from proofs_tests.engine.test_compiled import in_any_batches
from proofs_tests.engine.test_order_inside_ends import has_one_order
from proofs_tests.engine.windowed_cases import by_phases, cuts, windowed_case
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds

_LAST_WINDOW = window_scan.last_window


def chained_anyhow(states: int, moves: Any, begins: Any) -> bool:
    """Chains also where a later record may start earlier."""
    return True


def in_order_anyhow(ops: Any) -> bool:
    """LIMIT takes answers of one chain after those of another, which may have later positions."""
    return True


def classes_by_marks(steps: dict[int, list[StepMoves]]) -> dict[int, int]:
    """States that accept alike at once are one, whatever comes later."""
    signatures: dict[Any, int] = {}
    classes = {DEAD: DEAD}
    for q, row in steps.items():
        key = tuple(tuple((move.mark, move.accepts) for move in step) for step in row)
        classes[q] = signatures.setdefault(key, len(signatures)) if any(key) else DEAD
    return classes


def only_what_mattered(batches: Sequence[Batch], width: Any, keys: KeyCodes | None) -> Batch:
    """Keep, of the window before a batch, only events with a symbol other than 0."""
    window = _LAST_WINDOW(batches, width, keys)
    return window.take(np.flatnonzero(np.asarray(window.symbols) != 0))


def window_without_its_first(batches: Sequence[Batch], width: Any, keys: KeyCodes | None) -> Batch:
    """A window that does not include the event exactly `width` before."""
    window = _LAST_WINDOW(batches, width, keys)
    return window.take(np.arange(min(1, len(window.symbols) - 1), len(window.symbols)))


def consumed_may_begin_again(self: WindowScan[Any]) -> None:
    """The next batch begins again with what CONSUME BY has ended."""
    if self._last_scan is None:
        return
    self._last_scan = self._last_scan._replace(ends=np.zeros(0, np.int32))
    _CARRY_OVER(self)


_CARRY_OVER = WindowScan._carry_over


def idle_from_the_beginning(
    self: WindowScan[Any], program: Program, batches: list[Batch], position: int, last_end: int
) -> int:
    """A strategy that forgets what came before the window."""
    return int(self._tables.machine.idle)


def by_phases_or_by_tecs(rng: Random) -> bool:
    """Looking ahead gives the answers of the tECS."""
    sample = windowed_case(rng)
    if sample is None or not sample[1]:
        return False
    case, expected = sample
    answers = by_phases(case, cuts(rng, len(case.stream)))
    assert Counter(answers) == Counter(expected)
    return True


_SKIPS = tecs_run.Tecs._skips


def active_or_not(tecs: tecs_run.Tecs, symbol: int, w: int, _: int) -> bool:
    """A single event is just counted although it matters to a state that is active."""
    return _SKIPS(tecs, symbol, w, 0)


def final_states_by_number(self: TecsEvaluation, lowest_start: int) -> Iterator[ComplexEvent]:
    """List the answers of the states in order of their numbers."""
    self.T = dict(sorted(self.T.items(), key=lambda item: item[0]))
    return _ANSWERS(self, lowest_start)


_ANSWERS = TecsEvaluation.answers


BATCHES = Judge(lambda seed: bool(in_any_batches(Random(seed))), 1_200)
ORDERS = on_seeds(has_one_order, 1_200)
PHASES = Judge(lambda seed: by_phases_or_by_tecs(Random(seed)), 1_200)

MUTANTS = [
    mutant(BATCHES, tecs_run.Tecs, "_skips", active_or_not),
    mutant(ORDERS, TecsEvaluation, "answers", final_states_by_number),
    mutant(PHASES, program, "_is_chained", chained_anyhow),
    mutant(PHASES, program, "_is_one_to_one", in_order_anyhow),
    mutant(PHASES, mealy_module, "_classes", classes_by_marks),
    mutant(PHASES, window_scan, "last_window", only_what_mattered),
    mutant(PHASES, window_scan, "last_window", window_without_its_first),
    mutant(PHASES, WindowScan, "_carry_over", consumed_may_begin_again),
    mutant(PHASES, WindowScan, "_idle_at", idle_from_the_beginning),
]


test_the_mutant_is_killed = kills(MUTANTS)
