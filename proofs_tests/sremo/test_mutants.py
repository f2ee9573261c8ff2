"""A wrong version of each rule: the hand-computed cases kill every one (SRT Def. 17).

What the reference and a construction get wrong together no differential test can see; the tables
are computed from the rules, by hand, and can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cerlab import Event, Sremo
from cerlab.conformance import cases
from cerlab.logic.sremo import Derivation, semantics
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.semantics import EMPTY_REGISTERS, NONE, BoundedEvents, Derivations
from cerlab.logic.sremo.syntax import EPSILON, SKIP, rewritten, sequence
from cerlab.model.answer import Registers
from cerlab.predicates import truth
from cerlab.predicates.syntax import Guard, Not, RegisterComparison, registers_of
from proofs_tests.mutants.driver import (
    Mutant,
    Place,
    is_right,
    kills,
    mutant,
    on_cases,
)

Rule = Callable[[Any, BoundedEvents, int, Registers], Derivations]
_RULE = semantics._rule
_HOLDS = truth.satisfies


def rule(kind: type, wrong: Rule) -> Rule:
    """The table of rules with one arm replaced."""
    return lambda e, S, i, v: wrong(e, S, i, v) if isinstance(e, kind) else _RULE(e, S, i, v)


def below(e: Sremo, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    """The rules as they are now, replaced arms included."""
    return semantics._rule(e, S, i, v)


def epsilon_takes_any_event(e: Any, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(Derivation(j, NONE, v) for j in (i, i + 1) if j <= len(S.events))


def empty_is_epsilon(e: Any, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(EPSILON, S, i, v)


def writes_before_the_guard(e: sre.Terminal, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(e, S, i, v.written(e.writes, S.events[i])) if i < len(S.events) else frozenset()


def stores_marked_events_only(
    e: sre.Terminal, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    return _RULE(e if e.marked else sre.Terminal(e.guard, False), S, i, v)


def writes_one_register(e: sre.Terminal, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(sre.Terminal(e.guard, e.marked, frozenset(sorted(e.writes)[:1])), S, i, v)


def the_first_write_wins(e: sre.Terminal, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(sre.Terminal(e.guard, e.marked, e.writes - v.keys()), S, i, v)


def concat_with_a_gap(e: sre.Concat, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(
        Derivation(d2.end, d1.marks | d2.marks, d2.registers)
        for d1 in below(e.left, S, i, v)
        for gap in (0, 1)
        if d1.end + gap <= len(S.events)
        for d2 in below(e.right, S, d1.end + gap, d1.registers)
    )


def concat_forgets_registers(e: sre.Concat, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(
        Derivation(d2.end, d1.marks | d2.marks, d2.registers)
        for d1 in below(e.left, S, i, v)
        for d2 in below(e.right, S, d1.end, v)
    )


def alternation_prefers_left(
    e: sre.Alternation, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    return below(e.left, S, i, v) or below(e.right, S, i, v)


def star_needs_one(e: sre.Star, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    rounds = _RULE(e, S, i, v)
    return rounds if e == SKIP else rounds - {Derivation(i, NONE, v)}


def star_resets_registers(e: sre.Star, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    """Iteration as the closure of transducers has it (SRT Def. 30)."""
    D = frozenset({Derivation(i, NONE, v)})
    while True:
        step = D | {
            Derivation(d2.end, d1.marks | d2.marks, d2.registers)
            for d1 in D
            for d2 in below(e.body, S, d1.end, EMPTY_REGISTERS)
        }
        if step == D:
            return D
        D = step


def star_at_most_twice(e: sre.Star, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    if e == SKIP:
        return _RULE(e, S, i, v)
    once = sre.Option(e.body)
    return below(sre.Concat(once, once), S, i, v)


def span_without_the_first(
    e: sre.SpanWindow, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    """``max(M) - min(M) <= w``."""
    return _RULE(sre.SpanWindow(e.body, e.width + 1), S, i, v)


def span_is_length(e: sre.SpanWindow, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(sre.LengthWindow(e.body, e.width), S, i, v)


def length_is_span(e: sre.LengthWindow, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(sre.SpanWindow(e.body, e.width), S, i, v)


def within_is_strict(e: sre.Within, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(
        d
        for d in below(e.body, S, i, v)
        if not d.marks or semantics.duration(d.marks, S.events, e.attribute) < e.width
    )


def within_of_the_slice(e: sre.Within, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(
        d
        for d in below(e.body, S, i, v)
        if d.end == i or semantics.duration({i, d.end - 1}, S.events, e.attribute) <= e.width
    )


def intersection_of_languages(
    e: sre.Intersection, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    """Marks of the left side, the language of both (erratum SRT-E11)."""
    ends = {d.end for d in below(e.right, S, i, v)}
    return frozenset(d for d in below(e.left, S, i, v) if d.end in ends)


def intersection_of_registers(
    e: sre.Intersection, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    """Both sides must agree on the registers too."""
    return below(e.left, S, i, v) & below(e.right, S, i, v)


def intersection_keeps_no_context(
    e: sre.Intersection, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    return frozenset(
        Derivation(
            d.end, d.marks, Registers({r: t for r, t in d.registers.items() if v.get(r) != t})
        )
        for d in _RULE(e, S, i, v)
    )


def negation_is_absence(e: sre.Negation, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return _RULE(sre.Negation(sequence([SKIP, e.body, SKIP])), S, i, v)


def negation_of_unmarked_instances(
    e: sre.Negation, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    """Only the match without marks is taken away."""
    instances = {d.end for d in below(e.body, S, i, v) if not d.marks}
    return frozenset(
        Derivation(j, NONE, v) for j in range(i, len(S.events) + 1) if j not in instances
    )


def negation_needs_an_event(e: sre.Negation, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(d for d in _RULE(e, S, i, v) if d.end > i)


def negation_marks(e: sre.Negation, S: BoundedEvents, i: int, v: Registers) -> Derivations:
    return frozenset(d._replace(marks=frozenset(range(i, d.end))) for d in _RULE(e, S, i, v))


def negation_forgets_registers(
    e: sre.Negation, S: BoundedEvents, i: int, v: Registers
) -> Derivations:
    return _RULE(e, S, i, EMPTY_REGISTERS)


def stands_for(kind: type, wrong: Callable[[Any], Sremo]) -> Callable[[Any], Sremo]:
    """The rewriting with one operator replaced."""
    return lambda e: wrong(e) if isinstance(e, kind) else rewritten(e)


def plus_is_star(e: sre.Plus) -> Sremo:
    return sre.Star(e.body)


def option_is_star(e: sre.Option) -> Sremo:
    return sre.Star(e.body)


def any_is_contiguous(e: sre.SkipAny) -> Sremo:
    return sequence(e.operands)


def any_skips_before(e: sre.SkipAny) -> Sremo:
    return sre.Concat(SKIP, rewritten(e))


def any_reaches_below(e: sre.SkipAny) -> Sremo:
    """Iterations below take gaps too (erratum SRT-E26)."""
    parts = [
        sre.SkipAny((each,)) if isinstance(each, sre.Plus | sre.Star) else each
        for each in e.operands
    ]
    return rewritten(sre.SkipAny(tuple(parts))) if len(parts) > 1 else rewritten(e)


def any_of_one_iteration_is_that(e: sre.SkipAny) -> Sremo:
    return e.operands[0] if len(e.operands) == 1 else rewritten(e)


def next_is_any(e: sre.SkipNext) -> Sremo:
    return rewritten(sre.SkipAny(e.operands))


def next_as_printed(e: sre.SkipNext) -> Sremo:
    """``e1 . (!e2)* . e2 ..`` (erratum SRT-E20)."""
    first, *others = e.operands
    gaps = [part for each in others for part in (sre.Star(sre.Negation(each)), each)]
    return sequence([first, *gaps]) if others else rewritten(e)


def next_excludes_the_first_too(e: sre.SkipNext) -> Sremo:
    """No instance of any operand in a gap."""
    first, *others = e.operands
    if not others:
        return rewritten(e)
    every = e.operands[0]
    for each in others:
        every = sre.Alternation(every, each)
    gap = sre.Negation(sequence([SKIP, every, SKIP]))
    return sequence([first, *(part for each in others for part in (gap, each))])


def holding(kind: type, wrong: Callable[[Event, Any, Any], bool]) -> Any:
    def holds(t: Event, phi: Guard, v: Any = truth.EMPTY) -> bool:
        return wrong(t, phi, v) if isinstance(phi, kind) else _HOLDS(t, phi, v)

    return holds


def empty_registers_satisfy(t: Event, phi: RegisterComparison, v: Registers) -> bool:
    return not registers_of(phi) <= v.keys() or _HOLDS(t, phi, v)


def three_valued_negation(t: Event, phi: Not[Guard], v: Registers) -> bool:
    """A guard that reads an empty register is not true, however it is written (erratum SRT-E2)."""
    return registers_of(phi) <= v.keys() and _HOLDS(t, phi, v)


def registers_read_the_event(t: Event, phi: Guard, v: Registers) -> bool:
    return _HOLDS(t, phi, dict.fromkeys(v, t))


RULES: tuple[tuple[type, Any], ...] = (
    (sre.Epsilon, epsilon_takes_any_event),
    (sre.Empty, empty_is_epsilon),
    (sre.Terminal, writes_before_the_guard),
    (sre.Terminal, stores_marked_events_only),
    (sre.Terminal, writes_one_register),
    (sre.Terminal, the_first_write_wins),
    (sre.Concat, concat_with_a_gap),
    (sre.Concat, concat_forgets_registers),
    (sre.Alternation, alternation_prefers_left),
    (sre.Star, star_needs_one),
    (sre.Star, star_resets_registers),
    (sre.Star, star_at_most_twice),
    (sre.SpanWindow, span_without_the_first),
    (sre.SpanWindow, span_is_length),
    (sre.LengthWindow, length_is_span),
    (sre.Within, within_is_strict),
    (sre.Within, within_of_the_slice),
    (sre.Intersection, intersection_of_languages),
    (sre.Intersection, intersection_of_registers),
    (sre.Intersection, intersection_keeps_no_context),
    (sre.Negation, negation_is_absence),
    (sre.Negation, negation_of_unmarked_instances),
    (sre.Negation, negation_needs_an_event),
    (sre.Negation, negation_marks),
    (sre.Negation, negation_forgets_registers),
)
REWRITINGS: tuple[tuple[type, Any], ...] = (
    (sre.Plus, plus_is_star),
    (sre.Option, option_is_star),
    (sre.SkipAny, any_is_contiguous),
    (sre.SkipAny, any_skips_before),
    (sre.SkipAny, any_reaches_below),
    (sre.SkipAny, any_of_one_iteration_is_that),
    (sre.SkipNext, next_is_any),
    (sre.SkipNext, next_as_printed),
    (sre.SkipNext, next_excludes_the_first_too),
)
TRUTHS: tuple[tuple[type, Any], ...] = (
    (RegisterComparison, empty_registers_satisfy),
    (RegisterComparison, registers_read_the_event),
    (Not, three_valued_negation),
)


CASES = [case for case in cases() if case.language == "sremo" and case.kind == "matches"]
TABLE = on_cases(CASES)
MUTANTS = [
    *(mutant(TABLE, semantics, "_rule", rule(kind, w), id=w.__name__) for kind, w in RULES),
    *(
        mutant(TABLE, semantics, "rewritten", stands_for(kind, w), id=w.__name__)
        for kind, w in REWRITINGS
    ),
    *(
        Mutant(
            w.__name__,
            TABLE,
            tuple(Place(owner, "satisfies", holding(kind, w)) for owner in (semantics, truth)),
        )
        for kind, w in TRUTHS
    ),
]


def test_the_reference_itself_passes_every_row() -> None:
    assert len(CASES) > 150
    assert all(map(is_right, CASES))


test_the_tables_kill = kills(MUTANTS)
