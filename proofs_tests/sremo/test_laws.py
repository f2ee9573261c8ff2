"""Laws of the semantics: windows, strategies, streams (P1, P7, P12, P13, P14, P15 of the list)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import cerlab
from cerlab import Event, Sremo, parse_sremo
from cerlab.logic.sremo import detections, matches
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import SKIP, sequence, streaming
from cerlab.predicates.syntax import Not
from cerlab.testing import Shape, random_sremo, random_sremo_events
from proofs_tests.sremo.tables import Match, shown_at
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=3, events=5)
FLAT = Shape(depth=0, events=6)


def random_example(rng: Random) -> tuple[Sremo, list[Event]]:
    """An expression and a stream that shows something of it, if that is soon found."""
    for _ in range(3):
        e = random_sremo(rng, SHAPE)
        S = random_sremo_events(rng, e, SHAPE)
        if detections(e, S):
            break
    return e, S


def shifted(M_all: Match, by: int) -> Match:
    return frozenset(tuple(p + by for p in M) for M in M_all)


def test_p1_equal_matches_give_equal_languages_and_not_the_other_way(suite: Suite) -> None:
    """Marks decide nothing about the language of the core (SRT Thm. 20)."""

    def without_marks(e: Sremo) -> Sremo:
        match e:
            case sre.Terminal(phi, _, W):
                return sre.Terminal(phi, False, W)
            case sre.Concat(left, right):
                return sre.Concat(without_marks(left), without_marks(right))
            case sre.Alternation(left, right):
                return sre.Alternation(without_marks(left), without_marks(right))
            case sre.Star(body):
                return sre.Star(without_marks(body))
            case _:
                return e

    def case(rng: Random) -> bool:
        e = random_sremo(rng, SHAPE, "core")
        S = random_sremo_events(rng, e, SHAPE)
        with_marks, silent = matches(e, S), matches(without_marks(e), S)
        assert bool(with_marks) == bool(silent)
        assert silent <= {()}
        return any(with_marks)

    suite.run(case, deep_count=10_000)
    A = [Event("A")]
    left, right = (matches(parse_sremo(text), A) for text in ("<TRUE>^", "<TRUE>"))
    assert left
    assert right
    assert left != right


@random_suite(10_000)
def test_p7_a_stream_shows_what_some_start_shows(rng: Random) -> bool:
    """``Match(<TRUE>* . e, S[..k])`` is the union of Match(e, S[m..k]) over m (SRT Def. 32)."""
    e, S = random_example(rng)
    has_matches = False
    for k in range(len(S) + 1):
        of_stream = matches(streaming(e), S[:k])
        starts = [shifted(matches(e, S[m:k]), m) for m in range(k + 1)]
        assert of_stream == frozenset[tuple[int, ...]]().union(*starts), f"{e}\non {S[:k]}"
        has_matches |= bool(of_stream)
    return has_matches


@random_suite(10_000)
def test_p15_each_match_is_shown_once_where_it_ends(rng: Random) -> bool:
    """Detect(e, S, k): the matches of S[..k] whose last marked event is t_k (SRT Def. 32)."""
    e, S = random_example(rng)
    expected = [
        cerlab.ComplexEvent(M[0], M[-1], M)
        for k, marks_of_k in shown_at(e, S).items()
        for M in marks_of_k
        if k - 1 in M
    ]
    assert len(expected) == len(set(expected))
    assert detections(e, S) == set(expected)
    return bool(expected)


def random_bounded(rng: Random) -> Sremo:
    """An expression that marks its first and its last event."""
    first, last = (marking_terminal(random_sremo(rng, FLAT)) for _ in range(2))
    return sequence([first, random_sremo(rng, Shape(depth=2)), last])


def marking_terminal(e: Sremo) -> Sremo:
    if isinstance(e, sre.Terminal):
        return sre.Terminal(e.guard, True, e.writes)
    return parse_sremo("<TRUE>^")


@random_suite(10_000)
def test_p12_span_is_length_where_both_ends_are_marked(rng: Random) -> bool:
    """And both grow with w, to the expression itself (SRT Def. 39)."""
    for _ in range(2):  # half of the first draws have no match
        e = random_bounded(rng)
        S = random_sremo_events(rng, e, FLAT)
        if matches(e, S):
            break
    before: Match = frozenset()
    for w in range(1, len(S) + 1):
        span = matches(sre.SpanWindow(e, w), S)
        assert span == matches(sre.LengthWindow(e, w), S), f"{e}\non {S}"
        assert before <= span
        before = span
    assert before == matches(e, S)
    return bool(before)


def check_windows(rng: Random) -> bool:
    e, S = random_example(rng)
    every = matches(e, S)
    for w in range(1, len(S) + 2):
        short = {M for M in every if not M or M[-1] - M[0] + 1 <= w}
        assert matches(sre.SpanWindow(e, w), S) == short, f"{e}\nin {w} on {S}"
        assert matches(sre.LengthWindow(e, w), S) == (every if len(S) <= w else set())
    return any(every)


def test_a_window_keeps_the_matches_that_are_short_enough(suite: Suite) -> None:
    """In the span of their marks, or in the length of the string (SRT Def. 39)."""
    suite.run(check_windows, deep_count=10_000)


def test_a_span_window_may_stand_outside_the_prefix_of_a_stream(suite: Suite) -> None:
    """The prefix marks nothing; for length windows it matters (SRT Def. 32; SRT Def. 39)."""

    def case(rng: Random) -> bool:
        e, S = random_example(rng)
        w = rng.choice((1, 2, 3))
        inside = matches(streaming(sre.SpanWindow(e, w)), S)
        assert inside == matches(sre.SpanWindow(streaming(e), w), S)
        return bool(inside)

    suite.run(case, deep_count=10_000)
    e, S = parse_sremo("<type = 'A'>^"), [Event("B"), Event("A")]
    assert matches(streaming(sre.LengthWindow(e, 1)), S) == {(1,)}
    assert matches(sre.LengthWindow(streaming(e), 1), S) == frozenset()


def terminals(rng: Random) -> list[sre.Terminal]:
    """Two or three terminals, which may read and write registers."""
    drawn_terminals: list[sre.Terminal] = []
    while len(drawn_terminals) < rng.choice((2, 2, 3)):
        e = random_sremo(rng, Shape(depth=0))
        if isinstance(e, sre.Terminal):
            drawn_terminals.append(e)
    return drawn_terminals


@random_suite(10_000)
def test_p13_strategies_allow_more_the_looser_they_are(rng: Random) -> bool:
    """Contiguous is next, next is any, for terminals (SRT Def. 44)."""
    parts = terminals(rng)
    S = random_sremo_events(rng, sre.SkipAny(tuple(parts)), FLAT)
    strict = matches(sequence(parts), S)
    following = matches(sre.SkipNext(tuple(parts)), S)
    anywhere = matches(sre.SkipAny(tuple(parts)), S)
    assert strict <= following <= anywhere
    return bool(anywhere)


def check_gaps(rng: Random) -> bool:
    """Both strategies, of operands that may be strategies themselves (SRT Sec. 5.3)."""
    parts = tuple(operand(rng) for _ in range(rng.choice((2, 2, 3))))
    S = random_sremo_events(rng, rng.choice((sre.SkipAny, sre.SkipNext))(parts), SHAPE)
    matches_of_parts = [on_slices(e, S) for e in parts]
    anywhere, following = (matches(kind(parts), S) for kind in (sre.SkipAny, sre.SkipNext))
    assert anywhere == in_gaps(matches_of_parts, len(S), any_gap=True), f"{parts}\non {S}"
    assert following == in_gaps(matches_of_parts, len(S), any_gap=False), f"{parts}\non {S}"
    return bool(following)


def test_p13_strategies_are_sequences_with_gaps(suite: Suite) -> None:
    """Strategies match a sequence of expressions on slices, in order (SRT Def. 44; SRT Def. 45)."""
    suite.run(lambda rng: check_gaps(rng) or check_gaps(rng), deep_count=4_000, needs_answers=0.3)


def operand(rng: Random) -> Sremo:
    """Return an expression without registers; one in four has a strategy inside."""
    if rng.random() < 0.75:
        return random_sremo(rng, Shape(depth=2), "unary")
    e, f = (random_sremo(rng, Shape(depth=1), "unary") for _ in range(2))
    return rng.choice((sre.SkipAny, sre.SkipNext))(rng.choice(((e, f), (sre.Plus(e),))))


def on_slices(e: Sremo, S: Sequence[Event]) -> dict[tuple[int, int], Match]:
    """The matches on each slice; without registers a slice is matched like a string."""
    ends = range(len(S) + 1)
    return {(i, j): shifted(matches(e, S[i:j]), i) for i in ends for j in ends[i:]}


def in_gaps(
    matches_of_parts: Sequence[dict[tuple[int, int], Match]], n: int, *, any_gap: bool
) -> Match:
    """The first part begins at 0, the last ends at n.

    A gap is any slice, or one with no instance of the next part on a slice of it.
    """

    def is_gap(p: int, j: int, k: int) -> bool:
        inside = (M for (a, b), M in matches_of_parts[p].items() if j <= a and b <= k)
        return any_gap or not any(inside)

    def from_part(p: int, i: int) -> Match:
        if p == len(matches_of_parts) - 1:
            return matches_of_parts[p][i, n]
        return frozenset(
            M + N
            for j in range(i, n + 1)
            if matches_of_parts[p][i, j]
            for k in range(j, n + 1)
            if is_gap(p + 1, j, k)
            for M in matches_of_parts[p][i, j]
            for N in from_part(p + 1, k)
        )

    return from_part(0, 0)


@random_suite(10_000)
def test_p14_a_gap_before_a_terminal_needs_no_negation(rng: Random) -> bool:
    """``!(skip . phi . skip)`` is ``<NOT phi>*``, whatever phi reads (SRT Sec. 5.3)."""
    first, *others = terminals(rng)
    parts: list[Sremo] = [first]
    for each in others:
        parts += [sre.Star(sre.Terminal(Not(each.guard))), each]
    S = random_sremo_events(rng, sequence(parts), FLAT)
    with_gaps = matches(sre.SkipNext((first, *others)), S)
    assert with_gaps == matches(sequence(parts), S)
    return bool(with_gaps)


def either_order(rng: Random) -> bool:
    e, f = (random_sremo(rng, Shape(depth=2), "unary") for _ in range(2))
    both = sre.Alternation(sre.Concat(e, f), sre.Concat(f, e))
    S = random_sremo_events(rng, both, FLAT)
    expected = {
        M + N
        for first, second in ((e, f), (f, e))
        for k in range(len(S) + 1)
        for M in matches(first, S[:k])
        for N in shifted(matches(second, S[k:]), k)
    }
    assert matches(both, S) == expected
    assert matches(sre.Intersection(e, f), S) == matches(e, S) & matches(f, S)
    return bool(expected)


def test_conjunction_without_order_is_either_order_of_concatenation(suite: Suite) -> None:
    """Cut anywhere, one part on each side: either order (SRT Sec. 5.1); intersection cuts nowhere.

    Registers are left out, so that a slice of the stream means what it means alone.
    """
    suite.run(either_order, deep_count=10_000)


def test_conjunction_without_order_is_not_intersection() -> None:
    """Both orders, one after the other, against the same events twice (SRT Sec. 5.1)."""
    S = [Event("B"), Event("A")]
    a, b = (parse_sremo(f"<type = '{kind}'>^") for kind in "AB")
    both = sre.Alternation(sre.Concat(a, b), sre.Concat(b, a))
    assert matches(both, S) == {(0, 1)}
    assert matches(sre.Intersection(a, b), S) == frozenset()
    assert matches(sre.Intersection(SKIP, SKIP), S) == {()}
