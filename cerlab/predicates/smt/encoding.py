"""The variables of z3 that stand for an event, and what is so of every event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple, TypeGuard

import z3

from cerlab.model.event import Value
from cerlab.model.schema import AttributeType
from cerlab.predicates.domains import INT64, KIND_OF_TYPE, Domain, is_finite
from cerlab.predicates.like import LAST_MENTIONED, least, parse
from cerlab.predicates.mentions import attributes_of, constants, operands
from cerlab.predicates.smt.places import Cell, Places, cells, places
from cerlab.predicates.syntax import Atom, Attribute, Like
from cerlab.predicates.truth import kind_of

KINDS = {"number": 1, "text": 2, "boolean": 3, "timestamp": 4}
"""The number of each kind; 0 is for what never compares."""


class Variables(NamedTuple):
    """The variables of z3 that stand for an attribute; `truth` is 0 or 1."""

    kind: Any
    number: Any
    place: Any
    cell: Any
    truth: Any
    moment: Any


@dataclass(frozen=True, slots=True)
class Encoding:
    """Atoms as formulas of z3 over the variables of their attributes."""

    group: tuple[Atom, ...]
    domains: Mapping[str, Domain]
    context: Any
    variables: Mapping[str, Variables]
    order: Places
    patterns: tuple[str, ...]
    """The patterns that are in the subset."""
    cells: tuple[Cell, ...]
    infinity: Fraction | None
    """What stands for the infinite, if that is among the constants."""
    text_operands: tuple[str, ...]
    """Attributes that are compared with each other as texts, where there are cells."""


def encode(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> Encoding:
    """The encoding of some atoms over attributes of these domains."""
    context = z3.Context()
    values = constants(group)
    order = places((value for value in values if is_plain(value)), len(of))
    likes = dict.fromkeys(atom.pattern for atom in group if isinstance(atom, Like))
    patterns = tuple(pattern for pattern in likes if parse(pattern) is not None)
    numbers = [value for value in values if kind_of(value) == "number"]
    finite = [Fraction(abs(n)) for n in numbers if isinstance(n, int | float) and is_finite(n)]
    text_operands = dict.fromkeys(
        operand.name
        for atom in group
        if len(attributes_of([atom])) > 1
        for operand in operands(atom)
        if isinstance(operand, Attribute)
    )
    if patterns and text_operands:
        # More intervals tell apart more texts that are compared with each other.
        order = places((*order.texts, *map(least, patterns)), len(of))
    return Encoding(
        tuple(group),
        dict(of),
        context,
        {
            name: Variables(
                kind=z3.Int(f"kind {name}", context),
                number=(z3.Int if domain.type is AttributeType.INT else z3.Real)(
                    f"number {name}", context
                ),
                place=z3.Int(f"place {name}", context),
                cell=z3.Int(f"cell {name}", context),
                truth=z3.Int(f"truth {name}", context),
                moment=z3.Int(f"moment {name}", context),
            )
            for name, domain in of
        },
        order,
        patterns,
        cells(order, patterns, context) if patterns else (),
        max([Fraction(2**65), *finite]) * 2 if len(finite) < len(numbers) else None,
        tuple(text_operands) if patterns else (),
    )


def is_plain(value: Value) -> TypeGuard[str]:
    """Whether a value is a text whose characters can be encoded (see `like`)."""
    return isinstance(value, str) and all(ord(c) <= LAST_MENTIONED for c in value)


def world(E: Encoding) -> Iterator[Any]:
    """What is so of every event: each attribute is in its domain, each text in a cell."""
    for name, x in E.variables.items():
        domain = E.domains[name]
        kinds = [*KINDS.values(), 0]
        if domain.type is not None:
            # A double may be NaN, and that compares with nothing, as NULL does.
            kinds = [KINDS[KIND_OF_TYPE[domain.type]]]
            kinds += [0] if domain.nullable or domain.type is AttributeType.DOUBLE else []
        yield z3.Or(*(x.kind == kind for kind in kinds))
        yield z3.And(x.truth >= 0, x.truth <= 1)
        yield z3.And(x.place >= (1 if name == "type" else 0), x.place <= E.order.last)
        if domain.type is AttributeType.INT:
            yield z3.And(x.number >= INT64.start, x.number < INT64.stop)
        elif E.infinity is not None:
            yield z3.And(x.number >= rational(-E.infinity, E), x.number <= rational(E.infinity, E))
        if E.cells:
            yield z3.Or(
                *(
                    z3.And(x.cell == n, x.place >= cell.first, x.place <= cell.last)
                    for n, cell in enumerate(E.cells)
                )
            )
    for one, other in combinations([E.variables[name] for name in E.text_operands], 2):
        yield z3.Implies(one.place == other.place, one.cell == other.cell)


def rational(number: Fraction, E: Encoding) -> Any:
    """A number constant."""
    if number.denominator == 1:
        return z3.IntVal(number.numerator, E.context)
    return z3.RealVal(f"{number.numerator}/{number.denominator}", E.context)
