"""The bounds of the papers as operation counts over growing families, with a slope fitted to each.

A power ``n^e`` is a line of slope e where both axes are logarithmic, an exponential ``2^(r n)`` one
of slope r where only the counts are. `figures/bounds.py` draws the counts beside the line of the
theorem from what ``python -m proofs_tests.complexity.bounds`` writes, `test_bounds` counts again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from cerlab.api import parse_formula
from cerlab.automata.automaton import AnchoredCea, LabelTransition, Mark, Transition, Vcea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.registers.determinise import determinise
from cerlab.automata.registers.unroll import unroll
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.compile.focel_to_cea import focel_to_epsilon_cea
from cerlab.compile.register_plan import register_plan
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.compile.text_to_pattern import as_pattern
from cerlab.engine.reference.dqe import WindowEvaluation, WindowQuery
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.engine.reference.lists.enumeration import Steps, enumerate_all_star
from cerlab.engine.reference.lists.evaluation import Evaluation
from cerlab.engine.reference.registers.shared import SharedRuns
from cerlab.logic.focel.report import rewriting_sizes
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.model.event import Event
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from cerlab.theorems.boolean_operations import determinise as deterministic
from cerlab.theorems.vcea_to_cel import elimination_size
from proofs_tests.dqe.cases import window_stream
from proofs_tests.srt.figures import FIG_4

DATA = Path(__file__).parents[2] / "figures" / "data" / "bounds.ndjson"

QUANTILE = {3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}
"""Of Student's t for 95 %, by degrees of freedom: two less than there are sizes."""


class Slope(NamedTuple):
    """The slope of the line through some points by least squares, and how far off it may be."""

    value: float
    within: float


@dataclass(frozen=True)
class Bound:
    """What a statement says grows how fast, and a family on which it is counted."""

    key: str
    says: str
    family: str
    sizes: Sequence[int]
    count: Callable[[int], int]
    slope: float
    """That of the theorem: the power, or how often the count doubles with each step."""
    exponential: bool = False
    relation: Literal["=", "<=", ">="] = "="
    """Whether the family grows as fast as that, not faster, or (lower bounds) not slower."""

    @property
    def counts(self) -> tuple[int, ...]:
        """What was counted for each size."""
        return _counts(self.count, tuple(self.sizes))

    @property
    def fitted(self) -> Slope:
        """The slope of what was counted."""
        return slope([self.x(n) for n in self.sizes], [math.log2(c) for c in self.counts])

    @property
    def row(self) -> dict[str, Any]:
        """What is drawn of it."""
        fitted = self.fitted
        return {
            "key": self.key,
            "says": self.says,
            "family": self.family,
            "sizes": list(self.sizes),
            "counts": list(self.counts),
            "slope": round(self.slope, 3),
            "exponential": self.exponential,
            "fitted": round(fitted.value, 3),
            "within": round(fitted.within, 3),
        }

    def x(self, n: int) -> float:
        """Where a size stands on the axis on which the bound is a line."""
        return n if self.exponential else math.log2(n)


@cache
def _counts(count: Callable[[int], int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(count, sizes))


def slope(xs: Sequence[float], ys: Sequence[float]) -> Slope:
    """By least squares, with its 95 % confidence interval.

    >>> slope([0, 1, 2, 3, 4], [1, 3, 5, 7, 9])
    Slope(value=2.0, within=0.0)
    """
    x, y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((a - x) ** 2 for a in xs)
    value = math.fsum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    errors = (b - y - value * (a - x) for a, b in zip(xs, ys, strict=True))
    rest = math.fsum(error**2 for error in errors) / (len(xs) - 2)
    return Slope(value, QUANTILE[len(xs) - 2] * math.sqrt(rest / spread))


def _choices(k: int) -> str:
    """``(A OR .. OR A) ; (A OR .. OR A)``, k each."""
    one = f"({' OR '.join('A' for _ in range(k))})"
    return f"{one} ; {one}"


def _binders(n: int) -> str:
    return " ; ".join(f"(A AS x{k} OR B AS x{k})" for k in range(n))


def _misplaced(n: int) -> str:
    """n filters, each on a variable of another branch."""
    variables = " ; ".join(f"A AS x{k}" for k in range(n))
    return f"{variables} ; {' ; '.join(f'(B FILTER x{k}[v = 1] OR C)' for k in range(n))}"


def _tecs(text: str, length: int, *, width: int | None = None, types: str = "AB") -> TecsEvaluation:
    """The tECS of a formula after so many random events."""
    running, rng = TecsEvaluation(DeterministicCea(as_pattern(text).cea)), Random(0)
    for j in range(length):
        if width is not None:
            running.forget(max(0, j - width))
        running.advance(Event(rng.choice(types)), j)
    return running


def _ring(k: int) -> AnchoredCea:
    """Of k states, each going to the next by • and to itself by ∘."""
    steps = [Transition(q, EVERYTHING, Mark.TAKE, (q + 1) % k) for q in range(k)]
    loops = [Transition(q, EVERYTHING, Mark.SKIP, q) for q in range(k)]
    return AnchoredCea(k, (*steps, *loops), frozenset({0}), frozenset({0}))


def _last_but(k: int) -> AnchoredCea:
    """Whether the event k before the last was an A: a subset for each way k events can be."""
    loop = Transition(0, EVERYTHING, Mark.SKIP, 0)
    enter = Transition(0, TypeIs("A"), Mark.SKIP, 1)
    shift = [Transition(q, EVERYTHING, Mark.SKIP, q + 1) for q in range(1, k)]
    return AnchoredCea(k + 1, (loop, enter, *shift), frozenset({0}), frozenset({k}))


def _lists(cea: AnchoredCea, length: int) -> Evaluation:
    evaluation, rng = Evaluation(cea), Random(0)
    for n in range(length):
        evaluation.advance(Event(rng.choice("AB")), n)
    return evaluation


def _last_event(cea: AnchoredCea) -> int:
    """Steps of the hundredth event."""
    evaluation = _lists(cea, 99)
    before = evaluation.steps.update
    evaluation.advance(Event("A"), 99)
    return evaluation.steps.update - before


def _one_long_answer(k: int) -> int:
    """Steps to write down one complex event of k positions."""
    steps = [Transition(q, EVERYTHING, Mark.TAKE, q + 1) for q in range(k)]
    evaluation = _lists(AnchoredCea(k + 1, tuple(steps), frozenset({0}), frozenset({k})), k)
    (nodes,) = evaluation.lists.values()
    counted = Steps()
    for _ in enumerate_all_star(next(iter(nodes)), 0, counted):
        pass
    return counted.enumeration


def _complete(n: int) -> Vcea:
    """All transitions between n states, each with a label of its own."""
    A = TypeIs("A")
    Delta = [LabelTransition(p, A, frozenset({f"x{p}{q}"}), q) for p in range(n) for q in range(n)]
    return Vcea(n, tuple(Delta), frozenset({0}), frozenset({n - 1}))


def _window_query(length: int) -> int:
    evaluation = WindowEvaluation(WindowQuery(window=5))
    for update in window_stream(Random(1), length, values=max(2, length // 100)):
        evaluation.process(update.relation, update.row)
    return evaluation.operations


def _transducer(n: int) -> int:
    T = sremo_to_srt(parse_sremo(" . ".join("(<type = 'A'>^ | <type = 'B'>)*" for _ in range(n))))
    return T.states + len(T.Delta) + len(T.moves)


def _configurations(k: int) -> int:
    shared = SharedRuns(
        register_plan(parse_sremo("#(<TRUE>^ -> r, <TRUE>^ -> s, <v = r.v AND w = s.v>^)"))
    )
    for n in range(k):
        shared.advance(Event("A", {"v": n, "w": -1}), n)
    return shared.live


def _empty_moves(n: int) -> int:
    A = focel_to_epsilon_cea(parse_formula(_binders(n)))
    return A.states + len(A.Delta) + len(A.moves)


def _disjunctive(n: int) -> int:
    size = rewriting_sizes(parse_formula(_binders(n))).disjunctive
    assert size is not None
    return size // n  # that many disjuncts of about n parts each


POWERS_OF_TWO = (4, 8, 16, 32, 64)

BOUNDS: tuple[Bound, ...] = (
    Bound(
        "CORE Thm. 2",
        "states of the automaton: linear",
        "(A OR .. OR A) ; (A OR .. OR A)",
        POWERS_OF_TWO,
        lambda k: cel_to_vcea(parse_formula(_choices(k))).states,
        1,
    ),
    Bound(
        "CORE Thm. 2",
        "its transitions: quadratic (E10)",
        "(A OR .. OR A) ; (A OR .. OR A)",
        POWERS_OF_TWO,
        lambda k: len(cel_to_vcea(parse_formula(_choices(k))).Delta),
        2,
    ),
    Bound(
        "CORE Thm. 4",
        "nodes of a stream: linear",
        "(A OR B)+ ; A on n events",
        (250, 500, 1_000, 2_000, 4_000),
        lambda n: _tecs("(A OR B)+ ; A", n).tecs.created,
        1,
    ),
    Bound(
        "CORE Sec. 4.3",
        "nodes of an event: states by transitions",
        "A+ ; .. ; A+, n iterations",
        (2, 3, 4, 5, 6, 7),
        lambda n: max(1, _tecs(" ; ".join(["A+"] * n), 60, types="A").tecs.created // 60),
        2,
        relation="<=",
    ),
    Bound(
        "CORE Sec. 4.4",
        "nodes kept under a window: linear in it",
        "A+ ; B on a window of n events",
        (16, 32, 64, 128, 256),
        lambda n: _tecs("A+ ; B", 6 * n, width=n).tecs.live,
        1,
    ),
    Bound(
        "FOUND Thm. 1",
        "safe form: exponential",
        "(A AS x OR B AS x) ; .. n times",
        range(2, 9),
        _disjunctive,
        1,
        exponential=True,
    ),
    Bound(
        "FOUND Thm. 3",
        "automaton of an LP-normal form: linear",
        "(A AS x OR B AS x) ; .. n times",
        POWERS_OF_TWO,
        _empty_moves,
        1,
    ),
    Bound(
        "FOUND Thm. 3",
        "of other formulas: at least exponential",
        "n filters on variables of other branches",
        range(1, 6),
        lambda n: focel_to_epsilon_cea(parse_formula(_misplaced(n))).states,
        1,
        exponential=True,
        relation=">=",
    ),
    Bound(
        "FOUND Prop. 1",
        "subset construction: exponential",
        "an A, n events before the last",
        range(2, 9),
        lambda k: deterministic(_last_but(k)).states,
        1,
        exponential=True,
    ),
    Bound(
        "FOUND Alg. 1",
        "steps of an event: linear in the automaton",
        "a ring of n states",
        POWERS_OF_TWO,
        lambda k: _last_event(_ring(k)),
        1,
    ),
    Bound(
        "FOUND Thm. 5",
        "subsets that Alg. 4 meets: exponential",
        "an A, n events before the last",
        range(2, 8),
        lambda k: len(_lists(_last_but(k), 800).automaton.macro_states),
        1,
        exponential=True,
    ),
    Bound(
        "FOUND Alg. 3",
        "steps of an answer: linear in it",
        "one answer of n positions",
        POWERS_OF_TWO,
        _one_long_answer,
        1,
    ),
    Bound(
        "SOCEL Sec. 6",
        "formula of an automaton: six times with each state",
        "all transitions between n states",
        range(3, 9),
        lambda n: elimination_size(_complete(n)).formula,
        math.log2(6),
        exponential=True,
    ),
    Bound(
        "DQE Thm. 1",
        "operations of n tuples: linear",
        "the window query",
        (100, 200, 400, 800, 1_600),
        _window_query,
        1,
    ),
    Bound(
        "SRT Thm. 27",
        "transducer of an expression: linear",
        "(A^ | B)* . .. n times",
        (2, 4, 8, 16, 32),
        _transducer,
        1,
    ),
    Bound(
        "SRT Lemma 46",
        "unrolled to a window of n: at most exponential",
        "SRT Fig. 4",
        range(2, 8),
        lambda w: unroll(FIG_4, w).states,
        1,
        exponential=True,
        relation="<=",
    ),
    Bound(
        "SRT Thm. 41",
        "determinised in a window of n: exponential",
        "SRT Fig. 4",
        range(2, 7),
        lambda w: determinise(unroll(FIG_4, w)).states,
        2,
        exponential=True,
        relation="<=",
    ),
    Bound(
        "SRT Alg. 1",
        "configurations of two registers: quadratic",
        "#(e -> r, e -> s, ..) on n events",
        (6, 12, 24, 48, 96),
        _configurations,
        2,
    ),
)


def written() -> str:
    """All of them, an object a line."""
    return "".join(json.dumps(bound.row, ensure_ascii=False) + "\n" for bound in BOUNDS)


if __name__ == "__main__":
    DATA.write_text(written(), encoding="utf-8")
