"""Deliberate wrong versions of Algorithm 1 and of the reference, which the random cases kill."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from cerlab.engine.reference.dqe import Row, WindowEvaluation
from cerlab.logic import gcq
from cerlab.logic.gcq import Delete, Insert, Update
from proofs_tests.dqe.cases import random_stream, same_answers
from proofs_tests.dqe.test_semantics import random_case, reference_is_right
from proofs_tests.mutants.driver import kills, mutant, on_seeds


def overwrites(self: WindowEvaluation, row: Row, ts2: int) -> None:
    """Line 6 as printed (erratum E15)."""
    if (ts1 := self.H_R.get(row[0])) is not None:
        self.H_S.put(row[1], ts1)


def remembers_the_second(self: WindowEvaluation, row: Row, ts2: int) -> None:
    """The window is measured from s, not from r."""
    if self.H_R.get(row[0]) is not None:
        self.H_S.put(row[1], ts2)


def never_refreshes(self: WindowEvaluation, row: Row, ts2: int) -> None:
    """The first match of y stays for ever."""
    ts1 = self.H_R.get(row[0])
    if ts1 is not None and self.H_S.get(row[1]) is None:
        self.H_S.put(row[1], ts1)


def includes_the_bound(self: WindowEvaluation, row: Row, ts3: int) -> None:
    """``ts3 - ts1 <= 5``."""
    ts1, window = self.H_S.get(row[0]), self.query.window
    if ts1 is not None and (window is None or ts3 - ts1 <= window):
        self.T.insert(row)


def uses_a_match_up(self: WindowEvaluation, row: Row, ts3: int) -> None:
    """A match of r and s is consumed by the first t."""
    _T(self, row, ts3)
    self.H_S.put(row[0], -(10**9))


_T = WindowEvaluation._t


def counts_occurrences(S: Iterable[Update]) -> dict[str, frozenset[Row]]:
    """Bags: a tuple inserted twice survives one deletion."""
    net: dict[tuple[str, Row], int] = {}
    for u in S:
        net[u.relation, u.row] = net.get((u.relation, u.row), 0) + (
            1 if isinstance(u, Insert) else -1
        )
    D: dict[str, frozenset[Row]] = {}
    for (relation, row), count in net.items():
        if count > 0:
            D[relation] = D.get(relation, frozenset()) | {row}
    return D


def deletes_for_ever(S: Iterable[Update]) -> dict[str, frozenset[Row]]:
    """Lose a tuple for ever once it is deleted."""
    updates = list(S)
    return _DATABASE(updates + [u for u in updates if isinstance(u, Delete)])


_DATABASE = gcq.database


def one_atom_is_not_compared(atoms: Any, rows: Any) -> dict[str, Any] | None:
    """Two atoms have to agree, but not two columns of one."""
    t: dict[str, Any] = {}
    for atom, row in zip(atoms, rows, strict=True):
        here = dict(zip(atom.variables, row, strict=True))
        if any(t.setdefault(x, value) != value for x, value in here.items()):
            return None
    return t


def on_algorithm_1(rng: Random) -> bool:
    """P13 on a random stream."""
    return same_answers(random_stream(rng))


def on_the_reference(rng: Random) -> bool:
    """The join against all assignments on a random query and stream."""
    return reference_is_right(*random_case(rng))


ON_ALGORITHM_1, ON_THE_REFERENCE = (
    on_seeds(check, 1_000) for check in (on_algorithm_1, on_the_reference)
)

MUTANTS = [
    mutant(ON_ALGORITHM_1, WindowEvaluation, "_s", overwrites, id="as-printed"),
    mutant(ON_ALGORITHM_1, WindowEvaluation, "_s", remembers_the_second, id="from-s"),
    mutant(ON_ALGORITHM_1, WindowEvaluation, "_s", never_refreshes, id="first-match"),
    mutant(ON_ALGORITHM_1, WindowEvaluation, "_t", includes_the_bound, id="inclusive"),
    mutant(ON_ALGORITHM_1, WindowEvaluation, "_t", uses_a_match_up, id="consumes"),
    mutant(ON_THE_REFERENCE, gcq, "database", counts_occurrences, id="bags"),
    mutant(ON_THE_REFERENCE, gcq, "database", deletes_for_ever, id="for-ever"),
    mutant(ON_THE_REFERENCE, gcq, "_join", one_atom_is_not_compared, id="r-of-x-and-x"),
]


test_the_suite_kills = kills(MUTANTS)
