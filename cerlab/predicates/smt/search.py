"""All truth vectors: of events that are tried, and then of models until z3 has no other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any, TypeAlias

import z3

from cerlab.budget import TRANSITION, spend
from cerlab.predicates.choices import Choice, event_of
from cerlab.predicates.domains import Domain
from cerlab.predicates.like import samples
from cerlab.predicates.mentions import constants
from cerlab.predicates.representatives import candidates
from cerlab.predicates.smt.encoding import KINDS, Encoding, encode, world
from cerlab.predicates.smt.formulas import formula
from cerlab.predicates.smt.questions import check_sat, every_of, with_step_limit
from cerlab.predicates.smt.values import Refutation, Texts, Values, texts_of, values_of
from cerlab.predicates.syntax import Atom, Attribute, Like
from cerlab.predicates.truth import satisfies, search

MAX_REFUTATIONS = 200
"""How often texts are asked for in vain before a vector is undecided."""

MAX_UNKNOWN = 20
"""How many answers "unknown" are accepted before what is left is undecided."""

MAX_TRIALS = 1_024
"""How many events are tried before z3 is asked."""

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
    return _choices(tuple(group), tuple(of))


@lru_cache(maxsize=4_096)
def _choices(group: tuple[Atom, ...], of: tuple[tuple[str, Domain], ...]) -> tuple[Choice, ...]:
    start = Vectors(group, {})
    for values in _likely_values(group, of):
        start.verify(values)
    if len(start.values) < 2 ** len(group):
        Search(encode(group, of), start).run()
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
    rng = Random(0)
    return (tuple(map(rng.choice, lists)) for _ in range(MAX_TRIALS))


class Search:
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
