"""Names of states that outlive a process: what a macro-state is, not the number it has here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.machine import Machine
from cerlab.automata.strategy import Contender, Rivals
from cerlab.errors import BadData


def name_of_state(machine: Machine, state: int) -> Any:
    """The macro-state of a number, as JSON."""
    if isinstance(machine, DeterministicCea):
        return sorted(machine.macro_states[state])
    macro = machine.macro_states[state]
    return [sorted(macro.runs), _rivals(macro.rivals), macro.block]


def state_of_name(machine: Machine, name: Any) -> int:
    """The number that a macro-state has in this machine; raises `BadData` for what is no name."""
    with _reading("state"):
        if isinstance(machine, DeterministicCea):
            return machine.number_of(frozenset(_states(name)))
        runs, rivals, block = name
        return machine.number_of(
            Contender(frozenset(_states(runs)), _read_rivals(rivals), int(block))
        )


def name_of_idle(machine: Machine, idle: int) -> Any:
    """The idle state of a number, as JSON."""
    if isinstance(machine, DeterministicCea):
        return None
    return _rivals(machine.idle_states[idle])


def idle_of_name(machine: Machine, name: Any) -> int:
    """The number that an idle state has in this machine; raises `BadData` for what is no name."""
    if isinstance(machine, DeterministicCea):
        return machine.idle
    with _reading("idle state"):
        return machine.idle_number_of(_read_rivals(name))


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise BadData(
            "CER0770",
            f"this is no {what} of the machine: {error}",
            hint="start again from the events",
        ) from None


def _rivals(rivals: Rivals) -> list[list[int]]:
    return [sorted(S) for S in rivals]


def _read_rivals(name: Any) -> Rivals:
    equal, better, worse = (frozenset(_states(S)) for S in name)
    return Rivals(equal, better, worse)


def _states(name: Any) -> list[int]:
    if not isinstance(name, list) or not all(type(q) is int for q in name):
        raise TypeError(f"{name!r} is no list of states")
    return name
