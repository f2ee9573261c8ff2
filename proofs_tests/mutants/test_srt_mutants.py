"""Wrong versions of the constructions on transducers: the random comparisons kill every one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from cerlab import Event
from cerlab.automata.automaton import Mark, as_kind, outgoing
from cerlab.automata.compose import intersection
from cerlab.automata.epsilon import merge, sequence, streaming, without_epsilon
from cerlab.automata.epsilon import star as star_of_expressions
from cerlab.automata.explore import explore
from cerlab.automata.registers import EpsilonSrt, Label, Srt, live_registers, without_dead_writes
from cerlab.automata.unrolled import (
    Minterm,
    complement,
    determinise,
    length_window,
    match_complement,
    minterms,
    span_window,
    unroll,
)
from cerlab.logic.sremo import syntax as sre
from cerlab.predicates.syntax import Guard, all_of, redirect_registers, registers_of
from cerlab.theorems import elimination as decompiler
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import concatenation, single_register, star
from proofs_tests.mutants.driver import Mutant, kills, mutant, on_seeds
from proofs_tests.srt import test_elimination_of_states
from proofs_tests.srt.cases import (
    random_epsilon_srt,
    random_event,
    random_srt,
    random_word,
    with_word,
)
from proofs_tests.srt.printed import (
    complement_without_sink,
    merged_by_guard_and_mark,
    product_of_any_marks,
)

Case = tuple[tuple[Any, ...], Sequence[Event]]


def one(rng: Random) -> Case:
    T, S = with_word(rng, random_srt)
    return (T,), S


def silent(rng: Random) -> Case:
    T, S = with_word(rng, random_epsilon_srt)
    return (T,), S


def repetition(rng: Random) -> Case:
    T = random_srt(rng)
    return (T,), [t for _ in range(rng.choice((1, 2, 2, 0))) for t in random_word(rng, T, 2)]


def two(rng: Random) -> Case:
    A, B = random_srt(rng), random_srt(rng)
    return (A, B), random_word(rng, A, 3) + random_word(rng, B, 2)


def alike(rng: Random) -> Case:
    """Two transducers that differ in a mark or in a transition more."""
    A, other = random_srt(rng), random_srt(rng)
    extra = [t for t in other.Delta if max(t.source, t.target) < A.states][:1]
    t = rng.choice(A.Delta)
    opposite = t._replace(mark=Mark.SKIP if t.mark is Mark.TAKE else Mark.TAKE)
    B = replace(A, Delta=(*A.Delta, *extra, opposite), F=rng.choice((A.F, A.F, frozenset({1}))))
    return (A, B), random_word(rng, A)


def short(rng: Random) -> Case:
    w = rng.choice((2, 3))
    T, S = with_word(rng, random_srt, w + (rng.random() < 0.3))
    return (T, w), S


def streaming_case(rng: Random) -> Case:
    """Return a case whose runs begin anywhere, so that several write at one event."""
    T = random_srt(rng)
    S = [random_event(rng), *random_word(rng, T, 2)]
    return (without_epsilon(streaming(T)), 3), S


def streaming_rejection(rng: Random) -> Case:
    (T, w), S = streaming_case(rng)
    return (T, w), [*S[:-1], *(random_event(rng) for _ in range(rng.choice((0, 1, 1, 3))))]


def rejection(rng: Random) -> Case:
    """Mostly a string that the transducer has no match on, now and then a longer one."""
    T, w = random_srt(rng), rng.choice((2, 3))
    S = random_word(rng, T, w)[:-1]
    return (T, w), [*S, *(random_event(rng) for _ in range(rng.choice((0, 1, 1, 2))))]


def windowed_determinised(T: Srt, w: int) -> Srt:
    return determinise(unroll(T, w))


def windowed_complement(T: Srt, w: int) -> Srt:
    return complement(unroll(T, w))


def untrimmed_complement(T: Srt, w: int) -> Srt:
    return complement(unroll(T, w, trim=False))


def windowed_match_complement(T: Srt, w: int) -> Srt:
    return match_complement(unroll(T, w))


def finals_without_closure(T: Any) -> Srt:
    """Lemma 29 with the final states as they were."""
    plain = without_epsilon(replace(T, F=frozenset(range(T.states))))
    return replace(plain, F=frozenset(T.F) & set(range(plain.states)))


def first_write_only(T: Srt) -> Srt:
    """One register a write by leaving out the others."""
    Delta = (t._replace(writes=frozenset(sorted(t.writes)[:1])) for t in T.Delta)
    return replace(T, Delta=tuple(Delta))


def concatenation_in_shared_registers(A: Srt, B: Srt) -> Any:
    return sequence(as_kind(A, EpsilonSrt), as_kind(B, EpsilonSrt))


def star_without_reset(T: Srt) -> Any:
    return star_of_expressions(as_kind(T, EpsilonSrt))


def star_without_the_empty_word(T: Srt) -> Any:
    T_star = star(T)
    return replace(T_star, F=frozenset(q for q in range(T_star.states) if q) & _ends(T_star))


def _ends(T: Any) -> frozenset[int]:
    return frozenset(move.source for move in T.moves if move.target == 0)


def product_with_one_side_final(A: Srt, B: Srt) -> Srt:
    return intersection(A, replace(B, F=frozenset(range(B.states))))


def unrolled_with_the_old_write(T: Srt, w: int) -> Srt:
    """A read goes to the first write on the way, not to the last."""
    return _unroll(T, w, lambda where, W, d: {**dict.fromkeys(W, f"b{d}"), **where})


def unrolled_reading_empty_registers(T: Srt, w: int) -> Srt:
    """A register that was never written reads as one that holds the first event."""
    return _unroll(T, w, lambda where, W, d: {**where, **dict.fromkeys(W, f"b{d}")}, "b1")


def _unroll(
    T: Srt, w: int, write_all: Callable[..., dict[str, str]], otherwise: str | None = None
) -> Srt:
    leaving = outgoing(T)

    def follow(state: Any) -> Iterator[tuple[Label, Any]]:
        d, q, where = state
        for t in leaving[q] if d < w else ():
            guard = redirect_registers(t.guard, lambda r: dict(where).get(r, otherwise))
            after = write_all(dict(where), t.writes, d + 1)
            write = frozenset({f"b{d + 1}"}) if t.writes or otherwise else frozenset[str]()
            yield Label(guard, t.mark, write), (d + 1, t.target, tuple(sorted(after.items())))

    return explore(
        (0, T.q0, ()),
        follow,
        lambda state: state[1] in T.F,
        Srt,
        R=frozenset(f"b{d}" for d in range(1, w + 1)),
    )


def unrolled_one_deeper(T: Srt, w: int) -> Srt:
    return unroll(T, w + 1)


def writes_of_all_that_fire(T: Srt, w: int) -> Srt:
    """Determinisation that writes what all transitions of a minterm write, not what one does."""
    return _determinise(unroll(T, w), minterms, frozenset.intersection)


def complement_by_minterms_without_negations(T: Srt, w: int) -> Srt:
    """Minterms that do not say which guards fail, so that a string has several runs."""

    def positive(guards: Sequence[Guard]) -> list[Minterm]:
        return [Minterm(all_of(m.holding), m.holding) for m in minterms(guards)]

    D = _determinise(unroll(T, w), positive, frozenset.union)
    return replace(D, F=frozenset(range(D.states)) - D.F)


def _determinise(
    T: Srt,
    ways: Callable[[Sequence[Guard]], Iterable[Minterm]],
    together: Callable[..., frozenset[str]],
) -> Srt:
    leaving = outgoing(T)

    def follow(X: frozenset[int]) -> Iterator[tuple[Label, frozenset[int]]]:
        transitions = [t for q in sorted(X) for t in leaving[q]]
        for m in ways([t.guard for t in transitions]):
            these = [t for t in transitions if t.guard in m.holding]
            writes = together(*(t.writes for t in these)) if these else frozenset[str]()
            yield Label(m.guard, Mark.SKIP, writes), frozenset(t.target for t in these)

    return explore(frozenset({T.q0}), follow, lambda X: not T.F.isdisjoint(X), Srt, R=T.R)


def complement_in_a_window(T: Srt, w: int) -> Srt:
    """The complement of a window as if it were one too."""
    return length_window(complement(unroll(T, w)), w)


def complement_without_the_sink(T: Srt, w: int) -> Srt:
    return complement_without_sink(unroll(T, w, trim=False))


def match_complement_in_a_wider_window(T: Srt, w: int) -> Srt:
    return match_complement(unroll(T, w + 1))


def length_for_span(T: Srt, w: int) -> Srt:
    return length_window(T, w)


def span_too_wide(T: Srt, w: int) -> Srt:
    return span_window(T, w + 1)


def length_too_wide(T: Srt, w: int) -> Srt:
    return length_window(T, w + 1)


def dead_writes_of_one_step(T: Srt) -> Srt:
    """Only what the very next transition reads is kept."""
    leaving = outgoing(T)
    reads = [
        frozenset[str]().union(*(registers_of(t.guard) for t in leaving[q]))
        for q in range(T.states)
    ]
    assert all(now <= live for now, live in zip(reads, live_registers(T), strict=True))
    return replace(T, Delta=tuple(t._replace(writes=t.writes & reads[t.target]) for t in T.Delta))


def instead_of(
    right: Callable[..., Any], wrong: Callable[..., Any], draw: Callable[[Random], Case]
) -> Mutant:
    """A wrong construction, given what the right one is given."""

    def check(rng: Random) -> bool:
        machines, S = draw(rng)
        expected = runs.matches(right(*machines), S)
        assert runs.matches(wrong(*machines), S) == expected
        return bool(expected)

    return Mutant(wrong.__name__, on_seeds(check, 250), ())


def loops_never_passed(first: Any, loop: Any, last: Any) -> Any:
    """Elimination of a state that forgets its loop."""
    return decompiler._then(first, last)


def not_or_nothing(a: Any) -> Any:
    """Forget the alternative that reads nothing."""
    return a


def loop_and_first_are_one(a: Any) -> Any:
    """``EPS | e . f*`` is ``f*``, whatever e is."""
    match a.e:
        case sre.Concat(_, sre.Star() as iteration):
            return a._replace(e=iteration, may_be_empty=True)
        case _:
            return _OR_NOTHING(a)


_OR_NOTHING = decompiler._or_nothing
ELIMINATION = on_seeds(test_elimination_of_states.check_there, 250)

MUTANTS = [
    mutant(ELIMINATION, decompiler, "_through", loops_never_passed),
    mutant(ELIMINATION, decompiler, "_or_nothing", not_or_nothing),
    mutant(ELIMINATION, decompiler, "_or_nothing", loop_and_first_are_one),
    instead_of(without_epsilon, finals_without_closure, silent),
    instead_of(merge, merged_by_guard_and_mark, silent),
    instead_of(single_register, first_write_only, one),
    instead_of(concatenation, concatenation_in_shared_registers, two),
    instead_of(star, star_without_reset, repetition),
    instead_of(star, star_without_the_empty_word, repetition),
    instead_of(intersection, product_of_any_marks, alike),
    instead_of(intersection, product_with_one_side_final, alike),
    instead_of(unroll, unrolled_with_the_old_write, short),
    instead_of(unroll, unrolled_reading_empty_registers, short),
    instead_of(unroll, unrolled_one_deeper, short),
    instead_of(windowed_determinised, writes_of_all_that_fire, streaming_case),
    instead_of(windowed_complement, complement_by_minterms_without_negations, rejection),
    instead_of(windowed_complement, complement_in_a_window, rejection),
    instead_of(untrimmed_complement, complement_without_the_sink, streaming_rejection),
    instead_of(windowed_match_complement, match_complement_in_a_wider_window, rejection),
    instead_of(span_window, length_for_span, short),
    instead_of(span_window, span_too_wide, short),
    instead_of(length_window, length_too_wide, short),
    instead_of(without_dead_writes, dead_writes_of_one_step, one),
]


test_random_comparison_kills = kills(MUTANTS)
