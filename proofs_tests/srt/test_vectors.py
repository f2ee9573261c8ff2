"""The examples of the report as corrected, on transducers (SRT Thm. 27; SRT Def. 26).

Positions count from 1 here, as in the papers. The cases of expressions are in
``cerlab/conformance/cases/sremo-vectors.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from cerlab import Event
from cerlab.automata.automaton import EmptyMove, Mark, as_kind
from cerlab.automata.epsilon import star as star_of_expressions
from cerlab.automata.epsilon import streaming, without_epsilon
from cerlab.automata.registers import EpsilonSrt, Transducer, prune, registers_used
from cerlab.automata.unrolled import complement, determinise, macro_states, span_window, unroll
from cerlab.compile.sremo_to_srt import register_plan, sremo_to_srt
from cerlab.engine.reference.registers import SharedRuns
from cerlab.model.answer import Registers
from cerlab.predicates.syntax import And, Not, all_of
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import Configuration, star
from proofs_tests.sremo.tables import E1, TABLE_1, sre, trades
from proofs_tests.srt.cases import Matches, events, from_one, guard, step
from proofs_tests.srt.figures import (
    FIG_1,
    FIG_3,
    FIG_4,
    FIG_5A,
    FIG_5B,
    FIG_12,
    FIG_12_CORRECTED,
    FIG_14,
    SAME,
    B,
)


def transducer(text: str) -> Transducer:
    return sremo_to_srt(sre(text))


def whole(text: str, S: Sequence[Event]) -> Matches:
    return runs.matches(transducer(text), S)


def prefixes(T: Transducer, S: Sequence[Event]) -> dict[int, Matches]:
    """``Match(T, S[1..k])`` for each k where it is not empty."""
    by_length = {k: runs.matches(T, S[:k]) for k in range(len(S) + 1)}
    return {k: M for k, M in by_length.items() if M}


def of_stream(text: str, S: Sequence[Event]) -> dict[int, Matches]:
    """The same of the streaming form."""
    return prefixes(streaming(transducer(text)), S)


def reports(text: str, S: Sequence[Event]) -> dict[int, Matches]:
    """Return the engine's reports at each event that has some."""
    active = SharedRuns(register_plan(sre(text)))
    by_event = {k: active.advance(t, k - 1) for k, t in enumerate(S, 1)}
    return {k: M for k, M in by_event.items() if M}


def test_tv_1_example_19() -> None:
    for T in (FIG_1, transducer(E1)):
        assert prefixes(T, TABLE_1) == {4: from_one({1, 4}), 5: from_one({1, 5})}


def test_tv_2_on_a_stream() -> None:
    expected = {4: from_one({1, 4}, {2, 4}), 5: from_one({1, 5}, {2, 5})}
    assert prefixes(streaming(FIG_1), TABLE_1) == expected
    assert of_stream(E1, TABLE_1) == reports(E1, TABLE_1) == expected


@pytest.mark.parametrize(
    ("w", "expected"),
    [
        (1, {}),
        (2, {}),
        (3, {4: from_one({2, 4})}),
        (4, {4: from_one({1, 4}, {2, 4}), 5: from_one({2, 5})}),
        (5, {4: from_one({1, 4}, {2, 4}), 5: from_one({1, 5}, {2, 5})}),
    ],
)
def test_tv_3_windows_inside_the_prefix(w: int, expected: dict[int, Matches]) -> None:
    assert prefixes(streaming(span_window(FIG_1, w)), TABLE_1) == expected
    assert of_stream(f"({E1})[1..{w}]", TABLE_1) == expected
    assert reports(f"({E1})[1..{w}]", TABLE_1) == expected


def test_tv_3_example_40_without_a_prefix() -> None:
    assert prefixes(span_window(FIG_1, 4), TABLE_1) == {4: from_one({1, 4})}
    assert runs.matches(span_window(FIG_1, 5), TABLE_1[:5]) == from_one({1, 5})


def test_tv_4_the_run_of_example_25() -> None:
    S = TABLE_1[:4]
    first = Registers({"r1": S[0]})
    run = [
        Configuration(0, 0, Registers()),
        Configuration(1, 1, first),
        Configuration(2, 1, first),
        Configuration(3, 1, first),
        Configuration(4, 2, first),
    ]
    follow = [set(runs.successors(FIG_1, S, c)) for c in run]
    waits = Configuration(4, 1, first)
    assert follow == [{run[1]}, {run[2]}, {run[3]}, {run[4], waits}, set()]
    accepting, other = sorted(runs.paths(FIG_1, S), key=lambda path: -path[-1].target)
    assert [t.target for t in accepting] == [1, 1, 1, 2]
    assert runs.marks_of(accepting) == (0, 3)
    assert [t.target for t in other] == [1, 1, 1, 1]


def test_an_empty_move_reads_and_writes_nothing_and_a_guard_is_read_before_the_write() -> None:
    """(SRT Def. 23): the second event has the value that the first one left."""
    S, nothing = events("AA", v="11"), Registers()
    Delta = (step(1, "NOT v = r.v ^ -> r", 2),)
    T = EpsilonSrt(
        3, Delta, frozenset({0}), frozenset({2}), moves=(EmptyMove(0, 1),), R=frozenset("r")
    )
    start, after = Configuration(0, 0, nothing), Configuration(0, 1, nothing)
    assert list(runs.successors(T, S, start)) == [after]
    assert list(runs.successors(T, S, after)) == [Configuration(1, 2, Registers({"r": S[0]}))]
    assert not list(runs.successors(T, S, Configuration(1, 1, Registers({"r": S[0]}))))


def test_tv_5_contiguity() -> None:
    expected = {2: from_one({1, 2}), 5: from_one({4, 5})}
    S = events("ABCABC")
    assert of_stream("A^ . B^", S) == reports("A^ . B^", S) == expected


@pytest.mark.parametrize(
    ("buy", "price", "sell", "expected"),
    [
        (1, 5, 1, from_one({1, 2})),
        (1, 600, 1, from_one({1, 2})),
        (1, 600, 2, from_one()),
        (1, 20, 1, from_one()),
    ],
)
def test_tv_6_example_28(buy: int, price: int, sell: int, expected: Matches) -> None:
    S = [Event("B", {"id": buy, "price": price}), Event("S", {"id": sell, "price": 7})]
    assert runs.matches(FIG_3, S) == expected


def test_tv_6_the_size_of_figure_3() -> None:
    assert (FIG_3.states, len(FIG_3.Delta), len(FIG_3.moves), len(FIG_3.R)) == (8, 3, 5, 1)


def test_tv_7_iteration_keeps_the_last_event() -> None:
    S = trades("B1 B1 B1 S1 B1 S1")
    once = "(B^ -> r1)+ . <type = 'S' AND id = r1.id>^"
    at_4 = from_one({1, 2, 3, 4}, {2, 3, 4}, {3, 4})
    assert of_stream(once, S) == reports(once, S) == {4: at_4, 6: from_one({5, 6})}
    twice = {
        4: at_4,
        6: from_one({1, 2, 3, 4, 5, 6}, {2, 3, 4, 5, 6}, {3, 4, 5, 6}, {5, 6}),
    }
    assert of_stream(f"({once})+", S) == reports(f"({once})+", S) == twice
    assert whole(once, trades("B2 B1 S1")) == from_one({1, 2, 3})
    assert whole(once, trades("B1 B2 S1")) == from_one()


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("B1 S2", from_one()),
        ("B1 B3 S2", from_one()),
        ("B2 B3 S2", from_one({1, 3})),
        ("B1 B2 B3 S2", from_one({2, 4})),
        ("B1 S1 B2", from_one()),
        ("B1 S1 S1", from_one({1, 3})),
    ],
)
def test_tv_8_figure_4(S: str, expected: Matches) -> None:
    assert runs.matches(FIG_4, trades(S)) == expected
    assert runs.matches(unroll(FIG_4, 4), trades(S)) == expected


@pytest.mark.parametrize(
    ("w", "nodes", "edges", "registers"),
    [(2, 3, 2, 1), (3, 8, 7, 2), (4, 15, 14, 3), (5, 24, 23, 4), (6, 35, 34, 5)],
)
def test_tv_9_figure_4_unrolled(w: int, nodes: int, edges: int, registers: int) -> None:
    U = unroll(FIG_4, w)
    assert (U.states, len(U.Delta), len(registers_used(U.Delta))) == (nodes, edges, registers)


@pytest.mark.parametrize(("w", "nodes", "edges"), [(2, 7, 6), (3, 13, 12)])
def test_tv_9_untrimmed(w: int, nodes: int, edges: int) -> None:
    U = unroll(FIG_4, w, trim=False)
    assert (U.states, len(U.Delta)) == (nodes, edges)
    assert prune(U) == unroll(FIG_4, w)


@pytest.mark.parametrize(
    ("w", "states", "transitions"),
    [(2, 4, 6), (3, 12, 26), (4, 34, 120), (5, 96, 578), (6, 274, 2844)],
)
def test_tv_9_figure_4_determinised(w: int, states: int, transitions: int) -> None:
    D = determinise(unroll(FIG_4, w))
    assert (D.states, len(D.Delta)) == (states, transitions)


def test_tv_9_figure_5_b() -> None:
    """The registers r2 and r1 of the figure are b1 and b2."""
    sets = macro_states(FIG_5A)
    here = where_figure_5_a_is()
    buys, sells = guard(B), guard(SAME.replace("r1", "b1"))
    leaving = {
        (t.guard, t.writes, frozenset(here[q] for q in sets[t.target]))
        for t in FIG_5B.Delta
        if t.source == 0
    }
    b1, b2, none = frozenset({"b1"}), frozenset({"b2"}), frozenset[str]()
    assert leaving == {
        (buys, b1, frozenset({"ss", "s1"})),
        (Not(buys), none, frozenset({"ss"})),
    }
    second = sets.index(frozenset(q for q in here if here[q] in ("ss", "s1")))
    leaving = {
        (t.guard, t.writes, frozenset(here[q] for q in sets[t.target]))
        for t in FIG_5B.Delta
        if t.source == second
    }
    assert leaving == {
        (And(buys, sells), b2, frozenset({"ss1", "s11", "s1f"})),
        (And(buys, Not(sells)), b2, frozenset({"ss1", "s11"})),
        (And(Not(buys), sells), none, frozenset({"s11", "s1f"})),
        (And(Not(buys), Not(sells)), none, frozenset({"s11"})),
    }


def where_figure_5_a_is() -> dict[int, str]:
    """Each state of Fig. 5a by the states of Fig. 4 on the way to it, as the figure names them."""
    names = {FIG_5A.q0: "s"}
    letters = {0: "s", 1: "1", 2: "f"}
    for t in FIG_5A.Delta:
        before = names[t.source]
        q = {"s": 0, "1": 1}[before[-1]]
        (target,) = {
            u.target
            for u in FIG_4.Delta
            if u.source == q and u.mark is t.mark and bool(u.writes) == bool(t.writes)
        }
        names[t.target] = before + letters[target]
    return names


def test_tv_9_figure_14() -> None:
    """The set {1, 4} has eight minterms, each to the targets of the guards that hold in it."""
    sets = macro_states(FIG_14)
    D = determinise(FIG_14)
    source = sets.index(frozenset({1, 4}))
    guards = {2: guard("v = 1"), 3: guard("v > 0"), 5: guard("v < 2")}
    assert {t.guard: sets[t.target] for t in D.Delta if t.source == source} == {
        all_of(phi if q in X else Not(phi) for q, phi in guards.items()): frozenset(X)
        for X in ({2, 3, 5}, {2, 3}, {2, 5}, {3, 5}, {2}, {3}, {5}, set[int]())
    }


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("AB", from_one()),
        ("AA", from_one({1, 2})),
        ("AAB", from_one()),
        ("ABA", from_one({1, 3})),
        ("ABC", from_one()),
    ],
)
def test_tv_10_figure_12_as_drawn(S: str, expected: Matches) -> None:
    assert runs.matches(FIG_12, events(S)) == expected


def test_tv_10_figure_12_corrected_accepts_where_a_type_occurs_twice() -> None:
    """On all strings of up to four events of three types (SRT Fig. 12)."""
    for types in (each for length in range(5) for each in product("ABC", repeat=length)):
        S = [Event(kind) for kind in types]
        assert runs.accepts(FIG_12_CORRECTED, S) == (len(set(types)) < len(types))
        assert runs.accepts(FIG_12, S) == (types[-1:] != () and types[-1] in types[:-1])


def test_tv_11_wayebs_patterns_with_registers() -> None:
    S = events("ACBABB", v="221222")
    assert reports("(A^ -> y . (<v = y.v>^)*)[1..3]", S) == {
        1: from_one({1}),
        2: from_one({1, 2}),
        4: from_one({4}),
        5: from_one({4, 5}),
        6: from_one({4, 5, 6}),
    }
    in_order = "A -> x . <type = 'B' AND v = x.v>"
    assert whole(in_order, events("AB", v="33")) == from_one(())
    assert whole(in_order, events("AB", v="34")) == from_one()
    before_written = "<type = 'B' AND v = x.v> . A -> x"
    assert whole(before_written, events("BA", v="33")) == from_one()


@pytest.mark.parametrize(
    ("S", "as_printed", "correct"),
    [
        ("AB", from_one({1, 2}), from_one({1, 2})),
        ("ACB", from_one({1, 3}), from_one({1, 3})),
        ("ABB", from_one(), from_one()),
        ("ABBB", from_one({1, 4}), from_one()),
        ("ACBCB", from_one({1, 5}), from_one()),
    ],
)
def test_tv_12_skip_till_next(S: str, as_printed: Matches, correct: Matches) -> None:
    assert whole("A^ . (!(B^))* . B^", events(S)) == as_printed
    for text in ("A^ . !(_* . B . _*) . B^", "A^ . <NOT type = 'B'>* . B^", "@(A^, B^)"):
        assert whole(text, events(S)) == correct


def test_tv_12_on_a_stream_and_with_registers() -> None:
    expected = {3: from_one({1, 3}, {2, 3})}
    assert of_stream("@(A^, B^)", events("AAB")) == reports("@(A^, B^)", events("AAB")) == expected
    for text in (
        "_^ -> r . !(_* . <type = r.type> . _*) . <type = r.type>^",
        "@(_^ -> r, <type = r.type>^)",
    ):
        assert whole(text, events("ABA")) == from_one({1, 3})
        assert whole(text, events("ABAA")) == from_one()
    assert whole("@(C^, A^ . _^)", events("CAAB")) == from_one({1, 3, 4})


def test_tv_13_iteration_under_skip_till_any() -> None:
    S = events("ABBXBC", v="100002")
    last = "<type = 'C' AND r1.v < v>^"
    assert reports(f"#(A^ -> r1, B^, #(B^*), {last})", S)[6] == from_one(
        {1, 2, 6}, {1, 3, 6}, {1, 5, 6}, {1, 2, 3, 6}, {1, 2, 5, 6}, {1, 3, 5, 6}, {1, 2, 3, 5, 6}
    )
    contiguous = from_one({1, 2, 3, 6}, {1, 2, 6}, {1, 3, 6}, {1, 5, 6})
    assert reports(f"#(A^ -> r1, B^+, {last})", S) == {6: contiguous}


def test_tv_14_negation_is_complement_of_the_slice() -> None:
    N = complement(without_epsilon(transducer("B")))
    for T in (N, transducer("!(B)")):
        verdicts = {S: runs.accepts(T, events(S)) for S in ("", "A", "B", "BB", "AB")}
        assert verdicts == {"": True, "A": True, "B": False, "BB": True, "AB": True}


def test_tv_15_iteration_with_and_without_reset() -> None:
    fresh = without_epsilon(transducer("<NOT type = r1.type>^ -> r1"))
    assert runs.matches(fresh, events("A")) == from_one({1})
    assert runs.matches(star_of_expressions(as_kind(fresh, EpsilonSrt)), events("AA")) == from_one()
    assert runs.matches(star_of_expressions(as_kind(fresh, EpsilonSrt)), events("AB")) == from_one(
        {1, 2}
    )
    assert runs.matches(star(fresh), events("AA")) == from_one({1, 2})


def test_tv_15b_two_runs_and_one_match() -> None:
    T = without_epsilon(transducer("_^ | A^"))
    accepting = [path for path in runs.paths(T, events("A")) if path[-1].target in T.F]
    assert len(accepting) == 2
    assert (
        {runs.marks_of(path) for path in accepting} == runs.matches(T, events("A")) == from_one({1})
    )
    assert all(t.mark is Mark.TAKE for t in T.Delta)
    assert reports("_^ | A^", events("A")) == {1: from_one({1})}
