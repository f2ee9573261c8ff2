"""Random formulas of FO-CEL (FOUND Sec. 3): variables shared, misplaced and rebound on purpose."""

from __future__ import annotations

from random import Random

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.focel.scope import unscoped_variable
from cerlab.predicates.condition import Correlation, LabelAttribute, On
from cerlab.predicates.syntax import Operator
from cerlab.testing.conditions import random_predicate
from cerlab.testing.shape import SMALL, Shape, likely

VARIABLES = ("x", "y", "z")


def random_fo_formula(rng: Random, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """A scoped well-formed formula (erratum E4); with `binary` it may compare two variables."""
    while True:
        phi = _draw(rng, shape, shape.depth, binary=binary)
        if unscoped_variable(phi) is None:
            return phi


def any_fo_formula(rng: Random, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """The same without asking for scopes."""
    return _draw(rng, shape, shape.depth, binary=binary)


def _draw(rng: Random, shape: Shape, depth: int, *, binary: bool) -> Formula:
    if depth == 0 or not likely(rng, 0.95):
        return cel.As(cel.Atom(rng.choice("AB")), rng.choice(VARIABLES))

    def smaller() -> Formula:
        return _draw(rng, shape, depth - 1, binary=binary)

    match rng.choice(("seq", "seq", "or", "plus", "filter", "filter")):
        case "or":
            return cel.Or(smaller(), smaller())
        case "seq":
            return cel.Seq(smaller(), smaller())
        case "plus":
            return cel.Plus(smaller())
        case _:
            body, x, y = smaller(), rng.choice(VARIABLES), rng.choice(VARIABLES)
            if binary and x != y and likely(rng, 0.3):
                sides = (LabelAttribute(x, "v"), LabelAttribute(y, "v"))
                return cel.Filter(body, Correlation(Operator.EQ, *sides))
            return cel.Filter(body, On(x, random_predicate(rng, shape)))
