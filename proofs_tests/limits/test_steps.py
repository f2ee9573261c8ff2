"""Constructions count what they do: at least as many steps as there is work, of each place alone.

Where one does not count, neither a budget nor a limit of time is seen in it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import cerlab
from cerlab import budget
from cerlab.automata.automaton import IntervalCea, Mark, Transition
from cerlab.automata.decide import Joint, WindowedMachine, shortest_difference
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.explore import crawl
from cerlab.automata.registers.determinise import minterms
from cerlab.automata.registers.liveness import live_registers
from cerlab.automata.registers.reduce import quotient
from cerlab.automata.registers.transducer import RegisterTransition, Srt, registers_used
from cerlab.automata.successors import Successors
from cerlab.model.event import Event
from cerlab.predicates.minterms import Minterm
from cerlab.predicates.syntax import EVERYTHING, TypeIs

N = 40
TAKE, ZERO = Mark.TAKE, frozenset({0})
ANY = Minterm(0, Event("A", {}))
LINE = tuple(Transition(n, EVERYTHING, TAKE, n + 1) for n in range(N))
LONG = IntervalCea(N + 1, LINE, ZERO, frozenset({N}))
MACHINE = WindowedMachine(DeterministicCea(LONG))
WRITTEN = tuple(
    RegisterTransition(n, TypeIs(f"T{n}"), TAKE, frozenset("r"), n + 1) for n in range(N)
)
REGISTERS = Srt(N + 1, WRITTEN, ZERO, frozenset({N}), R=frozenset("r"))
LOOPS = tuple(Transition(n, EVERYTHING, TAKE, n) for n in range(N))

PLACES: dict[str, tuple[int, Callable[[], object]]] = {
    "a machine that is made": (2 * N, lambda: IntervalCea(N + 1, LINE, ZERO, ZERO)),
    "states that are reached": (N, lambda: crawl(0, lambda n: [("", n + 1)] if n < N else [])),
    "where many states lead": (N, lambda: Successors(LOOPS).after(frozenset(range(N)), 0, TAKE)),
    "pairs of machines": (
        N,
        lambda: shortest_difference(
            MACHINE, MACHINE, Joint(MACHINE.machine, MACHINE.machine, [ANY]), [0]
        ),
    ),
    "guards that read registers": (N, lambda: registers_used(WRITTEN)),
    "registers that are read later": (N, lambda: live_registers(REGISTERS)),
    "ways of many guards": (1 << 8, lambda: minterms([TypeIs(f"T{n}") for n in range(8)])),
    "classes of states": (3 * N, lambda: quotient(REGISTERS)),
}


@pytest.mark.parametrize("place", PLACES)
def test_each_place_counts_its_own_work(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, construct = PLACES[place]
    construct()
    monkeypatch.setattr(budget, "STEPS", work - 1)
    with pytest.raises(cerlab.ResourceLimit) as caught, budget.budgeted(place):
        construct()
    assert caught.value.code == "CER0605"


def test_a_machine_counts_what_is_asked_of_it_one_event_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each event is a little; what all of them make stays."""
    monkeypatch.setattr(budget, "STEPS", 3 * N)
    machine = Successors(LOOPS)
    everywhere = frozenset(range(N))
    for _ in range(3):
        assert machine.after(everywhere, 0, TAKE) == everywhere
    with pytest.raises(cerlab.ResourceLimit, match="determinisation takes more than 120 steps"):
        machine.after(everywhere, 0, TAKE)
