"""Atoms as formulas of z3, and which atoms have one (DESIGN 3.3)."""

from __future__ import annotations

from typing import Any, assert_never

import z3

from cerlab.predicates import syntax as pred
from cerlab.predicates.mentions import constants, operands
from cerlab.predicates.smt.encoding import KINDS, Encoding, is_plain
from cerlab.predicates.smt.questions import every_of, some_of
from cerlab.predicates.smt.terms import Cases, cases
from cerlab.predicates.truth import RELATIONS


def formula(atom: pred.Atom, E: Encoding) -> Any:
    """When an atom holds (DESIGN 3.3); None for an atom that cannot be encoded."""
    if not can_be_encoded(atom, E):
        return None
    match atom:
        case pred.TypeIs(name):
            return comparison(
                pred.Operator.EQ, cases(pred.Attribute("type"), E), cases(pred.Constant(name), E), E
            )
        case pred.StreamIs(name):
            stream = cases(pred.Attribute("stream"), E)
            is_stream = comparison(pred.Operator.EQ, stream, cases(pred.Constant(name), E), E)
            return z3.Or(E.variables["stream"].kind == 0, is_stream)
        case pred.Comparison(op, left, right):
            return comparison(op, cases(left, E), cases(right, E), E)
        case pred.Member(operand, values, negated):
            op = pred.Operator.NE if negated else pred.Operator.EQ
            value = cases(operand, E)
            each = [comparison(op, value, cases(one, E), E) for one in values]
            return every_of(each, E.context) if negated else some_of(each, E.context)
        case pred.Between(operand, low, high, negated):
            value = cases(operand, E)
            inside = (
                pred.Operator.LT if negated else pred.Operator.GE,
                pred.Operator.GT if negated else pred.Operator.LE,
            )
            each = [
                comparison(op, value, cases(bound, E), E)
                for op, bound in zip(inside, (low, high), strict=True)
                if bound is not None
            ]
            return some_of(each, E.context) if negated else every_of(each, E.context)
        case pred.Like(pred.Attribute(name), pattern):
            x = E.variables[name]
            bit = E.patterns.index(pattern)
            holding = [x.cell == n for n, cell in enumerate(E.cells) if cell.bits[bit]]
            return z3.And(x.kind == KINDS["text"], some_of(holding, E.context))
        case pred.Like():
            return z3.BoolVal(False, E.context)
        case _:
            assert_never(atom)


def can_be_encoded(atom: pred.Atom, E: Encoding) -> bool:
    """Whether all constants of an atom have a place, and its pattern is in the subset."""
    texts_have_places = all(
        is_plain(value) for value in constants([atom]) if isinstance(value, str)
    )
    computes = any(isinstance(operand, pred.Computed | pred.Negated) for operand in operands(atom))
    all_finite = E.infinity is None or not computes
    return (
        texts_have_places
        and all_finite
        and (not isinstance(atom, pred.Like) or is_decided(atom, E))
    )


def is_decided(atom: pred.Like, E: Encoding) -> bool:
    """Whether a pattern is in the subset, or its operand never a text."""
    return atom.pattern in E.patterns or isinstance(atom.operand, pred.Computed | pred.Negated)


def comparison(op: pred.Operator, left: Cases, right: Cases, E: Encoding) -> Any:
    """``left op right``: both have the same kind, and their values are so related."""
    ways = []
    for kind, (here, one) in left.items():
        if kind in right:
            there, other = right[kind]
            ways.append(z3.And(here, there, RELATIONS[op](one, other)))
    return some_of(ways, E.context)
