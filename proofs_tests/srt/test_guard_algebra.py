"""Guards built from guards hold where they should, on empty registers too (SRT Def. 13)."""

from __future__ import annotations

from random import Random

from cerlab import satisfies
from cerlab.model.answer import Registers
from cerlab.predicates import syntax as pred
from proofs_tests.srt.cases import guard, random_event, random_guard
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_boolean_operations(rng: Random) -> bool:
    phi, psi = (rng.choice((random_guard(rng), pred.EVERYTHING, pred.FALSE)) for _ in range(2))
    t, v = random_event(rng), random_registers(rng)
    p, q = satisfies(t, phi, v), satisfies(t, psi, v)
    assert satisfies(t, pred.conjunction(phi, psi), v) == (p and q)
    assert satisfies(t, pred.disjunction(phi, psi), v) == (p or q)
    assert satisfies(t, pred.negation(phi), v) == (not p)
    assert satisfies(t, pred.all_of([phi, psi, phi]), v) == (p and q)
    return p or q


@random_suite(10_000)
def test_redirected_registers(rng: Random) -> bool:
    """A redirected register, also an empty one, reads the value that it had (SRT Lemma S1)."""
    phi, t, v = random_guard(rng), random_event(rng), random_registers(rng)
    where = {r: f"p{rng.randrange(3)}" for r in v}
    place_of = {r: where[r] for r in v if list(where.values()).count(where[r]) == 1}
    there = Registers({place_of[r]: v[r] for r in place_of})
    psi = pred.redirect_registers(phi, place_of.get)
    holds = satisfies(t, phi, Registers({r: v[r] for r in place_of}))
    assert satisfies(t, psi, there) == holds
    assert pred.registers_of(psi) <= set(place_of.values())
    return holds or bool(pred.registers_of(psi))


def random_registers(rng: Random) -> Registers:
    return Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.7})


def test_constants_are_dropped() -> None:
    phi = guard("v = r.v")
    assert (
        pred.conjunction(pred.EVERYTHING, phi)
        == pred.conjunction(phi, pred.EVERYTHING)
        == pred.conjunction(phi, phi)
        == phi
    )
    assert (
        pred.disjunction(pred.FALSE, phi)
        == pred.disjunction(phi, pred.FALSE)
        == pred.disjunction(phi, phi)
        == phi
    )
    assert pred.conjunction(pred.FALSE, phi) == pred.conjunction(phi, pred.FALSE) == pred.FALSE
    assert pred.disjunction(pred.EVERYTHING, phi) == pred.EVERYTHING
    assert pred.negation(pred.negation(phi)) == phi
    assert pred.redirect_registers(guard("NOT v = r.v AND v = 1"), lambda r: None) == guard("v = 1")
