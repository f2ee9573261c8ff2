"""Atoms as formulas of z3, and which atoms have one (DESIGN 3.3)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, assert_never

from cerlab.predicates.mentions import constants, operands
from cerlab.predicates.smt.encoding import KINDS, Encoding, is_plain
from cerlab.predicates.smt.questions import every_of, some_of
from cerlab.predicates.smt.terms import Coded, coded
from cerlab.predicates.syntax import (
    Atom,
    Attribute,
    Between,
    Comparison,
    Computed,
    Constant,
    Like,
    Member,
    Negated,
    Operator,
    StreamIs,
    TypeIs,
)


def formula(atom: Atom, E: Encoding) -> Any:
    """When an atom holds (DESIGN 3.3); None for an atom that cannot be encoded."""
    import z3

    if not can_be_encoded(atom, E):
        return None
    match atom:
        case TypeIs(name):
            return related(Operator.EQ, coded(Attribute("type"), E), coded(Constant(name), E), E)
        case StreamIs(name):
            stream = coded(Attribute("stream"), E)
            known = related(Operator.EQ, stream, coded(Constant(name), E), E)
            return z3.Or(E.variables["stream"].kind == 0, known)
        case Comparison(op, left, right):
            return related(op, coded(left, E), coded(right, E), E)
        case Member(operand, values, negated):
            op = Operator.NE if negated else Operator.EQ
            value = coded(operand, E)
            each = [related(op, value, coded(one, E), E) for one in values]
            return every_of(each, E.context) if negated else some_of(each, E.context)
        case Between(operand, low, high, negated):
            value = coded(operand, E)
            inside = (
                Operator.LT if negated else Operator.GE,
                Operator.GT if negated else Operator.LE,
            )
            each = [
                related(op, value, coded(bound, E), E)
                for op, bound in zip(inside, (low, high), strict=True)
                if bound is not None
            ]
            return some_of(each, E.context) if negated else every_of(each, E.context)
        case Like(Attribute(name), pattern):
            x = E.variables[name]
            bit = E.patterns.index(pattern)
            holding = [x.cell == n for n, cell in enumerate(E.cells) if cell.held[bit]]
            return z3.And(x.kind == KINDS["text"], some_of(holding, E.context))
        case Like():
            return z3.BoolVal(False, E.context)
        case _:
            assert_never(atom)


def can_be_encoded(atom: Atom, E: Encoding) -> bool:
    """Whether all constants of an atom have a place, and its pattern is in the subset."""
    texts_have_places = all(
        is_plain(value) for value in constants([atom]) if isinstance(value, str)
    )
    computes = any(isinstance(operand, Computed | Negated) for operand in operands(atom))
    all_finite = E.infinity is None or not computes
    return texts_have_places and all_finite and (not isinstance(atom, Like) or is_decided(atom, E))


def is_decided(atom: Like, E: Encoding) -> bool:
    """Whether a pattern is in the subset, or its operand never a text."""
    return atom.pattern in E.patterns or isinstance(atom.operand, Computed | Negated)


def related(op: Operator, left: Coded, right: Coded, E: Encoding) -> Any:
    """``left op right``: both have the same kind, and their values are so related."""
    import z3

    ways = []
    for kind, (here, one) in left.items():
        if kind in right:
            there, other = right[kind]
            ways.append(z3.And(here, there, _RELATIONS[op](one, other)))
    return some_of(ways, E.context)


_RELATIONS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
}
