"""Random values of every kind that is drawn, with texts that drawings may stumble over."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from cerlab import Formula, Unsupported
from cerlab.automata.automaton import IntervalCea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.explicit import table_of
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.cel_to_vcea import cel_to_vcea, vcea_to_cea
from cerlab.compile.foundations import focel_to_epsilon_cea
from cerlab.model.clauses import Strategy
from cerlab.testing import SMALL, random_fo_formula, random_formula, random_query, random_sremo
from cerlab.viz.deterministic import minterm_table
from cerlab.viz.machines import listed_minterms
from cerlab.viz.tecs import tecs_snapshot
from proofs_tests.dqe.cases import random_gcq
from proofs_tests.io.machine_cases import random_machine, rich_predicate
from proofs_tests.random_cases import random_case
from proofs_tests.srt.cases import random_epsilon_srt, random_srt


def random_cea(rng: Random) -> IntervalCea:
    """The CEA of a random formula that has one."""
    while True:
        try:
            return vcea_to_cea(cel_to_vcea(random_formula(rng, SMALL)))
        except Unsupported:
            continue


def machine_of_nasty_texts(rng: Random) -> Any:
    """A machine of any plain kind, whose predicates hold every kind of constant and name."""
    return random_machine(rng, lambda rng: rich_predicate(rng, 2))


def snapshot(rng: Random) -> Any:
    """Return a tECS after a random stream; partitions, windows and consumption included."""
    while True:
        case = random_case(rng)
        if case.query.machine_kind == "automaton" and len(case.stream):
            query = case.query
            return tecs_snapshot(query.plan, query.machine, case.stream)


def table(rng: Random) -> Any:
    """The table of a random deterministic machine."""
    return minterm_table(DeterministicCea(random_cea(rng)))


def written_out(rng: Random) -> Any:
    """A deterministic machine as an explicit table."""
    det = DeterministicCea(random_cea(rng))
    return table_of(det, range(1 << min(len(det.predicates), 4)))


def minterm_list(rng: Random) -> Any:
    """The minterms of a random CEA."""
    return listed_minterms(DeterministicCea(random_cea(rng)).predicates)


KINDS: dict[str, Callable[[Random], Any]] = {
    "formula": lambda rng: random_formula(rng),
    "sremo": random_sremo,
    "gcq": random_gcq,
    "query": lambda rng: random_query(rng),
    "machine": machine_of_nasty_texts,
    "srt": random_srt,
    "epsilon srt": random_epsilon_srt,
    "epsilon cea": lambda rng: focel_to_epsilon_cea(unary_fo(rng)),
    "det": lambda rng: DeterministicCea(random_cea(rng)),
    "strategy": lambda rng: StrategyCea(random_cea(rng), rng.choice(list(Strategy))),
    "explicit": written_out,
    "table": table,
    "minterms": minterm_list,
    "tecs": snapshot,
}


def unary_fo(rng: Random) -> Formula:
    """An FO-CEL formula that has an automaton."""
    while True:
        phi = random_fo_formula(rng)
        try:
            focel_to_epsilon_cea(phi)
        except Unsupported:
            continue
        return phi


def random_value(rng: Random) -> Any:
    """A value of one of the kinds, each as likely."""
    return rng.choice(list(KINDS.values()))(rng)
