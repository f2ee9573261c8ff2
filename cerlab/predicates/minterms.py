"""Minterms: the truth vectors of some predicates that events can have.

Atoms that share an attribute are decided together. Where all of them compare one attribute with
constants, the decision is by representatives: on a line cut at finitely many constants, the
constants and one value from each gap realise everything that can be realised. The rest
(arithmetic, several attributes, LIKE) goes to z3, in `smt`; arithmetic is over the rationals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from cerlab.budget import TRANSITION, spend_over, step_budget
from cerlab.model.event import Event, Value
from cerlab.model.schema import Schema
from cerlab.predicates import syntax as pred
from cerlab.predicates.choices import Choice, by_representatives, event_of
from cerlab.predicates.domains import Domain, domain_of
from cerlab.predicates.event_sets import NOWHERE, EventSet, event_sets, substituted
from cerlab.predicates.mentions import attributes_of, components, constants, operands
from cerlab.predicates.representatives import representatives
from cerlab.predicates.truth import satisfies

__all__ = ["Minterm", "constants", "has_symbol", "minterms", "representatives"]


@dataclass(frozen=True, slots=True)
class Minterm:
    """A truth vector (bit k: ``predicates[k]`` holds) and an event that has it.

    Without an example it is not decided whether an event has the vector.
    """

    symbol: int
    example: Event | None


@step_budget("the kinds of events", "compare fewer attributes, or with fewer constants")
def minterms(
    predicates: Sequence[pred.Predicate],
    *,
    schema: Schema | None = None,
    values: Mapping[str, Value] | None = None,
) -> tuple[Minterm, ...]:
    """All truth vectors that events can have, in a fixed order, each once.

    With a `schema`, events are those it declares: each attribute of the type is there and of its
    type (a double may be NaN), or NULL where that is allowed, and there are no others; the stream
    is a declared one or not known. Attributes that `values` names have exactly these.

    A vector that no event has is not listed where that is decided, and a vector without example
    is not decided. Arithmetic is decided over the rationals: what holds by rounding or overflow
    alone is not looked for. Raises `ResourceLimit` for too many combinations, ValueError
    for a LIKE whose pattern is none.

    >>> low = pred.Comparison(pred.Operator.LT, pred.Attribute("v"), pred.Constant(1))
    >>> high = pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(2))
    >>> [(each.symbol, each.example.attributes) for each in minterms([low, high])]
    [(0, {'v': 1}), (1, {'v': 0}), (2, {'v': 3})]
    """
    every = tuple(dict.fromkeys(atom for P in predicates for atom in pred.atoms(P)))
    by_symbol: dict[int, Minterm] = {}
    for events in event_sets(schema, values or {}, attributes_of(every)):
        for minterm in _minterms_among(predicates, every, events):
            if by_symbol.setdefault(minterm.symbol, minterm).example is None:
                by_symbol[minterm.symbol] = minterm
    return tuple(by_symbol.values())


def _minterms_among(
    predicates: Sequence[pred.Predicate], every: Sequence[pred.Atom], events: EventSet
) -> Iterator[Minterm]:
    """The minterms of one set of events; one without example may come again with one."""
    substitutes = {atom: substituted(atom, events.values) for atom in every}
    groups = components(tuple(dict.fromkeys(substitutes.values())))
    choices = [_choices(group, events.domains) for group in groups]
    done: set[int] = set()
    for combination in spend_over(product(*choices), TRANSITION * (len(every) + len(predicates))):
        truth_of = {
            atom: value
            for group, choice in zip(groups, combination, strict=True)
            for atom, value in zip(group, choice.vector, strict=True)
        }
        truth = {atom: truth_of[substitutes[atom]] for atom in every}
        symbol = sum(
            1 << bit for bit, P in enumerate(predicates) if pred.holds(P, truth.__getitem__)
        )
        if symbol not in done:
            example = _example(combination, events)
            if example is not None and not has_symbol(example, predicates, symbol):
                example = None
            if example is not None:
                done.add(symbol)
            yield Minterm(symbol, example)


def has_symbol(event: Event, predicates: Sequence[pred.Predicate], symbol: int) -> bool:
    """Whether the event has this truth vector."""
    return all(satisfies(event, P) == bool(symbol >> bit & 1) for bit, P in enumerate(predicates))


def _example(choices: Iterable[Choice], events: EventSet) -> Event | None:
    values = dict(events.example)
    for choice in choices:
        if choice.values is None:
            return None
        values.update(choice.values)
    return event_of(values)


def _choices(group: tuple[pred.Atom, ...], domains: Mapping[str, Domain]) -> tuple[Choice, ...]:
    """One choice for each truth vector of a component that events have, or that is undecided."""
    of = tuple((name, domain_of(name, domains)) for name in attributes_of(group))
    if not of:
        return (Choice(tuple(satisfies(NOWHERE, atom) for atom in group), ()),)
    if len(of) == 1 and all(map(_is_simple, group)):
        return by_representatives(group, *of)
    from cerlab.predicates.smt import by_solver  # z3 takes long to load

    return by_solver(group, of)


def _is_simple(atom: pred.Atom) -> bool:
    """Whether an atom only compares an attribute with itself and with constants."""
    plain = all(isinstance(operand, pred.Constant | pred.Attribute) for operand in operands(atom))
    return plain and not isinstance(atom, pred.Like)
