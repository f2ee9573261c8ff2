"""Negation inside expressions, where it needs a window and where it does not (SRT Sec. 5.2)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, ResourceLimit, Sremo, Unsupported
from cerlab.automata.epsilon import without_epsilon
from cerlab.automata.registers import without_dead_writes, written_registers
from cerlab.compile.sremo_to_srt import WHOLE, after, always_marks, before, sremo_to_srt
from cerlab.logic.sremo import derivations, matches
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import sequence
from cerlab.predicates.syntax import Not
from cerlab.testing import Shape, random_sremo, random_sremo_events
from cerlab.theorems import srt as runs
from proofs_tests.sremo.tables import sre as parsed
from proofs_tests.srt.cases import (
    SHAPE,
    events,
    random_srt,
    random_terminal,
    with_word,
)
from proofs_tests.suite import Suite, random_suite

SMALL = Shape(depth=2, events=4)


def with_gap(rng: Random, *, marks: bool) -> tuple[Sremo, list[Event]]:
    """``e1 . !e2 . e3``, whose ends are marked or may be, and a string of it, if one is found."""
    for _ in range(8):
        first, last = (random_terminal(rng) for _ in range(2))
        if marks:
            first, last = (sre.Terminal(end.guard, True, end.writes) for end in (first, last))
        e = sequence([first, sre.Negation(body(rng)), last])
        S = random_sremo_events(rng, e, SMALL)
        if matches(e, S):
            break
    return e, S


def body(rng: Random) -> Sremo:
    """Return an expression that mostly writes and reads registers, earlier ones included."""
    t1, t2, t3 = (random_terminal(rng) for _ in range(3))
    first: Sremo = rng.choice((t1, sre.Star(t1), sre.Concat(sre.SKIP, t1)))
    second: Sremo = rng.choice((t2, sre.Alternation(t2, t3), sre.Concat(sre.SKIP, t2)))
    e = rng.choice((t1, first, sre.Concat(first, second), sre.Concat(first, second)))
    return rng.choice((e, e, sre.Star(e), sre.Concat(e, sre.SKIP)))


@pytest.mark.parametrize("window", [sre.LengthWindow, sre.SpanWindow])
@random_suite(10_000)
def test_a_negation_in_a_window(window: type, rng: Random) -> bool | None:
    """Whatever it writes; under a window on the span, between two marks (erratum SRT-E16)."""
    inner, S = with_gap(rng, marks=window is sre.SpanWindow)
    e = window(inner, rng.choice((3, 4, 2)))
    if rng.random() < 0.3:
        e = sre.Concat(sre.SKIP, e)
    try:
        T = sremo_to_srt(e)
    except ResourceLimit:
        return None
    expected = matches(e, S)
    assert runs.matches(T, S) == expected, f"{e}\non {S}"
    return bool(expected)


@random_suite(10_000)
def test_p14_a_gap_before_a_terminal_needs_no_window(rng: Random) -> bool:
    """Terminals that write registers, and guards that read them, included (SRT Sec. 5.3)."""
    for _ in range(6):
        parts = tuple(random_terminal(rng) for _ in range(rng.choice((2, 2, 3))))
        gaps = [each for e in parts[1:] for each in (sre.Star(sre.Terminal(Not(e.guard))), e)]
        by_guards = sequence([parts[0], *gaps])
        S = random_sremo_events(rng, by_guards, Shape(depth=0, events=6))
        if matches(by_guards, S):
            break
    Ms = runs.matches(sremo_to_srt(sre.SkipNext(parts)), S)
    assert Ms == runs.matches(sremo_to_srt(by_guards), S) == matches(by_guards, S)
    return bool(Ms)


@random_suite(10_000)
def test_dead_writes_are_of_no_consequence(rng: Random) -> bool:
    T, S = with_word(rng, random_srt)
    Ms = runs.matches(T, S)
    assert runs.matches(without_dead_writes(T), S) == Ms, f"{T}\non {S}"
    return bool(Ms)


def test_what_always_marks(suite: Suite) -> None:
    """Every match has a mark, so the parts before and after a negation are right."""
    telling = 0

    def case(rng: Random) -> bool:
        e = random_sremo(rng, SHAPE)
        S = random_sremo_events(rng, e, SHAPE)
        always = always_marks(e)
        outcomes = derivations(e, S)
        assert not always or all(M for _, M, _ in outcomes), f"{e}\non {S}"
        nonlocal telling
        telling += always and bool(outcomes)
        return bool(outcomes)

    ran = suite.run(case, deep_count=10_000)
    assert telling > ran // 10


WRITES_AND_READS = "(B -> r . _* . <v = r.v>)"


@pytest.mark.parametrize(
    ("text", "has_transducer"),
    [
        (f"A^ . !{WRITES_AND_READS} . C^", False),
        (f"(A^ . !{WRITES_AND_READS} . C^)[len<=4]", True),
        (f"(A^ . !{WRITES_AND_READS} . C^)[1..4]", True),
        (f"_* . (A^ . !{WRITES_AND_READS} . C^)[1..4]", True),
        (f"(A . !{WRITES_AND_READS} . C^)[1..4]", False),
        (f"(A^ . !{WRITES_AND_READS} . C)[1..4]", False),
        (f"(A^ . !{WRITES_AND_READS})[1..4]", False),
        (f"(A^ . (C | !{WRITES_AND_READS})+ . C^)[1..4]", True),
        (f"A^ . !({WRITES_AND_READS}[len<=3]) . C^", True),
        (f"A^ . !({WRITES_AND_READS}[1..3]) . C^", False),
        (f"(A^ . !(B^ . !{WRITES_AND_READS} . B^) . C^)[1..4]", True),
        (f"(A . !(B^ . !{WRITES_AND_READS} . B^) . C)[1..4]", False),
        ("A^ . !(B -> r . _ . <v = r.v>) . C^", True),
        ("A^ . !(_* . B -> r . _*) . C^", True),
        ("A^ -> r . !(_* . <v = r.v> . _*) . C^", True),
    ],
)
def test_which_negations_have_a_transducer(text: str, has_transducer: bool) -> None:
    """Refused by name without a transducer (SRT Thm. 35); else the reference's matches."""
    e = parsed(text)
    if not has_transducer:
        with pytest.raises(Unsupported, match="CER0487"):
            sremo_to_srt(e)
        return
    T = sremo_to_srt(e)
    for kinds in ("ABC", "ABBC", "ACC", "ABCBC", "ABCC", "AC"):
        for values in ("01010", "00000", "01100"):
            S = events(kinds, v=values[: len(kinds)])
            assert runs.matches(T, S) == matches(e, S)


def test_complements_write_registers_of_their_own() -> None:
    """Two in one expression, and a register of the user with such a name."""
    gap = f"!{WRITES_AND_READS}"
    e = parsed(f"(A^ -> n1b1 . {gap} . A^ . {gap} . <v = n1b1.v>^)[1..4]")
    T = sremo_to_srt(e)
    registers = written_registers(without_epsilon(T)) - {"n1b1"}
    assert {r[:3] for r in registers} == {"n1b", "n2b"}
    for values in ("0110", "0010", "0000"):
        S = events("AAAA", v=values)
        assert runs.matches(T, S) == matches(e, S)


def test_marks_around_a_slice() -> None:
    inside = WHOLE.in_span(5)
    mark, plain = parsed("A^"), parsed("A")
    assert inside.longest is None
    assert before(after(inside, mark), mark).longest == 5
    assert before(after(inside, mark), plain).longest is None
    assert after(before(inside, plain), mark).longest is None
    assert inside.in_length(7).longest == 7
