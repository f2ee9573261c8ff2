"""Minterms: the truth vectors of some predicates that events may have.

Atoms that share an attribute are decided together. If all of them compare one attribute with
constants, representatives suffice: on a line cut at finitely many constants, the
constants and one value from each gap realise every possible outcome. The rest
(arithmetic, several attributes, LIKE) is decided by z3, in `smt`; arithmetic is over the rationals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from cerlab.budget import TRANSITION, spend_over, step_budget
from cerlab.model.event import Event, Schema, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.domains import (
    NOWHERE,
    Choice,
    Domain,
    EventSet,
    by_representatives,
    domain_of,
    event_of,
    event_sets,
    representatives,
    substituted,
)
from cerlab.predicates.syntax import Predicate, attributes_of, components, constants, operands
from cerlab.predicates.truth import satisfies

__all__ = ["Minterm", "constants", "has_symbol", "minterms", "representatives"]


@dataclass(frozen=True, slots=True)
class Minterm:
    """A truth vector, with bit k for ``predicates[k]``, and an example event.

    Without an example, it is undecided whether an event has the vector.
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
    """Return all truth vectors that events can have, in a fixed order, without repetitions.

    With a `schema`, events are those it declares: each attribute of the type is present and of its
    type (a double may be NaN), or NULL if allowed, and there are no others; the stream is declared
    or unknown. Attributes in `values` have exactly these values. Impossible vectors are not listed;
    vectors without an example are undecided. Arithmetic is decided over the rationals: vectors that
    occur only by rounding or overflow are not searched. Raises `ResourceLimit` for too many
    combinations, ValueError for an invalid pattern of LIKE.

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
    """Yield the minterms of a set of events; one without an example may come again with one."""
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
            # rounding may spoil z3's solution, which uses rational numbers
            if example is not None and not has_symbol(example, predicates, symbol):
                example = None
            if example is not None:
                done.add(symbol)
            yield Minterm(symbol, example)


def has_symbol(event: Event, predicates: Sequence[pred.Predicate], symbol: int) -> bool:
    """Return whether an event has the truth vector `symbol`."""
    return all(satisfies(event, P) == bool(symbol >> bit & 1) for bit, P in enumerate(predicates))


def _example(choices: Iterable[Choice], events: EventSet) -> Event | None:
    values = dict(events.example)
    for choice in choices:
        if choice.values is None:
            return None
        values.update(choice.values)
    return event_of(values)


def _choices(group: tuple[pred.Atom, ...], domains: Mapping[str, Domain]) -> tuple[Choice, ...]:
    """Return the truth vectors of atoms that are possible, or undecided, with example values."""
    of = tuple((name, domain_of(name, domains)) for name in attributes_of(group))
    if not of:
        return (Choice(tuple(satisfies(NOWHERE, atom) for atom in group), ()),)
    # z3 takes 0.25 s to load; most queries only compare attributes with constants
    if len(of) == 1 and all(map(_is_simple, group)):
        return by_representatives(group, *of)
    from cerlab.predicates.smt import by_solver  # slow to load

    return by_solver(group, of)


def _is_simple(atom: pred.Atom) -> bool:
    """Return whether an atom only compares an attribute with itself and with constants."""
    plain = all(isinstance(operand, pred.Constant | pred.Attribute) for operand in operands(atom))
    return plain and not isinstance(atom, pred.Like)


def satisfiable(P: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Return whether some event satisfies P; None if undecided.

    >>> from cerlab.predicates.syntax import Attribute, Comparison, Constant, Member, Operator
    >>> price = Attribute("price")
    >>> satisfiable(Comparison(Operator.LT, price, price))
    False
    """
    return _some((P,), (1,), schema)


def model(P: Predicate, *, schema: Schema | None = None) -> Event | None:
    """Return an event that satisfies P, or None if none is found.

    >>> from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
    >>> model(Comparison(Operator.GT, Attribute("price"), Constant(7)))
    Event(type='other', attributes={'price': 8}, stream=None)
    """
    examples = (minterm.example for minterm in minterms((P,), schema=schema) if minterm.symbol == 1)
    return next(examples, None)


def implies(P: Predicate, Q: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Return whether every event that satisfies P satisfies Q; None if undecided.

    >>> from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
    >>> high, higher = (
    ...     Comparison(Operator.GT, Attribute("price"), Constant(bound)) for bound in (7, 8)
    ... )
    >>> implies(higher, high), implies(high, higher)
    (True, False)
    """
    return _none((P, Q), (0b01,), schema)


def disjoint(P: Predicate, Q: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Return whether no event satisfies both; None if undecided."""
    return _none((P, Q), (0b11,), schema)


def equivalent(P: Predicate, Q: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Return whether the same events satisfy both; None if undecided."""
    return _none((P, Q), (0b01, 0b10), schema)


def _none(
    predicates: Sequence[Predicate], symbols: Collection[int], schema: Schema | None
) -> bool | None:
    """Return whether no event has any of these truth vectors; None if undecided."""
    some = _some(predicates, symbols, schema)
    return None if some is None else not some


def _some(
    predicates: Sequence[Predicate], symbols: Collection[int], schema: Schema | None
) -> bool | None:
    """Return whether some event has one of these truth vectors; None if undecided."""
    candidates = [m for m in minterms(predicates, schema=schema) if m.symbol in symbols]
    if any(minterm.example is not None for minterm in candidates):
        return True
    return None if candidates else False
