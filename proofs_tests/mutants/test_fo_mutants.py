"""A wrong version of each clause of FO-CEL's oracle: the hand-computed table kills every one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cerlab import Event
from cerlab.conformance import cases
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel import semantics
from cerlab.logic.focel.semantics import Assignment, LabelledEvent
from cerlab.predicates.condition import Condition, Correlation, On
from proofs_tests.mutants.driver import (
    Mutant,
    Place,
    is_right,
    kills,
    mutant,
    on_cases,
)

LabelledEvents = frozenset[LabelledEvent]
_UNDER = semantics.under_assignment
_HOLDS = semantics.holds_under
_ASSIGNMENTS = semantics.assignments


def clause(kind: type, wrong: Callable[..., LabelledEvents]) -> Callable[..., LabelledEvents]:
    """The table of clauses with one row replaced."""
    return lambda phi, S, nu: wrong(phi, S, nu) if isinstance(phi, kind) else _UNDER(phi, S, nu)


def atom_of_any_stream(phi: cel.As, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    assert isinstance(phi.body, cel.Atom)
    return _UNDER(cel.As(cel.Atom(phi.body.type), phi.label), S, nu)


def atom_anywhere(phi: cel.As, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    """An atom that finds its own position, whatever its variable says."""
    return frozenset().union(*(_UNDER(phi, S, {**nu, phi.label: i}) for i in range(len(S))))


def or_left(phi: cel.Or, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    return _UNDER(phi.left, S, nu)


def seq_touching(phi: cel.Seq, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    """Sequencing that lets the second part begin where the first one ends."""
    return frozenset(
        C1 | C2
        for C1 in semantics.under_assignment(phi.left, S, nu)
        for C2 in semantics.under_assignment(phi.right, S, nu)
        if max(i for _, i in C1) <= min(i for _, i in C2)
    )


def seq_reversed(phi: cel.Seq, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    return semantics._concatenations(
        semantics.under_assignment(phi.right, S, nu), semantics.under_assignment(phi.left, S, nu)
    )


def plus_once(phi: cel.Plus, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    return frozenset().union(
        *(
            semantics.under_assignment(phi.body, S, {**nu, **rebound})
            for rebound in _ASSIGNMENTS(semantics.vdef_plus(phi.body), S)
        )
    )


def plus_keeps_the_valuation(phi: cel.Plus, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    """Iteration that does not rebind: every iteration is at the same positions."""
    once = semantics.under_assignment(phi.body, S, nu)
    return once | semantics._concatenations(once, once)


def count_keeps_the_valuation(phi: cel.Count, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    """Counting that does not rebind, as if rounds were written out with their variables."""
    written: cel.Formula = phi.body
    for _ in range(phi.least - 1):
        written = cel.Seq(written, phi.body)
    return semantics.under_assignment(written, S, nu)


def count_from_one(phi: cel.Count, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    return _UNDER(cel.Count(phi.body, 1, phi.most), S, nu)


def filter_ignored(phi: cel.Filter, S: Sequence[Event], nu: Assignment) -> LabelledEvents:
    return semantics.under_assignment(phi.body, S, nu)


def binary_ignored(condition: Condition, S: Sequence[Event], nu: Assignment) -> bool:
    return isinstance(condition, Correlation) or _HOLDS(condition, S, nu)


def unary_on_any_event(condition: Condition, S: Sequence[Event], nu: Assignment) -> bool:
    """A filter that some event of the stream satisfies."""
    if not isinstance(condition, On):
        return _HOLDS(condition, S, nu)
    return any(_HOLDS(condition, S, {condition.label: i}) for i in range(len(S)))


def free_variables_stay_inside(phi: cel.Formula) -> frozenset[str]:
    """Only variables of atoms are given positions, so a free one has none: its filter fails."""
    return semantics.vdef_plus(phi)


def free_fails(condition: Condition, S: Sequence[Event], nu: Assignment) -> bool:
    return semantics.variables_of(condition) <= set(nu) and _HOLDS(condition, S, nu)


CASES = [case for case in cases() if case.language == "fo-cel"]
TABLE = on_cases(CASES)

CLAUSES: tuple[tuple[type, Callable[..., LabelledEvents]], ...] = (
    (cel.As, atom_of_any_stream),
    (cel.As, atom_anywhere),
    (cel.Or, or_left),
    (cel.Seq, seq_touching),
    (cel.Seq, seq_reversed),
    (cel.Plus, plus_once),
    (cel.Plus, plus_keeps_the_valuation),
    (cel.Count, count_keeps_the_valuation),
    (cel.Count, count_from_one),
    (cel.Filter, filter_ignored),
)

MUTANTS = [
    *(
        mutant(TABLE, semantics, "under_assignment", clause(kind, wrong), id=wrong.__name__)
        for kind, wrong in CLAUSES
    ),
    mutant(TABLE, semantics, "holds_under", binary_ignored),
    mutant(TABLE, semantics, "holds_under", unary_on_any_event),
    Mutant(
        "free_variables_fail",
        TABLE,
        (
            Place(semantics, "free_variables", free_variables_stay_inside),
            Place(semantics, "holds_under", free_fails),
        ),
    ),
]


def test_the_oracle_itself_passes_the_table() -> None:
    assert len(CASES) > 20
    assert all(map(is_right, CASES))


test_the_table_kills = kills(MUTANTS)
