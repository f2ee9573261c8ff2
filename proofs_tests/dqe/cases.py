"""Notation for streams of updates, random streams for the window query, random queries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from random import Random

from cerlab import parse_gcq
from cerlab.engine.reference.dqe import WindowEvaluation, WindowQuery
from cerlab.logic.gcq import Atom, Delete, Gcq, Insert, Row, Update, answers_after_each
from cerlab.predicates import syntax as pred

ARITIES = {"r": 1, "s": 2, "t": 3}


def updates(text: str) -> list[Update]:
    """``updates("+r(1, 'a') -r(1, 'a')")``; a sign, a relation, a tuple."""
    return [
        (Insert if sign == "+" else Delete)(relation, tuple(ast.literal_eval(f"[{row}]")))
        for sign, relation, row in re.findall(r"([+-])(\w+)\(([^)]*)\)", text)
    ]


def window_gcq(window: int | None = 5) -> Gcq:
    """The paper's query as the reference reads it."""
    bound = "" if window is None else f", ts3 - ts1 < {window}"
    return parse_gcq("y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2, ts2 < ts3" + bound)


def window_stream(rng: Random, length: int, values: int = 2) -> Iterator[Insert]:
    """Insertions with increasing timestamps, of `values` different x and as many y.

    Mostly two of r, then two of s, then t, which is what answers are made of.
    """
    now = 0
    for i in range(length):
        now += rng.choice((1, 1, 1, 1, 2))
        relation = "rrsst"[i % 5] if rng.random() < 0.85 else rng.choice("rst")
        row: Row = (now,)
        if relation in "st":
            row = (f"y{rng.randrange(values)}", *row)
        if relation in "rs":
            row = (f"x{rng.randrange(values)}", *row)
        yield Insert(relation, row)


def same_answers(S: Sequence[Insert], window: int | None = 5) -> bool:
    """After each insertion Algorithm 1 enumerates the join, each answer once; any answers?"""
    evaluation = WindowEvaluation(WindowQuery(window=window))
    answers: list[Row] = []
    for update, expected in zip(S, answers_after_each(window_gcq(window), S), strict=True):
        evaluation.process(update.relation, update.row)
        answers = list(evaluation.enumerate())
        assert len(answers) == len(set(answers))
        assert frozenset(answers) == expected, (S, update)
    return bool(answers)


def random_stream(rng: Random) -> list[Insert]:
    return list(window_stream(rng, rng.randint(10, 12)))


def random_updates(rng: Random, arities: dict[str, int], length: int) -> list[Update]:
    """Insertions and deletions over a domain of three; a deletion takes a present tuple, if any."""
    S: list[Update] = []
    for _ in range(length):
        relation = rng.choice(list(arities))
        row: Row = tuple(rng.choice((0, 1, 1, 1, "a")) for _ in range(arities[relation]))
        before = [t.row for t in S if t.relation == relation]
        if rng.random() < 0.2:
            S.append(Delete(relation, rng.choice(before) if before else row))
        elif rng.random() < 0.2 and before:
            S.append(Insert(relation, rng.choice(before)))
        else:
            S.append(Insert(relation, row))
    return S


def random_gcq(rng: Random, variables: Sequence[str] = "xyz", depth: int = 1) -> Gcq:
    """A well-formed query over r(1), s(2), t(3 columns)."""
    relations = rng.choices(list(ARITIES), (3, 4, 1), k=rng.choice((1, 2, 2, 3)))
    atoms = tuple(
        Atom(relation, tuple(rng.choices(variables, k=ARITIES[relation]))) for relation in relations
    )
    bound = sorted({x for atom in atoms for x in atom.variables})
    head = tuple(rng.sample(bound, rng.randint(0, len(bound))))
    predicates = tuple(
        pred.Comparison(
            rng.choice(list(pred.Operator)),
            random_expression(rng, bound, depth),
            random_expression(rng, bound, depth),
        )
        for _ in range(rng.choice((0, 0, 0, 1, 2)))
    )
    return Gcq(head, atoms, predicates)


def random_expression(rng: Random, variables: Sequence[str], depth: int) -> pred.Expression:
    if depth == 0 or rng.random() < 0.5:
        if rng.random() < 0.7:
            return pred.Attribute(rng.choice(variables))
        return pred.Constant(rng.choice((0, 1, 2, -1, 1.0, 2.5, "a", "it's")))
    if rng.random() < 0.2:
        operand = random_expression(rng, variables, depth - 1)
        # The text of a negated number is that of the negative number.
        return operand if isinstance(operand, pred.Constant) else pred.Negated(operand)
    return pred.Computed(
        rng.choice(list(pred.Arithmetic)),
        random_expression(rng, variables, depth - 1),
        random_expression(rng, variables, depth - 1),
    )
