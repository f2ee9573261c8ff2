"""Guards built from guards hold where they should, on empty registers too (SRT Def. 13)."""

from __future__ import annotations

from random import Random

from cerlab import satisfies
from cerlab.model.answer import Registers
from cerlab.predicates.syntax import (
    EVERYTHING,
    FALSE,
    all_of,
    conjunction,
    disjunction,
    negation,
    redirect_registers,
    registers_of,
)
from proofs_tests.srt.cases import guard, random_event, random_guard
from proofs_tests.suite import Suite


def test_boolean_operations(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        phi, psi = (rng.choice((random_guard(rng), EVERYTHING, FALSE)) for _ in range(2))
        t, v = random_event(rng), random_registers(rng)
        p, q = satisfies(t, phi, v), satisfies(t, psi, v)
        assert satisfies(t, conjunction(phi, psi), v) == (p and q)
        assert satisfies(t, disjunction(phi, psi), v) == (p or q)
        assert satisfies(t, negation(phi), v) == (not p)
        assert satisfies(t, all_of([phi, psi, phi]), v) == (p and q)
        return p or q

    suite.run(case, deep_count=10_000)


def test_redirected_registers(suite: Suite) -> None:
    """A redirected register, also an empty one, reads the value that it had (SRT Lemma S1)."""

    def case(rng: Random) -> bool:
        phi, t, v = random_guard(rng), random_event(rng), random_registers(rng)
        where = {r: f"p{rng.randrange(3)}" for r in v}
        place_of = {r: where[r] for r in v if list(where.values()).count(where[r]) == 1}
        there = Registers({place_of[r]: v[r] for r in place_of})
        psi = redirect_registers(phi, place_of.get)
        holds = satisfies(t, phi, Registers({r: v[r] for r in place_of}))
        assert satisfies(t, psi, there) == holds
        assert registers_of(psi) <= set(place_of.values())
        return holds or bool(registers_of(psi))

    suite.run(case, deep_count=10_000)


def random_registers(rng: Random) -> Registers:
    return Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.7})


def test_constants_are_dropped() -> None:
    phi = guard("v = r.v")
    assert (
        conjunction(EVERYTHING, phi) == conjunction(phi, EVERYTHING) == conjunction(phi, phi) == phi
    )
    assert disjunction(FALSE, phi) == disjunction(phi, FALSE) == disjunction(phi, phi) == phi
    assert conjunction(FALSE, phi) == conjunction(phi, FALSE) == FALSE
    assert disjunction(EVERYTHING, phi) == EVERYTHING
    assert negation(negation(phi)) == phi
    assert redirect_registers(guard("NOT v = r.v AND v = 1"), lambda r: None) == guard("v = 1")
