"""Models of z3 as values of attributes: texts of the cells it chose, and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import z3

from cerlab.model.event import Timestamp, Value
from cerlab.model.schema import AttributeType
from cerlab.predicates.domains import INT64, Domain
from cerlab.predicates.smt.encoding import KINDS, Encoding
from cerlab.predicates.smt.languages import every_text, literal
from cerlab.predicates.smt.places import Cell
from cerlab.predicates.smt.questions import member, text_in, with_step_limit

MAX_TEXTS = 6
"""How many texts of a cell are tried in a comparison before z3 is asked for all texts at once."""

Values: TypeAlias = tuple[tuple[str, Value], ...]


class Refutation(NamedTuple):
    """No texts are as a model says, and this formula, true of all events, says so."""

    formula: Any


Texts: TypeAlias = dict[str, str] | Refutation | None
"""The texts of a model, None if z3 does not find them."""


def texts_of(model: Any, E: Encoding) -> Texts:
    """The texts of the attributes that are texts in a model."""

    def number(term: Any) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    texts = {n: x for n, x in E.variables.items() if number(x.kind) == KINDS["text"]}
    if not E.cells:
        return {name: E.order.text(number(x.place)) for name, x in texts.items()}
    cell = {name: number(x.cell) for name, x in texts.items()}
    place = {name: number(texts[name].place) for name in E.text_operands if name in texts}
    chain = [name for _, name in sorted({at: name for name, at in place.items()}.items())]
    possible, ascending = ascending_texts([E.cells[cell[name]] for name in chain], E)
    if not possible:
        one_each = [texts[name].cell == cell[name] for name in chain]
        are_texts = [texts[name].kind == KINDS["text"] for name in chain]
        in_order = [texts[low].place < texts[high].place for low, high in pairwise(chain)]
        return Refutation(z3.Not(z3.And(*one_each, *are_texts, *in_order)))
    values = {name: E.cells[n].text for name, n in cell.items()}
    at = {place[name]: text for name, text in zip(chain, ascending, strict=True)}
    values |= {name: at[place[name]] for name in place}
    return {name: text for name, text in values.items() if text is not None}


def ascending_texts(chain: Sequence[Cell], E: Encoding) -> tuple[bool, Sequence[str | None]]:
    """Whether there may be ascending texts in a sequence of cells, and such texts if found."""
    if len(chain) < 2:
        return True, [cell.text for cell in chain]
    ascending: list[str | None] = []
    for cell in chain:
        above = ascending[-1] if ascending else None
        larger = (text for text in some_texts(cell, E.context) if above is None or text > above)
        ascending.append(min(larger, default=None))
        if ascending[-1] is None:
            break
    else:
        return True, ascending
    solver = with_step_limit(z3.Solver(ctx=E.context))
    words = [z3.String(f"word {n}", E.context) for n in range(len(chain))]
    for word, cell in zip(words, chain, strict=True):
        solver.add(z3.InRe(word, z3.Intersect(cell.language, every_text(E.context))))
    for low, high in pairwise(words):
        solver.add(low < high)
    answer = solver.check()
    if answer != z3.sat:
        return answer == z3.unknown, [None] * len(chain)
    return True, [text_in(solver.model(), word) for word in words]


def some_texts(cell: Cell, context: Any) -> list[str]:
    """A few texts of a cell, found one after the other."""
    texts = [] if cell.text is None else [cell.text]
    language = cell.language
    while texts and len(texts) < MAX_TEXTS:
        language = z3.Intersect(language, z3.Complement(z3.Re(literal(texts[-1], context))))
        one = member(language, context)
        if one.text is None:
            break
        texts.append(one.text)
    return texts


def values_of(model: Any, texts: Mapping[str, str], E: Encoding) -> Values | None:
    """The values of the attributes in a model; None if a text is unknown or a number too long."""
    values: list[tuple[str, Value]] = []
    for name, x in E.variables.items():
        kind = model.eval(x.kind, model_completion=True).as_long()
        if kind == KINDS["text"] and name not in texts:
            return None
        match kind:
            case 1:
                number = model.eval(x.number, model_completion=True)
                try:
                    values.append((name, number_in(number, E.domains[name], E.infinity)))
                except ValueError:  # more digits than Python reads
                    return None
            case 2:
                values.append((name, texts[name]))
            case 3:
                values.append((name, model.eval(x.truth, model_completion=True).as_long() == 1))
            case 4:
                moment = model.eval(x.moment, model_completion=True)
                values.append((name, Timestamp(moment.as_long())))
            case _:
                values.append((name, None if E.domains[name].nullable else math.nan))
    return tuple(values)


def number_in(numeral: Any, domain: Domain, infinity: Fraction | None) -> int | float:
    """An integer where it is one and may be, else the nearest float.

    A float stands for an integer of more than 64 bits if it is equal.
    """
    if z3.is_int_value(numeral):
        return int(numeral.as_long())
    near = numeral.approx(30) if z3.is_algebraic_value(numeral) else numeral
    number = Fraction(near.as_fraction())
    if infinity is not None and abs(number) == infinity:
        return math.inf if number > 0 else -math.inf
    try:
        nearest = float(number)
    except OverflowError:
        nearest = math.inf if number > 0 else -math.inf
    whole = number.denominator == 1 and domain.type is not AttributeType.DOUBLE
    fits = INT64.start <= number < INT64.stop or nearest != number
    return int(number) if whole and fits else nearest
