"""Constructions count what they do: at least as many steps as there is work, of each place alone.

Where one does not count, neither a budget nor a limit of time is seen in it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import cerlab
from cerlab import Event, budget
from cerlab.automata.automaton import IntervalCea, Mark, Transition
from cerlab.automata.compose import quotient
from cerlab.automata.decide import Joint, WindowedMachine, shortest_difference
from cerlab.automata.deterministic import DeterministicCea, Successors
from cerlab.automata.explore import crawl
from cerlab.automata.registers import (
    RegisterTransition,
    Srt,
    coalesce,
    live_registers,
    registers_used,
)
from cerlab.automata.unrolled import minterms
from cerlab.predicates import syntax as pred
from cerlab.predicates.minterms import Minterm

N = 40
TAKE, ZERO, V = Mark.TAKE, frozenset({0}), pred.Attribute("v")
ANY = Minterm(0, Event("A", {}))
LINE = tuple(Transition(n, pred.EVERYTHING, TAKE, n + 1) for n in range(N))
LONG = IntervalCea(N + 1, LINE, ZERO, frozenset({N}))
MACHINE = WindowedMachine(DeterministicCea(LONG))
TYPES = [pred.TypeIs(f"T{n}") for n in range(N)]
REGISTER_LINE = tuple(
    RegisterTransition(n, P, TAKE, frozenset("r"), n + 1) for n, P in enumerate(TYPES)
)
REGISTERS = Srt(N + 1, REGISTER_LINE, ZERO, frozenset({N}), R=frozenset("r"))
ALIKE = Srt(
    N,
    tuple(RegisterTransition(n, pred.EVERYTHING, TAKE, frozenset(), n) for n in range(N)),
    ZERO,
    frozenset(range(N)),
)
NAMES = [f"r{n}" for n in range(N)]
SAME = [pred.RegisterComparison(pred.Operator.EQ, V, pred.RegisterAttribute(r, "v")) for r in NAMES]
READ_AT_ONCE = Srt(
    3,
    (
        RegisterTransition(0, pred.EVERYTHING, TAKE, frozenset(NAMES), 1),
        RegisterTransition(1, pred.all_of(SAME), TAKE, frozenset(), 2),
    ),
    ZERO,
    frozenset({2}),
    R=frozenset(NAMES),
)
LOOPS = tuple(Transition(n, pred.EVERYTHING, TAKE, n) for n in range(N))
FAN = Successors(LOOPS)

PLACES: dict[str, tuple[int, Callable[[], object]]] = {
    "a machine that is made": (2 * N, lambda: IntervalCea(N + 1, LINE, ZERO, ZERO)),
    "states that are reached": (N, lambda: crawl(0, lambda n: [("", n + 1)] if n < N else [])),
    "where many states lead": (N, lambda: FAN.after(frozenset(range(N)), 0, TAKE)),
    "pairs of machines": (
        N,
        lambda: shortest_difference(
            MACHINE, MACHINE, Joint(MACHINE.machine, MACHINE.machine, [ANY]), [0]
        ),
    ),
    "guards that read registers": (budget.TRANSITION * N, lambda: registers_used(REGISTER_LINE)),
    "registers that are read later": (N, lambda: live_registers(REGISTERS)),
    "ways of many guards": (2 * budget.TRANSITION * 8 << 8, lambda: minterms(TYPES[:8])),
    "pairs of registers": (N**2, lambda: coalesce(READ_AT_ONCE)),
    "classes of states": (2 * N, lambda: quotient(ALIKE)),
}


@pytest.mark.parametrize("place", PLACES)
def test_each_place_counts_its_own_work(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, construct = PLACES[place]
    construct()
    monkeypatch.setattr(budget, "STEPS", work - 1)
    with pytest.raises(cerlab.ResourceLimit) as caught, budget.step_budget(place):
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
