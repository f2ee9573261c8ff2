"""The relation against its rules, asked one tuple at a time (SRT Def. 17; SRT Def. 18).

`+`, `?`, ``#`` and ``@`` are rewritten here, and by what they say there (SRT Def. 44).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cerlab import Event, Sremo
from cerlab.logic.sremo import Derivation, derivations, matches
from cerlab.model.answer import Registers
from cerlab.testing import REGISTERS, Shape, SremoKind, random_sremo, random_sremo_events
from proofs_tests.sremo.twin import Contents, Twin, subsets
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=3, events=4)


def by_the_rules(
    e: Sremo, S: Sequence[Event], before: Sequence[tuple[str, Event]] = ()
) -> frozenset[Derivation]:
    """Everything e can do from the start of S, by asking for each end and each set of marks."""
    events = {i + 1: t for i, t in enumerate(S)}
    events |= {-k: t for k, (_, t) in enumerate(before)}
    twin = Twin(events)
    v: Contents = frozenset((r, -k) for k, (r, _) in enumerate(before))
    return frozenset(
        Derivation(j, frozenset(p - 1 for p in M), Registers({r: events[p] for r, p in after}))
        for j in range(len(S) + 1)
        for M in subsets(1, j)
        for after in twin.after(e, 1, j, M, v)
    )


def agrees(rng: Random, kind: SremoKind) -> bool:
    """On a random expression and stream; was any event consumed?"""
    e = random_sremo(rng, SHAPE, kind)
    S = random_sremo_events(rng, e, SHAPE)
    before: list[tuple[str, Event]] = []
    if rng.random() < 0.3:
        before = [(r, t) for r in REGISTERS for t in random_sremo_events(rng, e, SHAPE)[:1]]
    rows = derivations(e, S, 0, Registers(dict(before)))
    assert rows == by_the_rules(e, S, before), f"{e}\non {S} from {before}"
    return any(d.end for d in rows)


def test_the_core(suite: Suite) -> None:
    suite.run(lambda rng: agrees(rng, "core"), deep_count=10_000)


def test_all_operators(suite: Suite) -> None:
    suite.run(lambda rng: agrees(rng, "all"), deep_count=10_000)


@random_suite(10_000)
def test_positions_are_absolute_and_what_comes_after_is_not_seen(rng: Random) -> bool:
    """From position i of S as from the start of S[i:], shifted; S[..j] decides what ends at j."""
    e = random_sremo(rng, SHAPE)
    S = random_sremo_events(rng, e, SHAPE)
    i = rng.randrange(min(len(S), 1) + 1)
    rows = derivations(e, S, i)
    assert {(d.end - i, frozenset(p - i for p in d.marks)) for d in rows} == {
        (d.end, d.marks) for d in derivations(e, S[i:])
    }
    for j in range(i, len(S) + 1):
        assert {d for d in rows if d.end == j} == {
            d for d in derivations(e, S[:j], i) if d.end == j
        }
    return bool(rows)


@random_suite(10_000)
def test_a_match_consumes_everything_from_empty_registers(rng: Random) -> bool:
    e = random_sremo(rng, SHAPE)
    S = random_sremo_events(rng, e, SHAPE)
    expected = {tuple(sorted(d.marks)) for d in by_the_rules(e, S) if d.end == len(S)}
    assert matches(e, S) == expected, f"{e}\non {S}"
    return bool(expected)
