"""Predicates as sets of events: empty, contained, disjoint, equal (DESIGN 5).

Every answer is True, False, or None where it is not decided; see `minterms` for what is. With a
schema the events are those that it declares. All of them raise `ResourceLimit` for predicates with
too many minterms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cerlab.model.event import Event
from cerlab.model.schema import Schema
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import Predicate


def satisfiable(P: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Whether some event satisfies P.

    >>> from cerlab.predicates.syntax import Attribute, Comparison, Constant, Member, Operator
    >>> price = Attribute("price")
    >>> satisfiable(Comparison(Operator.LT, price, price))
    False
    """
    return _some((P,), (1,), schema)


def model(P: Predicate, *, schema: Schema | None = None) -> Event | None:
    """An event that satisfies P, None if there is none or none is known.

    >>> from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
    >>> model(Comparison(Operator.GT, Attribute("price"), Constant(7)))
    Event(type='other', attributes={'price': 8}, stream=None)
    """
    examples = (minterm.example for minterm in minterms((P,), schema=schema) if minterm.symbol == 1)
    return next(examples, None)


def implies(P: Predicate, Q: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Whether every event that satisfies P satisfies Q.

    >>> from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
    >>> dear, more = (
    ...     Comparison(Operator.GT, Attribute("price"), Constant(bound)) for bound in (7, 8)
    ... )
    >>> implies(more, dear), implies(dear, more)
    (True, False)
    """
    return _none((P, Q), (0b01,), schema)


def disjoint(P: Predicate, Q: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Whether no event satisfies both."""
    return _none((P, Q), (0b11,), schema)


def equivalent(P: Predicate, Q: Predicate, *, schema: Schema | None = None) -> bool | None:
    """Whether the same events satisfy both."""
    return _none((P, Q), (0b01, 0b10), schema)


def _none(
    predicates: Sequence[Predicate], symbols: Collection[int], schema: Schema | None
) -> bool | None:
    """Whether no event has one of these truth vectors."""
    some = _some(predicates, symbols, schema)
    return None if some is None else not some


def _some(
    predicates: Sequence[Predicate], symbols: Collection[int], schema: Schema | None
) -> bool | None:
    """Whether some event has one of these truth vectors."""
    candidates = [m for m in minterms(predicates, schema=schema) if m.symbol in symbols]
    if any(minterm.example is not None for minterm in candidates):
        return True
    return None if candidates else False
