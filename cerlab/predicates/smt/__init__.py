"""Truth vectors of atoms that share attributes, by z3: arithmetic, several attributes, LIKE.

An attribute is a tagged value: a kind (0: nothing that compares), and for each kind a variable.
Numbers are real variables, exact for comparisons and the rationals' arithmetic; a solution that is
no rational is never found as an event, so it leaves its vector undecided. Texts are variables over
places in the order of texts: the constants have a place each, and each gap between them as many
as it has texts, but no more than there are attributes to tell apart.

Where there is LIKE, a text also has a cell: an interval between constants and a truth vector of the
patterns that some text in that interval has, which z3 decides by intersecting regular languages.
Only if such texts are compared with each other too are texts themselves asked for.

Each atom is a formula by the rules of comparisons. One that is outside what can be encoded is an
unknown bit: then a vector is listed with an event that has it, or as undecided. So it is where z3
reaches its limit, which is counted in steps, so that the outcome seldom depends on the clock.

`texts` has regular languages, the order of texts and one question to z3, `formulas` the variables
and the formulas of atoms; here are the events of solutions and the listing of all vectors.
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
"""Texts of a cell that are tried in a comparison before z3 is asked for all texts at once."""

Values: TypeAlias = tuple[tuple[str, Value], ...]


class Refutation(NamedTuple):
    """The refutation of a model that no texts realise: a formula true of all events."""

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
            case 5:
                length = model.eval(x.length, model_completion=True)
                values.append((name, Duration(length.as_long())))
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


MAX_REFUTATIONS = 200
"""Failed requests for texts before a vector stays undecided."""

MAX_UNKNOWN = 20
"""Answers "unknown" before the remaining vectors stay undecided."""

MAX_TRIALS = 1_024
"""Events that are tried before z3 is asked."""

Vector: TypeAlias = tuple[bool, ...]


def by_solver(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> tuple[Choice, ...]:
    """One choice for each truth vector of some atoms that events have, or that is undecided.

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
    # likely events have most vectors, in microseconds each; a question to z3 takes milliseconds
    for values in _likely_values(group, of):
        start.verify(values)
    if len(start.values) < 2 ** len(group):
        VectorSearch(encode(group, of), start).run()
    return tuple(Choice(vector, start.values[vector]) for vector in sorted(start.values))


@dataclass(frozen=True, slots=True)
class Vectors:
    """The truth vectors listed so far, with values where some are known."""

    group: tuple[Atom, ...]
    values: dict[Vector, Values | None]

    def verify(self, values: Values) -> Vector:
        """List the vector that these values have, and say which it is."""
        spend(TRANSITION * len(self.group))
        event = event_of(dict(values))
        vector = tuple(satisfies(event, atom) for atom in self.group)
        if self.values.get(vector) is None:
            self.record(vector, values)
        return vector

    def record(self, vector: Vector, values: Values | None) -> None:
        """List a vector."""
        self.values[vector] = values


def _likely_values(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> Iterator[Values]:
    """Events that are likely to differ in the atoms: all combinations, or some of them."""
    patterns = [text for atom in group if isinstance(atom, Like) for text in samples(atom.pattern)]
    points = (0, 1, *constants(group), *patterns)
    lists = [[(name, value) for value in candidates(name, domain, points)] for name, domain in of]
    if math.prod(map(len, lists)) <= MAX_TRIALS:
        return product(*lists)
    # seeded: the same query has the same events in every process
    rng = Random(0)
    return (tuple(map(rng.choice, lists)) for _ in range(MAX_TRIALS))


class VectorSearch:
    """Lists the truth vectors that are not yet found."""

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
        """Ask for other vectors from now on."""
        self.solver.add(z3.Not(every_of(self.literals(vector), self.E.context)))

    def literals(self, vector: Vector) -> list[Any]:
        """The bits as a vector says."""
        return [bit == holds for bit, holds in zip(self.bits, vector, strict=False)]

    def run(self, prefix: Vector = ()) -> None:
        """List all vectors that begin with the prefix; where z3 gives up, longer prefixes."""
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
        """List the vector of a model, with an event that has it if one is found."""
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
        """Whether the event of a model is one, and has the vector; then it is listed."""
        if texts is None or isinstance(texts, Refutation):
            return False
        values = values_of(model, texts, self.E)
        return values is not None and self.vectors.verify(values) == vector

    def verify_with_other_models(self, vector: Vector) -> bool:
        """The same for other models: small integers, then binary fractions."""
        numbers = [(x.kind == KINDS["number"], x.number) for x in self.E.variables.values()]
        if self.unknown_answers > MAX_UNKNOWN:
            return False
        # small integers and binary fractions first: doubles hold them, so rounding changes nothing
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
