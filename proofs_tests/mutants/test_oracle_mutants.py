"""A wrong version of each clause of the oracle: the hand-computed tables kill every one.

The differential tests cannot see a clause that is wrong in the oracle and in the construction; the
tables are computed from the definitions, by hand, and can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cerlab import Event, Valuation, satisfies
from cerlab.conformance import cases
from cerlab.logic.cel import semantics
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import Valuations, valuations
from cerlab.model.clauses import EventWindow
from cerlab.predicates.condition import Condition, Correlation, On
from cerlab.predicates.syntax import Or
from proofs_tests.mutants.driver import is_right, kills, mutant, on_cases

CASES = [case for case in cases() if case.kind == "valuations"]

Clause = Callable[[Any, Sequence[Event]], Valuations]
_CLAUSE = semantics._clause
_HOLDS = semantics.holds
_NEXT = semantics.next_at_most


def clause(kind: type, wrong: Clause) -> Callable[..., Valuations]:
    """The table of clauses with one row replaced."""
    return lambda phi, S, *time: wrong(phi, S) if isinstance(phi, kind) else _CLAUSE(phi, S, *time)


def holding(kind: type, wrong: Callable[..., bool]) -> Callable[..., bool]:
    """The meaning of filters with one kind replaced."""
    return lambda c, V, S: wrong(c, V, S) if isinstance(c, kind) else _HOLDS(c, V, S)


def atom_in_any_stream(phi: cel.Atom, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Atom(phi.type), S)


def as_replaces(phi: cel.As, S: Sequence[Event]) -> Valuations:
    """AS that takes the positions away from the other labels."""
    return frozenset(
        Valuation(V.start, V.end, {phi.label: semantics._support(V)})
        for V in valuations(phi.body, S)
    )


def or_exclusive(phi: cel.Or, S: Sequence[Event]) -> Valuations:
    return valuations(phi.left, S) ^ valuations(phi.right, S)


def seq_allows_touching(phi: cel.Seq, S: Sequence[Event]) -> Valuations:
    return semantics._product(
        valuations(phi.left, S), valuations(phi.right, S), lambda V, W: V.end <= W.start
    )


def seq_adjacent(phi: cel.Seq, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Concat(phi.left, phi.right), S)


def plus_adjacent(phi: cel.Plus, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.ConcatPlus(phi.body), S)


def plus_at_most_twice(phi: cel.Plus, S: Sequence[Event]) -> Valuations:
    once = valuations(phi.body, S)
    return once | semantics._product(once, once, semantics._before)


def project_shrinks_the_interval(phi: cel.Project, S: Sequence[Event]) -> Valuations:
    def shrunk(V: Valuation) -> Valuation:
        support = semantics._support(V)
        return Valuation(min(support), max(support), V.labels) if support else V

    return frozenset(map(shrunk, _CLAUSE(phi, S)))


def not_keeps_the_type(phi: cel.Not, S: Sequence[Event]) -> Valuations:
    """NOT(R FILTER p) read as an R that fails p."""
    body = phi.body
    while isinstance(body, cel.Filter):
        body = body.body
    assert isinstance(body, cel.Atom)
    right_type = {V.start for V in valuations(body, S)}
    matches = _CLAUSE(phi, S)
    is_plain = isinstance(phi.body, cel.Atom)
    return matches if is_plain else frozenset(V for V in matches if V.start in right_type)


def not_marks(phi: cel.Not, S: Sequence[Event]) -> Valuations:
    return frozenset(Valuation(V.start, V.end, {"NOT": (V.start,)}) for V in _CLAUSE(phi, S))


def concat_by_marks(phi: cel.Concat, S: Sequence[Event]) -> Valuations:
    """Contiguity of the marked positions, not of the intervals."""

    def adjacent(V: Valuation, W: Valuation) -> bool:
        left, right = semantics._support(V), semantics._support(W)
        return V.end < W.start and bool(left and right) and max(left) + 1 == min(right)

    return semantics._product(valuations(phi.left, S), valuations(phi.right, S), adjacent)


def concat_plus_skips(phi: cel.ConcatPlus, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Plus(phi.body), S)


def count_one_more(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    most = None if phi.most is None else phi.most + 1
    return _CLAUSE(cel.Count(phi.body, phi.least + 1, most, phi.gaps), S)


def count_from_one(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Count(phi.body, 1, phi.most, phi.gaps), S)


def count_without_end(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Count(phi.body, phi.least, None, phi.gaps), S)


def count_exactly(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Count(phi.body, phi.least, phi.least, phi.gaps), S)


def count_skips(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Count(phi.body, phi.least, phi.most), S)


def count_is_adjacent(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Count(phi.body, phi.least, phi.most, gaps=False), S)


def count_of_disjoint_events(phi: cel.Count, S: Sequence[Event]) -> Valuations:
    """A number of different valuations, in any order, that may overlap."""
    found = once = valuations(phi.body, S)
    for _ in range(phi.least - 1):
        found = semantics._product(found, once, semantics._in_any_order)
    return found


def window_is_exclusive(phi: cel.Within, S: Sequence[Event]) -> Valuations:
    width = phi.window.width if isinstance(phi.window, EventWindow) else 0
    return _CLAUSE(cel.Within(phi.body, EventWindow(width - 1)), S)


def window_counts_both_ends(phi: cel.Within, S: Sequence[Event]) -> Valuations:
    """``WITHIN n EVENTS`` of n events, so of n - 1 gaps, but for n = 0."""
    width = phi.window.width if isinstance(phi.window, EventWindow) else 0
    return _CLAUSE(cel.Within(phi.body, EventWindow(max(0, width - 1))), S)


def window_on_marks(phi: cel.Within, S: Sequence[Event]) -> Valuations:
    """A window over the positions of an answer instead of its interval."""
    assert isinstance(phi.window, EventWindow)
    spans = ((V, semantics._support(V) or (0,)) for V in valuations(phi.body, S))
    return frozenset(V for V, D in spans if max(D) - min(D) <= phi.window.width)


def window_without_effect(phi: cel.Within, S: Sequence[Event]) -> Valuations:
    return valuations(phi.body, S)


def and_by_support(phi: cel.And, S: Sequence[Event]) -> Valuations:
    """AND of complex events, whatever the labels."""
    rivals = {(V.start, V.end, frozenset(semantics._support(V))) for V in valuations(phi.right, S)}
    return frozenset(
        V
        for V in valuations(phi.left, S)
        if (V.start, V.end, frozenset(semantics._support(V))) in rivals
    )


def all_in_order(phi: cel.All, S: Sequence[Event]) -> Valuations:
    return _CLAUSE(cel.Seq(phi.left, phi.right), S) | _CLAUSE(cel.Seq(phi.right, phi.left), S)


def unless_anywhere(phi: cel.Unless, S: Sequence[Event]) -> Valuations:
    return frozenset() if valuations(phi.right, S) else valuations(phi.left, S)


def unless_overlapping(phi: cel.Unless, S: Sequence[Event]) -> Valuations:
    """UNLESS that a psi partly inside already blocks."""
    rivals = valuations(phi.right, S)
    return frozenset(
        V
        for V in valuations(phi.left, S)
        if not any(W.start <= V.end and V.start <= W.end for W in rivals)
    )


def rename_overwrites(phi: cel.Rename, S: Sequence[Event]) -> Valuations:
    def move_labels(V: Valuation) -> Valuation:
        labels = {X: D for X, D in V.labels.items() if X not in (phi.old, phi.new)}
        return Valuation(V.start, V.end, {**labels, phi.new: V.labels.get(phi.old, ())})

    return frozenset(map(move_labels, valuations(phi.body, S)))


def some_event_is_enough(condition: On, V: Valuation, S: Sequence[Event]) -> bool:
    """The existential reading of X[P]."""
    positions = V.labels.get(condition.label, ())
    return not positions or any(satisfies(S[i], condition.predicate) for i in positions)


def empty_labels_fail(condition: On, V: Valuation, S: Sequence[Event]) -> bool:
    return bool(V.labels.get(condition.label)) and _HOLDS(condition, V, S)


def either_is_both(condition: Or[Condition], V: Valuation, S: Sequence[Event]) -> bool:
    return _HOLDS(condition.left, V, S) and _HOLDS(condition.right, V, S)


def some_pair_is_enough(condition: Correlation, V: Valuation, S: Sequence[Event]) -> bool:
    """The existential reading of x.a op y.b."""
    x, y = condition.labels
    xs, ys = (V.labels.get(label, ()) for label in (x, y))
    return not (xs and ys) or any(
        _HOLDS(condition, Valuation(V.start, V.end, {**V.labels, **one}), S)
        for one in ({x: (i,), y: (j,)} for i in xs for j in ys)
    )


def ignore(condition: Condition, V: Valuation, S: Sequence[Event]) -> bool:
    return True


TABLE = on_cases(CASES)

CLAUSES: tuple[tuple[type, Clause], ...] = (
    (cel.Atom, atom_in_any_stream),
    (cel.As, as_replaces),
    (cel.Or, or_exclusive),
    (cel.Seq, seq_allows_touching),
    (cel.Seq, seq_adjacent),
    (cel.Plus, plus_adjacent),
    (cel.Plus, plus_at_most_twice),
    (cel.Project, project_shrinks_the_interval),
    (cel.Not, not_keeps_the_type),
    (cel.Not, not_marks),
    (cel.Concat, concat_by_marks),
    (cel.ConcatPlus, concat_plus_skips),
    *((cel.Count, wrong) for wrong in (count_one_more, count_from_one, count_without_end)),
    *((cel.Count, wrong) for wrong in (count_exactly, count_skips, count_is_adjacent)),
    (cel.Count, count_of_disjoint_events),
    *((cel.Within, wrong) for wrong in (window_is_exclusive, window_counts_both_ends)),
    *((cel.Within, wrong) for wrong in (window_on_marks, window_without_effect)),
    (cel.And, and_by_support),
    (cel.All, all_in_order),
    (cel.Unless, unless_anywhere),
    (cel.Unless, unless_overlapping),
    (cel.Rename, rename_overwrites),
)
FILTERS: tuple[tuple[type, Callable[..., bool]], ...] = (
    (On, some_event_is_enough),
    (On, empty_labels_fail),
    (Or, either_is_both),
    (Correlation, some_pair_is_enough),
    (Correlation, ignore),
)


def next_reversed(C1: Any, C2: Any) -> bool:
    return _NEXT(C2, C1)


MUTANTS = [
    *(
        mutant(TABLE, semantics, "_clause", clause(kind, wrong), id=wrong.__name__)
        for kind, wrong in CLAUSES
    ),
    *(
        mutant(TABLE, semantics, "holds", holding(kind, wrong), id=wrong.__name__)
        for kind, wrong in FILTERS
    ),
    mutant(TABLE, semantics, "next_at_most", semantics.last_at_most, id="next_is_last"),
    mutant(TABLE, semantics, "last_at_most", semantics.next_at_most, id="last_is_next"),
    mutant(TABLE, semantics, "next_at_most", next_reversed),
]


def test_the_oracle_itself_passes_every_table() -> None:
    assert len(CASES) > 130
    assert all(map(is_right, CASES))


test_the_tables_kill = kills(MUTANTS)
