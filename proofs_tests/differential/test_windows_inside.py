"""Windows inside a formula: the reference against a search by interval, and all evaluators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from cerlab import Event, Stream, Valuation, evaluate
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_cel
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.stream import time_axis
from cerlab.testing import Shape, random_events, random_formula
from proofs_tests.differential.test_evaluators import agree, require, session_answers
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite

Pairs = frozenset[tuple[str, int]]


def random_window(rng: Random) -> Window:
    match rng.randrange(3):
        case 0:
            return EventWindow(rng.choice((0, 1, 1, 2, 3)))
        case 1:
            return AttributeWindow(rng.choice((0, 1, 2, 2.5, 0.3)), "t")
        case _:
            return TimeWindow(rng.choice((0, 10**9, 25 * 10**8, 3 * 10**9)))


def windowed(rng: Random, phi: cel.Formula, *, in_events: bool = False) -> cel.Formula:
    """The formula with windows around some of its parts."""
    if isinstance(phi, cel.Not):
        return phi
    psi = cel.map_children(lambda part: windowed(rng, part, in_events=in_events), phi)
    if rng.random() < 0.7:
        return psi
    return cel.Within(
        psi, EventWindow(rng.choice((0, 1, 2, 3))) if in_events else random_window(rng)
    )


def found(phi: cel.Formula, S: Sequence[Event], i: int, j: int) -> set[Pairs]:
    """Return the labels of the valuations with interval [i, j], by search from the outside in."""
    match phi:
        case cel.Atom(R):
            return {frozenset({(R, i)})} if i == j and S[i].type == R else set()
        case cel.As(body, X):
            return {
                frozenset({*((Y, k) for Y, k in D if Y != X), *((X, k) for _, k in D)})
                for D in found(body, S, i, j)
            }
        case cel.Or(left, right):
            return found(left, S, i, j) | found(right, S, i, j)
        case cel.And(left, right):
            return found(left, S, i, j) & found(right, S, i, j)
        case cel.Seq(left, right) | cel.Concat(left, right):
            return set(_joined(left, right, S, i, j, gaps=isinstance(phi, cel.Seq)))
        case cel.Plus(body) | cel.ConcatPlus(body):
            more = _joined(body, phi, S, i, j, gaps=isinstance(phi, cel.Plus))
            return found(body, S, i, j) | set(more)
        case cel.Unless(left, right):
            blocked = any(found(right, S, k, l) for k in range(i, j + 1) for l in range(k, j + 1))
            return set() if blocked else found(left, S, i, j)
        case cel.Project(labels, body):
            return {frozenset(p for p in D if p[0] in labels) for D in found(body, S, i, j)}
        case cel.Within(body, window):
            return found(body, S, i, j) if _fits(window, S, i, j) else set()
        case _:
            raise NotImplementedError(str(phi))


def _joined(
    left: cel.Formula, right: cel.Formula, S: Sequence[Event], i: int, j: int, *, gaps: bool
) -> Iterator[Pairs]:
    for k in range(i, j):
        for m in range(k + 1, j + 1 if gaps else k + 2):
            for C in found(left, S, i, k):
                yield from (C | D for D in found(right, S, m, j))


def _fits(window: Window, S: Sequence[Event], i: int, j: int) -> bool:
    a, b = (Fraction(str(S[k].attributes["t"])) for k in (i, j))
    match window:
        case EventWindow(width):
            return j <= i + width
        case AttributeWindow(width):
            return b <= a + Fraction(width)
        case TimeWindow(nanoseconds):
            return b <= a + Fraction(nanoseconds, 10**9)


ALPHABET = ("A", "B")


def small_formula(rng: Random, depth: int) -> cel.Formula:
    """A random formula of the operators that `found` knows."""
    if depth == 0 or rng.random() < 0.1:
        return cel.Atom(rng.choice(ALPHABET))
    psi, chi = (small_formula(rng, depth - 1) for _ in range(2))
    binary = (cel.Seq, cel.Seq, cel.Concat, cel.Or, cel.And, cel.Unless)
    if rng.random() < 0.55:
        return rng.choice(binary)(psi, chi)
    labels = frozenset({rng.choice(ALPHABET)})
    return rng.choice(
        (cel.Plus(psi), cel.ConcatPlus(psi), cel.As(psi, "x"), cel.Project(labels, psi))
    )


def random_times(rng: Random, n: int) -> Iterator[int | float]:
    t: int | float = 0
    for _ in range(n):
        t += rng.choice((0, 0.25, 0.5, 1, 1, 2))
        yield t


@random_suite(20_000, needs_answers=0.3)
def test_the_reference_finds_what_a_search_by_interval_finds(rng: Random) -> bool:
    axis = time_axis("t", "s")
    phi = windowed(rng, small_formula(rng, 3))
    if not cel.windows(phi):
        phi = cel.Within(phi, random_window(rng))
    n = rng.randint(2, 6)
    S = [Event(rng.choice(ALPHABET), {"t": t}) for t in random_times(rng, n)]
    expected = {
        Valuation(i, j, {X: tuple(sorted(k for Y, k in D if X == Y)) for X, _ in D})
        for i in range(n)
        for j in range(i, n)
        for D in found(phi, S, i, j)
    }
    again, _ = parse_cel(str(phi))
    assert again == phi, phi
    got = query_valuations(CeqlQuery(phi), Stream(S, time=axis))
    assert set(got) == expected, (str(phi), S)
    return bool(expected)


def windowed_case(rng: Random, shape: Shape) -> Case:
    """A random case of a query with windows in events inside its formula."""
    sample = random_case(rng, shape)
    phi = windowed(rng, sample.ast.formula, in_events=True)
    if not cel.windows(phi):
        phi = cel.Within(phi, EventWindow(rng.choice((1, 2, 3))))
    ast = replace(sample.ast, formula=phi)
    events = random_events(rng, phi, shape)
    return replace(sample, ast=ast, stream=type(sample.stream)(events, time=sample.stream.time))


@random_suite(20_000, needs_answers=0.3)
def test_every_evaluator_counts_events_inside_alike(rng: Random) -> bool | None:
    """Reference, all runs, tECS, compiled engine, registers, totals, labels, and sessions."""
    shape = Shape(depth=2, events=8)
    sample = windowed_case(rng, shape)
    verdict = agree(sample)
    expected = query_answers(sample.ast, sample.stream)
    registers = evaluate(sample.query, sample.stream, evaluator="registers")
    require(registers == expected, "registers", sample)
    require(sorted(session_answers(sample, rng), key=by_end) == expected, "session", sample)
    return verdict


@random_suite(5_000, needs_answers=0.3)
def test_laws(rng: Random) -> bool:
    """Windows nest as their minimum, distribute over OR, and commute with AS."""
    shape = Shape(depth=2, events=7)
    axis = time_axis("t", "s")
    f, g = (windowed(rng, random_formula(rng, shape)) for _ in range(2))
    a, b = sorted(rng.choices((0, 1, 2, 2.5, 3), k=2))
    w, wide = AttributeWindow(a, "t"), AttributeWindow(b, "t")
    n = rng.randint(2, 6)
    events = random_events(rng, cel.Or(f, g), shape)[:n]
    S = [
        Event(e.type, {**e.attributes, "t": t}, e.stream)
        for e, t in zip(events, random_times(rng, n), strict=False)
    ]

    def meaning(phi: cel.Formula) -> set[Valuation]:
        return set(query_valuations(CeqlQuery(phi), Stream(S, time=axis)))

    laws = (
        (cel.Within(cel.Within(f, w), wide), cel.Within(f, w)),
        (cel.Within(cel.Within(f, wide), w), cel.Within(f, w)),
        (cel.Within(cel.Or(f, g), w), cel.Or(cel.Within(f, w), cel.Within(g, w))),
        (cel.Within(cel.As(f, "x"), w), cel.As(cel.Within(f, w), "x")),
    )
    for left, right in laws:
        assert meaning(left) == meaning(right), f"{left} and {right} on {S}"
    return bool(meaning(laws[0][1]))
