"""When an event and the registers satisfy a guard (SRT Def. 13; DESIGN 3.3).

This is the scalar reference, as `cerlab.predicates.truth` is for predicates.
"""

from __future__ import annotations

from collections.abc import Mapping

from cerlab.model.event import Event, Value, value_of
from cerlab.predicates.guards import And, Guard, Not, Operand, Or, RegisterAttribute
from cerlab.predicates.guards import RegisterComparison as Compared
from cerlab.predicates.truth import compare, evaluate, satisfies


def guard_holds(guard: Guard, t: Event, v: Mapping[str, Event]) -> bool:
    """Whether ``(t, v) |= guard``, for the event being read and the registers (SRT Def. 13).

    An atom that reads an empty register is false, as one that reads a missing value is, so its
    negation is true.

    >>> from cerlab.predicates.syntax import Attribute, Operator
    >>> other = Compared(Operator.NE, Attribute("id"), RegisterAttribute("r", "id"))
    >>> same = Compared(Operator.EQ, Attribute("id"), RegisterAttribute("r", "id"))
    >>> t = Event("A", {"id": 1})
    >>> guard_holds(other, t, {}), guard_holds(Not(same), t, {}), guard_holds(same, t, {"r": t})
    (False, True, True)
    """
    match guard:
        case Compared(op, left, right):
            return compare(op, _value(left, t, v), _value(right, t, v))
        case Not(operand):
            return not guard_holds(operand, t, v)
        case And(left_part, right_part):
            return guard_holds(left_part, t, v) and guard_holds(right_part, t, v)
        case Or(left_part, right_part):
            return guard_holds(left_part, t, v) or guard_holds(right_part, t, v)
        case predicate:
            return satisfies(t, predicate)


def _value(operand: Operand, t: Event, v: Mapping[str, Event]) -> Value:
    """The value of a side, None where the register is empty or the value is missing."""
    match operand:
        case RegisterAttribute(register, attribute):
            return value_of(v[register], attribute) if register in v else None
        case expression:
            return evaluate(t, expression)
