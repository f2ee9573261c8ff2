"""Wrong versions of the contexts of strategies inside a formula, killed by cases of the suite."""

from __future__ import annotations

from typing import Any

from cerlab.automata.context import ContextReader
from cerlab.conformance import cases
from cerlab.engine import contexts
from cerlab.engine.reference.in_contexts import InContexts
from cerlab.predicates.columns.key_codes import KeyCodes
from proofs_tests.mutants.driver import Judge, kills, mutant, on_rows
from proofs_tests.mutants.test_look_back_mutants import right_or_refused

INSIDE = [
    case
    for name in ("strategies-inside", "strategies")
    for case in cases(name)
    if case.kind == "answers"
]


def taken_by(evaluator: str) -> Judge:
    return on_rows(lambda case: right_or_refused(case, evaluator), INSIDE)


IN_STEPS, BY_COLUMNS = taken_by("tecs"), taken_by("compiled")


def begins_at_the_run(self: ContextReader, event: Any) -> Any:
    """Carry the idle state of a substream that has just begun."""
    self.reset()
    return _read(self, event)


_read = ContextReader.read


def goes_on_after_an_answer(self: InContexts[Any]) -> None:
    """Begin the recogniser again, and leave the contexts."""
    self._recogniser.reset()


def stays_idle(codes: Any, symbols: Any, after: Any, states: Any, begin: int, before: Any) -> int:
    """Carry the first state."""
    before[:] = states[0]
    return len(codes)


def of_all_keys(self: KeyCodes, columns: Any, length: int) -> Any:
    """Take all events of a substream for those of the first one."""
    codes = _codes(self, columns, length)
    return codes.clip(max=0)


_codes = KeyCodes.codes


MUTANTS = [
    mutant(IN_STEPS, ContextReader, "read", begins_at_the_run),
    mutant(IN_STEPS, InContexts, "reset", goes_on_after_an_answer),
    mutant(BY_COLUMNS, contexts, "states_before", stays_idle),
    mutant(BY_COLUMNS, KeyCodes, "codes", of_all_keys),
]


test_the_cases_kill = kills(MUTANTS)
