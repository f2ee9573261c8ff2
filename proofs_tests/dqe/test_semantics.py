"""The join against all assignments of the variables, on random queries (DQE Def. 1; DQE Sec. 2).

Hand-computed cases are in ``cerlab/conformance/cases/gcq-*.json``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest

from cerlab import BadData, IllFormed, ResourceLimit, parse_gcq
from cerlab.logic import gcq
from cerlab.logic.gcq import Atom, Gcq, Insert, Row, Update, answers_after_each
from cerlab.predicates import syntax as pred
from proofs_tests.dqe.cases import ARITIES, random_gcq, random_updates
from proofs_tests.suite import Suite

SIGNS: Mapping[str, Any] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


def value(expression: pred.Expression, nu: Mapping[str, Any]) -> Any:
    if isinstance(expression, pred.Constant):
        return expression.value
    if isinstance(expression, pred.Attribute):
        return nu[expression.name]
    if isinstance(expression, pred.Negated):
        expression = pred.Computed(pred.Arithmetic.SUB, pred.Constant(0), expression.operand)
    assert isinstance(expression, pred.Computed)
    left, right = value(expression.left, nu), value(expression.right, nu)
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    by_zero = right == 0 and expression.operator.value in "/%"
    return None if by_zero else SIGNS[expression.operator.value](left, right)


def holds(P: pred.Comparison, nu: Mapping[str, Any]) -> bool:
    left, right = value(P.left, nu), value(P.right, nu)
    if None in (left, right) or isinstance(left, str) != isinstance(right, str):
        return False
    return bool(SIGNS[P.operator.value](left, right))


def by_assignments(Q: Gcq, tuples: set[tuple[str, Row]]) -> set[Row]:
    """Give each variable each value of the active domain, and keep the true assignments."""
    domain = {each for _, row in tuples for each in row}
    variables = sorted({x for atom in Q.atoms for x in atom.variables})
    rows = set()
    for values in product(domain, repeat=len(variables)):
        nu = dict(zip(variables, values, strict=True))
        if all((a.relation, tuple(nu[x] for x in a.variables)) in tuples for a in Q.atoms) and all(
            holds(P, nu) for P in Q.predicates
        ):
            rows.add(tuple(nu[x] for x in Q.head))
    return rows


def reference_is_right(Q: Gcq, S: Sequence[Update]) -> bool:
    tuples: set[tuple[str, Row]] = set()
    has_rows = False
    for update, rows in zip(S, answers_after_each(Q, S), strict=True):
        if isinstance(update, Insert):
            tuples.add((update.relation, update.row))
        else:
            tuples.discard((update.relation, update.row))
        assert rows == by_assignments(Q, tuples), (str(Q), S, update)
        has_rows = has_rows or bool(rows)
    return has_rows


def random_case(rng: Random) -> tuple[Gcq, list[Update]]:
    Q = random_gcq(rng)
    arities = {atom.relation: ARITIES[atom.relation] for atom in Q.atoms}
    return Q, random_updates(rng, arities, 9)


def test_the_join_is_what_all_assignments_say(suite: Suite) -> None:
    suite.run(lambda rng: reference_is_right(*random_case(rng)), deep_count=10_000)


@pytest.mark.parametrize("row", [(None,), (float("nan"),), (True,), (1, 2)])
def test_answers_refuses_a_database_with_such_a_tuple(row: Row) -> None:
    with pytest.raises(BadData):
        gcq.answers(parse_gcq("x <- r(x)"), {"r": {row}})


def test_the_reference_refuses_large_joins_immediately() -> None:
    D = {"r": {(i,) for i in range(200)}}
    with pytest.raises(ResourceLimit, match="combinations"):
        gcq.answers(parse_gcq("x <- r(x), r(y), r(z)"), D)


def test_a_value_that_is_no_query_has_no_answers() -> None:
    with pytest.raises(IllFormed):
        gcq.answers(Gcq(("y",), (Atom("r", ("x",)),)), {})


def test_as_many_combinations_as_are_said_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    query, tuples = parse_gcq("x, y <- r(x), s(y)"), {"r": {(1,), (2,)}, "s": {(1,), (2,), (3,)}}
    monkeypatch.setattr(gcq, "MAX_COMBINATIONS", 6)
    assert len(gcq.answers(query, tuples)) == 6
    monkeypatch.setattr(gcq, "MAX_COMBINATIONS", 5)
    with pytest.raises(ResourceLimit, match="up to 5"):
        gcq.answers(query, tuples)
