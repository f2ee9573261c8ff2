"""The events of a schema as sets in which attributes vary on their own, and atoms among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

from cerlab.model.event import Event, Value
from cerlab.model.schema import EventDeclaration, Schema
from cerlab.predicates import syntax as pred
from cerlab.predicates.domains import Domain, allows, domain_of
from cerlab.predicates.mentions import leaves_of
from cerlab.predicates.representatives import candidates
from cerlab.predicates.truth import evaluate

NOWHERE = Event("nowhere")
"""An event to evaluate what mentions no attribute."""


class EventSet(NamedTuple):
    """A set of events: what `values` names is so, every other attribute varies in its domain."""

    values: Mapping[str, Value]
    domains: Mapping[str, Domain]
    example: Mapping[str, Value]
    """What an example holds where the predicates leave it open."""


def event_sets(
    schema: Schema | None, values: Mapping[str, Value], names: Sequence[str]
) -> Iterator[EventSet]:
    """All events, as a union of sets in which each attribute varies on its own."""
    if schema is None:
        if all(allows(name, domain_of(name, {}), value) for name, value in values.items()):
            yield EventSet(values, {}, values)
        return
    every: dict[tuple[str | None, EventDeclaration], None] = {}
    for stream in schema.streams:
        for event in stream.events:
            every[stream.name, schema.event(event.name, stream.name) or event] = None
    if "stream" in names:
        for name in schema.event_names():
            if (event_read := schema.event(name)) is not None:
                every[None, event_read] = None
    for stream_name, declaration in every:
        own: dict[str, Value] = {"type": declaration.name, "stream": stream_name}
        domains = {
            each.name: Domain(each.type, each.nullable)
            for each in declaration.attributes
            if each.name not in own
        }
        absent: dict[str, Value] = {
            name: None for name in (*names, *values) if name not in domains and name not in own
        }
        if all(
            allows(name, domains[name], value)
            if name in domains
            else value == {**absent, **own}[name]
            for name, value in values.items()
        ):
            defaults = {name: candidates(name, domain, ())[0] for name, domain in domains.items()}
            declared_only = {name: value for name, value in values.items() if name in domains}
            constants = {**absent, **declared_only, **own}
            yield EventSet(constants, domains, {**defaults, **declared_only, **own})


def substituted(atom: pred.Atom, values: Mapping[str, Value]) -> pred.Atom:
    """The atom with these attributes as constants, and each constant expression evaluated.

    >>> v, w = pred.Attribute("v"), pred.Attribute("w")
    >>> substituted(pred.Comparison(pred.Operator.EQ, v, w), {"w": 3})
    Comparison(operator=<Operator.EQ: '='>, left=Attribute(name='v'), right=Constant(value=3))
    """

    def substitute(expression: pred.Expression) -> pred.Expression:
        match expression:
            case pred.Constant():
                return expression
            case pred.Attribute(name):
                return pred.Constant(values[name]) if name in values else expression
            case pred.Computed(op, left, right):
                result: pred.Expression = pred.Computed(op, substitute(left), substitute(right))
            case pred.Negated(inner):
                result = pred.Negated(substitute(inner))
            case _:
                assert_never(expression)
        is_constant = not any(isinstance(leaf, pred.Attribute) for leaf in leaves_of(result))
        return pred.Constant(evaluate(NOWHERE, result)) if is_constant else result

    match atom:
        case pred.TypeIs(name):
            return pred.Comparison(
                pred.Operator.EQ, substitute(pred.Attribute("type")), pred.Constant(name)
            )
        case pred.StreamIs(name) if "stream" in values:
            stream = pred.Constant(name if values["stream"] is None else values["stream"])
            return pred.Comparison(pred.Operator.EQ, stream, pred.Constant(name))
        case pred.StreamIs():
            return atom
        case pred.Comparison(op, left, right):
            return pred.Comparison(op, substitute(left), substitute(right))
        case pred.Between(operand, low, high, negated):
            bounds = [None if bound is None else substitute(bound) for bound in (low, high)]
            return pred.Between(substitute(operand), bounds[0], bounds[1], negated)
        case pred.Member() | pred.Like():
            return replace(atom, operand=substitute(atom.operand))
        case _:
            assert_never(atom)
