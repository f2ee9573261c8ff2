"""Counts by every evaluator, under every clause, and by the deciders that compare automata."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from random import Random

import cerlab
from cerlab import ResourceLimit, Unsupported, equivalent, evaluate
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.answer import by_end
from cerlab.testing import Shape, random_events, random_formula, with_limit
from proofs_tests.differential.test_evaluators import agree, require, session_answers
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite


def counted(rng: Random, phi: cel.Formula) -> cel.Formula:
    """The formula with some of its parts counted, iterations most of all."""
    if isinstance(phi, cel.Not):
        return phi
    likely = isinstance(phi, cel.Plus | cel.ConcatPlus | cel.Count)
    psi = cel.map_children(lambda part: counted(rng, part), phi)
    if rng.random() >= (0.7 if likely else 0.15):
        return psi
    least = rng.choice((1, 2, 2, 2, 3))
    most = rng.choice((None, least, least, least + 1, least + 2))
    body = cel.children(psi)[0] if likely else psi
    gaps = rng.random() < 0.75
    return cel.Count(body, least, most, gaps)


def counted_case(rng: Random, shape: Shape) -> Case:
    """A random case of a query that counts."""
    sample = random_case(rng, shape)
    phi = counted(rng, sample.ast.formula)
    if not any(isinstance(psi, cel.Count) for psi in cel.subformulas(phi)):
        phi = cel.Count(phi, 2, None)
    ast = replace(sample.ast, formula=phi)
    events = random_events(rng, phi, shape)
    return replace(sample, ast=ast, stream=type(sample.stream)(events, time=sample.stream.time))


@random_suite(20_000)
def test_every_evaluator_counts_alike(rng: Random) -> bool | None:
    """Reference, all runs, tECS, compiled engine, registers, totals, labels, and sessions."""
    shape = Shape(depth=2, events=8)
    sample = counted_case(rng, shape)
    if rng.random() < 0.1:
        sample = replace(sample, ast=with_limit(sample.ast, rng.choice((1, 2))))
    try:
        verdict = agree(sample)
    except ResourceLimit:  # one case in ten thousand is too large to determinise
        return None
    expected = query_answers(sample.ast, sample.stream)
    registers = evaluate(sample.query, sample.stream, evaluator="registers")
    require(registers == expected, "registers", sample)
    require(sorted(session_answers(sample, rng), key=by_end) == expected, "session", sample)
    return verdict


@random_suite(20_000, needs_answers=0.1)
def test_lists_count_alike(rng: Random) -> bool | None:
    """Counts in the languages of Foundations: its lists, FO-CEL by reference and automaton."""
    shape = Shape(depth=2, events=8, contiguous=False)
    sample = counted_case(rng, shape)
    query = cerlab.parse_formula(str(sample.ast.formula))
    events = sample.stream
    try:
        answers = evaluate(query, events, evaluator="lists")
    except Unsupported:
        return None
    require(answers == evaluate(query, events, evaluator="reference"), "lists", sample)
    return bool(answers)


@random_suite(2_000)
def test_laws_of_counts_by_the_deciders(rng: Random) -> bool:
    """f{m}{k} = f{mk}, f+{m} = f{m,}, f{1} = f, f{n,m} written out: on every stream."""
    shape = Shape(depth=1, events=6, rich=False)
    f = random_formula(rng, shape)
    gaps = rng.random() < 0.7
    join = cel.Seq if gaps else cel.Concat
    some = cel.Plus(f) if gaps else cel.ConcatPlus(f)
    m, k = rng.choice((1, 2)), rng.choice((1, 2))
    pairs = (
        (cel.Count(cel.Count(f, m, m, gaps), k, k, gaps), cel.Count(f, m * k, m * k, gaps)),
        (cel.Count(some, m, m, gaps), cel.Count(f, m, None, gaps)),
        (cel.Count(f, 1, 1, gaps), f),
        (cel.Count(f, m, m, gaps), reduce(join, [f] * m)),
        (cel.Count(f, 1, 2, gaps), cel.Or(f, join(f, f))),
    )
    for left, right in pairs:
        verdict = equivalent(left, right)
        assert verdict.holds, f"{left} and {right}: {verdict}"
    different = equivalent(cel.Count(f, 2, 2, gaps), cel.Count(f, 3, 3, gaps))
    return different.holds is False
