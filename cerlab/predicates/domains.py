"""What an attribute can hold: its type, if one is declared, and NULL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, assert_never

from cerlab.model.event import Timestamp, Value
from cerlab.model.schema import AttributeType
from cerlab.predicates.truth import kind_of

INT64 = range(-(2**63), 2**63)
"""The integers of 64 bits."""

KIND_OF_TYPE = {
    **{each: each.value for each in AttributeType},
    **dict.fromkeys((AttributeType.INT, AttributeType.DOUBLE), "number"),
    AttributeType.STRING: "text",
}
"""What values of a declared type compare with, as `kind_of` says it of each."""


class Domain(NamedTuple):
    """What an attribute can hold: values of the declared type, of every kind if there is none."""

    type: AttributeType | None = None
    nullable: bool = True


def domain_of(name: str, domains: Mapping[str, Domain]) -> Domain:
    """The domain of an attribute; the type of an event is a text, its stream may be not known."""
    if name in ("type", "stream"):
        return Domain(AttributeType.STRING, name == "stream")
    return domains.get(name, Domain())


def allows(name: str, domain: Domain, value: Value) -> bool:
    """Whether an attribute can hold a value.

    >>> [allows("v", Domain(AttributeType.INT), n) for n in (1.0, 1.5, -(2**63), -(2**63) - 1)]
    [True, False, True, False]
    """
    if value is None:
        return domain.nullable
    match domain.type:
        case None:
            return True
        case AttributeType.INT:
            return is_int64(value)
        case AttributeType.DOUBLE:
            return isinstance(value, float) or kind_of(value) == "number"
        case AttributeType.STRING:
            return isinstance(value, str) and (name != "type" or value != "")
        case AttributeType.BOOLEAN:
            return isinstance(value, bool)
        case AttributeType.TIMESTAMP:
            return isinstance(value, Timestamp)
        case _:
            assert_never(domain.type)


def is_int64(value: Value) -> bool:
    """Whether a value is an integer of 64 bits, or a float that equals one."""
    if kind_of(value) != "number" or not isinstance(value, int | float):
        return False
    return is_finite(value) and int(value) == value and int(value) in INT64


def is_finite(number: float) -> bool:
    """Whether a number is finite; integers may be too large to ask ``math``."""
    return isinstance(number, int) or math.isfinite(number)
