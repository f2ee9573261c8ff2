"""Truth vectors decided by z3, for atoms with arithmetic, several attributes or LIKE.

An attribute is a tagged value: a kind (0: compares with nothing), and for each kind a variable.
Numbers are real variables, exact for comparisons and for rational arithmetic; an irrational
solution never becomes an event, so its vector stays undecided. Texts are variables over places in
the order of texts: each constant has a place, and each gap between them as many places as it has
texts, but no more than there are attributes to distinguish.

For LIKE, a text also has a cell: an interval between constants, and a truth vector of the patterns
that some text in the interval has, which z3 decides by intersecting regular languages. Only if such
texts are also compared with each other, z3 solves for the texts themselves.

Each atom becomes a formula by the rules of comparisons. An atom that cannot be encoded is an
unknown bit: its vectors are listed with an event, or as undecided. The same holds when z3 reaches
its limit, which is counted in steps so that results seldom depend on the clock. `texts` has regular
languages, the order of texts and single calls of z3, `formulas` the variables and the formulas of
atoms; this module has the events of solutions and the listing of all vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from random import Random
from typing import Any, NamedTuple, TypeAlias

import z3

from cerlab.budget import TRANSITION, spend
from cerlab.model.event import AttributeType, Duration, Timestamp, Value
from cerlab.predicates.domains import INT64, Choice, Domain, candidates, event_of
from cerlab.predicates.like import samples
from cerlab.predicates.smt.formulas import KINDS, Encoding, encode, formula, world
from cerlab.predicates.smt.texts import (
    Cell,
    check_sat,
    every_of,
    every_text,
    literal,
    member,
    text_in,
    with_step_limit,
)
from cerlab.predicates.syntax import Atom, Attribute, Like, constants
from cerlab.predicates.truth import satisfies, search

__all__ = ["by_solver"]

MAX_TEXTS = 6
"""Most texts of a cell tried in a comparison before z3 solves for all texts together."""

Values: TypeAlias = tuple[tuple[str, Value], ...]


class Refutation(NamedTuple):
    """A z3 formula, true for all events, that excludes a model without texts."""

    formula: Any


Texts: TypeAlias = dict[str, str] | Refutation | None
"""Texts of a model, or None if z3 does not find them."""


def texts_of(model: Any, E: Encoding) -> Texts:
    """Return texts for the text attributes of a model, or a `Refutation`."""

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
    """Return whether ascending texts may exist in a sequence of cells, with texts if found."""
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
    """Return several texts of a cell."""
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
    """Return the values of attributes in a z3 model; None if one cannot be determined."""
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
                except ValueError:  # Python does not parse so many digits
                    return None
            case 2:
                values.append((name, texts[name]))
            case 3:
                values.append((name, model.eval(x.truth, model_completion=True).as_long() == 1))
            case 4:
                moment = model.eval(x.moment, model_completion=True)
                values.append((name, Timestamp(moment.as_long())))
            case 5:
                length = model.eval(x.length, model_completion=True)
                values.append((name, Duration(length.as_long())))
            case _:
                values.append((name, None if E.domains[name].nullable else math.nan))
    return tuple(values)


def number_in(numeral: Any, domain: Domain, infinity: Fraction | None) -> int | float:
    """Return a model's number as an integer if allowed, otherwise as the nearest double.

    A float represents an equal integer of more than 64 bits.
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


MAX_REFUTATIONS = 200
"""Most failed requests for texts before a vector stays undecided."""

MAX_UNKNOWN = 20
"""Most "unknown" replies before the remaining vectors stay undecided."""

MAX_TRIALS = 1_024
"""Most events tried before z3 is called."""

Vector: TypeAlias = tuple[bool, ...]


def by_solver(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> tuple[Choice, ...]:
    """Return the truth vectors of atoms that are possible, or undecided, found by z3.

    `of` has the domain of each attribute that the atoms mention.

    >>> from cerlab.predicates.syntax import Comparison, Operator
    >>> less = Comparison(Operator.LT, Attribute("v"), Attribute("w"))
    >>> more = Comparison(Operator.GT, Attribute("v"), Attribute("w"))
    >>> [choice.vector for choice in by_solver([less, more], [("v", Domain()), ("w", Domain())])]
    [(False, False), (False, True), (True, False)]
    """
    return choices_of(tuple(group), tuple(of))


@lru_cache(maxsize=4_096)
def choices_of(group: tuple[Atom, ...], of: tuple[tuple[str, Domain], ...]) -> tuple[Choice, ...]:
    start = Vectors(group, {})
    # guess events first, at microseconds each; a call of z3 takes milliseconds
    for values in _likely_values(group, of):
        start.verify(values)
    if len(start.values) < 2 ** len(group):
        VectorSearch(encode(group, of), start).run()
    return tuple(Choice(vector, start.values[vector]) for vector in sorted(start.values))


@dataclass(frozen=True, slots=True)
class Vectors:
    """The truth vectors found so far, with example values where known."""

    group: tuple[Atom, ...]
    values: dict[Vector, Values | None]

    def verify(self, values: Values) -> Vector:
        """Store and return the truth vector of the given values."""
        spend(TRANSITION * len(self.group))
        event = event_of(dict(values))
        vector = tuple(satisfies(event, atom) for atom in self.group)
        if self.values.get(vector) is None:
            self.record(vector, values)
        return vector

    def record(self, vector: Vector, values: Values | None) -> None:
        """Store a truth vector."""
        self.values[vector] = values


def _likely_values(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> Iterator[Values]:
    """Return values for which the atoms are likely to differ."""
    patterns = [text for atom in group if isinstance(atom, Like) for text in samples(atom.pattern)]
    points = (0, 1, *constants(group), *patterns)
    lists = [[(name, value) for value in candidates(name, domain, points)] for name, domain in of]
    if math.prod(map(len, lists)) <= MAX_TRIALS:
        return product(*lists)
    # seeded, so that a query has equal events in every process
    rng = Random(0)
    return (tuple(map(rng.choice, lists)) for _ in range(MAX_TRIALS))


class VectorSearch:
    """A search by z3 for truth vectors that are not found yet."""

    def __init__(self, E: Encoding, vectors: Vectors) -> None:
        self.E = E
        self.vectors = vectors
        self.unknown_answers = 0
        self.refutations = 0
        self.solver = with_step_limit(z3.Solver(ctx=E.context))
        self.bits = [z3.Bool(f"bit {n}", E.context) for n in range(len(E.group))]
        self.solver.add(*world(E))
        for bit, atom in zip(self.bits, E.group, strict=True):
            if (holds := formula(atom, E)) is not None:
                self.solver.add(bit == holds)
            elif isinstance(atom, Like) and isinstance(atom.operand, Attribute):
                x = E.variables[atom.operand.name]
                is_text = x.kind == KINDS["text"]
                self.solver.add(z3.Implies(bit, is_text))
                for text, at in zip(E.order.texts, E.order.at, strict=True):
                    found_in_text = bit == search(atom.pattern, text)
                    self.solver.add(z3.Implies(z3.And(is_text, x.place == at), found_in_text))
        for vector in vectors.values:
            self.block(vector)

    def block(self, vector: Vector) -> None:
        """Exclude a truth vector from the search."""
        self.solver.add(z3.Not(every_of(self.literals(vector), self.E.context)))

    def literals(self, vector: Vector) -> list[Any]:
        """Return the z3 literals of a truth vector."""
        return [bit == holds for bit, holds in zip(self.bits, vector, strict=False)]

    def run(self, prefix: Vector = ()) -> None:
        """Find all truth vectors with the given prefix; split the prefix where z3 gives up."""
        if self.unknown_answers <= MAX_UNKNOWN:
            while (answer := check_sat(self.solver)) == z3.sat:
                self.settle(self.solver.model())
            if answer == z3.unsat:
                return
            self.unknown_answers += 1
        if self.unknown_answers > MAX_UNKNOWN or len(prefix) == len(self.bits):
            for rest in product((False, True), repeat=len(self.bits) - len(prefix)):
                if (*prefix, *rest) not in self.vectors.values:
                    self.vectors.record((*prefix, *rest), None)
            return
        for holds in (False, True):
            self.solver.push()
            self.solver.add(self.bits[len(prefix)] == holds)
            self.run((*prefix, holds))
            self.solver.pop()

    def settle(self, model: Any) -> None:
        """Store the truth vector of a z3 model, with an example if one is found."""
        vector = tuple(z3.is_true(model.eval(bit, model_completion=True)) for bit in self.bits)
        texts = texts_of(model, self.E)
        if isinstance(texts, Refutation) and self.refutations < MAX_REFUTATIONS:
            self.refutations += 1
            self.solver.add(texts.formula)
            return
        if not self.verify(model, texts, vector) and not self.verify_with_other_models(vector):
            self.vectors.record(vector, None)
        self.block(vector)

    def verify(self, model: Any, texts: Texts, vector: Vector) -> bool:
        """Return whether a z3 model yields an event with the given truth vector; store it then."""
        if texts is None or isinstance(texts, Refutation):
            return False
        values = values_of(model, texts, self.E)
        return values is not None and self.vectors.verify(values) == vector

    def verify_with_other_models(self, vector: Vector) -> bool:
        """Return whether a model with simple numbers yields an event with the truth vector."""
        numbers = [(x.kind == KINDS["number"], x.number) for x in self.E.variables.values()]
        if self.unknown_answers > MAX_UNKNOWN:
            return False
        # first small integers and binary fractions, which doubles represent exactly
        for scale, bound in ((1, 1_000), (1_024, 2**20), (1, 2**65)):
            self.solver.push()
            self.solver.add(*self.literals(vector))
            for is_number, x in numbers:
                is_round = [] if z3.is_int(x) else [z3.IsInt(x * scale)]
                round_enough = z3.And(*is_round, x >= -bound, x <= bound)
                self.solver.add(z3.Implies(is_number, round_enough))
            done = False
            answer = check_sat(self.solver)
            if answer == z3.sat:
                model = self.solver.model()
                done = self.verify(model, texts_of(model, self.E), vector)
            self.unknown_answers += answer == z3.unknown
            self.solver.pop()
            if done:
                return True
        return False
