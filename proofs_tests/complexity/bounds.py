"""The bounds of the papers as operation counts over growing families, with a slope fitted to each.

`figures/bounds.py` draws the counts beside the line of the
theorem from what ``python -m proofs_tests.complexity.bounds`` writes, `test_bounds` counts again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from cerlab import parse_formula
from cerlab.automata.compose import intersection
from cerlab.automata.unrolled import determinise, unroll
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.compile.foundations import focel_to_epsilon_cea
from cerlab.theorems.elimination import elimination_size
from cerlab.theorems.foundations import determinise as deterministic
from cerlab.theorems.foundations import last_selected, maximal, next_selected, strict
from cerlab.theorems.srt import star
from proofs_tests.complexity.families import (
    any_register,
    choices,
    complete,
    configurations,
    digits,
    disjunctive,
    empty_moves,
    last_but,
    last_event,
    lists_of,
    lp_normal,
    misplaced_filters,
    one_long_answer,
    ordered_event,
    ring,
    rivals,
    rounds,
    runs_of,
    strays,
    tecs,
    transducer,
    twice,
    window_query,
)
from proofs_tests.complexity.slopes import DOUBLY_EXPONENTIAL, EXPONENTIAL, Bound
from proofs_tests.srt.figures import FIG_4

DATA = Path(__file__).parents[2] / "figures" / "data" / "bounds.ndjson"

POWERS_OF_TWO = (4, 8, 16, 32, 64)

BOUNDS: tuple[Bound, ...] = (
    Bound(
        "CORE Thm. 2",
        "states of the automaton: linear",
        "(A OR .. OR A) ; (A OR .. OR A)",
        POWERS_OF_TWO,
        lambda k: cel_to_vcea(parse_formula(choices(k))).states,
        1,
    ),
    Bound(
        "CORE Thm. 2",
        "its transitions: quadratic (E10)",
        "(A OR .. OR A) ; (A OR .. OR A)",
        POWERS_OF_TWO,
        lambda k: len(cel_to_vcea(parse_formula(choices(k))).Delta),
        2,
    ),
    Bound(
        "CORE Thm. 4",
        "nodes of a stream: linear",
        "(A OR B)+ ; A on n events",
        (250, 500, 1_000, 2_000, 4_000),
        lambda n: tecs("(A OR B)+ ; A", n).tecs.created,
        1,
    ),
    Bound(
        "CORE Sec. 4.3",
        "nodes of an event: states by transitions",
        "A+ ; .. ; A+, n iterations",
        (2, 3, 4, 5, 6, 7),
        lambda n: max(1, tecs(" ; ".join(["A+"] * n), 60, types="A").tecs.created // 60),
        2,
        relation="<=",
    ),
    Bound(
        "CORE Sec. 4.4",
        "nodes kept under a window: linear in it",
        "A+ ; B on a window of n events",
        (16, 32, 64, 128, 256),
        lambda n: tecs("A+ ; B", 6 * n, width=n).tecs.live,
        1,
    ),
    Bound(
        "FOUND Thm. 1",
        "safe form: exponential",
        "(A AS x OR B AS x) ; .. n times",
        range(2, 9),
        disjunctive,
        1,
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Thm. 3",
        "automaton of an LP-normal form: linear",
        "(A AS x OR B AS x) ; .. n times",
        POWERS_OF_TWO,
        empty_moves,
        1,
    ),
    Bound(
        "FOUND Thm. 3",
        "of other formulas: at least exponential",
        "n filters on variables of other branches",
        range(1, 6),
        lambda n: focel_to_epsilon_cea(parse_formula(misplaced_filters(n))).states,
        1,
        EXPONENTIAL,
        relation=">=",
    ),
    Bound(
        "FOUND Prop. 1",
        "subset construction: exponential",
        "an A, n events before the last",
        range(2, 9),
        lambda k: deterministic(last_but(k)).states,
        1,
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Alg. 1",
        "steps of an event: linear in the automaton",
        "a ring of n states",
        POWERS_OF_TWO,
        lambda k: last_event(ring(k)),
        1,
    ),
    Bound(
        "FOUND Thm. 5",
        "subsets that Alg. 4 meets: exponential",
        "an A, n events before the last",
        range(2, 8),
        lambda k: len(lists_of(last_but(k), 800).automaton.macro_states),
        1,
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Alg. 3",
        "steps of an answer: linear in it",
        "one answer of n positions",
        POWERS_OF_TWO,
        one_long_answer,
        1,
    ),
    Bound(
        "FOUND Thm. 2",
        "LP-normal form: exponential",
        "n filters on variables of other branches",
        range(3, 10),
        lp_normal,
        1,
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Thm. 3",
        "neither safe nor LP: at most doubly exponential",
        "n filters on variables of other, unsafe branches",
        range(1, 6),
        lambda n: focel_to_epsilon_cea(parse_formula(strays(n))).states,
        1,
        DOUBLY_EXPONENTIAL,
        "<=",
    ),
    Bound(
        "FOUND Thm. 4",
        "transitions for STRICT: linear",
        "a ring of n states",
        POWERS_OF_TWO,
        lambda k: len(strict(ring(k)).Delta),
        1,
    ),
    Bound(
        "FOUND Thm. 4",
        "states for MAX: exponential, 3^n",
        "n states, runs that go any way",
        range(3, 8),
        lambda k: maximal(rivals(k)).states,
        math.log2(3),
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Thm. 4",
        "states for NXT: exponential, 3^n",
        "n states, runs that go any way",
        range(3, 8),
        lambda k: next_selected(rivals(k)).states,
        math.log2(3),
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Thm. 4",
        "states for LAST: exponential, 4^n",
        "n states, runs that go any way",
        range(2, 7),
        lambda k: last_selected(rivals(k)).states,
        2,
        EXPONENTIAL,
    ),
    Bound(
        "FOUND Thm. 6",
        "steps of an event under NXT: linear in the automaton",
        "a ring of n states",
        POWERS_OF_TWO,
        ordered_event,
        1,
    ),
    Bound(
        "SOCEL Sec. 6",
        "formula of an automaton: six times with each state",
        "all transitions between n states",
        range(3, 9),
        lambda n: elimination_size(complete(n)).formula,
        math.log2(6),
        EXPONENTIAL,
    ),
    Bound(
        "SOCEL Sec. 5.2",
        "states of AND: exponential",
        "two events with the same n bits",
        range(2, 8),
        lambda n: cel_to_vcea(parse_formula(twice([2] * n))).states,
        1,
        EXPONENTIAL,
    ),
    Bound(
        "SOCEL Sec. 5.2",
        "states of UNLESS of AND: doubly exponential, 2^3^(n/3)",
        "S ; E without two events of the same digits, n signs in all",
        range(1, 6),
        lambda n: cel_to_vcea(parse_formula(f"(S ; E) UNLESS ({twice(digits(n))})")).states,
        1,
        lambda n: math.prod(digits(n)),
    ),
    Bound(
        "DQE Thm. 1",
        "operations of n tuples: linear",
        "the window query",
        (100, 200, 400, 800, 1_600),
        window_query,
        1,
    ),
    Bound(
        "SRT Thm. 27",
        "transducer of an expression: linear",
        "(A^ | B)* . .. n times",
        (2, 4, 8, 16, 32),
        transducer,
        1,
    ),
    Bound(
        "SRT Lemma 46",
        "unrolled to a window of n: at most exponential",
        "SRT Fig. 4",
        range(2, 8),
        lambda w: unroll(FIG_4, w).states,
        1,
        EXPONENTIAL,
        relation="<=",
    ),
    Bound(
        "SRT Thm. 41",
        "determinised in a window of n: exponential",
        "SRT Fig. 4",
        range(2, 7),
        lambda w: determinise(unroll(FIG_4, w)).states,
        2,
        EXPONENTIAL,
        relation="<=",
    ),
    Bound(
        "SRT Alg. 1",
        "configurations of two registers: quadratic",
        "#(e -> r, e -> s, ..) on n events",
        (6, 12, 24, 48, 96),
        configurations,
        2,
    ),
    Bound(
        "SRT Thm. 31",
        "iteration: exponential in the registers",
        "each event in one of n registers",
        range(2, 9),
        lambda k: star(any_register(k)).states // k,
        1,
        EXPONENTIAL,
    ),
    Bound(
        "SRT Thm. 34",
        "intersection: product of the states",
        "rounds of n and of n + 1 events",
        (3, 6, 12, 24, 48),
        lambda k: intersection(rounds(k), rounds(k + 1)).states,
        2,
    ),
    Bound(
        "SRT Lemma 46",
        "unrolled with n registers: at most (n + 2)^n",
        "each event in one of n registers, window n",
        range(1, 6),
        lambda k: unroll(any_register(k), k).states,
        1,
        lambda n: n * math.log2(n + 2),
        "<=",
    ),
    Bound(
        "SRT Alg. 1",
        "active runs of skip-till-any: quadratic",
        "three marks on n events",
        (6, 12, 24, 48, 96),
        lambda n: runs_of("#(<TRUE>^, <TRUE>^, <TRUE>^)", n),
        2,
    ),
    Bound(
        "SRT Alg. 1",
        "active runs with iteration: exponential",
        "an iteration on n events",
        range(4, 11),
        lambda n: runs_of("#(<TRUE>^, #(<TRUE>^*), <TRUE>^)", n),
        1,
        EXPONENTIAL,
    ),
)


def bounds_text() -> str:
    """All of them, an object a line."""
    return "".join(json.dumps(bound.row, ensure_ascii=False) + "\n" for bound in BOUNDS)


if __name__ == "__main__":
    DATA.write_text(bounds_text(), encoding="utf-8")
